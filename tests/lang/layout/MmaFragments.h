// Fragments of mma.sync for operands of so many bits.
#pragma once

#include "lang/layout/Builders.h"
#include "lang/layout/NvidiaMatrixInstructions.h"

#include "llvm/ADT/STLExtras.h"

namespace sectile::layout {

inline const MatrixInstruction &mmaSync(unsigned operandBits) {
  return *llvm::find_if(mmaSyncInstructions(), [&](const MatrixInstruction &instruction) {
    return bitsOf(instruction.elements.lhs) == operandBits;
  });
}

inline TileLayout mmaAccumulator(Counts shape, Counts warps, unsigned operandBits) {
  return accumulatorOf(mmaSync(operandBits), shape, warps);
}

inline TileLayout mmaOperand(MatrixSide side, Counts shape, Counts warps, unsigned operandBits,
                             int64_t neighbours = 0) {
  return operandOf(mmaSync(operandBits), side, shape, warps, neighbours);
}

} // namespace sectile::layout
