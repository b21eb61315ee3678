//===-- DotLayouts.h - layouts of the tiles of a matrix product -------------------------------===//
// By matrix instructions: the accumulator spreads over the warps in some rectangle, and that fixes
// the operands. By multiply-adds: the accumulator is blocked, the operands may have any layout.
#pragma once

#include "lang/layout/TileLayout.h"
#include "optimizer/gpu/GpuShape.h"

namespace sectile::optimizer {

using LayoutList = llvm::SmallVector<layout::TileLayout, 8>;

/// Whether the product is done by matrix instructions: the warps have one, and the depth is whole.
bool usesMatrixInstructions(tile::DotOp dot, const GpuShape &shape);

/// Every way to spread the warps over the accumulator, the best balanced first.
LayoutList matrixAccumulators(tile::DotOp dot, const GpuShape &shape);
/// Accumulators for multiply-adds: rectangles of several rows and columns per thread.
LayoutList multiplyAddAccumulators(tile::DotOp dot, const GpuShape &shape);

/// The operand that goes with an accumulator of matrixAccumulators.
layout::TileLayout matrixOperand(tile::DotOp dot, const layout::TileLayout &accumulator,
                                 bool isLhs);

} // namespace sectile::optimizer
