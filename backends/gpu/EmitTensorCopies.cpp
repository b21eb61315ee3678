// Copies by an engine: maps of arrays as parameters of the kernel, boxes into stages of buffers and
// out of them, memory barriers. One thread starts them.
#include "backends/gpu/GpuEmitter.h"
#include "lang/layout/BufferOperand.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using backends::LaunchExpression;

// What the code takes for granted of extents is what a launch checks.
static_assert(kEndlessAxis == backends::kEndlessAxis && kLongestAxis == backends::kLongestAxis &&
              kMostMapDimensions == backends::kMostTensorRank);

namespace {

/// How the host computes the number; all steps give numbers with their signs extended. False where
/// it cannot.
bool appendSteps(Value number, LaunchExpression &expression) {
  using Kind = LaunchExpression::Kind;
  auto add = [&](Kind kind, int64_t value = 0) {
    expression.steps.push_back({kind, value});
    return true;
  };
  const unsigned bits = number.getType().getIntOrFloatBitWidth();
  auto cut = [&] { return bits >= 64 || add(Kind::SignExtend, bits); };
  if (auto argument = dyn_cast<BlockArgument>(number))
    return add(Kind::Argument, argument.getArgNumber());
  APInt known;
  if (matchPattern(number, m_ConstantInt(&known)))
    return add(Kind::Constant, known.getSExtValue());
  Operation *op = number.getDefiningOp();
  for (Value operand : op->getOperands())
    if (!isa<IntegerType>(operand.getType()) || !appendSteps(operand, expression))
      return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::AddIOp) { return add(Kind::Add) && cut(); })
      .Case([&](arith::SubIOp) { return add(Kind::Subtract) && cut(); })
      .Case([&](arith::MulIOp) { return add(Kind::Multiply) && cut(); })
      .Case([&](arith::ExtSIOp) { return true; })
      .Case([&](arith::ExtUIOp wide) {
        return add(Kind::ZeroExtend, wide.getIn().getType().getIntOrFloatBitWidth());
      })
      .Case([&](arith::TruncIOp) { return cut(); })
      .Default([](Operation *) { return false; });
}

} // namespace

LogicalResult GpuEmitter::describeMap(TensorMapOp op) {
  auto base = dyn_cast<BlockArgument>(op.getBase());
  if (!base || !isa<func::FuncOp>(base.getOwner()->getParentOp()))
    return fail(op, "the array does not begin at an argument of the kernel"), failure();
  TensorMapType type = op.getType();
  backends::TensorMap map;
  map.argument = base.getArgNumber();
  map.elementBytes = int32_t(memoryBytes(type.getElement()));
  map.swizzleBytes = int32_t(type.getSwizzle());
  map.box.assign(type.getBox().begin(), type.getBox().end());
  auto describe = [&](OperandRange numbers, std::vector<LaunchExpression> &expressions) {
    for (Value number : numbers)
      if (!appendSteps(number, expressions.emplace_back()))
        return false;
    return true;
  };
  if (!describe(op.getShape(), map.extents) || !describe(op.getStrides(), map.strides))
    return fail(op, "its extents and strides do not follow from the arguments"), failure();
  image.tensorMaps.push_back(std::move(map));
  return success();
}

CopyingWarp GpuEmitter::copyingWarp() {
  if (isInProducer)
    return {builder.getTrue(), isFirstThread(), laneIndex()};
  return {builder.CreateICmpEQ(uniformWarpIndex(), builder.getInt32(0)), isFirstThread(),
          laneIndex()};
}

void GpuEmitter::emitEditedMap(EditedMapOp op, const TensorCopies &copies) {
  TensorMapType type = op.getType();
  ArrayDescription array;
  array.elementBytes = memoryBytes(type.getElement());
  array.swizzleBytes = type.getSwizzle();
  array.box.assign(type.getBox().begin(), type.getBox().end());
  array.base = scalar(op.getBase());
  for (auto [extent, stride] : llvm::zip(op.getShape(), op.getStrides())) {
    array.extents.push_back(scalar(extent));
    array.strides.push_back(scalar(stride));
  }
  llvm::Value *map =
      builder.CreateConstGEP1_64(builder.getInt8Ty(), mapMemories.lookup(op.getMemory()),
                                 uint64_t(op.getNumber()) * backends::kTensorMapBytes);
  llvm::Value *isFirst = nullptr;
  if (op.getTurn()) {
    llvm::Value *turn = scalar(op.getTurn());
    isFirst = builder.CreateICmpEQ(turn, builder.getInt32(0));
    llvm::Value *offset = builder.CreateMul(builder.CreateAnd(turn, builder.getInt32(1)),
                                            builder.getInt32(backends::kTensorMapBytes));
    map = builder.CreateGEP(builder.getInt8Ty(), map,
                            builder.CreateZExt(offset, builder.getInt64Ty()));
  }
  copies.editMap(builder, map, sharedAddress(plan.scratchOf(op)), array, isFirst, copyingWarp());
  tensorMaps[op] = map;
}

llvm::Value *GpuEmitter::memoryBarrier(Value barriers, llvm::Value *stage) {
  llvm::Value *start = sharedAddress(plan.scratchOf(barriers.getDefiningOp()));
  return builder.CreateGEP(builder.getInt64Ty(), start, stage);
}

template <class Op>
LogicalResult
GpuEmitter::forEachBox(Op op,
                       llvm::function_ref<void(llvm::Value *, ArrayRef<llvm::Value *>)> visit) {
  TensorMapType map = op.getMap().getType();
  auto buffer = cast<BufferType>(op.getBuffer().getType());
  const layout::SharedLayout &shared = buffer.getLayout().getLayout();
  ArrayRef<int32_t> order = op.getOrder();
  const int64_t bytes = memoryBytes(buffer.getElement());
  // A box is a part of a panel, whose rows lie one after another.
  auto places = order.size() == 2 ? layout::bufferOperandOf(shared, /*depthAxis=*/order.back(),
                                                            unsigned(bytes * 8))
                                  : std::nullopt;
  if (!places || !places->isDepthContiguous || places->panelBytes != map.getSwizzle() ||
      map.getBox().back() * bytes != places->panelBytes ||
      buffer.getShape()[order[0]] % map.getBox().drop_back().back() ||
      buffer.getShape()[order[1]] % map.getBox().back())
    return fail(op, "the copy engine has no buffers of that layout"), failure();
  llvm::Value *stage = stageAddress(op.getBuffer(), op.getStage());
  layout::Coordinates at(2, 0);
  int32_t &row = at[order[0]], &column = at[order[1]];
  ArrayRef<int64_t> box = map.getBox().take_back(2);
  const auto begin = llvm::map_to_vector(op.getOffsets(), [&](Value each) { return scalar(each); });
  const size_t outer = begin.size() - 2;
  for (; column < buffer.getShape()[order[1]]; column += int32_t(box[1]))
    for (row = 0; row < buffer.getShape()[order[0]]; row += int32_t(box[0])) {
      SmallVector<llvm::Value *, 5> coordinates(begin.begin(), begin.end());
      coordinates[outer] = builder.CreateAdd(begin[outer], builder.getInt32(uint32_t(row)));
      coordinates[outer + 1] =
          builder.CreateAdd(begin[outer + 1], builder.getInt32(uint32_t(column)));
      visit(builder.CreateConstGEP1_64(builder.getInt8Ty(), stage, shared.offsetOf(at) * bytes),
            coordinates);
    }
  return success(!hasFailed);
}

/// Whether the region does what takes a whole warp.
static bool isOfWarp(ProducerOp producer) {
  return producer.getBody()
      .walk([](EditedMapOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

unsigned GpuEmitter::mapsOfPlace() {
  int64_t most = 0;
  function.walk([&](MapMemoryOp memory) { most = std::max(most, memory.getType().getCount()); });
  return unsigned(most);
}

LogicalResult GpuEmitter::emitProducer() {
  const TensorCopies *copies = target.tensorCopies();
  if (!copies)
    return fail(producer, "this GPU has no copy engine"), failure();
  const unsigned ofPrograms = teams * threadCount();
  isProducerWarp = isOfWarp(producer);
  const RegisterShares shares =
      copies->shareRegisters(target.registerWords, ofPrograms, blockThreads() - ofPrograms,
                             isProducerWarp, int64_t(producer.getWords()));
  if (!shares.isPossible())
    return fail(producer, "a block cannot have so many threads"), failure();
  llvm::BasicBlock *beside = newBlock("beside"), *starts = newBlock("producer"),
                   *ends = newBlock("producer.ends"), *program = newBlock("program");
  // Where there are teams it looks like one more.
  llvm::Value *warp = uniformWarpIndex();
  llvm::Value *isBeside = teams > 1 ? builder.CreateICmpUGE(teamIndex(), builder.getInt32(teams))
                                    : builder.CreateICmpUGE(warp, builder.getInt32(warpCount));
  builder.CreateCondBr(isBeside, beside, program);
  builder.SetInsertPoint(beside);
  if (shares.ofOthers)
    copies->setRegisters(builder, shares.ofOthers, /*areMore=*/false);
  barrierOfBlock();
  llvm::Value *runs = builder.CreateICmpEQ(warp, builder.getInt32(teams > 1 ? 0 : warpCount));
  if (!isProducerWarp)
    runs = builder.CreateAnd(isOneLane(), runs);
  builder.CreateCondBr(runs, starts, ends);
  builder.SetInsertPoint(starts);
  isInProducer = true;
  if (mlir::failed(emitBlock(producer.getBody().front())))
    return failure();
  isInProducer = false;
  builder.CreateBr(ends);
  builder.SetInsertPoint(ends);
  builder.CreateRetVoid();
  builder.SetInsertPoint(program);
  if (shares.ofProgram)
    copies->setRegisters(builder, shares.ofProgram, /*areMore=*/true);
  return success();
}

LogicalResult GpuEmitter::emitTensorCopy(Operation *op) {
  const TensorCopies *copies = target.tensorCopies();
  if (!copies)
    return fail(op, "this GPU has no copy engine"), failure();
  auto forEachStage = [&](Value barriers, llvm::function_ref<void(llvm::Value *)> visit) {
    for (int64_t stage = 0; stage < cast<MBarriersType>(barriers.getType()).getStages(); ++stage)
      visit(memoryBarrier(barriers, builder.getInt32(uint32_t(stage))));
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](MapMemoryOp memory) {
        const unsigned count = mapsOfPlace();
        mapMemories[memory] = copies->claimMaps(builder, count, threadCount(), copyingWarp());
        return success();
      })
      .Case([&](EditedMapOp edit) {
        emitEditedMap(edit, *copies);
        return success();
      })
      .Case([&](MapFenceOp fence) {
        for (Value map : fence.getMaps())
          copies->fenceMap(builder, tensorMaps.lookup(map), copyingWarp());
        return success();
      })
      .Case([&](MapMemoryEndOp end) {
        copies->releaseMaps(builder, mapMemories.lookup(end.getMemory()), mapsOfPlace(),
                            threadCount(), copyingWarp());
        return success();
      })
      .Case([&](MBarrierInitOp init) {
        forEachStage(init.getBarriers(), [&](llvm::Value *barrier) {
          copies->initBarrier(builder, barrier, init.getArrivals().value_or(1), isFirstOfBlock());
        });
        return success();
      })
      .Case([&](MBarrierEndOp end) {
        forEachStage(end.getBarriers(), [&](llvm::Value *barrier) {
          copies->endBarrier(builder, barrier, isFirstOfBlock());
        });
        return success();
      })
      .Case([&](MBarrierExpectOp expect) {
        copies->expect(builder, memoryBarrier(expect.getBarriers(), scalar(expect.getStage())),
                       int64_t(expect.getBytes()),
                       builder.CreateAnd(scalar(expect.getExists()), isFirstThread()));
        return success();
      })
      .Case([&](MBarrierArriveOp arrive) {
        llvm::Value *arrives = builder.CreateICmpEQ(laneIndex(), builder.getInt32(0));
        if (Value exists = arrive.getExists())
          arrives = builder.CreateAnd(arrives, scalar(exists));
        copies->arrive(builder, memoryBarrier(arrive.getBarriers(), scalar(arrive.getStage())),
                       arrives);
        return success();
      })
      .Case([&](MBarrierWaitOp wait) {
        copies->wait(builder, memoryBarrier(wait.getBarriers(), scalar(wait.getStage())),
                     scalar(wait.getParity()),
                     wait.getOfCopies()
                         ? builder.CreateICmpEQ(uniformWarpIndex(), builder.getInt32(0))
                         : nullptr);
        return success();
      })
      .Case([&](TensorCopyOp copy) {
        noteBoxes(op, "tensor-copy", copy.getMap());
        llvm::Value *barrier = memoryBarrier(copy.getBarriers(), scalar(copy.getNumber()));
        llvm::Value *starts = builder.CreateAnd(scalar(copy.getExists()), isFirstThread());
        return forEachBox(copy, [&](llvm::Value *shared, ArrayRef<llvm::Value *> at) {
          copies->copy(builder, shared, tensorMaps.lookup(copy.getMap()), at, barrier, starts);
        });
      })
      .Case([&](TensorStoreOp store) {
        noteBoxes(op, "tensor-store", store.getMap());
        llvm::Value *starts = isFirstThread();
        LogicalResult result =
            forEachBox(store, [&](llvm::Value *shared, ArrayRef<llvm::Value *> at) {
              copies->store(builder, tensorMaps.lookup(store.getMap()), at, shared, starts);
            });
        copies->commitStores(builder);
        return result;
      })
      .Case([&](TensorStoreWaitOp wait) {
        copies->waitForStores(builder, wait.getWritten(), wait.getPending().value_or(0));
        return success();
      })
      .Default([](Operation *) { return failure(); });
}

} // namespace sectile::gpu
