//===-- ConstantArguments.h - arrays that stay as they are while a kernel runs ----------------===//
// A number that a loop loads for the whole program is a scalar load on some GPUs, if nothing that
// the loop stores can change it:
//
//   for tile in range(start, end):
//       expert = tl.load(expert_ids + tile)     # expert_ids is constant
//       ...
//       tl.store(out + ..., ...)
//
// Arguments are assumed to share no memory, as in LoopWrites.h. Kernels that order memory (by
// barriers of all of it, atomics whose result is used, volatile loads) have no constant arguments.
#pragma once

#include "optimizer/gpu/LoopWrites.h"

namespace sectile::optimizer {

/// The arguments that such loads read, in no order; adds to `apart` what that assumes.
llvm::SmallVector<unsigned> constantArguments(mlir::func::FuncOp function, bool argumentsOverlap,
                                              llvm::SmallVectorImpl<ApartArguments> &apart);

} // namespace sectile::optimizer
