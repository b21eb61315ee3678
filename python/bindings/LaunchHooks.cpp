#include "LaunchHooks.h"

#include <atomic>

namespace sectile::bindings {

namespace {

struct LaunchHooks {
  StateMutex mutex;
  /// Both or none.
  py::object enter, exit;
};

/// Never destroyed: threads may launch while the interpreter ends.
LaunchHooks &launchHooks() {
  static auto *hooks = new LaunchHooks;
  return *hooks;
}
std::atomic<bool> isHooked = false;

void setLaunchHooks(py::object enter, py::object exit) {
  bool isSet = !enter.is_none();
  if (!isSet)
    enter = exit = py::object();
  {
    std::lock_guard lock(launchHooks().mutex);
    std::swap(launchHooks().enter, enter); // what was there dies after the lock
    std::swap(launchHooks().exit, exit);
  }
  isHooked = isSet;
}

struct VariantListener {
  StateMutex mutex;
  py::object function; // null: none
};

VariantListener &variantListener() {
  static auto *listener = new VariantListener;
  return *listener;
}

void setVariantListener(py::object function) {
  if (function.is_none())
    function = py::object();
  std::lock_guard lock(variantListener().mutex);
  std::swap(variantListener().function, function);
}

} // namespace

void reportVariant(PyObject *kernel, size_t index, bool isWarmup) {
  py::object function;
  {
    std::lock_guard lock(variantListener().mutex);
    function = variantListener().function;
  }
  if (function)
    function(py::handle(kernel), index, isWarmup);
}

bool hasLaunchHooks() {
  return isHooked.load(std::memory_order_relaxed);
}

void runBetweenHooks(const HookedLaunch &hooked, const jit::BoundLaunch &ready, void *stream) {
  py::object enter, exit; // a hook may take the hooks away
  {
    std::lock_guard lock(launchHooks().mutex);
    enter = launchHooks().enter;
    exit = launchHooks().exit;
  }
  if (!enter) // another thread did
    return runLaunch(ready, stream);
  py::object metadata = enter(py::handle(hooked.kernel), hooked.compiled,
                              py::make_tuple(ready.grid.x, ready.grid.y, ready.grid.z),
                              reinterpret_cast<uintptr_t>(stream), hooked.arguments);
  try {
    runLaunch(ready, stream);
  } catch (py::error_already_set &error) {
    error.restore();
    // The error of the launch is reported, not one of the exit hook.
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyObject *ignored = PyObject_CallOneArg(exit.ptr(), metadata.ptr()))
      Py_DECREF(ignored);
    else
      PyErr_WriteUnraisable(exit.ptr());
    PyErr_Restore(type, value, trace);
    throw py::error_already_set();
  }
  exit(metadata);
}

void registerLaunchHooks(py::module_ &module) {
  module.def("set_launch_hooks", &setLaunchHooks);
  module.def("set_variant_listener", &setVariantListener);
}

} // namespace sectile::bindings
