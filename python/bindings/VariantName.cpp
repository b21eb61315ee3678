#include "VariantName.h"

#include "Errors.h"

#include <algorithm>

namespace sectile::bindings {

namespace {

/// Points to the function that gave the name; where that has no code, to the kernel.
[[noreturn, gnu::cold]] void refuse(const KernelState &state, py::handle kernel,
                                    py::handle returned) {
  py::object function = kernel.attr("_repr");
  if (!py::hasattr(function, "__code__"))
    function = state.function;
  py::object code = function.attr("__code__");

  lang::Diagnostic diagnostic;
  diagnostic.message = state.name + ": repr returned " + std::string(py::repr(returned)) +
                       ", which is no name for the code of a variant";
  diagnostic.function = py::cast<std::string>(function.attr("__name__"));
  lang::SourceRange &range = diagnostic.range;
  range.file = py::cast<std::string>(code.attr("co_filename"));
  range.line = range.endLine = py::cast<int>(code.attr("co_firstlineno"));
  diagnostic.sourceLine = py::cast<std::string>(
      py::module_::import("linecache").attr("getline")(range.file, range.line));
  const std::string &line = diagnostic.sourceLine;
  range.column = static_cast<int>(std::min(line.find_first_not_of(" \t"), line.size())) + 1;
  range.endColumn = static_cast<int>(line.find_last_not_of(" \t\r\n") + 2);
  diagnostic.help =
      "return a text of letters, digits and underscores, not a digit first; of a text "
      "with dots, what follows the last is the name";
  throwError({jit::Error::Kind::Kernel, diagnostic.message, {}, {diagnostic}, {}, -1});
}

} // namespace

std::string variantName(const KernelState &state, PyObject *kernel, const py::dict &signature) {
  const py::handle self(kernel);
  if (!py::cast<bool>(self.attr("_names_variants")))
    return {};
  py::object returned = self.attr("repr")(py::module_::import("sectile.runtime.specialization")
                                              .attr("specialization_of")(self, signature));
  if (!PyUnicode_Check(returned.ptr()))
    refuse(state, self, returned);
  py::object last = py::tuple(returned.attr("rpartition")("."))[2];
  if (PyUnicode_IsIdentifier(last.ptr()) != 1)
    refuse(state, self, returned);
  auto name = py::cast<std::string>(last);
  return name == state.name ? std::string() : name;
}

} // namespace sectile::bindings
