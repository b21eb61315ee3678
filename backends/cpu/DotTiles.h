//===-- DotTiles.h - matrix products in tile registers (AMX) ----------------------------------===//
// Internal to the matrix products (DotKernel.h): the same product for operands in words, in blocks
// of two by two tiles of the accumulator.
#pragma once

#include "backends/cpu/DotKernel.h"

namespace sectile::cpu {

void emitTileDot(llvm::IRBuilderBase &builder, const DotShape &shape, llvm::Value *lhs,
                 llvm::Value *rhs, llvm::Value *acc);

} // namespace sectile::cpu
