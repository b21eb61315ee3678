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

/// The module is null when `sink` has errors. `context` has the tile dialect's dependents loaded.
/// Errors go to `sink`.
mlir::OwningOpRef<mlir::ModuleOp> evaluateKernel(mlir::MLIRContext &context,
                                                 const ast::Function &kernel,
                                                 const lang::KernelSignature &signature,
                                                 Environment &environment,
                                                 lang::DiagnosticSink &sink);

} // namespace sectile::python
