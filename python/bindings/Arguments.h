//===-- Arguments.h - Python objects as kernel arguments
//-----------------------------------------===//
// What a launch passes: arrays (NumPy, torch, DLPack, __array_interface__, buffers), numbers, None
// and constants, each turned into a jit::ArgumentValue. How an object is read is decided once per
// Python type and remembered, so that reading costs tens of nanoseconds.
//
//   HeldResources held;                       // keeps buffers and capsules until the launch is
//   over readArgument(object, held, wanted, value);
#pragma once

#include "Errors.h"
#include "jit/Specialization.h"

#include <optional>
#include <vector>

namespace sectile::bindings {

/// Views and capsules a launch has borrowed; released when the launch is over. Needs the GIL.
class HeldResources {
public:
  HeldResources() = default;
  HeldResources(const HeldResources &) = delete;
  HeldResources &operator=(const HeldResources &) = delete;
  ~HeldResources();

  void hold(py::object object) { objects.push_back(std::move(object)); }
  Py_buffer &newBuffer();

  /// The stream that the first GPU array is used on, as its library says.
  std::optional<void *> stream;

private:
  std::vector<py::object> objects;
  std::vector<std::unique_ptr<Py_buffer>> buffers;
};

struct ReadArgument {
  /// The kernel and parameter, for messages.
  const std::string &kernelName;
  const std::string &parameter;
  /// The parameter is annotated tl.constexpr.
  bool isConstexpr = false;
  /// Nothing runs: dtypes stand for arrays of them.
  bool isWarmup = false;
};

/// A Python value as a compile-time constant. `Environment`-independent: functions and other
/// objects are registered with the process-wide object table of the Python environment.
lang::Constant constantOf(PyObject *object);

/// Reads one argument; throws py::error_already_set with an ArgumentError when it cannot be passed.
void readArgument(PyObject *object, const ReadArgument &how, HeldResources &held,
                  jit::ArgumentValue &result);

/// Forgets what is remembered of Python types (at interpreter exit).
void clearArgumentCaches();

} // namespace sectile::bindings
