//===-- NarrowOperands.h - widened operands multiplied as they were before --------------------===//
// Kernels load halves, convert them to f32 and multiply these. Products of halves are exact in f32,
// so instructions of halves multiply the same numbers and add them as those of tf32 do, at twice
// the speed and from half of the registers; and what was loaded they may read where it lies.
//
//   %x = arith.extf %a : f16 to f32
//   %y = arith.extf %b : f16 to f32                      %d = tile.dot %a, %b, %c
//   %d = tile.dot %x, %y, %c                       =>        : f16 * f16 -> f32
//       : f32 * f32 -> f32
//
// Left as they are: products that ask for IEEE's sums, and operands of two types. It is a pass for
// targets whose instructions of halves keep subnormal numbers (GpuShape::keepsSubnormals).
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --narrow-operands
std::unique_ptr<mlir::Pass> createNarrowOperands();

} // namespace sectile::optimizer
