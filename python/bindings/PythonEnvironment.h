//===-- PythonEnvironment.h - what kernels see of the Python around them ----------------------===//
// The evaluator asks by name; this answers from live Python objects. Objects that have no
// counterpart in lang/plain/Constant.h are kept in a table and named by number, so nothing of
// Python crosses into the core. Every exception becomes the text of an Answer; the GIL is taken per
// call.
//
// How the package marks its objects:
//   __sectile_builtin__ = "load"    an operation of the language, by its name in lang/Builtins
//   __sectile_dtype__ = True        a dtype; `.name` is "fp32", "*fp32" ...
//   __sectile_constexpr__ = True    a wrapped constant; `.value`
//   __sectile_jit__ = True          a @jit function; `.fn` is the plain one
#pragma once

#include "FreeThreading.h"
#include "frontend/python/Ast.h"

#include <map>
#include <pybind11/pybind11.h>
#include <unordered_map>

namespace sectile::bindings {

namespace py = pybind11;

/// A list may hold itself: that ends as Python's RecursionError.
struct SequenceGuard {
  SequenceGuard() {
    if (Py_EnterRecursiveCall(" while reading a constant"))
      throw py::error_already_set();
  }
  ~SequenceGuard() { Py_LeaveRecursiveCall(); }
};

/// Whether this is a class made by NamedTuple or collections.namedtuple.
bool isNamedTupleClass(PyObject *object);
/// Its name and fields; without an id.
lang::TupleClass describeNamedTuple(py::handle type);

class PythonEnvironment final : public python::Environment {
public:
  PythonEnvironment() = default;
  ~PythonEnvironment() override;
  PythonEnvironment(const PythonEnvironment &) = delete;
  PythonEnvironment &operator=(const PythonEnvironment &) = delete;

  /// The name of a @jit function here: the same for the same object.
  lang::FunctionRef reference(py::handle jitFunction);
  /// A Python object as a constant. Needs the GIL; may throw what the object's attributes throw.
  lang::Constant constantOf(py::handle object);
  /// Null unless it is a class of named tuples.
  lang::TupleClassRef tupleClassOf(py::handle type);
  /// The reverse of constantOf.
  py::object objectOf(const lang::Constant &constant) const;

  Answer lookUp(const lang::FunctionRef &function, const std::string &name) override;
  std::vector<std::string> visibleNames(const lang::FunctionRef &function) override;
  Answer attribute(const lang::Constant &object, const std::string &name) override;
  std::vector<std::string> attributeNames(const lang::Constant &object) override;
  std::string helpForAttribute(const std::string &name) override;
  Answer item(const lang::Constant &object, const lang::Constant &key) override;
  Answer call(const lang::Constant &callee, const std::vector<lang::Constant> &positional,
              const std::vector<std::pair<std::string, lang::Constant>> &named) override;
  NamedTupleClass namedTupleClass(const lang::Constant &callee) override;
  std::shared_ptr<const python::ast::Function> function(const lang::FunctionRef &function,
                                                        std::string &error) override;
  void print(const std::string &line) override;

private:
  uint64_t keep(py::handle object);
  py::object objectAt(uint64_t id) const {
    std::lock_guard lock(mutex);
    return objects.at(size_t(id - 1));
  }
  /// The plain function behind a reference.
  py::object plainFunction(const lang::FunctionRef &function) const;
  Answer answerOf(py::handle value);
  /// A global or closure variable: numbers must be marked constexpr, as in Triton.
  Answer checkedGlobal(py::handle value, const std::string &name, py::handle globals);

  mutable StateMutex mutex;
  std::vector<py::object> objects; // alive as long as this
  std::unordered_map<PyObject *, uint64_t> ids;
  std::map<uint64_t, std::shared_ptr<const python::ast::Function>> functions;
};

} // namespace sectile::bindings
