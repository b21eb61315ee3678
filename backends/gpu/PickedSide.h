//===-- PickedSide.h - combiners that keep one of their two sides -----------------------------===//
// The greatest number and where it was: such a region compares the numbers, and where they are
// equal the places, and returns one side whole. Two lanes that exchange what they have agree on it
// without knowing which of them comes first, if the region keeps the same element wherever it
// stands.
#pragma once

#include "mlir/IR/Block.h"

namespace sectile::gpu {

/// Whether the combiner's region keeps one of its two sides whole, by comparisons of both sides'
/// numbers, and the same one when they change places, as long as the numbers of operand `position`
/// differ.
bool keepsOneWhereverItStands(mlir::Block &region, unsigned position);

/// Whether what the region makes of operand `operand` is one of the two numbers that it had.
bool keepsNumbers(mlir::Block &region, unsigned operand);

} // namespace sectile::gpu
