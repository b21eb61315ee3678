//===-- ExpandBlocks.h - blocks of arrays as pointers and masks -------------------------------===//
// What tensor descriptors and block pointers read and write becomes ordinary loads and stores:
//
//   %x = tile.block_load %p[%i] of [%n] by [%s] checked = [true]
//        : !tile.ptr<f32> -> tensor<64xf32>
//   ==>
//   %start = arith.muli %i, %s                      the block's first element
//   %k = tile.arange 0, 64                          elements of the block: base[start + k * s],
//   %m = 0 <= %i + %k < %n                          where they lie within the array
//   %x = tile.load (%p + %start) + %k * %s, %m
//
// With keep-blocks, for GPUs with a copy engine, a load or store also says which block it accesses,
// where that has zeros outside the array:
//
//   %b = tile.block %p[%i] of [%n] by [%s]
//   %x = tile.load ..., %m within %b
//
// An axis that is not checked goes on as far as numbers of 32 bits do; a block that may lie beyond
// them, or before the array, is one of pointers alone.
//
// The offsets within the block do not depend on where it lies, so they leave the loops that move
// it.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --expand-blocks=keep-blocks=false
std::unique_ptr<mlir::Pass> createExpandBlocks(bool keepsBlocks = false);

} // namespace sectile::optimizer
