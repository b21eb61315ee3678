//===-- LoopsAround.h - loops that have a counted loop inside ----------------------------------===//
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sectile::optimizer {

inline bool isAroundLoop(mlir::Region &body) {
  return body.walk([](mlir::scf::ForOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}
inline bool isAroundLoop(mlir::scf::ForOp loop) {
  return isAroundLoop(loop.getRegion());
}

} // namespace sectile::optimizer
