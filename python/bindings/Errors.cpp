#include "Errors.h"

namespace sectile::bindings {

namespace {

py::object errorClass(const char *name) {
  return py::module_::import("sectile.errors").attr(name);
}

py::tuple place(const lang::SourceRange &range) {
  return py::make_tuple(range.file, range.line, range.column, range.endLine, range.endColumn);
}

py::list diagnosticsOf(const jit::Error &error) {
  py::object make = errorClass("Diagnostic");
  py::list result;
  for (const lang::Diagnostic &diagnostic : error.diagnostics) {
    const char *severity = diagnostic.severity == lang::Diagnostic::Severity::Error     ? "error"
                           : diagnostic.severity == lang::Diagnostic::Severity::Warning ? "warning"
                                                                                        : "note";
    py::list callers;
    for (const lang::CallSite &caller : diagnostic.callers)
      callers.append(py::make_tuple(caller.function, place(caller.range)));
    result.append(make(severity, diagnostic.message, place(diagnostic.range), diagnostic.function,
                       diagnostic.help, diagnostic.sourceLine, callers));
  }
  return result;
}

[[noreturn]] void raise(const py::object &type, const py::object &instance) {
  PyErr_SetObject(type.ptr(), instance.ptr());
  throw py::error_already_set();
}

/// A message of the core may quote bytes of a source file that are not UTF-8.
py::str textOf(const std::string &text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

} // namespace

[[noreturn]] static void throwWithHelp(const char *className, const std::string &message,
                                       const std::string &help) {
  py::object type = errorClass(className);
  raise(type, type(textOf(help.empty() ? message : message + "\n  help: " + help)));
}

void throwCallError(const std::string &message, const std::string &help) {
  const std::string text = help.empty() ? message : message + "\n  help: " + help;
  py::object instance = errorClass("call_error")(textOf(text));
  raise(py::type::of(instance), instance);
}

void throwRangeError(const std::string &message, const std::string &help) {
  throwWithHelp("IntegerRangeError", message, help);
}

void throwError(const jit::Error &error) {
  py::str text = textOf(error.text());
  switch (error.kind) {
  case jit::Error::Kind::Kernel: {
    py::object instance = errorClass("compilation_error")(text, diagnosticsOf(error));
    raise(py::type::of(instance), instance);
  }
  case jit::Error::Kind::Call: {
    py::object instance = errorClass("call_error")(text);
    raise(py::type::of(instance), instance);
  }
  case jit::Error::Kind::Trap: {
    py::object type = errorClass("launch_error_class")(error.message);
    raise(type, type(text));
  }
  case jit::Error::Kind::Internal: {
    py::object type = errorClass("InternalError");
    raise(type, type(text, error.reproducer));
  }
  case jit::Error::Kind::Resources: {
    py::object type = errorClass("OutOfResources");
    raise(type, type(text));
  }
  case jit::Error::Kind::Interrupted: // the handler of the signal has raised it
    if (!PyErr_Occurred())
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  case jit::Error::Kind::Machine: {
    py::object type = errorClass("MachineError");
    raise(type, type(text));
  }
  }
  __builtin_unreachable();
}

std::string takePythonError() {
  py::error_already_set pending;
  std::string type = py::str(pending.type().attr("__name__"));
  std::string text;
  try {
    text = py::str(pending.value());
  } catch (py::error_already_set &) {
  }
  return text.empty() ? type : type + ": " + text;
}

std::string typeName(PyObject *object) {
  py::handle type(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  std::string module = py::str(type.attr("__module__"));
  std::string name = py::str(type.attr("__qualname__"));
  return module == "builtins" ? name : module + "." + name;
}

std::string withArticle(const std::string &noun) {
  bool isVowel = !noun.empty() && std::string_view("aeiouAEIOU").find(noun[0]) != std::string::npos;
  return (isVowel ? "an " : "a ") + noun;
}

} // namespace sectile::bindings
