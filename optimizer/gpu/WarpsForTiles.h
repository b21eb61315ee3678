//===-- WarpsForTiles.h - as many warps as a kernel's tiles need registers --------------------===//
// What threads cannot hold in registers is spilled. A loop that multiplies keeps what it carries,
// and the sums of the product under way: attention's gradient of 128-wide heads two tiles of
// 128 x 128 f32, which is 256 registers of each of 128 threads, and a thread has 255. A kernel
// without products keeps what it has loaded and still needs: a softmax of 32,768 a row of as many
// numbers. Twice as many warps have the room.
//
//   shape.warpCount = warpsForTiles(function, shape);
#pragma once

#include "optimizer/gpu/GpuShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::optimizer {

/// Returns `shape.warpCount`, or more warps where their threads can hold what the kernel keeps and
/// those could not. The kernel is not laid out.
int64_t warpsForTiles(mlir::func::FuncOp function, const GpuShape &shape);

} // namespace sectile::optimizer
