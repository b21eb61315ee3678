//===-- KernelArguments.h - what a launch must pass -------------------------------------------===//
// The arguments of a compiled kernel: the parameters of the signature that are no constants, in
// order, with their types in the language (the IR has forgotten signedness), and whether the kernel
// may store through them.
#pragma once

#include "backends/plain/KernelImage.h"
#include "lang/plain/KernelSignature.h"

#include "mlir/IR/BuiltinOps.h"

namespace sectile::jit {

/// Without a signature (tile IR given as text) names and types are those of the function's
/// arguments.
std::vector<backends::KernelArgument> kernelArguments(mlir::ModuleOp module,
                                                      const lang::KernelSignature &signature);

} // namespace sectile::jit
