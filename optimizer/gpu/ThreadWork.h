//===-- ThreadWork.h - what a thread holds, and how often -----------------------------------===//
#pragma once

#include "lang/layout/TileLayout.h"
#include "lang/tile/TileDialect.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sectile::optimizer {

class CheapValues;

inline bool isInLoop(mlir::Operation *op) {
  return op->getParentOfType<mlir::scf::ForOp>() || op->getParentOfType<mlir::scf::WhileOp>();
}

/// Whether there are matrix products in the operation.
bool multiplies(mlir::Operation *around);

/// 32-bit registers of a thread that a laid-out tile, or a scalar, takes.
inline int64_t wordsPerThread(mlir::Type type) {
  mlir::Type element = tile::elementTypeOf(type);
  int64_t bits = mlir::isa<tile::PtrType>(element) ? 64 : element.getIntOrFloatBitWidth();
  const layout::TileLayout *layout = tile::layoutOf(type);
  return llvm::divideCeil(uint64_t(bits * (layout ? layout->registersPerThread() : 1)), 32);
}

/// Returns the most 32-bit registers of a thread that tiles take at any place in the loop.
int64_t peakWords(mlir::scf::ForOp loop, const CheapValues &cheap);

} // namespace sectile::optimizer
