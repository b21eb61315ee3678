//===-- LaunchOptions.h - kernel[grid](..., num_warps=8) --------------------------------------===//
// The keywords of a launch that are not parameters of the kernel. All of them select a variant, so
// they are packed into one word of its key.
#pragma once

#include "Errors.h"
#include "backends/plain/CompileOptions.h"

#include <optional>

namespace sectile::bindings {

struct LaunchOptions {
  int32_t warpCount = 4, stageCount = 3, ctaCount = 1, maxRegisters = 0;
  bool cooperativeGrid = false, dependentLaunch = false;
  bool enableFpFusion = true, debug = false, sanitizeOverflow = true, checkBounds = false;
  /// Views whose strides the launch does not pass are refused. Selects no variant.
  bool checkStrides = false;

  /// Which back end compiles: what `target` names, else that of the arrays.
  enum class Target : uint8_t { OfArrays, Cpu, Cuda };
  Target target = Target::OfArrays;
  /// Of a GPU launch; null: the arrays' library says. Selects no variant.
  std::optional<uint64_t> stream;

  /// Number of the `arch` among those that launches have named; 0: the machine at hand.
  uint16_t archNumber = 0;

  /// What SECTILE_CHECK and SECTILE_DEBUG ask of every launch, whatever its keywords say: after
  /// these.
  void readEnvironment();
  /// One keyword and its value. False when there is no such option; throws when the value is wrong.
  bool set(PyObject *keyword, PyObject *value, const std::string &kernelName);
  /// Different options, different words.
  uint64_t word() const;
  /// `device`: the GPU of the launch, -1 without one.
  backends::CompileOptions compileOptions(int32_t device) const;

  static const std::vector<std::string> &names();
};

} // namespace sectile::bindings
