// Prefix masks: a mask `col < n` holds for the first n - col(0) positions of a row and for no
// other. Up to the least such bound of a nest's accesses the vector loop needs no mask at all.
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

/// Whether a number that counts up along a row may have been extended from one that wraps in the
/// row.
static bool mayWrapBeforeExtension(Value counting) {
  SmallVector<Value> left{counting};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!left.empty()) {
    Operation *op = left.pop_back_val().getDefiningOp();
    if (!op || isa<ArangeOp, SplatOp, arith::ConstantOp>(op) || !seen.insert(op).second)
      continue;
    if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp>(op)) {
      Operation *narrow = op->getOperand(0).getDefiningOp();
      while (isa_and_nonnull<BroadcastOp, ExpandDimsOp, TransposeOp, HintOp>(narrow))
        narrow = narrow->getOperand(0).getDefiningOp();
      if (!isa_and_nonnull<ArangeOp, SplatOp, arith::ConstantOp>(narrow))
        return true;
      continue;
    }
    left.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Nothing when the mask is not of that form. `at` starts at position 0.
std::optional<NestEmitter::Prefix> NestEmitter::prefixOf(Value mask, const Coordinate &at) {
  llvm::Value *extent = kernel.index(nest.shape[vectorDimension]);
  auto uniform = [&](llvm::Value *condition) {
    llvm::Value *count = emitAt(levelOf(condition), [&] {
      return builder.CreateSelect(condition, extent, kernel.index(0));
    });
    return Prefix{count, count};
  };
  if (laneStep(mask, at) == 0) {
    Coordinate first(at);
    for (LaneIndex &index : first) {
      if (index.vector)
        return std::nullopt;
      index.step = 0;
    }
    return uniform(evaluate(mask, first));
  }
  Operation *op = mask.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<BroadcastOp, ExpandDimsOp, TransposeOp>(op))
    return prefixOf(op->getOperand(0), sourceCoordinate(op, 0, at));
  if (isa<arith::AndIOp>(op)) {
    auto lhs = prefixOf(op->getOperand(0), at);
    auto rhs = lhs ? prefixOf(op->getOperand(1), at) : std::nullopt;
    if (!rhs)
      return std::nullopt;
    auto least = [&](llvm::Value *x, llvm::Value *y) {
      return emitAt(std::max(levelOf(x), levelOf(y)),
                    [&] { return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); });
    };
    return Prefix{least(lhs->holdsUpTo, rhs->holdsUpTo), least(lhs->failsFrom, rhs->failsFrom)};
  }
  auto cmp = dyn_cast<arith::CmpIOp>(op);
  if (!cmp)
    return std::nullopt;
  using P = arith::CmpIPredicate;
  Value moving = cmp.getLhs(), limit = cmp.getRhs();
  P predicate = cmp.getPredicate();
  if (predicate == P::sgt || predicate == P::sge || predicate == P::ugt || predicate == P::uge) {
    std::swap(moving, limit);
    predicate = predicate == P::sgt   ? P::slt
                : predicate == P::sge ? P::sle
                : predicate == P::ugt ? P::ult
                                      : P::ule;
  }
  bool isSigned = predicate == P::slt || predicate == P::sle;
  bool isUnsigned = predicate == P::ult || predicate == P::ule;
  if ((!isSigned && !isUnsigned) || laneStep(moving, at) != 1 || laneStep(limit, at) != 0)
    return std::nullopt;
  Coordinate first(at);
  for (LaneIndex &index : first)
    index.step = 0;
  llvm::Value *start = evaluate(moving, first), *end = evaluate(limit, first);
  unsigned bits = start->getType()->getScalarSizeInBits();
  if (bits > 64)
    return std::nullopt;
  unsigned level = std::max(levelOf(start), levelOf(end));
  llvm::Type *wide = builder.getInt64Ty();
  auto widen = [&](llvm::Value *number) {
    return isSigned ? builder.CreateSExt(number, wide) : builder.CreateZExt(number, wide);
  };
  llvm::Value *count = emitAt(level, [&] {
    llvm::Value *from = widen(start), *to = widen(end);
    // From `from` on every position holds until `to` is reached; none may hold when it lies behind,
    // also where numbers wrap later in the row. The distance is unsigned: it may exceed 2^63.
    bool isInclusive = predicate == P::sle || predicate == P::ule;
    auto order = isSigned ? (isInclusive ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_SLT)
                          : (isInclusive ? llvm::CmpInst::ICMP_ULE : llvm::CmpInst::ICMP_ULT);
    llvm::Value *holds = builder.CreateICmp(order, from, to);
    auto atMostExtent = [&](llvm::Value *count) {
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, extent);
    };
    llvm::Value *count = atMostExtent(builder.CreateSub(to, from));
    if (isInclusive)
      count = atMostExtent(builder.CreateAdd(count, kernel.index(1)));
    return builder.CreateSelect(holds, count, kernel.index(0));
  });
  // Where the numbers of the row wrap, the mask may hold again at its end.
  llvm::APInt most =
      isSigned ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  uint64_t distance = uint64_t(nest.shape[vectorDimension] - 1);
  if (most.ult(distance) || mayWrapBeforeExtension(moving))
    return Prefix{count, extent};
  most -= distance;
  llvm::Value *failsFrom = emitAt(level, [&] {
    auto order = isSigned ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
    llvm::Value *wrapsNowhere =
        builder.CreateICmp(order, start, llvm::ConstantInt::get(start->getType(), most));
    return builder.CreateSelect(wrapsNowhere, count, extent);
  });
  return Prefix{count, failsFrom};
}

llvm::Value *NestEmitter::findPrefixBound() {
  if (lanes == 1)
    return nullptr;
  Coordinate start = current;
  llvm::Value *unknown = nullptr;
  if (innerDimension) {
    // Not known before the loop inside: whatever depends on it is no bound.
    unknown = builder.CreateFreeze(llvm::PoisonValue::get(builder.getInt64Ty()));
    levels[unknown] = 1u << 20;
    start[*innerDimension] = {unknown};
  }
  constexpr unsigned kUnknownLevel = 1u << 20;

  // Masks of accesses, with the coordinates they are read at. A mask reached in two ways, or
  // through ops that reorder elements, is left alone.
  SmallVector<std::pair<Value, Coordinate>> masks;
  llvm::DenseMap<Value, Coordinate> seenAt, doneAt;
  llvm::DenseSet<Value> ambiguous, foundAsMask;
  llvm::DenseSet<Value> leftAlone;
  auto leaveAlone = [&](auto &self, Value value) -> void {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<RankedTensorType>(value.getType()) || !leftAlone.insert(value).second)
      return;
    if (elementTypeOf(value.getType()).isInteger(1))
      ambiguous.insert(value);
    for (Value operand : op->getOperands())
      self(self, operand);
  };
  auto visit = [&](auto &self, Value value, const Coordinate &at, bool isMask) -> void {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<RankedTensorType>(value.getType()))
      return;
    if (kernel.buffer(value) && !keptHere.contains(value))
      return;
    if (elementTypeOf(value.getType()).isInteger(1)) {
      auto [known, isNew] = seenAt.try_emplace(value, at);
      if (!isNew && known->second != at)
        ambiguous.insert(value);
      // It may have been reached as an operand of a selection before.
      if (isMask && foundAsMask.insert(value).second)
        masks.push_back({value, at});
    }
    if (!isMask) {
      // What is read at two coordinates of the nest has no mask that holds for both.
      auto known = doneAt.find(value);
      if (known != doneAt.end()) {
        if (known->second != at)
          leaveAlone(leaveAlone, value);
        return;
      }
      doneAt.insert({value, at});
    }
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (load.getMask()) {
        self(self, load.getMask(), at, true);
        accessMasks[load.getMask()] = {};
      }
      self(self, load.getPtr(), at, false);
      if (load.getOther())
        self(self, load.getOther(), at, false);
      return;
    }
    if (isa<BroadcastOp, ExpandDimsOp, TransposeOp>(op)) {
      self(self, op->getOperand(0), sourceCoordinate(op, 0, at), isMask);
      return;
    }
    if (isa<ReshapeOp, FlipOp, SplitOp, JoinOp, CatOp, GatherOp>(op)) {
      leaveAlone(leaveAlone, value);
      return;
    }
    bool passesMask = isMask && isa<arith::AndIOp>(op);
    for (Value operand : op->getOperands())
      self(self, operand, at, passesMask);
  };
  for (const Root &root : nest.roots) {
    if (!root.op) {
      visit(visit, root.value, start, false);
      continue;
    }
    auto store = dyn_cast<StoreOp>(root.op);
    for (Value operand : root.op->getOperands())
      visit(visit, operand, start, store && operand == store.getMask());
    if (store && store.getMask())
      accessMasks[store.getMask()] = {};
  }

  llvm::Value *bound = nullptr;
  for (auto &[mask, at] : masks) {
    if (ambiguous.contains(mask) || (kernel.buffer(mask) && !keptHere.contains(mask)))
      continue;
    auto prefix = prefixOf(mask, at);
    if (!prefix || levelOf(prefix->holdsUpTo) >= kUnknownLevel)
      continue;
    llvm::Value *count = prefix->holdsUpTo;
    assumed.insert(mask);
    if (auto *known = accessMasks.find(mask); known != accessMasks.end())
      known->second = {at, prefix->failsFrom};
    bound = !bound ? count : emitAt(std::max(levelOf(bound), levelOf(count)), [&, known = bound] {
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, known, count);
    });
  }
  accessMasks.remove_if([](const auto &mask) { return !mask.second.failsFrom; });
  return bound;
}

} // namespace sectile::cpu
