//===-- NvidiaMatrix.h - mma.sync -------------------------------------------------------------===//
// Matrix instructions that every target from sm_80 on has: one warp, fragments in registers
// (lang/layout/MmaLayouts.h says which element is where; PTX ISA, "mma.sync").
#pragma once

#include "backends/nvidia/NvidiaTarget.h"

#include "llvm/IR/IRBuilder.h"

namespace sectile::nvidia {

/// From when on there are those of fp8 operands.
inline constexpr int kFp8Capability = 89, kFp8PtxVersion = 84;

bool hasMatrixProduct(const NvidiaArch &arch, mlir::Type lhs, mlir::Type rhs, mlir::Type acc,
                      tile::InputPrecision precision);

llvm::SmallVector<llvm::Value *, 4> emitMatrixProduct(llvm::IRBuilderBase &builder, mlir::Type lhs,
                                                      mlir::Type rhs,
                                                      llvm::ArrayRef<llvm::Value *> a,
                                                      llvm::ArrayRef<llvm::Value *> b,
                                                      llvm::ArrayRef<llvm::Value *> acc);

llvm::Value *emitRoundToTf32(llvm::IRBuilderBase &builder, llvm::Value *value);

} // namespace sectile::nvidia
