//===-- PointerProvenance.h - which arguments a pointer may come from -------------------------===//
// Follows pointers back to the arguments of the kernel, through arithmetic, shapes, selections,
// loops and branches. A pointer made from an integer or read from memory may come from anywhere.
//
//   PointerProvenance provenance(function);
//   provenance.argumentOf(store.getPtr())      // 0, or nullopt when it is not one argument
//   provenance.mayWrite(0)                     // a store or atomic may go through argument 0
#pragma once

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace sectile::optimizer {

class PointerProvenance {
public:
  explicit PointerProvenance(mlir::func::FuncOp function);

  /// The one argument `pointer` comes from.
  std::optional<unsigned> argumentOf(mlir::Value pointer) const;
  bool mayWrite(unsigned argument) const { return written.test(argument); }

private:
  /// Bit i: may come from argument i. One bit more: from anywhere.
  llvm::DenseMap<mlir::Value, llvm::BitVector> origins;
  llvm::BitVector written;
};

/// Whether both are the same distance from the start of their arguments, in the same elements:
/// equal arrays are accessed at equal places.
bool haveSameOffsets(mlir::Value lhs, mlir::Value rhs);

} // namespace sectile::optimizer
