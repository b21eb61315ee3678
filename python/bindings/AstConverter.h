//===-- AstConverter.h - CPython's `ast` into frontend/python/Ast.h ---------------------------===//
// CPython parses a kernel's source; this copies its nodes once into plain C++. Positions are those
// of the file: lines count from its top, and columns are the written ones even of an indented
// function (an indented source is parsed behind `if 1:`, never dedented).
//
//   std::string error;
//   auto function = convertFunction(source, {1, "kernel"}, toConstant, error);
#pragma once

#include "frontend/python/Ast.h"

#include <functional>
#include <pybind11/pybind11.h>

namespace sectile::bindings {

namespace py = pybind11;

/// The text of one function and where it comes from.
struct FunctionSource {
  std::string file;
  std::vector<std::string> lines; // from the first decorator or the `def` on
  int firstLine = 1;
  py::object function; // the plain Python function: for defaults and annotations
};

/// Finds the source of a @jit function or plain function; null `function` and `error` when there is
/// none.
FunctionSource findSource(py::handle jitFunction, std::string &error);

/// Null, with `error` set, when the source does not parse or holds no function. Needs the GIL;
/// throws nothing.
std::shared_ptr<python::ast::Function>
convertFunction(const FunctionSource &source, const lang::FunctionRef &reference,
                const std::function<lang::Constant(py::handle)> &constantOf, std::string &error);

/// "ValueError: text" of a caught Python exception.
std::string describeException(py::error_already_set &exception);
/// A Python int; nullopt when it needs more than 128 bits.
std::optional<lang::Int> integerFromPython(py::handle number);

} // namespace sectile::bindings
