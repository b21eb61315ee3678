//===-- LaunchOptions.h - kernel[grid](..., num_warps=8) --------------------------------------===//
// The keywords of a launch that are not parameters of the kernel. All of them select a variant, so
// they are packed into one word of its key.
#pragma once

#include "Errors.h"
#include "backends/plain/CompileOptions.h"

#include <optional>

namespace sectile::bindings {

struct LaunchOptions {
  /// Those that backends/plain/CompileOptions.def lists with a field.
  backends::KernelOptions kernel;
  /// Views whose strides the launch does not pass are refused. Selects no variant.
  bool checkStrides = false;

  /// Which back end compiles: what `target` names, else that of the arrays.
  enum class Target : uint8_t { OfArrays, Cpu, Cuda, Hip };
  Target target = Target::OfArrays;
  static const char *nameOf(Target target) {
    return target == Target::Hip ? "hip" : target == Target::Cuda ? "cuda" : "cpu";
  }
  static bool isGpu(Target target) { return target == Target::Cuda || target == Target::Hip; }
  /// The stream of a GPU launch; null: that of the arrays' library. Selects no variant.
  std::optional<uint64_t> stream;

  /// The code is for an archive, not for a launch here (CompileOptions::forElsewhere).
  bool isForArchive = false;

  /// Number of the `arch` among those that launches have named; 0: the machine at hand.
  uint16_t archNumber = 0;

  /// Those that were given and change nothing, by their places in backends::optionTable(). Selects
  /// no variant.
  uint64_t ignored = 0;

  /// After the last keyword: adds what SECTILE_CHECK, SECTILE_DEBUG and other variables ask of
  /// every launch.
  void complete();
  /// When it is known which back end compiles: leaves out, and notes in `ignored`, what it does not
  /// look at.
  void leaveOutFor(std::string_view backend);
  /// Keyword -> why it changes nothing.
  py::dict ignoredOptions() const;
  /// One keyword and its value. False when there is no such option; throws when the value is wrong.
  bool set(PyObject *keyword, PyObject *value, const std::string &kernelName);
  /// Different options, different words.
  uint64_t word() const {
    return kernel.word() | uint64_t(archNumber) << backends::KernelOptions::kWordBits;
  }
  /// `device`: the GPU of the launch, -1 without one.
  backends::CompileOptions compileOptions(int32_t device) const;
  /// Keyword -> value of those that are not the usual ones and select the variant: a launch, or
  /// precompile(), that is given them gets the same one. The target is not among them.
  py::dict unusual() const;

  static const std::vector<std::string> &names();

private:
  void ignore(size_t option);
};

/// Returns the driver's handle: an int, or what a stream of torch, CuPy or another library has as
/// one.
uint64_t streamHandleOf(PyObject *value, const std::string &kernelName);

/// Returns a count as Python writes it: None for 0 where the rule allows it.
py::object countOf(int32_t value, backends::OptionDescription::Rule rule);

} // namespace sectile::bindings
