#include "backends/amd/Driver.h"

#include "backends/amd/HipGpu.h"
#include "backends/gpu/driver/GpuDriver.h"

namespace sectile::amd {
namespace {

class HipDriver final : public gpu::GpuDriver {
public:
  explicit HipDriver(const DriverOptions &options)
      : GpuDriver(kHipNames,
                  [given = options.api, path = options.settings.hipLibrary](
                      std::string &reason) -> std::unique_ptr<gpu::GpuApi> {
                    const HipApi *api = given ? given : HipApi::load(path, reason);
                    return api ? std::make_unique<HipGpu>(*api) : nullptr;
                  }) {
    configure(options.settings);
  }
  /// Code objects are finished where they are made, and depend on nothing of the machine.
  std::string hostFingerprint() const override { return ""; }
};

} // namespace

std::unique_ptr<backends::Driver> createDriver(DriverOptions options) {
  return std::make_unique<HipDriver>(options);
}

} // namespace sectile::amd
