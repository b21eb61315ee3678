//===-- ImageDescription.h - what an image says of its kernel ---------------------------------===//
// Names and types of the arguments, and which arrays the kernel may write: a store through a
// pointer that cannot be traced to an argument makes all of them written.
#pragma once

#include "backends/plain/KernelImage.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::cpu {

void describeKernel(mlir::func::FuncOp function, std::string targetName,
                    backends::KernelImage &image);

} // namespace sectile::cpu
