// Loops and branches: one phi for every scalar and every register of every tile that is carried.
#include "backends/common/LoopMetadata.h"
#include "backends/gpu/GpuEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

/// How many registers go into a word of 32 bits; 1: they are carried one by one.
static unsigned perWord(Value value, llvm::Type *registerType) {
  if (!isa<RankedTensorType>(value.getType()))
    return 1;
  unsigned bits = registerType->getScalarSizeInBits();
  bool isWhole = bits >= 8 && bits < 32 &&
                 tile::layoutOf(value.getType())->registersPerThread() * bits % 32 == 0;
  return isWhole ? 32 / bits : 1;
}

/// All values, one after another; those of which `inWords` is true, in words of 32 bits.
Registers GpuEmitter::flatten(ValueRange values, const llvm::BitVector &inWords) {
  Registers all;
  for (auto [number, value] : llvm::enumerate(values)) {
    const Registers &own = valuesOf(value);
    unsigned count = inWords.any() && inWords[number] ? perWord(value, own[0]->getType()) : 1;
    if (count == 1)
      llvm::append_range(all, own);
    else
      for (size_t first = 0; first < own.size(); first += count)
        all.push_back(wordOf(builder, ArrayRef<llvm::Value *>(own).slice(first, count)));
  }
  return all;
}

/// The inverse: hands out `all` to `values`.
void GpuEmitter::distribute(ArrayRef<llvm::Value *> all, ValueRange values,
                            const llvm::BitVector &inWords) {
  for (auto [number, value] : llvm::enumerate(values)) {
    size_t count =
        isa<RankedTensorType>(value.getType()) ? layoutOf(value).registersPerThread() : 1;
    Registers own;
    llvm::Type *type = registerType(elementTypeOf(value.getType()));
    unsigned perRegister = inWords.any() && inWords[number] ? perWord(value, type) : 1;
    for (llvm::Value *held : all.take_front(count / perRegister))
      if (perRegister == 1) {
        own.push_back(held);
      } else {
        auto *vector = llvm::FixedVectorType::get(type, perRegister);
        llvm::Value *elements = builder.CreateBitCast(held, vector);
        for (unsigned lane = 0; lane < perRegister; ++lane)
          own.push_back(elementOf(builder, elements, lane));
      }
    setValues(value, std::move(own));
    all = all.drop_front(count / perRegister);
  }
}

/// Whether a product takes the tile from registers as its left operand.
static bool isTakenByProduct(Value tile) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    auto product = dyn_cast<DotAsyncOp>(user);
    return product && product.getLhs() == tile;
  });
}

/// The values that stay in packed words across the back edge: as they were loaded, since unpacking
/// them would force a wait for the load, or as a product takes them.
static llvm::BitVector carriedInWords(scf::ForOp loop) {
  llvm::BitVector inWords(loop.getNumRegionIterArgs());
  for (auto [number, value] : llvm::enumerate(loop.getYieldedValues()))
    inWords[number] =
        value.getDefiningOp<LoadOp>() || isTakenByProduct(loop.getRegionIterArg(number));
  return inWords;
}

llvm::BasicBlock *GpuEmitter::newBlock(const char *name) {
  return llvm::BasicBlock::Create(builder.getContext(), name, kernel);
}

/// A phi for each value, with its first incoming one.
SmallVector<llvm::PHINode *, 8> GpuEmitter::startPhis(ArrayRef<llvm::Value *> initial,
                                                      llvm::BasicBlock *from) {
  SmallVector<llvm::PHINode *, 8> phis;
  for (llvm::Value *value : initial) {
    phis.push_back(builder.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, from);
  }
  return phis;
}

void GpuEmitter::emitIf(llvm::Value *condition, llvm::function_ref<void()> then) {
  if (!condition)
    return then();
  llvm::BasicBlock *inside = newBlock("then"), *after = newBlock("endif");
  builder.CreateCondBr(condition, inside, after);
  builder.SetInsertPoint(inside);
  then();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

/// (high - low - 1) / step, unsigned, in a loop that is entered; no division by a step of 0 in one
/// that is not.
static llvm::Value *roundsAfterFirst(llvm::IRBuilderBase &b, llvm::Value *isEntered,
                                     llvm::Value *low, llvm::Value *high, llvm::Value *step) {
  llvm::Value *one = llvm::ConstantInt::get(low->getType(), 1);
  llvm::Value *safeStep =
      llvm::isa<llvm::Constant>(step) ? step : b.CreateSelect(isEntered, step, one);
  return b.CreateUDiv(b.CreateSub(b.CreateSub(high, low), one), safeStep);
}

/// Returns the first index that no round of an entered loop has, which it reaches at the end and
/// never before, in the bits of the index. The step is a power of two, so that no carry is of
/// account; nothing is added behind the mask that LLVM could take away from both sides of the
/// comparison.
static llvm::Value *indexBehindLast(llvm::IRBuilderBase &b, llvm::Value *low, llvm::Value *high,
                                    llvm::ConstantInt *step) {
  if (step->isOne())
    return high;
  llvm::Value *most = llvm::ConstantInt::get(step->getType(), step->getValue() - 1),
              *span = b.CreateAdd(b.CreateSub(high, low), most);
  return b.CreateAdd(low, b.CreateAnd(span, b.CreateNot(most)));
}

/// Whether rounds of the loop are worth unrolling: their loads are then under way together. Code
/// around matrix products has its copies ahead as it is, and no registers to spare.
static bool mayBeUnrolled(scf::ForOp loop) {
  return !loop.getBody()
              ->walk([](Operation *op) {
                return isa<DotOp, DotAsyncOp, AsyncCopyOp, TensorCopyOp, scf::ForOp, scf::WhileOp>(
                           op)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

LogicalResult GpuEmitter::emitFor(scf::ForOp op) {
  llvm::Value *low = scalar(op.getLowerBound()), *high = scalar(op.getUpperBound()),
              *step = scalar(op.getStep());
  bool isUnsigned = op.getUnsignedCmp();
  llvm::Value *isEntered =
      isUnsigned ? builder.CreateICmpULT(low, high) : builder.CreateICmpSLT(low, high);
  // A further round follows those that begin before high - step. Asked so, nothing overflows. ptxas
  // unrolls only loops that end as the next index is compared: with the one that is behind the
  // last, where the step is a known power of two (of 32 bits: it takes 64-bit bounds beyond 2^63
  // for negative ones).
  // Unsigned indices are counted instead.
  llvm::Value *lastButOne = nullptr, *furtherRounds = nullptr, *behindLast = nullptr;
  auto *knownStep = llvm::dyn_cast<llvm::ConstantInt>(step);
  if (isUnsigned)
    furtherRounds = roundsAfterFirst(builder, isEntered, low, high, step);
  else if (knownStep && knownStep->getBitWidth() <= 32 && knownStep->getValue().isPowerOf2() &&
           mayBeUnrolled(op))
    behindLast = indexBehindLast(builder, low, high, knownStep);
  else
    lastButOne = builder.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, high, step);
  llvm::BitVector inWords = carriedInWords(op);
  Registers initial = flatten(op.getInitArgs(), inWords);
  llvm::BasicBlock *before = builder.GetInsertBlock(), *body = newBlock("loop"),
                   *after = newBlock("loop.done");
  builder.CreateCondBr(isEntered, body, after);

  builder.SetInsertPoint(body);
  auto *index = builder.CreatePHI(low->getType(), 2);
  index->addIncoming(low, before);
  llvm::PHINode *rounds = nullptr;
  if (isUnsigned) {
    rounds = builder.CreatePHI(low->getType(), 2);
    rounds->addIncoming(furtherRounds, before);
  }
  auto carried = startPhis(initial, before);
  setScalar(op.getInductionVar(), index);
  distribute(Registers(carried.begin(), carried.end()), op.getRegionIterArgs(), inWords);
  if (mlir::failed(emitBlock(*op.getBody())))
    return failure();
  Registers next = flatten(op.getBody()->getTerminator()->getOperands(), inWords);
  llvm::BasicBlock *end = builder.GetInsertBlock();
  llvm::Value *nextIndex = builder.CreateAdd(index, step);
  index->addIncoming(nextIndex, end);
  for (auto [phi, value] : llvm::zip(carried, next))
    phi->addIncoming(value, end);
  llvm::Value *goesOn = nullptr;
  if (isUnsigned) {
    goesOn = builder.CreateIsNotNull(rounds);
    rounds->addIncoming(builder.CreateSub(rounds, llvm::ConstantInt::get(rounds->getType(), 1)),
                        end);
  } else if (behindLast) {
    goesOn = builder.CreateICmpNE(nextIndex, behindLast);
  } else {
    goesOn = builder.CreateICmpSLT(index, lastButOne);
  }
  backends::markLoop(op, *builder.CreateCondBr(goesOn, body, after));

  builder.SetInsertPoint(after);
  auto results = startPhis(initial, before);
  for (auto [phi, value] : llvm::zip(results, next))
    phi->addIncoming(value, end);
  distribute(Registers(results.begin(), results.end()), op.getResults(), inWords);
  return success(!hasFailed);
}

LogicalResult GpuEmitter::emitScfIf(scf::IfOp op) {
  llvm::BasicBlock *start = builder.GetInsertBlock(), *then = newBlock("then"),
                   *after = newBlock("endif");
  bool hasElse = !op.getElseRegion().empty();
  llvm::BasicBlock *otherwise = hasElse ? newBlock("else") : after;
  builder.SetInsertPoint(start);
  builder.CreateCondBr(scalar(op.getCondition()), then, otherwise);
  builder.SetInsertPoint(then);
  if (mlir::failed(emitBlock(op.getThenRegion().front())))
    return failure();
  Registers thenValues = flatten(op.getThenRegion().front().getTerminator()->getOperands());
  llvm::BasicBlock *thenEnd = builder.GetInsertBlock();
  builder.CreateBr(after);
  if (!hasElse) {
    builder.SetInsertPoint(after);
    return success(!hasFailed);
  }
  builder.SetInsertPoint(otherwise);
  if (mlir::failed(emitBlock(op.getElseRegion().front())))
    return failure();
  Registers elseValues = flatten(op.getElseRegion().front().getTerminator()->getOperands());
  llvm::BasicBlock *elseEnd = builder.GetInsertBlock();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
  auto results = startPhis(thenValues, thenEnd);
  for (auto [phi, value] : llvm::zip(results, elseValues))
    phi->addIncoming(value, elseEnd);
  distribute(Registers(results.begin(), results.end()), op.getResults());
  return success(!hasFailed);
}

LogicalResult GpuEmitter::emitWhile(scf::WhileOp op) {
  Registers initial = flatten(op.getInits());
  llvm::BasicBlock *before = builder.GetInsertBlock(), *test = newBlock("while"),
                   *body = newBlock("while.body"), *after = newBlock("while.done");
  builder.CreateBr(test);
  builder.SetInsertPoint(test);
  auto carried = startPhis(initial, before);
  distribute(Registers(carried.begin(), carried.end()), op.getBeforeArguments());
  // It may wait for a program that has been stopped. In a function of elements it waits for
  // nothing, and threads are not together.
  if (!op->getParentOfType<MapOp>())
    returnIfStopped();
  if (mlir::failed(emitBlock(*op.getBeforeBody())))
    return failure();
  auto condition = op.getConditionOp();
  Registers passed = flatten(condition.getArgs());
  builder.CreateCondBr(scalar(condition.getCondition()), body, after);
  builder.SetInsertPoint(body);
  distribute(passed, op.getAfterArguments());
  if (mlir::failed(emitBlock(*op.getAfterBody())))
    return failure();
  Registers next = flatten(op.getYieldOp()->getOperands());
  for (auto [phi, value] : llvm::zip(carried, next))
    phi->addIncoming(value, builder.GetInsertBlock());
  backends::markLoop(op, *builder.CreateBr(test));
  builder.SetInsertPoint(after);
  distribute(passed, op.getResults());
  return success(!hasFailed);
}

} // namespace sectile::gpu
