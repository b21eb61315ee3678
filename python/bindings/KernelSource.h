//===-- KernelSource.h - a JITFunction as what the compiler wants -----------------------------===//
// Syntax and environment of a kernel for one compile. The syntax is made only when the runtime asks
// for it, that is on a miss of both caches. The runtime calls without the GIL, which is taken here,
// also where it asks what evaluation read, and whether it would read the same (ReadLog.h).
#pragma once

#include "Errors.h"
#include "VariantReads.h"
#include "jit/CompilerInterface.h"
#include "jit/Status.h"
#include "jit/runtime/Runtime.h"

namespace sectile::bindings {

class KernelSource final : public jit::HostReads {
public:
  /// All that `launched` refers to outlives this object.
  explicit KernelSource(const LaunchedKernel &launched);
  /// Sets function and environment. Thread-safe with regard to the GIL; throws nothing.
  jit::Status fill(jit::CompileRequest &request);
  /// A constant argument as this compile's environment names it.
  lang::Constant constantOf(PyObject *object) { return environment.constantOf(object); }
  /// Returns the class of an argument that is a named tuple; null for any other.
  lang::TupleClassRef tupleClassOf(PyObject *object) {
    return environment.tupleClassOfArgument(py::type::handle_of(object));
  }

  std::vector<jit::RecordedRead> recorded() override;
  /// False once asking was interrupted.
  bool hold(const std::vector<jit::RecordedRead> &reads) override;
  bool wasInterrupted() override { return interruption || environment.wasInterrupted(); }
  /// Throws what interrupted asking, or evaluation; for the end of the compile.
  void throwInterruption();
  /// Returns the reads of the variant that the runtime gave.
  VariantReadsRef reads() const;

private:
  const LaunchedKernel launched;
  WatchIndex covered;
  ReadLog log;
  PythonEnvironment environment;
  /// What interrupted hold(): the runtime, which calls it, passes no exceptions on.
  std::optional<py::error_already_set> interruption;
  /// Whether the variant is one whose reads hold() confirmed, and not one that fill() began to
  /// compile; `held` is what hold() found then.
  bool hasHeld = false;
  VariantReadsRef held;
};

} // namespace sectile::bindings
