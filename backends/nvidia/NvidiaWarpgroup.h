//===-- NvidiaWarpgroup.h - wgmma -------------------------------------------------------------===//
// Matrix instructions of four warps together, Hopper's alone (PTX ISA, "Asynchronous Warpgroup
// Level Matrix Multiply-Accumulate Instructions"). They read shared memory by the asynchronous
// proxy, so what threads have stored there needs a fence.
#pragma once

#include "backends/gpu/GpuAbilities.h"

namespace sectile::nvidia {

class NvidiaWarpgroupProducts final : public gpu::BufferProducts {
public:
  layout::MatrixInstructions instructions(const layout::MatrixElements &elements) const override;
  const layout::MatrixInstruction *named(llvm::StringRef name) const override;
  int64_t leastTurnWords() const override;
  llvm::SmallVector<llvm::Value *, 4> begin(llvm::IRBuilderBase &builder,
                                            llvm::ArrayRef<llvm::Value *> values) const override;
  llvm::SmallVector<llvm::Value *, 4> start(llvm::IRBuilderBase &builder,
                                            const layout::MatrixInstruction &instruction,
                                            const Operand &a, const Operand &b,
                                            llvm::ArrayRef<llvm::Value *> acc,
                                            bool isFresh) const override;
  void commit(llvm::IRBuilderBase &builder) const override;
  llvm::SmallVector<llvm::Value *, 4> wait(llvm::IRBuilderBase &builder, unsigned pending,
                                           llvm::ArrayRef<llvm::Value *> values,
                                           bool isPinned) const override;
  void fence(llvm::IRBuilderBase &builder) const override;
};

} // namespace sectile::nvidia
