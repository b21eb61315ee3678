//===-- Combiner.h - the region of a reduce or scan, applied to one thread's values -----------===//
// Elements that a tile's padding holds take no part. Where the region is one operation whose
// identity is known, they become that; otherwise every value travels with a flag that says whether
// it is there.
//
//   Combiner combiner(emitter, op.getCombiner().front());
//   Partial sum = combiner.combine(left, right);
#pragma once

#include "backends/gpu/GpuEmitter.h"

namespace sectile::gpu {

/// One value per operand of the reduce or scan, or nothing yet.
struct Partial {
  llvm::SmallVector<llvm::Value *, 2> values;
  /// i1; null means that the values are there.
  llvm::Value *exists = nullptr;
};

class Combiner {
public:
  Combiner(GpuEmitter &emitter, mlir::Block &region);

  unsigned operandCount() const { return identities.size(); }
  llvm::Type *type(unsigned operand) const { return types[operand]; }
  mlir::Type element(unsigned operand) const { return elements[operand]; }
  /// True when swapping the two sides gives the same bits.
  bool isSymmetric() const { return symmetric; }

  /// lhs . rhs, in this order.
  Partial combine(const Partial &lhs, const Partial &rhs);
  /// The same in two lanes that exchange their partials and combine them to the same bits,
  /// whichever comes first: were the operation fused with what made a lane's own number, each lane
  /// would round the other's alone.
  Partial combineAlike(const Partial &own, const Partial &other);
  /// The value where `condition` holds, else nothing. A null `condition` always holds.
  Partial onlyIf(Partial partial, llvm::Value *condition);
  /// Whether the partial is a product that one instruction multiplies and adds to another partial.
  bool addsProduct(const Partial &partial) const;
  Partial select(llvm::Value *condition, const Partial &ifTrue, const Partial &ifFalse);
  /// The partial of all lanes of the warp, by one instruction; nullopt: there is none.
  std::optional<Partial> combineAllLanes(const Partial &partial);
  /// The partial of the lane whose number differs by `mask`.
  Partial shuffleXor(const Partial &partial, unsigned mask);

private:
  bool hasIdentity() const { return identities.front() != nullptr; }

  GpuEmitter &emitter;
  llvm::IRBuilder<> &builder;
  mlir::Block &region;
  llvm::SmallVector<mlir::Type, 2> elements;
  llvm::SmallVector<llvm::Type *, 2> types;
  llvm::SmallVector<llvm::Constant *, 2> identities; // null: not known
  bool symmetric = false, contractsSums = false;
  std::optional<tile::RmwKind> ofLanes; // of integers of at most 32 bits
};

} // namespace sectile::gpu
