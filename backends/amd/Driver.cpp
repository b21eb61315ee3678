#include "backends/amd/Driver.h"

namespace sectile::amd {
namespace {

const char kReason[] = "kernels are compiled for AMD GPUs, and cannot be launched on them yet";

/// Compiled, and good for its code only.
class UnlaunchableKernel final : public backends::LoadedKernel {
public:
  explicit UnlaunchableKernel(const backends::KernelImage &image)
      : used{image.gpu.registers, image.gpu.localBytes} {}
  backends::KernelResources resources() const override { return used; }
  backends::LaunchFailure launch(const backends::Grid &, const backends::LaunchArguments &,
                                 const backends::PrintHandler &) const override {
    backends::LaunchFailure failure;
    failure.kind = backends::LaunchFailure::Kind::Machine;
    failure.message = kReason;
    failure.help = "take the code object from compiled.asm[\"hsaco\"], or launch on the CPU";
    return failure;
  }

private:
  backends::KernelResources used;
};

class HipDriver final : public backends::Driver {
public:
  std::string hostFingerprint() const override { return ""; }
  bool canRun(std::string_view, std::string &reason) const override {
    reason = kReason;
    return false;
  }
  const std::vector<backends::DeviceInfo> &devices(std::string &reason) override {
    reason = kReason;
    return none;
  }
  std::unique_ptr<backends::LoadedKernel> load(const backends::KernelImage &image,
                                               backends::LaunchFailure &) override {
    return std::make_unique<UnlaunchableKernel>(image);
  }

private:
  const std::vector<backends::DeviceInfo> none;
};

} // namespace

std::unique_ptr<backends::Driver> createDriver() {
  return std::make_unique<HipDriver>();
}

} // namespace sectile::amd
