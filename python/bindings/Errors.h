//===-- Errors.h - our errors as Python exceptions --------------------------------------------===//
// The classes live in sectile/errors.py. Everything here sets the Python error and throws
// py::error_already_set; the edges (vectorcall, slots) turn that into NULL.
//
//   throwCallError("softmax: argument 'cols' is missing", "the parameters are out, in, cols");
#pragma once

#include "FreeThreading.h"
#include "jit/Status.h"

#include <pybind11/pybind11.h>
#include <string>

namespace sectile::bindings {

namespace py = pybind11;

/// sectile.errors.ArgumentError: the call is wrong, not the kernel.
[[noreturn]] void throwCallError(const std::string &message, const std::string &help = {});
/// sectile.errors.IntegerRangeError, which is an OverflowError, too.
[[noreturn]] void throwRangeError(const std::string &message, const std::string &help);
/// The class that fits the kind of `error`.
[[noreturn]] void throwError(const jit::Error &error);
/// What is pending, as "ValueError: text"; clears it.
std::string takePythonError();
/// "dict", "numpy.ndarray": a type as a user would write it.
std::string typeName(PyObject *object);
/// "a dict", "an object".
std::string withArticle(const std::string &noun);

/// What `body`, which gives an object, throws, as the error of a slot or a method.
template <class Body>
PyObject *guarded(const Body &body) noexcept {
  try {
    return body().release().ptr();
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

} // namespace sectile::bindings
