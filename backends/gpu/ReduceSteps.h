//===-- ReduceSteps.h - what a reduction does, in order ---------------------------------------===//
// Known from the op's types alone, before code is emitted: shared memory is planned from the same
// steps that are emitted (EmitReduce.cpp).
//
//   source -> `reduced` -> ReducePlan -> `slice` -> the result's layout
#pragma once

#include "backends/gpu/GpuTarget.h"
#include "backends/gpu/ReducePlan.h"

namespace sectile::gpu {

struct ReduceSteps {
  ReduceSteps(tile::ReduceOp op, const GpuTarget &target);

  int64_t scratchBytes(tile::ReduceOp op, const GpuTarget &target) const;
  /// Where the results are before the last conversion: warps can read what the first one asks for.
  layout::TileLayout made(tile::ReduceOp op) const;

  llvm::SmallVector<layout::TileLayout, 2> sources; // of each operand
  layout::TileLayout reduced;                       // what they are converted to first
  ReducePlan plan;
  layout::TileLayout slice;
  int64_t partialBytes = 0;
  llvm::SmallVector<int64_t, 3> partialOffsets; // of each operand, and of the flags

private:
  void planFor(tile::ReduceOp op, int axis);
};

} // namespace sectile::gpu
