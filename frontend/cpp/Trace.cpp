//===-- Trace.cpp -------------------------------------------------------------------------===//
#include "frontend/cpp/Trace.h"

#include "frontend/cpp/TracerImpl.h"
#include "lang/semantics/KernelFunction.h"

namespace sectile::cpp {

mlir::OwningOpRef<mlir::ModuleOp> traceKernel(mlir::MLIRContext &context,
                                              const TraceFunction &trace,
                                              const lang::KernelSignature &signature,
                                              const lang::SourceRange &where,
                                              lang::DiagnosticSink &sink) {
  mlir::OpBuilder builder(&context);
  lang::Semantics sema(builder, sink);
  sema.function = signature.kernelName;
  sema.sanitizeOverflow = signature.sanitizeOverflow;
  sema.dotPrecision = signature.dotPrecision;
  sema.warpCount = signature.warpCount;
  sema.cudaCapability = signature.cudaCapability;
  sema.printsAsTriton = signature.printsAsTriton;
  sema.at(where);
  lang::KernelFunction kernel = lang::createKernelFunction(builder, signature, sema.location());

  TracerImpl tracer(sema, sink);
  std::vector<Argument> parameters;
  for (const lang::Operand &parameter : kernel.parameters)
    parameters.push_back(tracer.argumentOf(parameter));
  bool finished = trace(tracer, parameters);
  if (!finished || tracer.failed())
    return nullptr;

  sema.at(where);
  mlir::func::ReturnOp::create(builder, sema.location());
  return std::move(kernel.module);
}

} // namespace sectile::cpp
