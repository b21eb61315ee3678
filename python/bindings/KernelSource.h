//===-- KernelSource.h - a JITFunction as what the compiler wants -----------------------------===//
// Syntax and environment of a kernel for one compile. The syntax is made only when the runtime asks
// for it, that is on a miss of both caches; that call comes without the GIL, which is taken here.
#pragma once

#include "Errors.h"
#include "PythonEnvironment.h"
#include "jit/CompilerInterface.h"
#include "jit/Status.h"

namespace sectile::bindings {

class KernelSource {
public:
  /// `kernel` is a JITFunction; it outlives this object.
  explicit KernelSource(PyObject *kernel) : kernel(kernel) {}
  /// Sets function and environment. Thread-safe with regard to the GIL; throws nothing.
  jit::Status fill(jit::CompileRequest &request);
  /// A constant argument as this compile's environment names it.
  lang::Constant constantOf(PyObject *object) { return environment.constantOf(object); }
  /// Of an argument that is a named tuple; null for any other.
  lang::TupleClassRef tupleClassOf(PyObject *object) {
    return environment.tupleClassOf(py::type::handle_of(object));
  }

private:
  PyObject *kernel;
  PythonEnvironment environment;
};

} // namespace sectile::bindings
