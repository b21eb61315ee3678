//===-- Arguments.h - Python objects as kernel arguments --------------------------------------===//
// What a launch passes: arrays (NumPy, torch, DLPack, __array_interface__, buffers), numbers, None
// and constants, each turned into a jit::ArgumentValue. How an object is read is decided once per
// Python type and remembered, so that reading costs tens of nanoseconds.
//
//   HeldResources held;   // keeps buffers and capsules until the launch is over
//   ReadArguments read;
//   readArgument(object, {kernelName, parameter}, held, read);
#pragma once

#include "Errors.h"
#include "jit/launch/Specialization.h"

#include <optional>
#include <vector>

namespace sectile::bindings {

/// Where the stream comes from on which a GPU array is used. Bound launches ask for it each time.
struct StreamSource {
  enum class Kind : uint8_t {
    None,
    Fixed,    // the user, or the array itself
    Exchange, // the DLPack table of its library: torch
    Torch,    // torch, by a call
    Cupy,
  };
  Kind kind = Kind::None;
  int32_t deviceType = 0, device = 0;
  const void *table = nullptr;
  void *fixed = nullptr;

  static StreamSource of(uint64_t handle) {
    return {Kind::Fixed, 0, 0, nullptr, reinterpret_cast<void *>(handle)};
  }
  /// Null: the default stream, or none is known. Throws what the library throws.
  void *current() const;
};

/// Views and capsules a launch has borrowed; released when the launch is over. Needs the GIL.
class HeldResources {
public:
  HeldResources() = default;
  HeldResources(const HeldResources &) = delete;
  HeldResources &operator=(const HeldResources &) = delete;
  ~HeldResources();

  void hold(py::object object) { objects.push_back(std::move(object)); }
  /// The kernel's tuple of defaults, where a launch uses it.
  py::object defaults;
  Py_buffer &newBuffer();

  /// That of the first GPU array whose library has one.
  StreamSource stream;
  bool hasStream() const { return stream.kind != StreamSource::Kind::None; }

private:
  std::vector<py::object> objects;
  std::vector<std::unique_ptr<Py_buffer>> buffers;
};

/// An array argument whose elements do not lie one after the other.
struct StridedArgument {
  std::string name;
  std::vector<int64_t> shape, strides; // in elements
};

struct ReadArgument {
  /// The kernel and parameter, for messages.
  const std::string &kernelName;
  const std::string &parameter;
  /// The parameter is annotated tl.constexpr.
  bool isConstexpr = false;
  /// Nothing runs: dtypes stand for arrays of them.
  bool isWarmup = false;
  /// For an item of a tuple: how the tuple is read, and which item this is.
  const ReadArgument *tuple = nullptr;
  const lang::TupleClassRef *tupleClass = nullptr;
  size_t item = 0;
  /// With check="strides": such arrays are added to it. Null without that check.
  std::vector<StridedArgument> *strided = nullptr;

  /// "x", "pair[0]".
  std::string name() const {
    return tuple ? lang::itemName(tuple->name(), *tupleClass, item) : parameter;
  }
};

/// What the runtime's Specializer takes: a tuple is followed by its items.
struct ReadArguments {
  jit::ArgumentBuffer<jit::ArgumentValue, 24> values;
  /// What each was read from; borrowed.
  jit::ArgumentBuffer<PyObject *, 24> objects;

  void reserve(size_t count) {
    values.reserve(count);
    objects.reserve(count);
  }
  std::span<const jit::ArgumentValue> span() const { return {values.data(), values.size()}; }
};

/// A Python value as a compile-time constant. `Environment`-independent: functions and other
/// objects are registered with the process-wide object table of the Python environment.
lang::Constant constantOf(PyObject *object);

/// Reads one argument, and appends it; throws py::error_already_set with an ArgumentError when it
/// cannot be passed.
void readArgument(PyObject *object, const ReadArgument &how, HeldResources &held,
                  ReadArguments &result);

/// Forgets what is remembered of Python types (at interpreter exit).
void clearArgumentCaches();

} // namespace sectile::bindings
