#include "backends/VerifyCode.h"

#include "llvm/IR/Verifier.h"

namespace sectile::backends {

mlir::LogicalResult verifyCode(mlir::func::FuncOp kernel, const llvm::Module &code,
                               llvm::StringRef step, const CompileContext &context) {
  if (!context.verifyCode)
    return mlir::success();
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (!llvm::verifyModule(code, &stream))
    return mlir::success();
  return kernel.emitError() << "code generation failed: LLVM IR is invalid behind '" << step
                            << "': " << llvm::StringRef(complaint).rtrim();
}

} // namespace sectile::backends
