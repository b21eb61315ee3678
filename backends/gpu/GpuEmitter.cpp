#include "backends/gpu/GpuEmitter.h"

#include "backends/plain/DeviceAbi.h"
#include "lang/layout/PowersOfTwo.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

GpuEmitter::GpuEmitter(func::FuncOp function, const GpuTarget &target, const SharedMemoryPlan &plan,
                       const backends::CompileOptions &options, llvm::LLVMContext &llvmContext,
                       backends::KernelImage &image)
    : builder(llvmContext), target(target), plan(plan), options(options), image(image),
      elementwise(builder, target.math(), options.enableFpFusion, kGlobalSpace,
                  backends::ElementwiseEmitter::Rounding::ByCaller),
      function(function), warpCount(unsigned(options.warpCount)),
      teams(unsigned(teamsOf(function))), producer(producerOf(function)) {}

unsigned GpuEmitter::blockThreads() const {
  return unsigned(warpsOfBlock(function, warpCount)) * target.laneCount;
}

void GpuEmitter::fail(Operation *op, StringRef what) {
  if (!hasFailed)
    op->emitOpError() << what;
  hasFailed = true;
}

const optimizer::IndexAnalysis &GpuEmitter::indexFacts() {
  if (!analysis)
    analysis.emplace(function);
  return *analysis;
}

//===-- The function --------------------------------------------------------------------------===//

std::unique_ptr<llvm::Module> GpuEmitter::emit() {
  module = std::make_unique<llvm::Module>(function.getName(), builder.getContext());
  module->setTargetTriple(llvm::Triple(target.triple()));
  auto parameterType = [&](Type type) { return memoryType(type); };
  SmallVector<llvm::Type *, 8> types;
  for (Type type : function.getArgumentTypes())
    types.push_back(parameterType(type));
  unsigned argumentCount = types.size();
  int32_t hidden = findHiddenParameters();
  for (int32_t each : {backends::kHiddenRanges, backends::kHiddenRecords})
    if (hidden & each)
      types.push_back(llvm::PointerType::get(builder.getContext(), kGlobalSpace));
  const unsigned toldAxes = hidden & backends::kHiddenGrid       ? programs.size()
                            : hidden & backends::kHiddenPrograms ? 1
                                                                 : 0;
  types.append(toldAxes, builder.getInt32Ty());
  image.gpu.hiddenParameters = hidden;
  const unsigned firstMap = types.size();
  SmallVector<TensorMapOp, 2> maps;
  function.walk([&](TensorMapOp map) { maps.push_back(map); });
  for (TensorMapOp map : maps) {
    if (mlir::failed(describeMap(map)))
      return nullptr;
    types.push_back(builder.getPtrTy());
  }
  kernel = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), types, false),
                                  llvm::GlobalValue::ExternalLinkage, function.getName(), *module);
  target.declareKernel(*kernel, blockThreads(), options);
  lines.emplace(*module, *kernel, function.getLoc(), backends::LineInfo::Form::Directives,
                options.forElsewhere ? backends::LineInfo::Folders::LeftOut
                                     : backends::LineInfo::Folders::Named);
  auto *entry = llvm::BasicBlock::Create(builder.getContext(), "entry", kernel);
  auto *body = llvm::BasicBlock::Create(builder.getContext(), "body", kernel);
  builder.SetInsertPoint(entry);
  entryEnd = builder.CreateBr(body);
  builder.SetInsertPoint(entryEnd);
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    llvm::Argument *parameter = kernel->getArg(number);
    if (auto name = function.getArgAttrOfType<StringAttr>(number, kArgumentNameAttr))
      parameter->setName(name.getValue());
    if (auto known = function.getArgAttrOfType<IntegerAttr>(number, kDivisibilityAttr);
        known && known.getInt() && isa<PtrType>(argument.getType())) {
      // No access asks for more.
      uint64_t bytes = std::min<int64_t>(layout::lowestBit(known.getInt()), 256);
      kernel->addParamAttr(
          number, llvm::Attribute::getWithAlignment(builder.getContext(), llvm::Align(bytes)));
    }
    setScalar(argument, fromMemory(parameter, argument.getType()));
  }
  unsigned nextHidden = argumentCount;
  if (hidden & backends::kHiddenRanges)
    rangeTable = kernel->getArg(nextHidden++);
  if (hidden & backends::kHiddenRecords)
    recordBuffer = kernel->getArg(nextHidden++);
  for (unsigned axis = 0; axis < toldAxes; ++axis)
    programs[axis] = kernel->getArg(nextHidden++);
  for (auto [number, map] : llvm::enumerate(maps)) {
    target.tensorCopies()->declareMap(*kernel, firstMap + unsigned(number));
    tensorMaps[map] = kernel->getArg(firstMap + unsigned(number));
  }
  builder.SetInsertPoint(body);
  returnIfStopped();
  if (producer && mlir::failed(emitProducer()))
    return nullptr;
  if (mlir::failed(emitBlock(function.front())) || hasFailed)
    return nullptr;
  builder.CreateRetVoid();
  lines->finish();
  return std::move(module);
}

LogicalResult GpuEmitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    builder.SetCurrentDebugLocation(lines->at(op.getLoc()));
    if (plan.needsBarrierBefore(&op))
      barrier();
    if (mlir::failed(emitOp(&op)) || hasFailed)
      return failure();
  }
  return success();
}

LogicalResult GpuEmitter::emitOp(Operation *op) {
  if (isa<arith::ConstantOp>(op) && !isa<RankedTensorType>(op->getResult(0).getType()))
    return success(); // made where it is used
  if (emitTileOp(op))
    return success(!hasFailed);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ProgramIdOp id) {
        setScalar(id, id.getRound() ? scalar(id.getRound())
                                    : target.programIndex(builder, id.getAxis()));
        return success();
      })
      .Case([&](NumProgramsOp count) {
        llvm::Value *told = programs[count.getAxis()];
        setScalar(count, told ? told : target.programCount(builder, count.getAxis()));
        return success();
      })
      .Case([&](WorkerIdOp id) {
        setScalar(id, target.programIndex(builder, 0));
        return success();
      })
      .Case([&](TeamIdOp id) {
        setScalar(id, teamIndex());
        return success();
      })
      .Case([&](NumWorkersOp count) {
        setScalar(count, target.programCount(builder, 0));
        return success();
      })
      .Case([&](scf::ForOp loop) { return emitFor(loop); })
      .Case([&](scf::IfOp branch) { return emitScfIf(branch); })
      .Case([&](scf::WhileOp loop) { return emitWhile(loop); })
      .Case([&](BlockAtOp) { return success(); }) // pointers say the same
      .Case([&](LoadOp load) { return emitLoad(load); })
      .Case([&](StoreOp store) { return emitStore(store); })
      .Case<AtomicRmwOp, AtomicCasOp>([&](Operation *atomic) { return emitAtomic(atomic); })
      .Case([&](ReduceOp reduce) { return emitReduce(reduce); })
      .Case([&](ScanOp scan) { return emitScan(scan); })
      .Case([&](SortOp sort) { return emitSort(sort); })
      .Case([&](MapOp map) { return emitMap(map); })
      .Case([&](InlineAsmOp assembly) { return emitInlineAsm(assembly); })
      .Case([&](HistogramOp histogram) { return emitHistogram(histogram); })
      .Case([&](DotOp dot) { return emitDot(dot); })
      .Case([&](ConvertLayoutOp convert) { return emitConvert(convert); })
      // Placed by the plan; a view is an address.
      .Case<BufferAllocOp, BufferViewOp, MBarrierAllocOp>([&](Operation *) { return success(); })
      .Case([&](TensorMapOp) { return success(); }) // a parameter
      .Case<MapMemoryOp, EditedMapOp, MapFenceOp, MapMemoryEndOp, MBarrierInitOp, MBarrierEndOp,
            MBarrierExpectOp, MBarrierArriveOp, MBarrierWaitOp, TensorCopyOp, TensorStoreOp,
            TensorStoreWaitOp>([&](Operation *op) { return emitTensorCopy(op); })
      .Case([&](ProducerOp) { // it runs its region beside
        barrierOfBlock();
        return success();
      })
      .Case([&](DotAsyncOp dot) { return emitDotAsync(dot); })
      .Case([&](DotWaitOp wait) { return emitDotWait(wait); })
      .Case([&](ProxyFenceOp fence) { return emitProxyFence(fence); })
      .Case<AsyncCopyOp, AsyncCommitOp, AsyncWaitOp>([&](Operation *op) { return emitAsync(op); })
      .Case([&](BufferLoadOp load) { return emitBufferLoad(load); })
      .Case([&](BufferStoreOp store) { return emitBufferStore(store); })
      .Case([&](ScheduleBarrierOp) {
        target.scheduleBarrier(builder);
        return success();
      })
      .Case([&](PrintOp print) { return emitPrint(print); })
      .Case([&](AssertOp assertion) { return emitAssert(assertion); })
      .Case([&](BarrierOp op) {
        op.getOfBlock() ? barrierOfBlock() : op.getSharedOnly() ? barrier() : barrierOfAllMemory();
        return success();
      })
      .Case([&](GridWaitOp) {
        if (const DependentLaunches *launches = target.dependentLaunches())
          launches->wait(builder);
        return success();
      })
      .Case([&](GridLaunchDependentsOp) {
        if (const DependentLaunches *launches = target.dependentLaunches())
          launches->launchDependents(builder);
        return success();
      })
      .Case([&](ClockOp clock) { return emitClock(clock); })
      .Case([&](ProcessorOp processor) {
        setScalar(processor, target.processor(builder));
        return success();
      })
      .Case([&](AssumeOp assume) {
        if (!isa<RankedTensorType>(assume.getCondition().getType()))
          builder.CreateAssumption(scalar(assume.getCondition()));
        return success();
      })
      .Default([&](Operation *other) { return emitRearrangement(other); });
}

//===-- Values --------------------------------------------------------------------------------===//

llvm::Value *GpuEmitter::scalar(Value value) {
  if (llvm::Value *known = scalars.find(
          value, [&](Attribute number, Type type) { return constantOf(number, type); }))
    return known;
  Operation *op = value.getDefiningOp();
  fail(op ? op : function.getOperation(), "scalar used before it was emitted");
  return llvm::PoisonValue::get(registerType(value.getType()));
}

const Registers &GpuEmitter::registers(Value tile) {
  Registers &known = tiles[tile];
  if (known.empty()) {
    Operation *op = tile.getDefiningOp();
    fail(op ? op : function.getOperation(), "tile used before it was emitted");
    known.assign(layoutOf(tile).registersPerThread(),
                 llvm::PoisonValue::get(registerType(elementTypeOf(tile.getType()))));
  }
  return known;
}

Registers GpuEmitter::valuesOf(Value value) {
  if (isa<RankedTensorType>(value.getType()))
    return registers(value);
  return {scalar(value)};
}

void GpuEmitter::setValues(Value value, Registers emitted) {
  if (isa<RankedTensorType>(value.getType()))
    setRegisters(value, std::move(emitted));
  else
    setScalar(value, emitted.front());
}

const TileLayout &GpuEmitter::layoutOf(Value tile) {
  static const TileLayout none;
  const TileLayout *layout = tile::layoutOf(tile.getType());
  if (layout)
    return *layout;
  Operation *op = tile.getDefiningOp();
  fail(op ? op : function.getOperation(), "tile without a layout");
  return none;
}

//===-- Types ---------------------------------------------------------------------------------===//

llvm::Type *GpuEmitter::registerType(Type element) {
  if (element.isF16())
    return builder.getHalfTy();
  if (element.isBF16())
    return builder.getBFloatTy();
  if (auto narrow = backends::narrowFloatOf(element))
    return builder.getIntNTy(backends::narrowFloatBits(*narrow));
  return elementwise.registerType(element);
}

llvm::Type *GpuEmitter::memoryType(Type element) {
  return element.isInteger(1) ? builder.getInt8Ty() : registerType(element);
}

unsigned GpuEmitter::memoryBytes(Type element) {
  llvm::Type *type = memoryType(element);
  return type->isPointerTy() ? 8 : type->getScalarSizeInBits() / 8;
}

llvm::Value *GpuEmitter::fromMemory(llvm::Value *value, Type element) {
  if (!element.isInteger(1))
    return value;
  return builder.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

llvm::Value *GpuEmitter::toMemory(llvm::Value *value, Type element) {
  return element.isInteger(1) ? builder.CreateZExt(value, builder.getInt8Ty()) : value;
}

llvm::Constant *GpuEmitter::constantOf(Attribute attribute, Type element) {
  auto number = dyn_cast<FloatAttr>(attribute);
  if (!number || !backends::narrowFloatOf(element))
    return elementwise.constantOf(attribute, element);
  llvm::Type *type = registerType(element);
  if (type->isIntegerTy())
    return llvm::ConstantInt::get(type, number.getValue().bitcastToAPInt());
  return llvm::ConstantFP::get(type, number.getValue());
}

//===-- Elementwise ---------------------------------------------------------------------------===//

/// Narrow floats as the f32 they are; anything else as it is.
void GpuEmitter::widenEach(llvm::MutableArrayRef<llvm::Value *> values, Type element) {
  auto narrow = backends::narrowFloatOf(element);
  if (!narrow)
    return;
  if (registerType(element)->isIntegerTy())
    return target.math().widenEach(builder, values, *narrow);
  // bf16 is the upper half of f32. The instruction that converts has a quarter of a shift's rate.
  const bool isShift = element.isBF16();
  for (llvm::Value *&value : values) {
    if (isShift) {
      llvm::Value *bits = builder.CreateZExt(builder.CreateBitCast(value, builder.getInt16Ty()),
                                             builder.getInt32Ty());
      value = builder.CreateBitCast(builder.CreateShl(bits, 16), builder.getFloatTy());
    } else {
      value = builder.CreateFPExt(value, builder.getFloatTy());
    }
  }
}

void GpuEmitter::narrowEach(llvm::MutableArrayRef<llvm::Value *> values, Type element) {
  auto narrow = backends::narrowFloatOf(element);
  if (!narrow)
    return;
  if (registerType(element)->isIntegerTy())
    return target.math().narrowEach(builder, values, *narrow);
  for (llvm::Value *&value : values)
    value = builder.CreateFPTrunc(value, registerType(element));
}

/// Whether sums of products are narrowed that have just been waited for. Where two are narrowed by
/// one instruction ptxas finds them in the registers of the product; where LLVM moves one of them
/// into a later block, on its own, ptxas lets all products wait for each other (C7514).
static bool narrowsSums(Operation *op) {
  return isa<arith::TruncFOp>(op) && op->getOperand(0).getDefiningOp<DotWaitOp>() &&
         elementTypeOf(op->getOperand(0).getType()).isF32() &&
         elementTypeOf(op->getResult(0).getType()).getIntOrFloatBitWidth() == 16;
}

/// Narrows two numbers by one instruction.
static void narrowBoth(llvm::IRBuilderBase &builder, llvm::MutableArrayRef<llvm::Value *> values,
                       llvm::Type *narrow) {
  auto *type = llvm::FixedVectorType::get(values[0]->getType(), 2);
  llvm::Value *both = llvm::PoisonValue::get(type);
  for (uint64_t lane : {0, 1})
    both = builder.CreateInsertElement(both, values[lane], lane);
  both = builder.CreateFPTrunc(both, llvm::FixedVectorType::get(narrow, 2));
  for (uint64_t lane : {0, 1})
    values[lane] = builder.CreateExtractElement(both, lane);
}

/// Whether the operation changes nothing but the sign of numbers of 16 bits.
static bool isOfSigns(Operation *op) {
  if (!isa<math::AbsFOp, arith::NegFOp>(op))
    return false;
  Type element = elementTypeOf(op->getResult(0).getType());
  return element.isF16() || element.isBF16();
}

SmallVector<Registers, 2> GpuEmitter::emitElementwise(Operation *op, ArrayRef<Registers> operands,
                                                      size_t count) {
  SmallVector<Registers, 2> results(op->getNumResults());
  // Bits that only move need no arithmetic, and a sign is a bit.
  const bool isMove = isa<arith::SelectOp, arith::BitcastOp>(op) || isOfSigns(op);
  // Registers go in pairs, as conversions of fp8 do.
  for (size_t first = 0; first < count; first += 2) {
    const size_t pair = std::min<size_t>(2, count - first);
    SmallVector<SmallVector<llvm::Value *, 4>, 2> given(pair);
    for (auto [registers, operand] : llvm::zip(operands, op->getOperands())) {
      SmallVector<llvm::Value *, 2> values(pair, registers.front());
      if (registers.size() > 1)
        llvm::copy(ArrayRef(registers).slice(first, pair), values.begin());
      if (!isMove)
        widenEach(values, elementTypeOf(operand.getType()));
      for (auto [all, value] : llvm::zip(given, values))
        all.push_back(value);
    }
    SmallVector<SmallVector<llvm::Value *, 2>, 2> emitted(op->getNumResults());
    for (ArrayRef<llvm::Value *> values : given)
      for (auto [all, value] : llvm::zip(emitted, emitOne(op, values)))
        all.push_back(value);
    for (auto [all, values, result] : llvm::zip(results, emitted, op->getResults())) {
      Type element = elementTypeOf(result.getType());
      if (narrowsSums(op) && values.size() == 2)
        narrowBoth(builder, values, registerType(element));
      else if (!isMove)
        narrowEach(values, element);
      all.append(values);
    }
  }
  return results;
}

/// On operands that are widened, to results that are to be narrowed.
llvm::SmallVector<llvm::Value *, 2> GpuEmitter::emitOne(Operation *op,
                                                        ArrayRef<llvm::Value *> operands) {
  if (isa<arith::SelectOp>(op))
    return {builder.CreateSelect(operands[0], operands[1], operands[2])};
  if (isa<arith::BitcastOp>(op))
    return {builder.CreateBitCast(operands[0],
                                  registerType(elementTypeOf(op->getResult(0).getType())))};
  if (isOfSigns(op)) {
    llvm::Value *bits = builder.CreateBitCast(operands[0], builder.getInt16Ty());
    bits =
        isa<math::AbsFOp>(op) ? builder.CreateAnd(bits, 0x7fff) : builder.CreateXor(bits, 0x8000);
    return {builder.CreateBitCast(bits, operands[0]->getType())};
  }
  auto results = elementwise.emit(op, operands);
  if (results.empty() && op->getNumResults())
    fail(op, "no lowering to GPU code");
  for (size_t i = results.size(); i < op->getNumResults(); ++i) {
    Type element = elementTypeOf(op->getResult(i).getType());
    results.push_back(llvm::PoisonValue::get(elementwise.registerType(element)));
  }
  return results;
}

llvm::SmallVector<llvm::Value *, 2> GpuEmitter::emitCombiner(Block &block,
                                                             ArrayRef<llvm::Value *> arguments) {
  return backends::ElementwiseEmitter::emitCombiner(
      block, arguments, [&](Attribute number, Type type) { return constantOf(number, type); },
      [&](Operation *op, ArrayRef<llvm::Value *> operands) {
        SmallVector<Registers, 4> registers;
        for (llvm::Value *operand : operands)
          registers.push_back({operand});
        llvm::SmallVector<llvm::Value *, 2> results;
        for (const Registers &result : emitElementwise(op, registers, 1))
          results.push_back(result.front());
        return results;
      });
}

} // namespace sectile::gpu
