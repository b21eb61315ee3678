//===-- NvidiaMatrix.h - mma.sync -------------------------------------------------------------===//
// Matrix instructions that every target from sm_80 on has: one warp, fragments in registers
// (lang/layout/NvidiaMatrixInstructions.h says which element is where; PTX ISA, "mma.sync").
#pragma once

#include "backends/gpu/GpuAbilities.h"
#include "backends/nvidia/NvidiaArch.h"

namespace sectile::nvidia {

/// From when on there are those of fp8 operands.
inline constexpr int kFp8Capability = 89, kFp8PtxVersion = 84;
/// sm_90 has none of them among `mma.sync`: ptxas would make conversions and products of f16 of
/// them, and converts wrongly what it knows to be zero (13.0). So we do it.
bool hasFp8Products(int capability);

class NvidiaMatrixProducts final : public gpu::MatrixProducts {
public:
  explicit NvidiaMatrixProducts(NvidiaArch arch) : arch(std::move(arch)) {}
  layout::MatrixInstructions instructions(const layout::MatrixElements &elements) const override;
  bool keepsSubnormals() const override { return true; }
  llvm::SmallVector<llvm::Value *, 4> multiply(llvm::IRBuilderBase &builder,
                                               const layout::MatrixInstruction &instruction,
                                               llvm::ArrayRef<llvm::Value *> a,
                                               llvm::ArrayRef<llvm::Value *> b,
                                               llvm::ArrayRef<llvm::Value *> acc) const override;

private:
  NvidiaArch arch;
};

class NvidiaTf32Rounding final : public gpu::Tf32Rounding {
public:
  explicit NvidiaTf32Rounding(int capability) : capability(capability) {}
  llvm::Value *round(llvm::IRBuilderBase &builder, llvm::Value *value) const override;

private:
  int capability;
};

} // namespace sectile::nvidia
