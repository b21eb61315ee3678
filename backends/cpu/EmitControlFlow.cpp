// Loops and branches. Scalars are carried in SSA values; tiles in buffers that a nest fills before
// the loop, at its end and in every branch.
#include "backends/common/LoopMetadata.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/NestEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
/// A nest that computes `value` into `target`.
void KernelEmitter::writeTile(Value value, TileBuffer *target) {
  if (buffer(value) == target)
    return;
  Nest nest;
  nest.shape.assign(target->shape.begin(), target->shape.end());
  nest.roots.push_back({Root::Kind::Keep, nullptr, value, target});
  NestEmitter(*this, nest).emit();
}

TileBuffer *KernelEmitter::operandBuffer(Value value, llvm::Type *element) {
  if (TileBuffer *known = buffer(value); known && known->element == element)
    return known;
  TileBuffer *made = allocate(shapeOf(value.getType()), element);
  made->narrow = elementTypeOf(value.getType());
  writeTile(value, made);
  return made;
}

/// How computing `value` now reads `source`: not at all, each element only for the element at the
/// same place, or otherwise.
enum class ReadKind { None, SamePlace, Otherwise };

static ReadKind readKindOf(KernelEmitter &kernel, Value value, Value source, bool isSamePlace,
                           llvm::DenseSet<std::pair<Value, unsigned>> &visited) {
  if (value == source)
    return isSamePlace ? ReadKind::SamePlace : ReadKind::Otherwise;
  if (!isTile(value) || kernel.buffer(value) ||
      !visited.insert({value, unsigned(isSamePlace)}).second)
    return ReadKind::None;
  Operation *op = value.getDefiningOp();
  ReadKind kind = ReadKind::None;
  if (!op)
    return kind;
  bool keepsPlace = isSamePlace && (KernelEmitter::isElementwise(op) || isa<LoadOp>(op));
  for (Value operand : op->getOperands())
    kind = std::max(kind, readKindOf(kernel, operand, source, keepsPlace, visited));
  return kind;
}

llvm::SmallVector<llvm::Value *, 4> KernelEmitter::emitYield(ValueRange values,
                                                             ArrayRef<TileBuffer *> targets,
                                                             ValueRange overwritten) {
  // A buffer that another of the values still reads is written by way of a second one.
  SmallVector<std::pair<TileBuffer *, TileBuffer *>> copies; // to, from
  SmallVector<std::pair<Value, TileBuffer *>> writes;
  for (auto [number, value] : llvm::enumerate(values)) {
    if (!targets[number] || buffer(value) == targets[number])
      continue;
    TileBuffer *target = targets[number];
    bool isReadLater = false;
    if (!overwritten.empty())
      for (auto [other, otherValue] : llvm::enumerate(values)) {
        if (!targets[other])
          continue;
        // The buffer of the carried value that this one replaces.
        for (Value old : overwritten) {
          if (buffer(old) != target)
            continue;
          llvm::DenseSet<std::pair<Value, unsigned>> visited;
          ReadKind kind = readKindOf(*this, otherValue, old, true, visited);
          isReadLater |=
              kind == ReadKind::Otherwise || (kind == ReadKind::SamePlace && other != number);
        }
      }
    if (isReadLater) {
      TileBuffer *second = allocate(target->shape, target->element);
      copies.push_back({target, second});
      target = second;
    }
    writes.push_back({value, target});
  }
  // Values of one shape are computed in one nest.
  while (!writes.empty()) {
    Nest nest;
    nest.shape.assign(writes.front().second->shape.begin(), writes.front().second->shape.end());
    SmallVector<std::pair<Value, TileBuffer *>> rest;
    for (auto &[value, target] : writes) {
      if (ArrayRef<int64_t>(target->shape) == ArrayRef<int64_t>(nest.shape))
        nest.roots.push_back({Root::Kind::Keep, nullptr, value, target});
      else
        rest.push_back({value, target});
    }
    NestEmitter(*this, nest).emit();
    writes = rest;
  }
  for (auto [to, from] : copies)
    copyBuffer(to, from);
  llvm::SmallVector<llvm::Value *, 4> results;
  for (Value value : values)
    results.push_back(isTile(value) ? nullptr : scalar(value));
  return results;
}

/// Whether the sum of an index and the step may be no number of their type. An index is less than
/// the end.
static bool mayPassEndOfType(llvm::Value *end, llvm::Value *step, bool isSigned) {
  auto *knownStep = dyn_cast<llvm::ConstantInt>(step), *knownEnd = dyn_cast<llvm::ConstantInt>(end);
  if (knownStep && knownStep->isOne())
    return false;
  if (!knownStep || !knownEnd)
    return true;
  bool overflows;
  llvm::APInt last = knownEnd->getValue() - 1;
  (void)(isSigned ? last.sadd_ov(knownStep->getValue(), overflows)
                  : last.uadd_ov(knownStep->getValue(), overflows));
  return overflows;
}

/// Whether rounds of a loop look if the launch is to stop: those of outermost loops, and of inner
/// ones that work on tiles or have loops in them. Beside the rest, a few scalars, a look would
/// show.
static bool looksUp(scf::ForOp op) {
  constexpr int64_t kShort = 4096;
  auto trips = op.getStaticTripCount();
  if (trips && trips->ult(kShort))
    return false;
  if (!op->getParentOfType<scf::ForOp>() && !op->getParentOfType<scf::WhileOp>())
    return true;
  return llvm::any_of(op.getBody()->without_terminator(), [](Operation &each) {
    return each.getNumRegions() != 0 || llvm::any_of(each.getOperands(), isTile) ||
           llvm::any_of(each.getResults(), isTile);
  });
}

static bool isZeros(Value value) {
  if (auto splat = value.getDefiningOp<SplatOp>())
    value = splat.getSrc();
  Attribute number;
  if (!matchPattern(value, m_Constant(&number)))
    return false;
  if (auto elements = dyn_cast<SplatElementsAttr>(number))
    number = elements.getSplatValue<Attribute>();
  if (auto real = dyn_cast<FloatAttr>(number))
    return real.getValue().isPosZero();
  auto integer = dyn_cast<IntegerAttr>(number);
  return integer && integer.getValue().isZero();
}

/// The product that alone uses what the loop carries, in its buffer, and begins with zeros: its
/// first round need not read them.
static DotOp sumFromZero(scf::ForOp loop, unsigned number,
                         const llvm::DenseSet<Operation *> &dotsInPlace) {
  auto dot = loop.getBody()->getTerminator()->getOperand(number).getDefiningOp<DotOp>();
  Value carried = loop.getRegionIterArg(number);
  return dot && dotsInPlace.contains(dot) && dot.getAcc() == carried && carried.hasOneUse() &&
                 isZeros(loop.getInitArgs()[number])
             ? dot
             : DotOp{};
}

void KernelEmitter::emitWhen(llvm::Value *condition, const char *name,
                             llvm::function_ref<void()> emit) {
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  llvm::BasicBlock *exit = start->splitBasicBlock(after, llvm::Twine(name) + ".end");
  start->getTerminator()->eraseFromParent();
  auto *body = llvm::BasicBlock::Create(builder.getContext(), name, kernel, exit);
  builder.SetInsertPoint(start);
  builder.CreateCondBr(condition, body, exit);
  builder.SetInsertPoint(body);
  builder.SetInsertPoint(builder.CreateBr(exit));
  emit();
  builder.SetInsertPoint(after);
}

LogicalResult KernelEmitter::emitFor(scf::ForOp op) {
  bool isSigned = !op.getUnsignedCmp();
  llvm::Value *low = scalar(op.getLowerBound()), *high = scalar(op.getUpperBound()),
              *step = scalar(op.getStep());
  SmallVector<DotOp> sumsFromZero;
  SmallVector<TileBuffer *> targets;
  SmallVector<llvm::Value *, 4> initial;
  for (auto [number, init, argument, result] :
       llvm::enumerate(op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    if (!isTile(init)) {
      targets.push_back(nullptr);
      initial.push_back(scalar(init));
      continue;
    }
    TileBuffer *carried = allocateFor(argument);
    if (DotOp dot = sumFromZero(op, unsigned(number), plan.dotsInPlace)) {
      sumsFromZero.push_back(dot);
      llvm::Value *isEmpty =
          isSigned ? builder.CreateICmpSGE(low, high) : builder.CreateICmpUGE(low, high);
      emitWhen(isEmpty, "zeros", [&] { writeTile(init, carried); });
    } else {
      writeTile(init, carried);
    }
    setBuffer(argument, carried);
    setBuffer(result, carried);
    targets.push_back(carried);
  }
  int64_t frameAtEntry = frameBytes;
  prepareDotRounds(op);
  prepareOperandsAhead(op);
  llvm::Value *lastButOne = nullptr;
  if (mayPassEndOfType(high, step, isSigned))
    lastButOne = builder.CreateBinaryIntrinsic(
        isSigned ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::usub_sat, high, step);
  EmittedLoop loop = beginLoop(low, high, step, initial, /*mayBeEmpty=*/true, isSigned);
  loop.lastButOne = lastButOne;
  setScalar(op.getInductionVar(), loop.induction);
  for (DotOp dot : sumsFromZero)
    startsAtZero[dot] = builder.CreateICmpEQ(loop.induction, low);
  unsigned next = 0;
  for (Value argument : op.getRegionIterArgs())
    if (!isTile(argument))
      setScalar(argument, loop.carried[next++]);
  if (mlir::failed(emitBlock(*op.getBody())))
    return failure();
  auto yielded = emitYield(op.getBody()->getTerminator()->getOperands(), targets,
                           ValueRange(op.getRegionIterArgs()));
  llvm::erase(yielded, nullptr);
  if (looksUp(op))
    emitPoll();
  auto results = endLoop(loop, yielded);
  backends::markLoop(op, *loop.backEdge);
  next = 0;
  for (Value result : op.getResults())
    if (!isTile(result))
      setScalar(result, results[next++]);
  frameBytes = frameAtEntry;
  return success(!hasFailed);
}

LogicalResult KernelEmitter::emitIf(scf::IfOp op) {
  SmallVector<TileBuffer *> targets;
  for (Value result : op.getResults()) {
    targets.push_back(isTile(result) ? allocateFor(result) : nullptr);
    if (targets.back())
      setBuffer(result, targets.back());
  }
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  llvm::BasicBlock *exit = start->splitBasicBlock(after, "endif");
  start->getTerminator()->eraseFromParent();
  auto makeBlock = [&](const char *name) {
    auto *block = llvm::BasicBlock::Create(builder.getContext(), name, kernel, exit);
    builder.SetInsertPoint(block);
    llvm::Instruction *end = builder.CreateBr(exit);
    return end;
  };
  llvm::Instruction *thenEnd = makeBlock("then");
  bool hasElse = !op.getElseRegion().empty();
  llvm::Instruction *elseEnd = hasElse ? makeBlock("else") : nullptr;
  llvm::Value *condition = scalar(op.getCondition());
  builder.SetInsertPoint(start);
  builder.CreateCondBr(condition, thenEnd->getParent(), hasElse ? elseEnd->getParent() : exit);

  auto emitSide = [&](Region &region,
                      llvm::Instruction *end) -> FailureOr<llvm::SmallVector<llvm::Value *, 4>> {
    builder.SetInsertPoint(end);
    int64_t frameAtEntry = frameBytes;
    if (mlir::failed(emitBlock(region.front())))
      return failure();
    auto results = emitYield(region.front().getTerminator()->getOperands(), targets, {});
    frameBytes = frameAtEntry;
    return results;
  };
  auto thenResults = emitSide(op.getThenRegion(), thenEnd);
  if (mlir::failed(thenResults))
    return failure();
  if (hasElse) {
    auto elseResults = emitSide(op.getElseRegion(), elseEnd);
    if (mlir::failed(elseResults))
      return failure();
    builder.SetInsertPoint(exit, exit->begin());
    for (auto [result, thenValue, elseValue] :
         llvm::zip(op.getResults(), *thenResults, *elseResults)) {
      if (isTile(result))
        continue;
      auto *merged = builder.CreatePHI(thenValue->getType(), 2);
      merged->addIncoming(thenValue, thenEnd->getParent());
      merged->addIncoming(elseValue, elseEnd->getParent());
      setScalar(result, merged);
    }
  }
  builder.SetInsertPoint(after);
  return success(!hasFailed);
}

LogicalResult KernelEmitter::emitWhile(scf::WhileOp op) {
  // before: the condition and what is passed on; after: the body. Tiles have a buffer on either
  // side.
  SmallVector<TileBuffer *> beforeTargets, afterTargets;
  SmallVector<llvm::Value *, 4> initial;
  for (auto [init, argument] : llvm::zip(op.getInits(), op.getBeforeArguments())) {
    if (!isTile(init)) {
      beforeTargets.push_back(nullptr);
      initial.push_back(scalar(init));
      continue;
    }
    beforeTargets.push_back(allocateFor(argument));
    writeTile(init, beforeTargets.back());
    setBuffer(argument, beforeTargets.back());
  }
  for (auto [argument, result] : llvm::zip(op.getAfterArguments(), op.getResults())) {
    afterTargets.push_back(isTile(argument) ? allocateFor(argument) : nullptr);
    if (afterTargets.back()) {
      setBuffer(argument, afterTargets.back());
      setBuffer(result, afterTargets.back());
    }
  }
  int64_t frameAtEntry = frameBytes;
  llvm::Instruction *afterLoop = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  llvm::BasicBlock *exit = start->splitBasicBlock(afterLoop, "endwhile");
  start->getTerminator()->eraseFromParent();
  auto *before = llvm::BasicBlock::Create(builder.getContext(), "while", kernel, exit);
  auto *after = llvm::BasicBlock::Create(builder.getContext(), "do", kernel, exit);
  builder.SetInsertPoint(start);
  builder.CreateBr(before);

  builder.SetInsertPoint(before);
  SmallVector<llvm::PHINode *> phis;
  unsigned next = 0;
  for (Value argument : op.getBeforeArguments()) {
    if (isTile(argument))
      continue;
    phis.push_back(builder.CreatePHI(initial[next]->getType(), 2));
    phis.back()->addIncoming(initial[next++], start);
    setScalar(argument, phis.back());
  }
  builder.SetInsertPoint(builder.CreateBr(after));
  if (mlir::failed(emitBlock(*op.getBeforeBody())))
    return failure();
  auto condition = op.getConditionOp();
  auto passed = emitYield(condition.getArgs(), afterTargets, {});
  llvm::Value *goesOn = scalar(condition.getCondition());
  llvm::Instruction *placeholder = &*builder.GetInsertPoint();
  builder.CreateCondBr(goesOn, after, exit);
  placeholder->eraseFromParent();
  for (auto [argument, result, value] : llvm::zip(op.getAfterArguments(), op.getResults(), passed))
    if (value) {
      setScalar(argument, value);
      setScalar(result, value);
    }

  builder.SetInsertPoint(after);
  builder.SetInsertPoint(builder.CreateBr(before));
  if (mlir::failed(emitBlock(*op.getAfterBody())))
    return failure();
  auto yielded = emitYield(op.getYieldOp().getOperands(), beforeTargets, {});
  llvm::erase(yielded, nullptr);
  emitPoll();
  for (auto [phi, value] : llvm::zip(phis, yielded))
    phi->addIncoming(value, builder.GetInsertBlock());
  backends::markLoop(op, *builder.GetInsertBlock()->getTerminator());
  builder.SetInsertPoint(afterLoop);
  frameBytes = frameAtEntry;
  return success(!hasFailed);
}

} // namespace sectile::cpu
