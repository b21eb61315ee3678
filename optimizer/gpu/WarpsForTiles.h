//===-- WarpsForSums.h - as many warps as a loop's sums need registers -----------------------===//
// A loop that multiplies keeps what it carries, and the sums of the product under way, in
// registers: attention's gradient of 128-wide heads two tiles of 128 x 128 f32, which is 256
// registers of each of 128 threads, and a thread has 255. What does not fit is spilled in every
// round. Twice as many warps have the room.
//
//   shape.warpCount = warpsForSums(function, shape);
#pragma once

#include "optimizer/gpu/GpuShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::optimizer {

/// Returns `shape.warpCount`, or more warps where their threads can hold what a loop with products
/// keeps and those could not. The kernel is not laid out.
int64_t warpsForSums(mlir::func::FuncOp function, const GpuShape &shape);

} // namespace sectile::optimizer
