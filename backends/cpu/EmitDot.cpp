// Matrix products: operands become dense buffers of the type computed in, then DotKernel.h does the
// work.
#include "backends/cpu/DotKernel.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/NestEmitter.h"
#include "lang/tile/SourcePlace.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

/// Rounds every element of a buffer to a narrow float.
void KernelEmitter::roundBuffer(TileBuffer *buffer, NarrowFloat kind) {
  unsigned lanes = host.laneCount(32);
  auto *type = llvm::FixedVectorType::get(buffer->element, lanes);
  EmittedLoop loop = beginLoop(index(0), index(buffer->bytes / 4), index(lanes), {}, false);
  llvm::Value *address = builder.CreateGEP(buffer->element, buffer->base, loop.induction);
  auto *load = builder.CreateAlignedLoad(type, address, llvm::Align(4));
  builder.CreateAlignedStore(emitRound(builder, host, load, kind), address, llvm::Align(4));
  endLoop(loop, {});
}

/// The word to multiply in; Element when the operands are widened first.
DotWord KernelEmitter::wordOf(DotOp op, llvm::Type *compute) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  Type left = lhs.getElementType(), right = elementTypeOf(op.getRhs().getType());
  llvm::Type *narrow = left.isBF16()       ? builder.getBFloatTy()
                       : left.isInteger(8) ? (llvm::Type *)builder.getInt8Ty()
                                           : nullptr;
  if (left != right || !narrow || lhs.getRank() != 2 ||
      elementTypeOf(op.getType()) != (left.isBF16() ? Type(Float32Type::get(op.getContext()))
                                                    : Type(IntegerType::get(op.getContext(), 32))))
    return DotWord::Element;
  return dotWordFor(host, narrow, compute, lhs.getShape()[1]);
}

/// rhs with rows interleaved into words, in panels.
TileBuffer *KernelEmitter::packedBuffer(const DotRows &rows, DotWord word) {
  int64_t panels = (rows.columns + kPanelColumns - 1) / kPanelColumns;
  TileBuffer *packed =
      allocate({panels, rows.rows / elementsIn(word), kPanelColumns}, builder.getInt32Ty());
  inOwnBlocks("packed", [&] { packRows(builder, host, word, rows, packed->base); });
  return packed;
}

/// Masks of so many elements are evaluated to find out whether they hold everywhere. What is
/// spread over rows or columns counts once.
static constexpr int64_t kMostMaskElements = 512;

static bool isQuicklyChecked(Value mask) {
  if (!mask)
    return true;
  if (auto both = mask.getDefiningOp<arith::AndIOp>())
    return isQuicklyChecked(both.getLhs()) && isQuicklyChecked(both.getRhs());
  if (Operation *op = mask.getDefiningOp(); isa_and_nonnull<BroadcastOp, ExpandDimsOp, SplatOp>(op))
    return isQuicklyChecked(op->getOperand(0));
  auto type = dyn_cast<RankedTensorType>(mask.getType());
  return !type || type.getNumElements() <= kMostMaskElements;
}

llvm::Value *KernelEmitter::holdsEverywhere(Value mask) {
  if (!mask)
    return builder.getTrue();
  if (!isTile(mask))
    return scalar(mask);
  Operation *op = mask.getDefiningOp();
  if (auto both = dyn_cast_or_null<arith::AndIOp>(op)) {
    llvm::Value *lhs = holdsEverywhere(both.getLhs());
    return builder.CreateAnd(lhs, holdsEverywhere(both.getRhs()));
  }
  if (isa_and_nonnull<BroadcastOp, ExpandDimsOp, SplatOp>(op))
    return holdsEverywhere(op->getOperand(0));
  TileBuffer *truths = operandBuffer(mask, builder.getInt8Ty());
  // The elements of a row follow one another; behind them may stand anything.
  constexpr int64_t kChunk = 64;
  int64_t rows = 1, columns = 1;
  for (auto [extent, stride] : llvm::zip(truths->shape, truths->strides))
    (stride == 1 ? columns : rows) *= extent;
  int64_t rowStride = 1;
  for (int64_t stride : truths->strides)
    if (stride != 1)
      rowStride = rowStride == 1 ? stride : std::min(rowStride, stride);
  llvm::Value *holds = builder.getTrue();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; column += kChunk) {
      auto *type = llvm::FixedVectorType::get(builder.getInt8Ty(),
                                              unsigned(std::min(kChunk, columns - column)));
      auto *load =
          builder.CreateAlignedLoad(type,
                                    builder.CreateConstGEP1_64(builder.getInt8Ty(), truths->base,
                                                               uint64_t(row * rowStride + column)),
                                    llvm::Align(1));
      mark(load, MemoryKind::Scratch);
      llvm::Value *isTrue = builder.CreateICmpNE(load, llvm::Constant::getNullValue(type));
      holds = builder.CreateAnd(holds, builder.CreateAndReduce(isTrue));
    }
  return holds;
}

/// Rows shorter than a cache line are copied: a copy has them beside one another.
static constexpr int64_t kLeastRowBytes = 64;

LoadOp KernelEmitter::loadInPlace(DotOp op, Value operand, llvm::Type *held) {
  auto load = operand.getDefiningOp<LoadOp>();
  auto type = cast<RankedTensorType>(operand.getType());
  // A load that has a buffer was executed before: what it read may have changed since.
  if (!load || load->getBlock() != op->getBlock() || buffer(operand) || type.getRank() != 2 ||
      load.getIsVolatile() || options.checkBounds || held != memoryType(type.getElementType()) ||
      type.getShape()[1] * memoryBytes(type.getElementType()) < kLeastRowBytes ||
      !isQuicklyChecked(load.getMask()))
    return {};
  const auto &alongRow = indexFacts().of(load.getPtr()).dimensions[1];
  bool isRow =
      !alongRow.strideSymbol && alongRow.stride == 1 && alongRow.run % type.getShape()[1] == 0;
  return isRow ? load : LoadOp{};
}

llvm::Value *KernelEmitter::rowsOf(LoadOp load, TileBuffer *inArray, llvm::Type *held) {
  llvm::Value *isWhole = holdsEverywhere(load.getMask());
  if (auto *constant = dyn_cast<llvm::ConstantInt>(isWhole); constant && constant->isOne()) {
    // No nest copies it and says so.
    auto argument = plan.provenance->argumentOf(load.getPtr());
    const int64_t bytes = memoryBytes(elementTypeOf(load.getType()));
    addRemark(image.remarks, load.getLoc(), "load", "read by the product where it lies",
              {{"bytes", bytes},
               {"element_bytes", bytes},
               {"lanes", 1},
               {"argument", argument ? int64_t(*argument) : -1},
               {"is_masked", false}});
    return inArray->base;
  }
  TileBuffer *copy = allocate(shapeOf(load.getType()), held);
  copy->narrow = elementTypeOf(load.getType());
  TileBuffer *rows = allocate(inArray->shape, builder.getPtrTy());

  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  llvm::BasicBlock *exit = start->splitBasicBlock(after, "rows");
  start->getTerminator()->eraseFromParent();
  auto *masked = llvm::BasicBlock::Create(builder.getContext(), "masked", kernel, exit);
  builder.SetInsertPoint(start);
  builder.CreateCondBr(isWhole, exit, masked);
  builder.SetInsertPoint(masked);
  builder.SetInsertPoint(builder.CreateBr(exit));
  writeTile(load.getResult(), copy);
  EmittedLoop loop = beginLoop(index(0), index(copy->shape[0]), index(1), {}, false);
  llvm::Value *row = builder.CreateGEP(copy->element, copy->base,
                                       builder.CreateMul(loop.induction, index(copy->strides[0])));
  mark(builder.CreateAlignedStore(
           row, builder.CreateGEP(builder.getPtrTy(), rows->base, loop.induction), llvm::Align(8)),
       MemoryKind::Scratch);
  endLoop(loop, {});
  llvm::BasicBlock *copied = builder.GetInsertBlock();

  builder.SetInsertPoint(exit, exit->begin());
  llvm::PHINode *chosen = builder.CreatePHI(builder.getPtrTy(), 2);
  chosen->addIncoming(inArray->base, start);
  chosen->addIncoming(rows->base, copied);
  builder.SetInsertPoint(after);
  return chosen;
}

llvm::Type *KernelEmitter::computeType(DotOp op) {
  llvm::Type *compute = registerType(elementTypeOf(op.getType()));
  return compute->isIntegerTy() && compute->getIntegerBitWidth() < 32 ? builder.getInt32Ty()
                                                                      : compute;
}

DotShape KernelEmitter::dotShapeOf(DotOp op, llvm::Type *compute) {
  const unsigned rank = op.getType().getRank();
  const auto acc = op.getType().getShape(), lhs = op.getLhs().getType().getShape();
  DotShape shape{};
  shape.word = wordOf(op, compute);
  shape.rows = acc[rank - 2];
  shape.columns = acc[rank - 1];
  shape.depth = lhs[rank - 1] / elementsIn(shape.word);
  shape.element = compute;
  return shape;
}

std::pair<DotRows, TileBuffer *> KernelEmitter::narrowRows(DotOp op, const DotShape &shape,
                                                           llvm::Type *held) {
  auto extents = shapeOf(op.getRhs().getType());
  DotRows rows{extents[0], extents[1], nullptr};
  rows.asUnsigned = takesUnsigned(host, shape);
  if (LoadOp load = extents[1] % kPanelColumns ? LoadOp{} : loadInPlace(op, op.getRhs(), held)) {
    TileBuffer *addresses = rowAddresses(load.getPtr(), 1);
    rows.from = rowsOf(load, addresses, held);
    return {rows, addresses};
  }
  TileBuffer *copy = operandBuffer(op.getRhs(), held);
  rows.from = copy->base;
  rows.stride = copy->strides[0];
  return {rows, nullptr};
}

/// Words of K that products in tile registers take at once: with twice as many they ran no faster,
/// with half of them slower (256x256x128 of bf16: 12.5 us; 256 deep, for each 128: 10.4 us; 512:
/// 10.6 us; Xeon 6-207, one core).
static constexpr int64_t kWordsAtOnce = 128;
/// Copies that leave the second-level cache to the accumulator and to what comes next.
static constexpr int64_t kMostBytesAtOnce = 512 << 10;

void KernelEmitter::prepareDotRounds(scf::ForOp loop) {
  for (auto dot : loop.getBody()->getOps<DotOp>()) {
    auto carried = dyn_cast<BlockArgument>(dot.getAcc());
    if (!plan.dotsInPlace.contains(dot) || !carried || carried.getOwner() != loop.getBody() ||
        !carried.hasOneUse() || !dot->hasOneUse() || dot.getType().getRank() != 2 ||
        narrowFloatOf(dot.getType().getElementType()))
      continue;
    const DotShape shape = dotShapeOf(dot, computeType(dot));
    if (!cpu::usesTileRegisters(host, shape))
      continue;
    const int64_t lhsWords = shape.rows * shape.depth,
                  rhsWords = packedWords(shape.columns, shape.depth);
    int64_t most =
        std::min(kWordsAtOnce / shape.depth, kMostBytesAtOnce / (4 * (lhsWords + rhsWords)));
    if (auto trips = loop.getStaticTripCount())
      most = std::min<int64_t>(most, int64_t(trips->getLimitedValue(kWordsAtOnce)));
    if (most < 2)
      continue;
    auto extents = shapeOf(dot.getLhs().getType());
    llvm::Type *held = memoryType(elementTypeOf(dot.getLhs().getType()));
    DotRounds rounds{most, allocate({most, extents[0], extents[1]}, held),
                     allocate({most, rhsWords}, builder.getInt32Ty()),
                     allocate({1}, builder.getInt64Ty())};
    mark(builder.CreateAlignedStore(builder.getInt64(0), rounds.begun->base, llvm::Align(8)),
         MemoryKind::Scratch);
    dotRounds[dot] = rounds;
  }
}

void KernelEmitter::emitDotInRounds(DotOp op, const DotShape &shape, llvm::Type *held,
                                    TileBuffer *acc) {
  const DotRounds &rounds = dotRounds.find(op)->second;
  auto *begun = builder.CreateAlignedLoad(builder.getInt64Ty(), rounds.begun->base, llvm::Align(8));
  mark(begun, MemoryKind::Scratch);
  mark(builder.CreateAlignedStore(builder.CreateAdd(begun, index(1)), rounds.begun->base,
                                  llvm::Align(8)),
       MemoryKind::Scratch);
  llvm::Value *slot = builder.CreateURem(begun, index(rounds.most));
  auto inSlot = [&](TileBuffer *all) {
    return builder.CreateGEP(all->element, all->base,
                             builder.CreateMul(slot, index(all->strides[0])));
  };

  auto lhs = std::make_unique<TileBuffer>(*rounds.lhs);
  lhs->base = inSlot(rounds.lhs);
  lhs->shape.erase(lhs->shape.begin());
  lhs->strides.erase(lhs->strides.begin());
  lhs->bytes = rounds.lhs->bytes / rounds.most;
  lhs->narrow = elementTypeOf(op.getLhs().getType());
  ownedBuffers.push_back(std::move(lhs));
  writeTile(op.getLhs(), ownedBuffers.back().get());
  const DotRows rows = narrowRows(op, shape, held).first;
  inOwnBlocks("packed", [&] { packRows(builder, host, shape.word, rows, inSlot(rounds.rhs)); });

  auto loop = cast<scf::ForOp>(op->getParentOp());
  llvm::Value *left =
      builder.CreateSub(scalar(loop.getUpperBound()), scalar(loop.getInductionVar()));
  llvm::Value *isLast = builder.CreateICmpULE(left, scalar(loop.getStep()));
  llvm::Value *isFull = builder.CreateICmpEQ(slot, index(rounds.most - 1));
  emitWhen(builder.CreateOr(isFull, isLast), "rounds", [&] {
    DotShape all = shape;
    all.lhsStride = rounds.lhs->strides[1] / elementsIn(shape.word);
    all.accStride = acc->strides[0];
    all.rounds = builder.CreateAdd(slot, index(1));
    if (startsAtZero.contains(op))
      all.isFirst = builder.CreateICmpULT(begun, index(rounds.most));
    emitDotHere(all, rounds.lhs->base, rounds.rhs->base, acc->base);
  });
}

LogicalResult KernelEmitter::emitDotStep(DotOp op) {
  Type element = op.getType().getElementType();
  llvm::Type *compute = computeType(op);
  int64_t frameAtEntry = frameBytes;
  // The accumulator outlives the operands' copies.
  TileBuffer *acc = nullptr;
  if (plan.dotsInPlace.contains(op)) {
    auto loop = cast<scf::ForOp>(op->getParentOp());
    for (auto [argument, value] :
         llvm::zip(loop.getRegionIterArgs(), loop.getBody()->getTerminator()->getOperands()))
      if (value == op.getResult())
        acc = buffer(argument);
  }
  if (!acc) {
    acc = allocate(op.getType().getShape(), compute);
    frameAtEntry = frameBytes;
  }
  unsigned rank = op.getType().getRank();
  DotShape shape = dotShapeOf(op, compute);
  llvm::Type *held =
      shape.word == DotWord::Element ? compute : memoryType(elementTypeOf(op.getLhs().getType()));
  if (dotRounds.contains(op)) {
    emitDotInRounds(op, shape, held, acc);
    setBuffer(op.getResult(), acc);
    frameBytes = frameAtEntry;
    return success(!hasFailed);
  }
  const bool inTiles = cpu::usesTileRegisters(host, shape);
  TileBuffer *lhs = nullptr, *rhs = nullptr;
  TileBuffer *lhsAddresses = nullptr, *rhsAddresses = nullptr;
  if (LoadOp load = inTiles ? LoadOp{} : loadInPlace(op, op.getLhs(), held)) {
    lhsAddresses = rowAddresses(load.getPtr(), 1);
    shape.lhsRows = rowsOf(load, lhsAddresses, held);
  } else {
    lhs = operandBuffer(op.getLhs(), held);
    shape.lhsStride = lhs->strides[rank - 2] / elementsIn(shape.word);
  }
  if (shape.word == DotWord::Element) {
    rhs = operandBuffer(op.getRhs(), held);
  } else {
    DotRows rows{};
    std::tie(rows, rhsAddresses) = narrowRows(op, shape, held);
    rhs = packedBuffer(rows, shape.word);
  }
  writeTile(op.getAcc(), acc);
  setBuffer(op.getResult(), acc);

  if (shape.word == DotWord::Element)
    shape.rhsStride = rhs->strides[rank - 2];
  shape.accStride = acc->strides[rank - 2];
  shape.isFirst = startsAtZero.lookup(op);
  if (rank == 2) {
    if (!inTiles)
      for (auto [operand, addresses] :
           {std::pair(op.getLhs(), lhsAddresses), std::pair(op.getRhs(), rhsAddresses)})
        if (auto prefetch = operandAhead(operand, addresses)) {
          prefetch->isOfNextBlock = addresses && addresses == lhsAddresses;
          shape.prefetches.push_back(*prefetch);
        }
    emitDotHere(shape, lhs ? lhs->base : nullptr, rhs->base, acc->base);
  } else {
    EmittedLoop loop = beginLoop(index(0), index(acc->shape[0]), index(1), {}, false);
    auto matrix = [&](TileBuffer *buffer) {
      return builder.CreateGEP(buffer->element, buffer->base,
                               builder.CreateMul(loop.induction, index(buffer->strides[0])));
    };
    emitDotHere(shape, matrix(lhs), matrix(rhs), matrix(acc));
    endLoop(loop, {});
  }
  if (auto narrow = narrowFloatOf(element))
    roundBuffer(acc, *narrow);
  frameBytes = frameAtEntry;
  return success(!hasFailed);
}

void KernelEmitter::emitDotHere(const DotShape &shape, llvm::Value *lhs, llvm::Value *rhs,
                                llvm::Value *acc) {
  inOwnBlocks("product", [&] { emitDot(builder, host, shape, lhs, rhs, acc); });
  usesTileRegisters |= cpu::usesTileRegisters(host, shape);
}

/// What DotKernel.h emits ends in a block without terminator; ours always have one.
void KernelEmitter::inOwnBlocks(const char *name, llvm::function_ref<void()> emit) {
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *start = builder.GetInsertBlock();
  llvm::BasicBlock *exit = start->splitBasicBlock(after, name);
  start->getTerminator()->eraseFromParent();
  builder.SetInsertPoint(start);
  emit();
  builder.CreateBr(exit);
  builder.SetInsertPoint(after);
}

} // namespace sectile::cpu
