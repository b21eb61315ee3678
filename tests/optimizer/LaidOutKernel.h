//===-- LaidOutKernel.h - what tests ask of a kernel after layout assignment ------------------===//
#pragma once

#include "optimizer/gpu/GpuShape.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace sectile::testing {

/// With `matrix` there are matrix instructions: mma.sync for 32 lanes, those of gfx942 for 64.
optimizer::GpuShape gpuShape(int64_t warps, int64_t lanes = 32, bool matrix = true);

/// A file of tests/optimizer/kernels.
std::string kernelText(llvm::StringRef name);
std::vector<std::string> kernelNames();

/// Runs the GPU pipeline on every function of a module and verifies it; "" or what went wrong.
/// `stages`: num_stages; with 1, loops of products stay as they are.
std::string layOut(mlir::ModuleOp module, const optimizer::GpuShape &shape, int64_t stages = 3);

/// The bytes of one thread's access, in order of the kernel, and the conversions:
/// "load 16 16, store 8, convert 2, in loops 1"; renamed registers do not count as conversions.
std::string summaryOf(mlir::ModuleOp module);

} // namespace sectile::testing
