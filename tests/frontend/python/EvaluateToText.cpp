#include "tests/frontend/python/EvaluateToText.h"

#include "frontend/python/Evaluate.h"
#include "lang/tile/TileDialect.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

namespace sectile::testing {

EvaluationText evaluateToText(const python::ast::Function &kernel,
                              const lang::KernelSignature &signature,
                              python::Environment &environment, bool withLocations) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                      mlir::math::MathDialect, mlir::scf::SCFDialect>();
  EvaluationText result;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    result.verifierError += diagnostic.str() + "\n";
    return mlir::success();
  });
  lang::DiagnosticSink sink;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      python::evaluateKernel(context, kernel, signature, environment, sink);
  result.diagnostics = sink.take();
  if (!module)
    return result;
  if (mlir::failed(mlir::verify(*module)) && result.verifierError.empty())
    result.verifierError = "verification failed";
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(withLocations, /*prettyForm=*/false);
  llvm::raw_string_ostream stream(result.ir);
  module->print(stream, flags);
  return result;
}

} // namespace sectile::testing
