//===-- Trace.h - C++ kernels into tile IR ------------------------------------------------===//
// Runs the user's lambda once against a Tracer and returns the kernel it recorded.
//
//   DiagnosticSink sink;
//   OwningOpRef<ModuleOp> module = traceKernel(context, trace, signature, where, sink);
//
// The module is null when `sink` has errors, or when the lambda stopped on an exception of its own
// (the sink is empty then: the caller, which made `trace`, keeps the exception and throws it
// again).
#pragma once

#include "frontend/cpp/Tracer.h"
#include "lang/plain/KernelSignature.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sectile::cpp {

/// `context` has the tile dialect's dependents loaded. `where` is where the kernel was defined.
mlir::OwningOpRef<mlir::ModuleOp> traceKernel(mlir::MLIRContext &context,
                                              const TraceFunction &trace,
                                              const lang::KernelSignature &signature,
                                              const lang::SourceRange &where,
                                              lang::DiagnosticSink &sink);

} // namespace sectile::cpp
