//===-- RecordIr.cpp - the compiler's side of Record.h ------------------------------------===//
#include "frontend/cpp/Trace.h"
#include "lang/tile/TileDialect.h"
#include "tests/frontend/cpp/RecordedIr.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

namespace sectile::test {

RecordedIr recordToIr(const cpp::TraceFunction &trace, const lang::KernelSignature &signature) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect>();
  lang::DiagnosticSink sink;
  lang::SourceRange where = {"kernel.cpp", 1, 1, 1, 2};
  mlir::OwningOpRef<mlir::ModuleOp> module =
      cpp::traceKernel(context, trace, signature, where, sink);
  RecordedIr recorded;
  recorded.diagnostics = sink.take();
  if (!module)
    return recorded;
  if (mlir::failed(mlir::verify(*module)))
    recorded.text = "does not verify:\n";
  llvm::raw_string_ostream stream(recorded.text);
  module->print(stream);
  return recorded;
}

} // namespace sectile::test
