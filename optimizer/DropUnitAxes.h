//===-- DropUnitAxes.h - blocks of batches and heads are matrices -----------------------------===//
// Arrays of batches and heads have more dimensions than a product or a copy engine's buffer:
// kernels take blocks of extent one along the others, and reshape them. The blocks become matrices
// at once:
//
//   %x = block_load %a[%b, %m, %k] ... -> tensor<1x64x32xf16>
//   %y = reshape %x : tensor<1x64x32xf16> -> tensor<64x32xf16>
//   ==>
//   %y = block_load %a[%b, %m, %k] ... -> tensor<64x32xf16>
//
// and likewise what is stored. Two axes stay, the last always. What stands between the access and
// the reshape, element by element or turned, is computed on the matrix; what wants all of the axes
// gets them from a reshape behind the load.
#pragma once

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// --drop-unit-axes: before --expand-blocks.
std::unique_ptr<mlir::Pass> createDropUnitAxes();

} // namespace sectile::optimizer
