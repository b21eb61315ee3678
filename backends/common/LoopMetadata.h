//===-- LoopMetadata.h - what LLVM should know of a loop of the kernel ------------------------===//
//   markLoop(op, *backEdge);     // tile.disable_licm: LLVM leaves invariants where they are, too
#pragma once

#include "llvm/IR/Instruction.h"
#include "mlir/IR/Operation.h"

namespace sectile::backends {

/// `backEdge` is the branch from the end of the loop to its beginning.
void markLoop(mlir::Operation *loop, llvm::Instruction &backEdge);

} // namespace sectile::backends
