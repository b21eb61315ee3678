#include "backends/nvidia/Driver.h"

#include "backends/gpu/driver/GpuDriver.h"
#include "backends/nvidia/Assembler.h"
#include "backends/nvidia/CudaGpu.h"
#include "backends/nvidia/TargetNames.h"
#include "backends/plain/ForkSafeMutex.h"

#include <algorithm>
#include <mutex>

namespace sectile::nvidia {
namespace {

using backends::CompileOptions;
using backends::KernelImage;
using backends::LaunchFailure;
using Kind = LaunchFailure::Kind;

class CudaDriver final : public gpu::GpuDriver {
public:
  explicit CudaDriver(const DriverOptions &options)
      : GpuDriver(kCudaNames,
                  [given = options.api](std::string &reason) -> std::unique_ptr<gpu::GpuApi> {
                    const CudaApi *api = given ? given : CudaApi::load(reason);
                    return api ? std::make_unique<CudaGpu>(*api) : nullptr;
                  }) {
    configure(options.settings);
  }

  void configure(const backends::DriverSettings &settings) override {
    GpuDriver::configure(settings);
    std::lock_guard lock(mutex);
    assembling = {settings.ptxas, assemblerNamed(settings.assembler)};
  }

  /// The driver's version, because it assembles, and the devices it does so for.
  std::string hostFingerprint() const override {
    std::string reason;
    std::vector<std::string> archs;
    for (const auto &device : system.devices(reason))
      archs.push_back(device->info.arch);
    std::sort(archs.begin(), archs.end());
    archs.erase(std::unique(archs.begin(), archs.end()), archs.end());
    return fingerprintOf(archs.empty() ? 0 : system.driverVersion(), archs);
  }

  void completeOptions(CompileOptions &compile) override {
    std::string reason;
    if (compile.ptxVersion == 0 && !compile.forElsewhere && !devices(reason).empty())
      compile.ptxVersion = newestPtxVersion(system.driverVersion());
  }

  bool finish(KernelImage &image, LaunchFailure &failure) override;
  bool isFinished(const KernelImage &image) const override { return isCubin(image.binary); }

  std::string deviceless(CompileOptions &compile) override {
    // Machine code of another architecture than the devices' would not run here.
    if (!deviceFor(compile.arch))
      return {};
    compile.ptxVersion = 0;
    return fingerprintOf(0, {});
  }

  std::string assembler() override {
    using Choice = AssemblerChoice;
    const Assembling options = assemblingNow();
    std::string ptxas = findPtxas(options.ptxas), reason;
    bool hasDevice = !system.devices(reason).empty();
    if (options.assembler == Choice::None)
      return "none (SECTILE_ASSEMBLER)";
    if (!ptxas.empty() && (options.assembler != Choice::Driver || !hasDevice))
      return ptxas;
    return hasDevice ? "that of NVIDIA's driver" : "none: put ptxas on the PATH";
  }

private:
  struct Assembling {
    std::string ptxas;
    AssemblerChoice assembler = AssemblerChoice::Automatic;
  };
  Assembling assemblingNow() const {
    std::lock_guard lock(mutex);
    return assembling;
  }

  std::string fingerprintOf(int driverVersion, const std::vector<std::string> &archs) const {
    std::string text = "cuda:" + std::to_string(driverVersion) + ":" +
                       std::to_string(static_cast<int>(assemblingNow().assembler));
    for (const std::string &arch : archs)
      text += ":" + arch;
    return text;
  }
  /// A device of that very architecture, to assemble on; null when there is none.
  gpu::GpuDevice *deviceFor(const std::string &arch) {
    std::string reason;
    const auto &devices = system.devices(reason);
    auto found = std::find_if(devices.begin(), devices.end(),
                              [&](const auto &device) { return device->info.arch == arch; });
    return found == devices.end() || system.isForked() ? nullptr : found->get();
  }

  mutable ForkSafeMutex mutex;
  Assembling assembling; // guarded by `mutex`
};

/// The driver's linker takes kernels as parts of something larger, and makes products of several
/// warps wait for each other there (C7509; 446 instead of 697 TFLOP/s in attention). Loaded as PTX
/// the same driver assembles them well.
static bool isSlowedByLinking(const std::string &ptx) {
  return ptx.find("wgmma.mma_async") != std::string::npos;
}

/// Adds a remark for each line in which the assembler reports that such products wait (C7509 to
/// C7517).
static void noteWaitingProducts(KernelImage &image, const std::string &log) {
  for (size_t at = log.find("(C75"); at != std::string::npos; at = log.find("(C75", at)) {
    size_t end = std::min(log.find('\n', at), log.size());
    // Other codes report what costs nothing to speak of: a fence that ptxas puts in, say.
    if (int code = std::atoi(log.c_str() + at + 2); code < 7509 || code > 7517) {
      at = end;
      continue;
    }
    lang::Remark &remark = image.remarks.emplace_back();
    remark.kind = "products-wait";
    remark.text = "matrix products wait for each other: ptxas says " + log.substr(at, end - at);
    at = end;
  }
}

bool CudaDriver::finish(KernelImage &image, LaunchFailure &failure) {
  using Choice = AssemblerChoice;
  if (isCubin(image.binary))
    return true;
  const Assembling options = assemblingNow();
  image.stages["ptx"] = image.binary;
  if (options.assembler == Choice::None || !isOurs(image.targetName))
    return true;
  std::string arch = image.targetName.substr(kTargetPrefix.size());
  std::string reason;
  gpu::GpuDevice *device = deviceFor(arch);
  // Code for an older architecture than that of the devices here is for them all the same: it stays
  // PTX, and loading assembles it.
  if (!device && !image.options.forElsewhere && canRun(image.targetName, reason))
    return true;

  std::vector<Choice> order = {Choice::Ptxas, Choice::Driver};
  if (options.assembler == Choice::Driver && !image.options.forElsewhere)
    std::swap(order[0], order[1]);
  Assembled result;
  result.error = "there is no assembler";
  for (Choice choice : order) {
    if (choice == Choice::Driver) {
      if (!device || isSlowedByLinking(image.binary))
        continue;
      result = assembleWithDriver(*device, {image.binary, arch});
    } else {
      std::string ptxas = findPtxas(options.ptxas);
      if (ptxas.empty())
        continue;
      result = assembleWithPtxas(ptxas, {image.binary, arch});
    }
    if (result.isGood() || result.isRejected)
      break;
  }
  if (result.isRejected) {
    const bool hasOwnText = image.binary.find(backends::kOwnAssembly) != std::string::npos;
    failure.kind = hasOwnText ? Kind::Kernel : Kind::Internal;
    failure.message = image.kernelName + ": " + result.error + "\n" + result.log;
    failure.help = hasOwnText
                       ? "the kernel has text for the assembler: look at the lines behind \"" +
                             std::string(backends::kOwnAssembly) + "\" in its PTX"
                       : "this is a fault of the compiler, not of the kernel";
    return false;
  }
  if (!result.isGood()) // loading tries once more with what the driver has, and says what is wrong
    return true;
  noteWaitingProducts(image, result.log);
  image.binary = std::move(result.cubin);
  image.gpu.registers = result.registers;
  image.gpu.localBytes = result.localBytes;
  return true;
}

} // namespace

AssemblerChoice assemblerNamed(std::string_view name) {
  using Assembler = AssemblerChoice;
  return name == "driver"  ? Assembler::Driver
         : name == "ptxas" ? Assembler::Ptxas
         : name == "none"  ? Assembler::None
                           : Assembler::Automatic;
}

std::unique_ptr<backends::Driver> createDriver(DriverOptions options) {
  return std::make_unique<CudaDriver>(options);
}

} // namespace sectile::nvidia
