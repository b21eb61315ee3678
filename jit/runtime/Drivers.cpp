#include "jit/runtime/Drivers.h"

#include "backends/amd/Driver.h"
#include "backends/cpu/Driver.h"
#include "backends/nvidia/Driver.h"

namespace sectile::jit {

static constexpr std::array<const char *, 3> kNames = {"cpu", "cuda", "hip"};

Drivers::Drivers(const Knobs &knobs, const RuntimeOptions &options)
    : drivers{
          cpu::createDriver(driverSettings(knobs, options)),
          nvidia::createDriver({driverSettings(knobs, options), options.cudaApi}),
          amd::createDriver({driverSettings(knobs, options), options.hipApi}),
      } {}

std::string_view Drivers::gpuBackend() const {
  std::string ignored;
  for (size_t i = 1; i < kNames.size(); ++i)
    if (!drivers[i]->devices(ignored).empty())
      return kNames[i];
  return kNames[1];
}

backends::Driver *Drivers::find(std::string_view backend) const {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (backend == kNames[i])
      return drivers[i].get();
  return nullptr;
}

std::string Drivers::names() {
  std::string text;
  for (const char *name : kNames) {
    const char *between = text.empty() ? "'" : name == kNames.back() ? " or '" : ", '";
    text += std::string(between) + name + "'";
  }
  return text;
}

void Drivers::configure(const backends::DriverSettings &settings) {
  for (const auto &driver : drivers)
    driver->configure(settings);
}

void Drivers::setInterruptCheck(backends::InterruptCheck check) {
  for (const auto &driver : drivers)
    driver->setInterruptCheck(check);
}

} // namespace sectile::jit
