//===-- Builders.h - the layouts that tiles get, and what operations make of them ---------===//
//   blocked({128, 64}, /*sizePerThread=*/{1, 8}, /*threadsPerWarp=*/{4, 8},
//           /*warpsPerBlock=*/{4, 1}, /*order=*/{1, 0})
//
//   is a tile of 128 x 64 where a thread holds 8 neighbours of a row, a warp 4 rows of 64, the 4
//   warps 16 rows below each other, and all that 8 times: 64 registers.
//
// The operations on shapes (slice, expand, broadcast, transpose, reshape, join, split) give the
// layout for which the operation moves no data between threads.
#pragma once

#include "lang/layout/TileLayout.h"

namespace sectile::layout {

using Counts = llvm::ArrayRef<int64_t>;

/// Threads in rectangles. All counts are powers of two; `order` lists the axes, the fastest first.
/// A warp has the product of threadsPerWarp lanes (32 or 64). Where the rectangle is larger than
/// the tile, threads hold copies; `shape` may have any extents.
TileLayout blocked(Counts shape, Counts sizePerThread, Counts threadsPerWarp, Counts warpsPerBlock,
                   llvm::ArrayRef<int> order);

/// The result of reducing along `axis`; also the operand of expand_dims(axis) whose result has
/// `layout`.
TileLayout sliceOf(const TileLayout &layout, int axis);
/// An axis of extent 1 before `axis`.
TileLayout expandDims(const TileLayout &layout, int axis);
/// The operand of a broadcast whose result has `layout`: axes of extent 1 in `operandShape` are
/// collapsed.
TileLayout broadcastOperand(const TileLayout &layout, Counts operandShape);
/// The result of broadcasting a tile of `layout` to `shape`: threads that held copies share the
/// work, then registers are added.
TileLayout broadcast(const TileLayout &layout, Counts shape);
/// Axis i of the result is axis order[i] of `layout`. Registers are renumbered where several axes
/// repeat: map them with registerHolding.
TileLayout transpose(const TileLayout &layout, llvm::ArrayRef<int> order);
/// The same registers in another shape; nullopt when repetition or padding would tear elements
/// apart.
std::optional<TileLayout> reshape(const TileLayout &layout, Counts shape);
/// A last axis of extent 2 in the lowest register bit: register 2r + i is register r of operand i.
TileLayout join(const TileLayout &layout);
/// The halves along the last axis, when that axis has extent 2 and is one register bit.
std::optional<TileLayout> split(const TileLayout &layout);

} // namespace sectile::layout
