//===-- Evaluate.h - Python kernels into tile IR ----------------------------------------------===//
// Staged evaluation: what is constant is computed on the spot, what is a tile becomes IR through
// lang/Semantics. Calls to other @jit functions are inlined. A body is visited once: which
// variables a loop or branch carries is found by LoopCarried.h on the syntax, before.
#pragma once

#include "frontend/python/Ast.h"
#include "lang/plain/KernelSignature.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sectile::python {

/// What evaluation learnt from the Environment: rechecked before a cached kernel is used.
struct Dependency {
  lang::FunctionRef function; // whose global; empty name for an attribute of an object
  std::string name;           // "BLOCK" or "module.BLOCK"
  std::string value;          // Constant::repr(), or the source hash of a function
};

struct EvaluatedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module; // null when `sink` has errors
  std::vector<Dependency> dependencies;
};

/// `context` has the tile dialect's dependents loaded. Errors go to `sink`.
EvaluatedKernel evaluateKernel(mlir::MLIRContext &context, const ast::Function &kernel,
                               const lang::KernelSignature &signature, Environment &environment,
                               lang::DiagnosticSink &sink);

} // namespace sectile::python
