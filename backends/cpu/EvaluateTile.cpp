// Tile values at a coordinate, by recursion through the ops that make them.
#include "backends/cpu/NestEmitter.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

llvm::Value *NestEmitter::evaluate(Value value, const Coordinate &at) {
  if (!isa<RankedTensorType>(value.getType()))
    return kernel.scalar(value);
  if (body.masks == Masks::Hold && assumed.contains(value))
    return builder.getTrue();
  if (body.masks == Masks::Fail && accessMasks.contains(value))
    return builder.getFalse();
  auto &entries = memo[value];
  for (const Memo &entry : entries)
    if (entry.at == at && entry.masks == body.masks && entry.laneMask == body.laneMask)
      return entry.result;
  llvm::Value *result = compute(value, at);
  memo[value].push_back({at, body.masks, body.laneMask, result});
  return result;
}

llvm::Value *NestEmitter::compute(Value value, const Coordinate &at) {
  Type element = elementTypeOf(value.getType());
  // Padding is recomputed, because reading it from a buffer hides that it is the same everywhere.
  bool isRecomputed = body.masks == Masks::Fail && !isUniform(at);
  if (TileBuffer *buffer = kernel.buffer(value);
      buffer && !keptHere.contains(value) && !isRecomputed)
    return readBuffer(*buffer, element, at);
  Operation *op = value.getDefiningOp();
  if (!op) {
    kernel.fail(value.getParentRegion()->getParentOp(), "tile argument without a buffer");
    return llvm::PoisonValue::get(kernel.registerType(element));
  }
  unsigned resultNumber = cast<OpResult>(value).getResultNumber();
  llvm::DebugLoc caller = builder.getCurrentDebugLocation();
  builder.SetCurrentDebugLocation(kernel.lines->at(op->getLoc()));
  llvm::scope_exit restore([&] { builder.SetCurrentDebugLocation(caller); });
  return llvm::TypeSwitch<Operation *, llvm::Value *>(op)
      .Case([&](arith::ConstantOp constant) -> llvm::Value * {
        auto elements = cast<DenseElementsAttr>(constant.getValue());
        if (elements.isSplat())
          return kernel.constantOf(elements.getSplatValue<Attribute>(), element);
        return readBuffer(*kernel.denseConstant(value, elements), element, at);
      })
      .Case([&](ArangeOp arange) {
        llvm::Value *position = indexAs(at[0], builder.getInt32Ty());
        return arithmetic(llvm::Instruction::Add, position, builder.getInt32(arange.getStart()));
      })
      .Case([&](SplatOp splat) { return kernel.scalar(splat.getSrc()); })
      .Case<BroadcastOp, ExpandDimsOp, ReshapeOp, TransposeOp, FlipOp, SplitOp>([&](Operation *) {
        return evaluate(op->getOperand(0), sourceCoordinate(op, resultNumber, at));
      })
      .Case([&](JoinOp join) { return evaluateJoin(join, at); })
      .Case([&](CatOp cat) { return evaluateCat(cat, at); })
      .Case([&](GatherOp gather) { return evaluateGather(gather, at); })
      .Case([&](LoadOp load) { return evaluateLoad(load, at); })
      .Default([&](Operation *) -> llvm::Value * {
        if (KernelEmitter::isElementwise(op))
          return evaluateElementwise(op, resultNumber, at);
        kernel.fail(op, "no lowering to host code");
        return llvm::PoisonValue::get(kernel.registerType(element));
      });
}

llvm::Value *NestEmitter::evaluateElementwise(Operation *op, unsigned result,
                                              const Coordinate &at) {
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (auto *condition = dyn_cast<llvm::ConstantInt>(evaluate(select.getCondition(), at)))
      return evaluate(condition->isZero() ? select.getFalseValue() : select.getTrueValue(), at);
  SmallVector<llvm::Value *, 4> operands;
  unsigned level = 0;
  for (Value operand : op->getOperands()) {
    operands.push_back(evaluate(operand, at));
    level = std::max(level, levelOf(operands.back()));
  }
  return emitAt(level, [&] { return kernel.emitElementwise(op, operands)[result]; });
}

//===-- Coordinates of operands ---------------------------------------------------------------===//

llvm::Value *NestEmitter::arithmetic(llvm::Instruction::BinaryOps op, llvm::Value *lhs,
                                     llvm::Value *rhs) {
  unsigned level = std::max(levelOf(lhs), levelOf(rhs));
  return emitAt(level, [&] {
    if (lhs->getType()->isVectorTy() && !rhs->getType()->isVectorTy())
      rhs = builder.CreateVectorSplat(lanes, rhs);
    if (rhs->getType()->isVectorTy() && !lhs->getType()->isVectorTy())
      lhs = builder.CreateVectorSplat(lanes, lhs);
    return builder.CreateBinOp(op, lhs, rhs);
  });
}

llvm::Value *NestEmitter::indexVector(const LaneIndex &index) {
  return indexAs(index, builder.getInt64Ty());
}

llvm::Value *NestEmitter::indexAs(const LaneIndex &index, llvm::Type *type) {
  llvm::Value *from = index.vector ? index.vector : index.base;
  return emitAt(levelOf(from), [&]() -> llvm::Value * {
    if (index.vector)
      return builder.CreateTrunc(from, vectorOf(type));
    llvm::Value *base = builder.CreateTrunc(from, type);
    if (index.isScalar())
      return base;
    llvm::SmallVector<llvm::Constant *, 16> steps;
    for (unsigned lane = 0; lane < lanes; ++lane)
      steps.push_back(llvm::ConstantInt::getSigned(type, index.step * lane));
    return builder.CreateAdd(builder.CreateVectorSplat(lanes, base),
                             llvm::ConstantVector::get(steps));
  });
}

Coordinate NestEmitter::sourceCoordinate(Operation *op, unsigned resultNumber,
                                         const Coordinate &at) {
  auto from = shapeOf(op->getOperand(0).getType());
  const LaneIndex zero{kernel.index(0), 0, nullptr, 1 << 16};
  Coordinate source(at);
  if (isa<BroadcastOp>(op)) {
    for (auto [extent, index] : llvm::zip(from, source))
      if (extent == 1)
        index = zero;
  } else if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    source.erase(source.begin() + expand.getAxis());
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [dim, origin] : llvm::enumerate(transpose.getOrder()))
      source[origin] = at[dim];
  } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    source = reshapeCoordinate(shapeOf(reshape.getType()), from, at);
  } else if (auto flip = dyn_cast<FlipOp>(op)) {
    LaneIndex &index = source[flip.getAxis()];
    llvm::Value *last = kernel.index(from[flip.getAxis()] - 1);
    if (index.vector)
      index.vector = arithmetic(llvm::Instruction::Sub, last, index.vector);
    index.base = arithmetic(llvm::Instruction::Sub, last, index.base);
    index.step = -index.step;
    index.divisor = 1;
  } else if (isa<SplitOp>(op)) {
    source.push_back({kernel.index(resultNumber), 0, nullptr, 1});
  }
  return source;
}

/// Row-major position `at` of shape `result`, in shape `from`. Both shapes fall into groups of
/// neighbouring dimensions with equal products; each group is merged to one index and taken apart
/// again.
Coordinate NestEmitter::reshapeCoordinate(ArrayRef<int64_t> result, ArrayRef<int64_t> from,
                                          const Coordinate &at) {
  const LaneIndex zero{kernel.index(0), 0, nullptr, 1 << 16};
  Coordinate source(from.size(), zero);
  unsigned r = 0, f = 0;
  while (r < result.size() || f < from.size()) {
    unsigned resultBegin = r, fromBegin = f;
    int64_t resultProduct = r < result.size() ? result[r++] : 1;
    int64_t fromProduct = f < from.size() ? from[f++] : 1;
    while (resultProduct != fromProduct) {
      if (resultProduct < fromProduct)
        resultProduct *= result[r++];
      else
        fromProduct *= from[f++];
    }
    // Merge: index = ((i0 * e1) + i1) * e2 + ...
    LaneIndex merged = at.empty() ? zero : resultBegin < result.size() ? at[resultBegin] : zero;
    for (unsigned dim = resultBegin + 1; dim < r; ++dim) {
      const LaneIndex &next = at[dim];
      llvm::Value *extent = kernel.index(result[dim]);
      if (merged.vector || next.vector) {
        llvm::Value *high = merged.isScalar() ? merged.base : indexVector(merged);
        llvm::Value *low = next.isScalar() ? next.base : indexVector(next);
        merged.vector = arithmetic(llvm::Instruction::Add,
                                   arithmetic(llvm::Instruction::Mul, high, extent), low);
        merged.divisor = 1;
        continue;
      }
      merged.base = arithmetic(llvm::Instruction::Add,
                               arithmetic(llvm::Instruction::Mul, merged.base, extent), next.base);
      merged.divisor = std::gcd(merged.divisor * result[dim], next.divisor);
      merged.step = merged.step * result[dim] + next.step;
    }
    // Take apart, innermost first.
    for (unsigned dim = f; dim-- > fromBegin;) {
      if (dim == fromBegin) {
        source[dim] = merged;
        break;
      }
      int64_t extent = from[dim];
      if (extent == 1)
        continue;
      llvm::Value *divisor = kernel.index(extent);
      LaneIndex quotient{}, remainder{};
      int64_t span = merged.step * (int64_t(lanes) - 1);
      bool staysInside =
          !merged.vector && merged.step >= 0 && span < std::gcd(merged.divisor, extent);
      if (!merged.vector && (merged.isScalar() || staysInside)) {
        quotient.base = arithmetic(llvm::Instruction::UDiv, merged.base, divisor);
        remainder.base = arithmetic(llvm::Instruction::URem, merged.base, divisor);
        remainder.step = merged.step;
        remainder.divisor = std::gcd(merged.divisor, extent);
      } else {
        llvm::Value *all = indexVector(merged);
        quotient.base = remainder.base = kernel.index(0);
        quotient.vector = arithmetic(llvm::Instruction::UDiv, all, divisor);
        remainder.vector = arithmetic(llvm::Instruction::URem, all, divisor);
      }
      source[dim] = remainder;
      merged = quotient;
    }
  }
  return source;
}

//===-- Ops that choose among sources ---------------------------------------------------------===//

llvm::Value *NestEmitter::evaluateJoin(JoinOp op, const Coordinate &at) {
  LaneIndex which = at.back();
  Coordinate source(at);
  source.pop_back();
  if (which.isScalar())
    if (auto *constant = dyn_cast<llvm::ConstantInt>(which.base))
      return evaluate(constant->isZero() ? op.getLhs() : op.getRhs(), source);
  llvm::Value *lhs = evaluate(op.getLhs(), source), *rhs = evaluate(op.getRhs(), source);
  llvm::Value *number = which.isScalar() ? which.base : indexVector(which);
  unsigned level = std::max({levelOf(lhs), levelOf(rhs), levelOf(number)});
  return emitAt(level, [&] {
    llvm::Value *isLeft =
        builder.CreateICmpEQ(number, llvm::ConstantInt::get(number->getType(), 0));
    if (isLeft->getType()->isVectorTy() || lhs->getType()->isVectorTy() ||
        rhs->getType()->isVectorTy()) {
      lhs = splat(lhs);
      rhs = splat(rhs);
    }
    return builder.CreateSelect(isLeft, lhs, rhs);
  });
}

llvm::Value *NestEmitter::evaluateCat(CatOp op, const Coordinate &at) {
  unsigned axis = op.getAxis();
  int64_t split = shapeOf(op.getLhs().getType())[axis];
  llvm::Value *number = at[axis].isScalar() ? at[axis].base : indexVector(at[axis]);
  auto clamped = [&](llvm::Intrinsic::ID id, llvm::Value *value, int64_t limit) {
    return emitAt(levelOf(value), [&] {
      return builder.CreateBinaryIntrinsic(id, value,
                                           llvm::ConstantInt::getSigned(value->getType(), limit));
    });
  };
  auto sideCoordinate = [&](llvm::Value *position) {
    Coordinate source(at);
    source[axis] = {};
    source[axis].base = position->getType()->isVectorTy() ? kernel.index(0) : position;
    source[axis].vector = position->getType()->isVectorTy() ? position : nullptr;
    return source;
  };
  // Each side is read inside its own extent; the select then picks the side meant.
  llvm::Value *left =
      evaluate(op.getLhs(), sideCoordinate(clamped(llvm::Intrinsic::smin, number, split - 1)));
  llvm::Value *shifted = arithmetic(llvm::Instruction::Sub, number, kernel.index(split));
  llvm::Value *right =
      evaluate(op.getRhs(), sideCoordinate(clamped(llvm::Intrinsic::smax, shifted, 0)));
  unsigned level = std::max({levelOf(left), levelOf(right), levelOf(number)});
  return emitAt(level, [&] {
    llvm::Value *isLeft =
        builder.CreateICmpSLT(number, llvm::ConstantInt::get(number->getType(), split));
    if (isLeft->getType()->isVectorTy() || left->getType()->isVectorTy() ||
        right->getType()->isVectorTy()) {
      left = splat(left);
      right = splat(right);
    }
    return builder.CreateSelect(isLeft, left, right);
  });
}

llvm::Value *NestEmitter::evaluateGather(GatherOp op, const Coordinate &at) {
  unsigned axis = op.getAxis();
  int64_t extent = shapeOf(op.getSrc().getType())[axis];
  llvm::Value *picked = evaluate(op.getIndex(), at);
  checkGather(op, picked, accessMask({}, at));
  // An index outside the extent gives some element instead of reading elsewhere.
  picked = emitAt(levelOf(picked), [&] {
    llvm::Type *wide = picked->getType()->isVectorTy()
                           ? (llvm::Type *)vectorOf(builder.getInt64Ty())
                           : builder.getInt64Ty();
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin,
                                         builder.CreateSExtOrTrunc(picked, wide),
                                         llvm::ConstantInt::get(wide, extent - 1));
  });
  Coordinate source(at);
  source[axis] = {};
  source[axis].base = picked->getType()->isVectorTy() ? kernel.index(0) : picked;
  source[axis].vector = picked->getType()->isVectorTy() ? picked : nullptr;
  return evaluate(op.getSrc(), source);
}

} // namespace sectile::cpu
