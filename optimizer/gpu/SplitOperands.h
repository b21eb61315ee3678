//===-- SplitOperands.h - products of f32 by instructions of narrower numbers --------------===//
// `input_precision="bf16x3"` and `"bf16x6"`: an f32 number is nearly the sum of two bf16 numbers,
// and exactly that of three (8 digits each, of 24), if it is neither very small nor very large.
// Products of the parts are exact in f32, and instructions of bf16 make them at twice the speed of
// tf32's. The smallest products are left out.
//
//   %d = tile.dot %x, %y, %c precision = bf16x3
// =>
//   %x0 = truncf %x,  %x1 = truncf (%x - %x0),  and so of %y
//   %small = tile.dot %x0, %y1, (tile.dot %x1, %y0, 0)
//   %d = %c + tile.dot %x0, %y0, (%small where it is finite, 0 elsewhere)
//
// What an infinity leaves is NaN, as is infinity times a part that is zero; without the small
// products such a sum is what IEEE's would be, unless a number of less than 2^-134 meets infinity,
// whose greatest part is zero, too. Numbers of more than 3.39e38 have an infinite part, and are
// infinities to the product. What is below 2^-133 is no part: numbers lose digits from 2^-109
// (three parts) or 2^-117 (two) downwards.
//
// Matrix instructions cut off what they add where IEEE rounds, and all in one direction: sums of
// 4,096 products were 50 times as far off as the parts of their operands. So the products of one
// step are added up apart, and their sum to the accumulator as IEEE adds; those of
// `input_precision="tf32x3"`, whose parts the instructions' emitter makes, too.
//
// Left as they are, and so multiplied in f32: products for whose parts the target has no
// instruction.
//
// Source: G. Henry, P. T. P. Tang, A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence
// Datatype For Higher-Precision Computations", ARITH 2019.
#pragma once

#include "optimizer/gpu/GpuPass.h"

#include <memory>

namespace sectile::optimizer {

/// --split-operands
std::unique_ptr<mlir::Pass> createSplitOperands(const GpuPipelineOptions &options = {});

} // namespace sectile::optimizer
