//===-- Interruption.h - exceptions that answer no question -----------------------------------===//
// Evaluation, and a launch that asks the same again, read Python objects, and reading may raise. An
// Exception is an answer: "there is no such attribute". What is no Exception (KeyboardInterrupt,
// SystemExit) is none, and has to reach the caller of the launch.
#pragma once

#include <pybind11/pybind11.h>

namespace sectile::bindings {

namespace py = pybind11;

inline bool isInterruption(const py::error_already_set &raised) {
  return !raised.matches(PyExc_Exception);
}

/// Clears the pending Exception, if there is one; throws what is no Exception.
inline void clearException() {
  if (!PyErr_Occurred())
    return;
  if (!PyErr_ExceptionMatches(PyExc_Exception))
    throw py::error_already_set();
  PyErr_Clear();
}

/// Returns the attribute, or `otherwise` where reading it raises an Exception.
inline py::object attributeOr(py::handle object, const char *name, py::handle otherwise) {
  PyObject *found = PyObject_GetAttrString(object.ptr(), name);
  if (!found)
    clearException();
  return found ? py::reinterpret_steal<py::object>(found)
               : py::reinterpret_borrow<py::object>(otherwise);
}

} // namespace sectile::bindings
