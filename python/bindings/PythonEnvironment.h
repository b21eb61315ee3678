//===-- PythonEnvironment.h - what kernels see of the Python around them ----------------------===//
// The evaluator asks by name; this answers from live Python objects. Objects that have no
// counterpart in lang/plain/Constant.h are kept in a table and named by number, so nothing of
// Python crosses into the core. Every exception becomes the text of an Answer, and an interruption
// (Interruption.h) is kept beside; the GIL is taken per call.
//
// How the package marks its objects:
//   __sectile_builtin__ = "load"    an operation of the language, by its name in lang/Builtins
//   __sectile_dtype__ = True        a dtype; `.name` is "fp32", "*fp32" ...
//   __sectile_constexpr__ = True    a wrapped constant; `.value`
//   __sectile_jit__ = True          a @jit function; `.fn` is the plain one
#pragma once

#include "FreeThreading.h"
#include "ReadLog.h"
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

/// Whether the package has marked this object so; never a class seen from itself.
bool hasMark(py::handle object, const char *name);
/// Whether this is a class made by NamedTuple or collections.namedtuple.
bool isNamedTupleClass(PyObject *object);
/// Its name and fields; without an id.
lang::TupleClass describeNamedTuple(py::handle type);
/// Whether instances of this class are passed to kernels as tensor descriptors.
bool isDescriptorClass(py::handle type);

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
  /// What a kernel knows an argument of `type` as; null: a plain tuple, if it is one.
  lang::TupleClassRef tupleClassOfArgument(py::handle type);
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
  void compared(const lang::Constant &lhs, const lang::Constant &rhs) override;
  void print(const std::string &line) override;

  /// Whether an exception was an interruption; from then on every question is answered by an error.
  bool wasInterrupted() const { return interruption.has_value(); }
  /// Throws it once, if there was one.
  void throwInterruption();
  /// Keeps `exception` if it is an interruption.
  void keepInterruption(const py::error_already_set &exception);

  //-- EnvironmentReads.cpp
  /// From here on every question is noted in `log` with its answer. `covered`: what the watches of
  /// the kernel's source look at. Both must outlive the questions.
  void noteReads(ReadLog *log, const WatchIndex *covered);
  /// Asks the question of `read`, and sets its answer; false where there is none now. Throws an
  /// interruption.
  bool ask(Read &read);

private:
  /// What a name means in a function, and what to watch; no value where it means nothing.
  struct Place {
    py::object value;
    Watch watch;
  };
  Place find(const lang::Constant &function, const std::string &name) const;
  /// A global of a Python function, of whatever kind.
  Answer globalOf(const lang::Constant &function, const std::string &name);

  bool isNoting() const { return log != nullptr; }
  void note(Read read, py::handle value, Watch watch);
  bool isCovered(const Read &read, py::handle value, const Watch &watch);
  bool isCoveredCall(const Read &read, py::handle callee);
  /// Whether calling it on plain values gives what follows from reads that have been noted.
  bool isClosed(py::handle callee);
  std::optional<lang::Constant> sourceOf(const lang::Constant &function);
  void noteSource(const lang::Constant &function);
  void noteTupleClass(const lang::Constant &callee, const NamedTupleClass &made);

  uint64_t keep(py::handle object);
  py::object objectAt(uint64_t id) const {
    std::lock_guard lock(mutex);
    return objects.at(size_t(id - 1));
  }
  /// The plain function behind a reference.
  py::object plainFunction(const lang::FunctionRef &function) const {
    return plainFunction(function.id);
  }
  Answer answerOf(py::handle value);
  /// Calls it with the GIL; what it throws becomes an error.
  template <class Function>
  Answer answering(Function function);
  py::object plainFunction(uint64_t id) const;
  /// A global or closure variable: numbers must be marked constexpr, as in Triton.
  Answer checkedGlobal(py::handle value, const std::string &name, py::handle globals);

  mutable StateMutex mutex;
  std::vector<py::object> objects; // alive as long as this
  std::unordered_map<PyObject *, uint64_t> ids;
  /// Methods are made anew at each read: by function and object.
  std::map<std::pair<PyObject *, PyObject *>, uint64_t> methods;
  std::map<uint64_t, std::shared_ptr<const python::ast::Function>> functions;

  ReadLog *log = nullptr;
  const WatchIndex *covered = nullptr;
  std::unordered_map<PyObject *, bool> closedCallees;
  std::optional<py::error_already_set> interruption;
};

} // namespace sectile::bindings
