//===-- Drivers.h - the drivers of a runtime, by the names of back ends -----------------------===//
#pragma once

#include "backends/plain/Driver.h"
#include "jit/runtime/RuntimeSettings.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace sectile::jit {

class Drivers {
public:
  Drivers(const Knobs &knobs, const RuntimeOptions &options);

  /// Null for an unknown name.
  backends::Driver *find(std::string_view backend) const;
  /// All names, for messages: "'cpu', 'cuda' or 'hip'".
  static std::string names();
  /// The back end of the GPUs that arrays lie on: the first that has devices, "cuda" where none
  /// has.
  std::string_view gpuBackend() const;
  void configure(const backends::DriverSettings &settings);
  void setInterruptCheck(backends::InterruptCheck check);

private:
  std::array<std::unique_ptr<backends::Driver>, 3> drivers; // in the order of kNames
};

} // namespace sectile::jit
