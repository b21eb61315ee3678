//===-- ReorderBroadcast.h - computes before repeating ----------------------------------------===//
// What is the same for a whole tile, row or column is computed once and then repeated, instead of
// the other way round. Uniform work ends up on scalars, where the analyses see it and every target
// has it for nothing.
//
//   before                                              after
//   %a = tile.splat %x : f32 -> tensor<64xf32>          %c = arith.mulf %x, %y : f32
//   %b = tile.splat %y : f32 -> tensor<64xf32>          %d = tile.splat %c : f32 -> tensor<64xf32>
//   %d = arith.mulf %a, %b : tensor<64xf32>
//
//   %a = tile.broadcast %r : 64x1 -> 64x32              %c = math.exp %r : tensor<64x1xf32>
//   %c = math.exp %a : tensor<64x32xf32>                %d = tile.broadcast %c : 64x1 -> 64x32
//
// Holds for elementwise operations, pointer arithmetic, and loads through one address under one
// mask. Changes of shape of something uniform become splats of the final shape.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

std::unique_ptr<mlir::Pass> createReorderBroadcast();

} // namespace sectile::optimizer
