// The Python module `sectile_frontend_testing`.
#include "frontend/python/ConstantArithmetic.h"
#include "python/bindings/AstConverter.h"
#include "python/bindings/PythonEnvironment.h"
#include "tests/frontend/python/EvaluateToText.h"

#include <pybind11/stl.h>
#include <set>

namespace py = pybind11;
using namespace sectile;

static lang::KernelParameter makeParameter(bindings::PythonEnvironment &environment,
                                           const std::string &name, py::handle value) {
  lang::KernelParameter parameter;
  parameter.name = name;
  if (!py::isinstance<py::tuple>(value)) {
    std::string problem;
    auto parsed = lang::parseKind(std::string(py::str(value)), problem);
    if (!parsed)
      throw py::value_error(problem);
    parameter = *parsed;
    parameter.name = name;
  } else if (py::len(value) == 1) {
    parameter.constant = environment.constantOf(value[py::int_(0)]);
  } else {
    parameter.items.emplace();
    for (py::handle item : value)
      parameter.items->push_back(
          makeParameter(environment, lang::itemName(name, nullptr, parameter.items->size()), item));
  }
  return parameter;
}

/// `signature` maps each parameter to a dtype ("*fp32", "i32:16" for a multiple of 16), to a tuple
/// of one constant, or to a longer tuple of these: a tuple of arguments.
static lang::KernelSignature makeSignature(bindings::PythonEnvironment &environment,
                                           const std::string &name, const py::dict &signature) {
  lang::KernelSignature result;
  result.kernelName = name;
  for (auto [key, value] : signature)
    result.parameters.push_back(makeParameter(environment, py::str(key), value));
  return result;
}

static py::dict describe(const lang::Diagnostic &diagnostic) {
  py::dict result;
  result["message"] = diagnostic.message;
  result["help"] = diagnostic.help;
  result["file"] = diagnostic.range.file;
  result["line"] = diagnostic.range.line;
  result["column"] = diagnostic.range.column;
  result["end_line"] = diagnostic.range.endLine;
  result["end_column"] = diagnostic.range.endColumn;
  result["function"] = diagnostic.function;
  result["source_line"] = diagnostic.sourceLine;
  result["severity"] =
      diagnostic.severity == lang::Diagnostic::Severity::Error ? "error" : "warning";
  py::list callers;
  for (const lang::CallSite &caller : diagnostic.callers)
    callers.append(py::make_tuple(caller.function, caller.range.line, caller.range.column));
  result["callers"] = callers;
  result["text"] = lang::render(diagnostic);
  return result;
}

static py::dict evaluate(py::object kernel, py::dict signature, bool locations) {
  bindings::PythonEnvironment environment;
  lang::FunctionRef reference = environment.reference(kernel);
  bindings::ReadLog log;
  log.start({{reference}});
  environment.noteReads(&log, nullptr);
  std::string error;
  auto function = environment.function(reference, error);
  if (!function)
    throw py::value_error(error);
  testing::EvaluationText text = testing::evaluateToText(
      *function, makeSignature(environment, reference.name, signature), environment, locations);
  py::list diagnostics;
  for (const lang::Diagnostic &diagnostic : text.diagnostics)
    diagnostics.append(describe(diagnostic));
  py::dict result;
  result["ir"] = text.ir;
  result["verifier_error"] = text.verifierError;
  result["diagnostics"] = diagnostics;
  py::dict reads;
  for (const jit::RecordedRead &read : log.recorded())
    reads[py::str(read.question)] = read.answer;
  result["reads"] = reads;
  return result;
}

/// The constant, or the error's text in a tuple.
static py::object arithmetic(const std::string &op, py::object lhs, py::object rhs) {
  bindings::PythonEnvironment environment;
  lang::Constant a = environment.constantOf(lhs), b = environment.constantOf(rhs);
  static const std::set<std::string> comparisons = {
      "==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  bool isUnary = op == "neg" || op == "invert" || op == "not";
  python::ConstantResult result = isUnary ? python::constantUnary(op == "neg"      ? "-"
                                                                  : op == "invert" ? "~"
                                                                                   : "not",
                                                                  a)
                                  : comparisons.count(op) ? python::constantCompare(op, a, b)
                                                          : python::constantBinary(op, a, b);
  if (!result.value)
    throw py::value_error(result.error);
  return environment.objectOf(*result.value);
}

PYBIND11_MODULE(sectile_frontend_testing, module) {
  module.doc() = "Evaluates Python kernels into tile IR text.";
  module.def("evaluate", &evaluate, py::arg("kernel"), py::arg("signature"),
             py::arg("locations") = false);
  module.def("arithmetic", &arithmetic);
}
