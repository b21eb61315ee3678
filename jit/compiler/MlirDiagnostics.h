//===-- MlirDiagnostics.h - MLIR's diagnostics as ours ----------------------------------------===//
// Collects what the optimiser and the backends report on a context, with the place in the user's
// source:
//
//   MlirDiagnostics collected(context);
//   (void)backend.compile(module, ...);
//   for (const lang::Diagnostic &diagnostic : collected.all) ...
//
// A diagnostic that names an operation ("'tile.dot' op ...") speaks of IR the user never wrote, and
// one that starts with "code generation failed" or "linking failed" of LLVM: the compiler is wrong.
// Any other speaks of the kernel.
#pragma once

#include "lang/plain/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace sectile::jit {

class MlirDiagnostics {
public:
  explicit MlirDiagnostics(mlir::MLIRContext &context);

  std::vector<lang::Diagnostic> all;

  bool hasErrors() const;
  /// The first error of the compiler's own; empty when there is none.
  std::string internalError() const;

private:
  mlir::ScopedDiagnosticHandler handler;
};

/// Fills in range, function and callers from a location made by lang::Semantics.
void setPlace(lang::Diagnostic &diagnostic, mlir::Location location);

} // namespace sectile::jit
