#include "LaunchHooks.h"

namespace sectile::bindings {

namespace {

/// Both or none; read and written under the GIL.
PyObject *enterHook = nullptr, *exitHook = nullptr;

void setLaunchHooks(py::object enter, py::object exit) {
  py::object before = py::reinterpret_steal<py::object>(std::exchange(enterHook, nullptr));
  py::object after = py::reinterpret_steal<py::object>(std::exchange(exitHook, nullptr));
  if (enter.is_none())
    return;
  enterHook = enter.release().ptr();
  exitHook = exit.release().ptr();
}

} // namespace

bool hasLaunchHooks() {
  return enterHook != nullptr;
}

void runBetweenHooks(const HookedLaunch &hooked, const jit::BoundLaunch &ready) {
  // A hook may take the hooks away.
  py::object enter = py::reinterpret_borrow<py::object>(enterHook);
  py::object exit = py::reinterpret_borrow<py::object>(exitHook);
  py::object told = enter(py::handle(hooked.kernel), hooked.compiled,
                          py::make_tuple(ready.grid.x, ready.grid.y, ready.grid.z),
                          reinterpret_cast<uintptr_t>(ready.arguments.stream), hooked.arguments);
  try {
    runLaunch(ready);
  } catch (py::error_already_set &error) {
    error.restore();
    // What went wrong first is what is told.
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyObject *ignored = PyObject_CallOneArg(exit.ptr(), told.ptr()))
      Py_DECREF(ignored);
    else
      PyErr_WriteUnraisable(exit.ptr());
    PyErr_Restore(type, value, trace);
    throw py::error_already_set();
  }
  exit(told);
}

void registerLaunchHooks(py::module_ &module) {
  module.def("set_launch_hooks", &setLaunchHooks);
}

} // namespace sectile::bindings
