//===-- IrDigest.h - the second key: all that code depends on ---------------------------------===//
#pragma once

#include "backends/plain/CompileOptions.h"
#include "lang/plain/KernelSignature.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace sectile::jit {

/// Returns the digest of a kernel in tile IR; `text` is what `module` prints. Places in the source
/// count only where the code will name them: equal kernels elsewhere share their code if they can.
/// Names and constness of the parameters count always, because two kernels of one IR may number
/// their parameters differently.
std::string irDigest(mlir::ModuleOp module, llvm::StringRef text,
                     const lang::KernelSignature &signature,
                     const backends::CompileOptions &options);

} // namespace sectile::jit
