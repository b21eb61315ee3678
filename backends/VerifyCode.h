//===-- VerifyCode.h - LLVM IR that back ends make is checked ---------------------------------===//
// Only where a user asks for it (SECTILE_VERIFY), and in tests.
//
//   if (failed(verifyCode(function, *code, "emit llvm", context)))
//     return failure();
#pragma once

#include "backends/Backend.h"

#include "llvm/IR/Module.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::backends {

/// An error at the kernel when the code behind this step is invalid: the compiler is wrong then.
/// Success without a look where the context does not ask for one.
mlir::LogicalResult verifyCode(mlir::func::FuncOp kernel, const llvm::Module &code,
                               llvm::StringRef step, const CompileContext &context);

} // namespace sectile::backends
