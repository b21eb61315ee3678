// Reductions inside a nest. Along the vectors: several vector accumulators, folded at the end by
// shuffles. Across them: one accumulator vector per vector of the other dimension.
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
namespace {

/// The number that changes nothing, when the combiner is one operation that has such a number.
llvm::Constant *identityOf(Block &combiner, llvm::Type *type) {
  if (combiner.getNumArguments() != 2 || !llvm::hasNItems(combiner, 2))
    return nullptr;
  Operation &op = combiner.front();
  auto yield = combiner.getTerminator();
  bool combinesBoth = op.getNumOperands() == 2 && op.getNumResults() == 1 &&
                      yield->getOperand(0) == op.getResult(0) &&
                      op.getOperand(0) != op.getOperand(1) &&
                      isa<BlockArgument>(op.getOperand(0)) && isa<BlockArgument>(op.getOperand(1));
  if (!combinesBoth)
    return nullptr;
  unsigned bits = type->getScalarSizeInBits();
  auto integer = [&](const APInt &number) {
    return llvm::ConstantInt::get(type->getContext(), number);
  };
  return llvm::TypeSwitch<Operation *, llvm::Constant *>(&op)
      .Case([&](arith::AddFOp) { return llvm::ConstantFP::get(type, -0.0); })
      .Case([&](arith::MulFOp) { return llvm::ConstantFP::get(type, 1.0); })
      .Case([&](arith::MaximumFOp) { return llvm::ConstantFP::getInfinity(type, true); })
      .Case([&](arith::MinimumFOp) { return llvm::ConstantFP::getInfinity(type, false); })
      // maxnum(NaN, x) is x, for every x.
      .Case<arith::MaxNumFOp, arith::MinNumFOp>(
          [&](auto) { return llvm::ConstantFP::getNaN(type); })
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(
          [&](auto) { return integer(APInt(bits, 0)); })
      .Case<arith::AndIOp, arith::MinUIOp>([&](auto) { return integer(APInt::getAllOnes(bits)); })
      .Case([&](arith::MulIOp) { return integer(APInt(bits, 1)); })
      .Case([&](arith::MaxSIOp) { return integer(APInt::getSignedMinValue(bits)); })
      .Case([&](arith::MinSIOp) { return integer(APInt::getSignedMaxValue(bits)); })
      .Default([](Operation *) { return nullptr; });
}

} // namespace

void NestEmitter::prepareReductions() {
  for (const Root &root : nest.roots) {
    auto op = dyn_cast_or_null<ReduceOp>(root.op);
    if (!op || root.kind != Root::Kind::Reduce)
      continue;
    Reduction reduction{op, nullptr, accumulatorsPerCopy};
    llvm::Type *type = kernel.registerType(elementTypeOf(op.getOperand(0).getType()));
    reduction.identity = identityOf(op.getCombiner().front(), type);
    hasIdentities &= reduction.identity != nullptr;
    accumulatorsPerCopy += op.getNumResults();
    for (Value result : op.getResults())
      if (isa<RankedTensorType>(result.getType()))
        kernel.setBuffer(result, kernel.allocateFor(result));
    reductions.push_back(reduction);
  }
}

llvm::SmallVector<llvm::Value *, 4> NestEmitter::initialAccumulators(unsigned copies) {
  accumulatorCopies = copies;
  llvm::SmallVector<llvm::Value *, 4> initial;
  for (unsigned copy = 0; copy < copies; ++copy)
    for (const Reduction &reduction : reductions)
      for (Value source : reduction.op.getSrcs()) {
        llvm::Type *type = kernel.registerType(elementTypeOf(source.getType()));
        llvm::Constant *one = reduction.identity ? cast<llvm::Constant>(reduction.identity)
                                                 : llvm::Constant::getNullValue(type);
        initial.push_back(
            lanes == 1 ? one
                       : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), one));
      }
  return initial;
}

void NestEmitter::accumulate(unsigned copy, const Reduction &reduction,
                             ArrayRef<llvm::Value *> values) {
  unsigned first = copy * accumulatorsPerCopy + reduction.firstAccumulator;
  unsigned count = values.size();
  SmallVector<llvm::Value *, 4> arguments;
  for (unsigned number = 0; number < count; ++number)
    arguments.push_back(accumulators[first + number]);
  for (llvm::Value *value : values)
    arguments.push_back(splat(value));
  auto combined = kernel.emitCombiner(reduction.op.getCombiner().front(), arguments);
  for (unsigned number = 0; number < count; ++number) {
    llvm::Value *next = combined[number];
    if (!reduction.identity)
      next = builder.CreateSelect(isFirst, arguments[count + number], next);
    if (body.laneMask && !innerDimension)
      next = builder.CreateSelect(body.laneMask, next, arguments[number]);
    accumulators[first + number] = next;
  }
}

/// Folds the lanes of one vector per source.
llvm::SmallVector<llvm::Value *, 2>
NestEmitter::combineLanes(const Reduction &reduction, llvm::SmallVector<llvm::Value *, 2> values) {
  if (lanes == 1)
    return values;
  Block &combiner = reduction.op.getCombiner().front();
  // Lanes past the extent never held anything, unless an identity.
  unsigned valid =
      reduction.identity ? lanes : std::min<int64_t>(lanes, nest.shape[vectorDimension]);
  // Halves, so that the later steps work on short vectors.
  for (unsigned half = lanes / 2; half > 0; half /= 2) {
    SmallVector<llvm::Value *, 4> arguments;
    for (bool isUpper : {false, true})
      for (llvm::Value *value : values) {
        SmallVector<int, 16> order;
        for (unsigned lane = 0; lane < half; ++lane)
          order.push_back(lane + (isUpper ? half : 0));
        arguments.push_back(half == 1
                                ? builder.CreateExtractElement(value, uint64_t(isUpper ? 1 : 0))
                                : builder.CreateShuffleVector(value, order));
      }
    auto combined = kernel.emitCombiner(combiner, arguments);
    for (auto [number, value] : llvm::enumerate(values)) {
      llvm::Value *lower = arguments[number];
      if (valid >= 2 * half)
        value = combined[number];
      else if (valid <= half)
        value = lower;
      else {
        llvm::SmallVector<llvm::Constant *, 16> hasPartner;
        for (unsigned lane = 0; lane < half; ++lane)
          hasPartner.push_back(builder.getInt1(lane + half < valid));
        value =
            builder.CreateSelect(llvm::ConstantVector::get(hasPartner), combined[number], lower);
      }
    }
    valid = std::min(valid, half);
  }
  return values;
}

void NestEmitter::finishReductions(const Coordinate &outer) {
  if (innerDimension)
    return; // stored vector by vector
  for (const Reduction &reduction : reductions) {
    unsigned count = reduction.op.getNumResults();
    llvm::SmallVector<llvm::Value *, 2> values;
    for (unsigned number = 0; number < count; ++number)
      values.push_back(accumulators[reduction.firstAccumulator + number]);
    for (unsigned copy = 1; copy < accumulatorCopies; ++copy) {
      SmallVector<llvm::Value *, 4> arguments(values.begin(), values.end());
      for (unsigned number = 0; number < count; ++number)
        arguments.push_back(
            accumulators[copy * accumulatorsPerCopy + reduction.firstAccumulator + number]);
      values = kernel.emitCombiner(reduction.op.getCombiner().front(), arguments);
    }
    Coordinate at(outer);
    at.erase(at.begin() + vectorDimension);
    storeReduction(reduction, at, combineLanes(reduction, values));
  }
}

void NestEmitter::storeReduction(const Reduction &reduction, const Coordinate &at,
                                 ArrayRef<llvm::Value *> values) {
  for (auto [result, value] : llvm::zip(reduction.op.getResults(), values)) {
    if (TileBuffer *buffer = kernel.buffer(result))
      writeBuffer(*buffer, at, value);
    else
      kernel.setScalar(result, value);
  }
}

} // namespace sectile::cpu
