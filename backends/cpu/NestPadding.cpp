// Padding: the vectors of a row that lie behind every mask of the nest's accesses. Nothing is
// loaded or stored there, and what is computed is often the same in all lanes: exp(-inf) of a
// softmax. Then it is computed once.
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

/// The mask of an access, at the coordinate of the access: its transpose fails elsewhere.
bool NestEmitter::failsInPadding(Value mask, const Coordinate &at) const {
  auto known = accessMasks.find(mask);
  return known != accessMasks.end() && known->second.at == at;
}

/// Whether `value` does not change from lane to lane where the masks of `accessMasks` fail, and can
/// be computed there. A value that a buffer holds is *recomputed* from what it was made of: then
/// nothing may be read again, for memory and buffers may have changed since.
bool NestEmitter::isSameInPadding(Value value, const Coordinate &at, bool isRecomputed) {
  if (!isa<RankedTensorType>(value.getType()))
    return true;
  if (accessMasks.contains(value))
    return failsInPadding(value, at);
  if (kernel.buffer(value) && !keptHere.contains(value)) {
    if (isUniform(at))
      return !isRecomputed;
    isRecomputed = true;
  }
  Operation *op = value.getDefiningOp();
  return op && isSameInPadding(op, at, isRecomputed);
}

bool NestEmitter::isSameInPadding(Operation *op, const Coordinate &at, bool isRecomputed) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::ConstantOp constant) {
        auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
        return elements && elements.isSplat();
      })
      .Case([](SplatOp) { return true; })
      .Case<BroadcastOp, ExpandDimsOp, TransposeOp>([&](Operation *) {
        return isSameInPadding(op->getOperand(0), sourceCoordinate(op, 0, at), isRecomputed);
      })
      .Case([&](LoadOp load) {
        if (failsInPadding(load.getMask(), at))
          return !load.getOther() || isSameInPadding(load.getOther(), at, isRecomputed);
        return isUniform(at) && !isRecomputed &&
               llvm::all_of(load->getOperands(), [&](Value operand) {
                 return isSameInPadding(operand, at, isRecomputed);
               });
      })
      .Case([&](arith::SelectOp select) {
        if (failsInPadding(select.getCondition(), at))
          return isSameInPadding(select.getFalseValue(), at, isRecomputed);
        return llvm::all_of(select->getOperands(), [&](Value operand) {
          return isSameInPadding(operand, at, isRecomputed);
        });
      })
      .Default([&](Operation *) {
        return KernelEmitter::isElementwise(op) &&
               llvm::all_of(op->getOperands(), [&](Value operand) {
                 return isSameInPadding(operand, at, isRecomputed);
               });
      });
}

llvm::Value *NestEmitter::findPaddingStart() {
  if (accessMasks.empty() || innerDimension || !hasIdentities)
    return nullptr;
  for (const Root &root : nest.roots) {
    bool isSame =
        root.kind == Root::Kind::Store  ? accessMasks.contains(cast<StoreOp>(root.op).getMask())
        : root.kind == Root::Kind::Keep ? isSameInPadding(root.value, current, false)
        : root.kind == Root::Kind::Reduce
            ? llvm::all_of(root.op->getOperands(),
                           [&](Value operand) { return isSameInPadding(operand, current, false); })
            : false;
    if (!isSame)
      return nullptr;
  }
  llvm::Value *last = nullptr;
  for (const auto &[mask, access] : accessMasks) {
    llvm::Value *count = access.failsFrom;
    last = !last ? count : emitAt(std::max(levelOf(last), levelOf(count)), [&, known = last] {
      return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, known, count);
    });
  }
  return emitAt(levelOf(last), [&] {
    llvm::Value *above = builder.CreateAdd(last, kernel.index(lanes - 1));
    return builder.CreateAnd(above, kernel.index(-int64_t(lanes)), "padding");
  });
}

/// A reduction goes on only if one vector of the padding changes it: as all are the same, the next
/// ones change nothing either then. (0 added to a sum; -inf to a maximum.)
void NestEmitter::emitPadding(llvm::Value *start) {
  llvm::Value *extent = kernel.index(nest.shape[vectorDimension]);
  auto accumulateAll = [&](const std::vector<llvm::SmallVector<llvm::Value *, 2>> &values) {
    for (auto [reduction, operands] : llvm::zip(reductions, values))
      accumulate(0, reduction, operands);
  };
  // A loop of one round or none: what follows is not computed for a row without padding.
  EmittedLoop any = kernel.beginLoop(start, extent, extent, accumulators, /*mayBeEmpty=*/true);
  enterLoop(any);
  accumulators.assign(any.carried.begin(), any.carried.end());
  body = {nullptr, Masks::Fail, unsigned(anchors.size()) - 1};
  Coordinate at = current;
  at[vectorDimension] = {start, 1, nullptr, lanes};
  std::vector<llvm::SmallVector<llvm::Value *, 2>> reduced;
  llvm::SmallVector<std::pair<TileBuffer *, llvm::Value *>> kept;
  for (const Root &root : nest.roots) {
    if (root.kind == Root::Kind::Keep)
      kept.push_back(
          {root.target ? root.target : kernel.buffer(root.value), evaluate(root.value, at)});
    if (root.kind != Root::Kind::Reduce)
      continue;
    reduced.emplace_back();
    for (Value operand : root.op->getOperands())
      reduced.back().push_back(evaluate(operand, at));
  }
  body = {};

  if (!kept.empty()) {
    EmittedLoop loop = kernel.beginLoop(start, extent, kernel.index(lanes), {}, false);
    enterLoop(loop);
    at[vectorDimension].base = loop.induction;
    for (auto [buffer, value] : kept)
      writeBuffer(*buffer, at, value);
    kernel.endLoop(loop, {});
    leaveLoop(loop);
  }
  if (!reduced.empty()) {
    auto before = accumulators;
    accumulateAll(reduced);
    llvm::Value *changes = builder.getFalse();
    for (auto [old, next] : llvm::zip(before, accumulators)) {
      if (old == next) // not copy 0's
        continue;
      auto *bits = llvm::FixedVectorType::get(
          builder.getIntNTy(old->getType()->getScalarSizeInBits()), lanes);
      llvm::Value *differs =
          builder.CreateICmpNE(builder.CreateBitCast(old, bits), builder.CreateBitCast(next, bits));
      changes = builder.CreateOr(changes, builder.CreateOrReduce(differs));
    }
    accumulators = before;
    llvm::Value *end = builder.CreateSelect(changes, extent, start);
    EmittedLoop loop =
        kernel.beginLoop(start, end, kernel.index(lanes), accumulators, /*mayBeEmpty=*/true);
    enterLoop(loop);
    accumulators.assign(loop.carried.begin(), loop.carried.end());
    accumulateAll(reduced);
    auto results = kernel.endLoop(loop, accumulators);
    leaveLoop(loop);
    accumulators.assign(results.begin(), results.end());
  }
  auto results = kernel.endLoop(any, accumulators);
  leaveLoop(any);
  accumulators.assign(results.begin(), results.end());
}

} // namespace sectile::cpu
