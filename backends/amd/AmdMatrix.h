//===-- AmdMatrix.h - MFMA and WMMA -----------------------------------------------------------===//
// lang/layout/AmdMatrixInstructions.h says which element is where.
#pragma once

#include "backends/amd/AmdArch.h"
#include "backends/gpu/GpuAbilities.h"

namespace sectile::amd {

class AmdMatrixProducts final : public gpu::MatrixProducts {
public:
  AmdMatrixProducts(AmdArch arch, int32_t extent) : arch(std::move(arch)), extent(extent) {}
  int64_t preferredExtent() const override { return extent; }
  layout::MatrixInstructions instructions(const layout::MatrixElements &elements) const override;
  bool keepsSubnormals() const override { return arch.keepsSubnormalHalves; }
  int64_t stepsReadTogether(const layout::MatrixInstruction &instruction) const override;
  llvm::SmallVector<llvm::Value *, 4> multiply(llvm::IRBuilderBase &builder,
                                               const layout::MatrixInstruction &instruction,
                                               llvm::ArrayRef<llvm::Value *> a,
                                               llvm::ArrayRef<llvm::Value *> b,
                                               llvm::ArrayRef<llvm::Value *> acc) const override;

private:
  AmdArch arch;
  int32_t extent;
};

} // namespace sectile::amd
