#include "backends/cpu/KernelEmitter.h"

#include "backends/DebugSites.h"
#include "backends/common/math/NumberConversion.h"
#include "backends/cpu/HostAbi.h"
#include "backends/cpu/NestEmitter.h"

#include "llvm/IR/MDBuilder.h"

#include <cstddef>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {

KernelEmitter::KernelEmitter(func::FuncOp function, const KernelPlan &plan,
                             const HostFeatures &host, const backends::CompileOptions &options,
                             llvm::LLVMContext &llvmContext, backends::KernelImage &image)
    : builder(llvmContext), plan(plan), host(host),
      elementwise(builder, math, options.enableFpFusion, /*pointerSpace=*/0), options(options),
      image(image), function(function) {}

void KernelEmitter::fail(Operation *op, StringRef what) {
  if (!hasFailed)
    op->emitOpError() << what;
  hasFailed = true;
}

//===-- Types and numbers ---------------------------------------------------------------------===//

unsigned KernelEmitter::memoryBytes(Type element) {
  llvm::Type *type = memoryType(element);
  return type->isPointerTy() ? 8 : type->getScalarSizeInBits() / 8;
}

llvm::Value *KernelEmitter::fromMemory(llvm::Value *bits, Type element) {
  if (auto narrow = narrowFloatOf(element))
    return emitWiden(builder, host, bits, *narrow);
  if (element.isInteger(1))
    return builder.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
  return bits;
}

llvm::Value *KernelEmitter::toMemory(llvm::Value *value, Type element) {
  if (auto narrow = narrowFloatOf(element))
    return emitNarrow(builder, host, value, *narrow, backends::FloatRounding::NearestEven,
                      backends::Narrowing::Form);
  if (element.isInteger(1)) {
    llvm::Type *type = builder.getInt8Ty();
    if (auto vector = dyn_cast<llvm::VectorType>(value->getType()))
      type = llvm::VectorType::get(type, vector->getElementCount());
    return builder.CreateZExt(value, type);
  }
  return value;
}

unsigned KernelEmitter::lanesFor(int64_t extent) const {
  unsigned most = host.laneCount(32), lanes = 1;
  while (lanes < most && lanes < extent)
    lanes *= 2;
  return lanes;
}

//===-- Scalars and buffers -------------------------------------------------------------------===//

llvm::Value *KernelEmitter::scalar(Value value) {
  if (llvm::Value *known = scalars.find(
          value, [&](Attribute number, Type type) { return constantOf(number, type); }))
    return known;
  Operation *op = value.getDefiningOp();
  fail(op ? op : function.getOperation(), "scalar used before it was emitted");
  return llvm::PoisonValue::get(registerType(value.getType()));
}

llvm::Value *KernelEmitter::frameAddress(int64_t bytes, uint64_t alignment) {
  frameBytes = llvm::alignTo(frameBytes, alignment);
  int64_t offset = frameBytes;
  frameBytes += bytes;
  framePeak = std::max(framePeak, frameBytes);
  llvm::IRBuilderBase::InsertPointGuard guard(builder);
  builder.SetInsertPoint(entryEnd);
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), scratch, offset);
}

TileBuffer *KernelEmitter::allocate(ArrayRef<int64_t> shape, llvm::Type *element) {
  auto buffer = std::make_unique<TileBuffer>();
  buffer->shape.assign(shape.begin(), shape.end());
  buffer->element = element->isIntegerTy(1) ? builder.getInt8Ty() : element;
  buffer->strides.assign(shape.size(), 1);
  int64_t elements = 1;
  if (!shape.empty()) {
    // The rows of 16x3x1 are those of 3 elements, because nests vectorise that dimension.
    unsigned row = shape.size() - 1;
    while (row > 0 && shape[row] == 1)
      --row;
    elements = llvm::alignTo(shape[row], lanesFor(shape[row]));
    for (unsigned dim = row; dim-- > 0;) {
      buffer->strides[dim] = elements;
      elements *= shape[dim];
    }
  }
  unsigned bytes = buffer->element->isPointerTy() ? 8 : buffer->element->getScalarSizeInBits() / 8;
  buffer->bytes = llvm::alignTo(elements * bytes, 64);
  buffer->base = frameAddress(buffer->bytes + lanesFor(1 << 20) * bytes);
  ownedBuffers.push_back(std::move(buffer));
  return ownedBuffers.back().get();
}

TileBuffer *KernelEmitter::allocateFor(Value value) {
  return allocate(shapeOf(value.getType()), registerType(elementTypeOf(value.getType())));
}

TileBuffer *KernelEmitter::denseConstant(Value value, DenseElementsAttr elements) {
  TileBuffer *&known = denseConstants[value];
  if (known)
    return known;
  Type element = elementTypeOf(value.getType());
  llvm::Type *type = registerType(element);
  bool isTruth = type->isIntegerTy(1);
  auto shape = shapeOf(value.getType());
  int64_t row = shape.back(), paddedRow = llvm::alignTo(row, lanesFor(row)), number = 0;
  llvm::SmallVector<llvm::Constant *> numbers;
  for (Attribute attribute : elements.getValues<Attribute>()) {
    llvm::Constant *constant = constantOf(attribute, element);
    numbers.push_back(isTruth ? builder.getInt8(constant->isOneValue()) : constant);
    if (++number % row == 0)
      for (int64_t pad = row; pad < paddedRow; ++pad)
        numbers.push_back(llvm::Constant::getNullValue(numbers.back()->getType()));
  }
  for (unsigned pad = 0; pad < lanesFor(1 << 20); ++pad)
    numbers.push_back(llvm::Constant::getNullValue(numbers.front()->getType()));
  auto *array = llvm::ArrayType::get(numbers.front()->getType(), numbers.size());
  auto *global = new llvm::GlobalVariable(*module, array, true, llvm::GlobalValue::InternalLinkage,
                                          llvm::ConstantArray::get(array, numbers), "tile");
  auto buffer = std::make_unique<TileBuffer>();
  buffer->shape.assign(shape.begin(), shape.end());
  buffer->strides.assign(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2, stride = paddedRow; dim >= 0; --dim) {
    buffer->strides[dim] = stride;
    stride *= shape[dim];
  }
  buffer->element = numbers.front()->getType();
  buffer->base = global;
  ownedBuffers.push_back(std::move(buffer));
  return known = ownedBuffers.back().get();
}

void KernelEmitter::copyBuffer(TileBuffer *to, TileBuffer *from) {
  // Both have the same shape and element; sizes are multiples of 64 bytes.
  auto *chunk = llvm::FixedVectorType::get(builder.getInt32Ty(), 16);
  EmittedLoop loop = beginLoop(index(0), index(to->bytes), index(64), {}, false);
  llvm::Value *source = builder.CreateGEP(builder.getInt8Ty(), from->base, loop.induction);
  llvm::Value *target = builder.CreateGEP(builder.getInt8Ty(), to->base, loop.induction);
  auto *load = builder.CreateAlignedLoad(chunk, source, llvm::Align(64));
  mark(load, MemoryKind::Scratch);
  mark(builder.CreateAlignedStore(load, target, llvm::Align(64)), MemoryKind::Scratch);
  endLoop(loop, {});
}

void KernelEmitter::mark(llvm::Instruction *access, MemoryKind kind) {
  unsigned own = kind == MemoryKind::Scratch ? 0 : 1;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, scopeLists[own]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, scopeLists[1 - own]);
}

//===-- Loops and traps -----------------------------------------------------------------------===//

EmittedLoop KernelEmitter::beginLoop(llvm::Value *start, llvm::Value *end, llvm::Value *step,
                                     ArrayRef<llvm::Value *> initial, bool mayBeEmpty,
                                     bool isSigned) {
  EmittedLoop loop;
  loop.end = end;
  loop.step = step;
  loop.isSigned = isSigned;
  loop.isGuarded = mayBeEmpty;
  loop.initial.assign(initial.begin(), initial.end());
  loop.afterLoop = &*builder.GetInsertPoint();
  loop.preheader = builder.GetInsertBlock();
  loop.exit = loop.preheader->splitBasicBlock(builder.GetInsertPoint(), "after");
  auto &context = builder.getContext();
  loop.body = llvm::BasicBlock::Create(context, "body", kernel, loop.exit);
  loop.latch = llvm::BasicBlock::Create(context, "latch", kernel, loop.exit);
  loop.preheader->getTerminator()->eraseFromParent();
  builder.SetInsertPoint(loop.preheader);
  if (mayBeEmpty)
    builder.CreateCondBr(isSigned ? builder.CreateICmpSLT(start, end)
                                  : builder.CreateICmpULT(start, end),
                         loop.body, loop.exit);
  else
    builder.CreateBr(loop.body);
  builder.SetInsertPoint(loop.body);
  loop.induction = builder.CreatePHI(start->getType(), 2);
  loop.induction->addIncoming(start, loop.preheader);
  for (llvm::Value *value : initial) {
    loop.carried.push_back(builder.CreatePHI(value->getType(), 2));
    loop.carried.back()->addIncoming(value, loop.preheader);
  }
  loop.bodyEnd = builder.CreateBr(loop.latch);
  builder.SetInsertPoint(loop.bodyEnd);
  return loop;
}

llvm::SmallVector<llvm::Value *, 4> KernelEmitter::endLoop(EmittedLoop &loop,
                                                           ArrayRef<llvm::Value *> next) {
  // The preheader may have been split meanwhile: its terminator is where the loop is entered.
  llvm::BasicBlock *entry = nullptr;
  for (llvm::BasicBlock *block : loop.induction->blocks())
    entry = block;
  builder.SetInsertPoint(loop.latch);
  llvm::Value *advanced = builder.CreateAdd(loop.induction, loop.step, "next");
  llvm::Value *asked = loop.lastButOne ? loop.induction : advanced,
              *end = loop.lastButOne ? loop.lastButOne : loop.end;
  llvm::Value *again =
      loop.isSigned ? builder.CreateICmpSLT(asked, end) : builder.CreateICmpULT(asked, end);
  loop.backEdge = builder.CreateCondBr(again, loop.body, loop.exit);
  loop.induction->addIncoming(advanced, loop.latch);
  builder.SetInsertPoint(loop.exit, loop.exit->begin());
  llvm::SmallVector<llvm::Value *, 4> results;
  for (auto [phi, value, initial] : llvm::zip(loop.carried, next, loop.initial)) {
    phi->addIncoming(value, loop.latch);
    if (!loop.isGuarded) {
      results.push_back(value);
      continue;
    }
    auto *merged = builder.CreatePHI(value->getType(), 2);
    merged->addIncoming(initial, entry);
    merged->addIncoming(value, loop.latch);
    results.push_back(merged);
  }
  builder.SetInsertPoint(loop.afterLoop);
  return results;
}

unsigned KernelEmitter::addTrapSite(Operation *op, backends::TrapSite::Kind kind, Value pointer,
                                    StringRef message) {
  auto argument = pointer ? plan.provenance->argumentOf(pointer) : std::nullopt;
  return backends::addTrapSite(image, op, kind, argument, message);
}

void KernelEmitter::emitTrapIf(llvm::Value *failed, unsigned site, llvm::Value *address) {
  if (auto *constant = dyn_cast<llvm::ConstantInt>(failed); constant && constant->isZero())
    return;
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *block = builder.GetInsertBlock();
  llvm::BasicBlock *rest = block->splitBasicBlock(after, "fine");
  llvm::BasicBlock *trap = llvm::BasicBlock::Create(builder.getContext(), "trap", kernel, trapExit);
  block->getTerminator()->eraseFromParent();
  builder.SetInsertPoint(block);
  builder.CreateCondBr(failed, trap, rest,
                       llvm::MDBuilder(builder.getContext()).createUnlikelyBranchWeights());
  builder.SetInsertPoint(trap);
  llvm::Value *services = callField(offsetof(HostCall, services), builder.getPtrTy(), "services");
  llvm::Value *launch = callField(offsetof(HostCall, launch), builder.getPtrTy(), "launch");
  static_assert(offsetof(HostServices, trap) == 0);
  llvm::Value *service = builder.CreateAlignedLoad(builder.getPtrTy(), services, llvm::Align(8));
  auto *type = llvm::FunctionType::get(
      builder.getVoidTy(),
      {builder.getPtrTy(), builder.getInt32Ty(), builder.getInt64Ty(), builder.getInt64Ty()},
      false);
  builder.CreateCall(type, service, {launch, builder.getInt32(site), program, address});
  builder.CreateBr(trapExit);
  builder.SetInsertPoint(after);
}

void KernelEmitter::emitPoll() {
  llvm::Instruction *after = &*builder.GetInsertPoint();
  llvm::BasicBlock *block = builder.GetInsertBlock();
  llvm::BasicBlock *rest = block->splitBasicBlock(after, "goon");
  llvm::BasicBlock *attend =
      llvm::BasicBlock::Create(builder.getContext(), "attend", kernel, trapExit);
  block->getTerminator()->eraseFromParent();
  builder.SetInsertPoint(block);
  // Volatile, for it changes; neither scratch nor an array, for loads and stores of those are moved
  // across it.
  llvm::LoadInst *flag = builder.CreateAlignedLoad(builder.getInt32Ty(), attention, llvm::Align(4));
  flag->setVolatile(true);
  flag->setMetadata(llvm::LLVMContext::MD_noalias,
                    llvm::MDNode::concatenate(scopeLists[0], scopeLists[1]));
  auto *unlikely = llvm::MDBuilder(builder.getContext()).createUnlikelyBranchWeights();
  builder.CreateCondBr(builder.CreateIsNotNull(flag), attend, rest, unlikely);
  builder.SetInsertPoint(attend);
  llvm::Value *services = callField(offsetof(HostCall, services), builder.getPtrTy(), "services");
  llvm::Value *launch = callField(offsetof(HostCall, launch), builder.getPtrTy(), "launch");
  llvm::Value *service =
      builder.CreateAlignedLoad(builder.getPtrTy(),
                                builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), services,
                                                                   offsetof(HostServices, attend)),
                                llvm::Align(8));
  auto *type = llvm::FunctionType::get(builder.getInt32Ty(), {builder.getPtrTy()}, false);
  llvm::CallInst *answer = builder.CreateCall(type, service, {launch});
  answer->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  answer->setDoesNotThrow();
  builder.CreateCondBr(builder.CreateIsNotNull(answer), trapExit, rest, unlikely);
  builder.SetInsertPoint(after);
}

//===-- The function --------------------------------------------------------------------------===//

llvm::Value *KernelEmitter::callField(uint64_t offset, llvm::Type *type, const llvm::Twine &name) {
  llvm::Value *address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), call, offset);
  return builder.CreateAlignedLoad(type, address, llvm::Align(type->isIntegerTy(32) ? 4 : 8), name);
}

llvm::Value *KernelEmitter::argumentRanges() {
  return callField(offsetof(HostCall, argumentRanges), builder.getPtrTy(), "ranges");
}

/// The index along an axis of the program that runs; decoded where the program loop begins.
llvm::Value *KernelEmitter::programIndex(int axis) {
  return programs[axis];
}

std::unique_ptr<llvm::Module> KernelEmitter::emit() {
  auto &context = builder.getContext();
  module = std::make_unique<llvm::Module>(function.getName(), context);
  auto *type = llvm::FunctionType::get(
      builder.getInt32Ty(), {builder.getPtrTy(), builder.getInt64Ty(), builder.getInt64Ty()},
      false);
  kernel =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, image.entryPoint, *module);
  kernel->addFnAttr(llvm::Attribute::NoUnwind);
  kernel->setDSOLocal(true);
  lines.emplace(*module, *kernel, function.getLoc(), backends::LineInfo::Form::Table,
                options.forElsewhere ? backends::LineInfo::Folders::LeftOut
                                     : backends::LineInfo::Folders::Named);
  call = kernel->getArg(0);
  kernel->addParamAttr(0, llvm::Attribute::NoAlias);
  kernel->addParamAttr(0, llvm::Attribute::ReadOnly);
  call->setName("call");

  llvm::MDBuilder metadata(context);
  llvm::MDNode *domain = metadata.createAnonymousAliasScopeDomain("kernel");
  for (auto [number, name] : llvm::enumerate(ArrayRef<const char *>{"scratch", "arrays"}))
    scopeLists[number] =
        llvm::MDNode::get(context, {metadata.createAnonymousAliasScope(domain, name)});

  auto *entry = llvm::BasicBlock::Create(context, "entry", kernel);
  auto *done = llvm::BasicBlock::Create(context, "done", kernel);
  trapExit = llvm::BasicBlock::Create(context, "trapped", kernel);
  builder.SetInsertPoint(trapExit);
  builder.CreateRet(builder.getInt32(1));
  builder.SetInsertPoint(done);
  builder.CreateRet(builder.getInt32(0));
  builder.SetInsertPoint(entry);
  entryEnd = builder.CreateBr(done);
  builder.SetInsertPoint(entryEnd);

  scratch = callField(offsetof(HostCall, scratch), builder.getPtrTy(), "scratch");
  attention = callField(offsetof(HostCall, attention), builder.getPtrTy(), "attention");
  dummyAddress = frameAddress(64);
  const char *axes[] = {"grid.x", "grid.y", "grid.z"};
  for (int axis = 0; axis < 3; ++axis)
    gridExtents[axis] =
        callField(offsetof(HostCall, gridX) + 4 * axis, builder.getInt32Ty(), axes[axis]);
  llvm::Value *arguments =
      callField(offsetof(HostCall, arguments), builder.getPtrTy(), "arguments");
  for (BlockArgument argument : function.getArguments()) {
    llvm::Type *argumentType = registerType(argument.getType());
    llvm::Type *slotType = memoryType(argument.getType());
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), arguments,
                                                           argument.getArgNumber());
    llvm::Value *value = builder.CreateAlignedLoad(slotType, slot, llvm::Align(8));
    value = fromMemory(value, argument.getType());
    (void)argumentType;
    setScalar(argument, value);
  }

  // The program's place in the grid: divided once, then counted along.
  int axesUsed = 0;
  function.walk([&](ProgramIdOp op) { axesUsed = std::max(axesUsed, int(op.getAxis()) + 1); });
  llvm::SmallVector<llvm::Value *, 3> firstPrograms;
  llvm::Value *rest = kernel->getArg(1);
  for (int axis = 0; axis < axesUsed; ++axis) {
    llvm::Value *extent =
        builder.CreateZExt(builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, gridExtents[axis],
                                                         builder.getInt32(1)),
                           builder.getInt64Ty());
    firstPrograms.push_back(
        builder.CreateTrunc(builder.CreateURem(rest, extent), builder.getInt32Ty()));
    rest = builder.CreateUDiv(rest, extent);
  }
  EmittedLoop loop = beginLoop(kernel->getArg(1), kernel->getArg(2), index(1), firstPrograms,
                               /*mayBeEmpty=*/true);
  entryEnd = loop.preheader->getTerminator();
  program = loop.induction;
  program->setName("program");
  for (int axis = 0; axis < axesUsed; ++axis)
    programs[axis] = loop.carried[axis];

  if (mlir::failed(emitBlock(function.front())) || hasFailed)
    return nullptr;
  emitPoll();
  llvm::SmallVector<llvm::Value *, 3> nextPrograms;
  llvm::Value *carry = builder.getInt32(1);
  for (int axis = 0; axis < axesUsed; ++axis) {
    llvm::Value *next = builder.CreateAdd(programs[axis], carry);
    llvm::Value *wraps = builder.CreateICmpEQ(next, gridExtents[axis]);
    nextPrograms.push_back(builder.CreateSelect(wraps, builder.getInt32(0), next));
    carry = builder.CreateZExt(wraps, builder.getInt32Ty());
  }
  endLoop(loop, nextPrograms);
  lines->finish();
  if (usesTileRegisters) {
    builder.SetInsertPoint(entry->getFirstInsertionPt());
    emitTileConfiguration(builder);
    for (llvm::BasicBlock *last : {done, trapExit}) {
      builder.SetInsertPoint(last->getTerminator());
      emitTileRelease(builder);
    }
    new llvm::GlobalVariable(*module, builder.getInt8Ty(), /*isConstant=*/true,
                             llvm::GlobalValue::ExternalLinkage, builder.getInt8(1),
                             kTileRegistersSymbol);
  }
  image.scratchBytes = llvm::alignTo(framePeak, 64);
  return std::move(module);
}

//===-- Blocks and steps ----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitBlock(Block &block) {
  auto found = plan.steps.find(&block);
  if (found == plan.steps.end())
    return success();
  for (const Step &step : found->second)
    if (mlir::failed(emitStep(step)) || hasFailed)
      return failure();
  return success();
}

LogicalResult KernelEmitter::emitStep(const Step &step) {
  if (Operation *first = step.op ? step.op : step.nest->sourceOp())
    builder.SetCurrentDebugLocation(lines->at(first->getLoc()));
  if (step.nest) {
    NestEmitter(*this, *step.nest).emit();
    return success(!hasFailed);
  }
  Operation *op = step.op;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return emitFor(loop); })
      .Case([&](scf::IfOp branch) { return emitIf(branch); })
      .Case([&](scf::WhileOp loop) { return emitWhile(loop); })
      .Case([&](DotOp dot) { return emitDotStep(dot); })
      .Case([&](ScanOp scan) { return emitScan(scan); })
      .Case([&](SortOp sort) { return emitSort(sort); })
      .Case([&](MapOp map) { return emitMap(map); })
      .Case([&](HistogramOp histogram) { return emitHistogram(histogram); })
      .Case([&](InlineAsmOp assembly) { return refuseAssembly(assembly); })
      .Case<AtomicRmwOp, AtomicCasOp>([&](Operation *) { return emitAtomic(op); })
      .Case([&](PrintOp print) { return emitPrint(print); })
      .Case([&](AssertOp check) { return emitAssert(check); })
      .Case<BarrierOp, GridWaitOp, GridLaunchDependentsOp>([&](Operation *) {
        // A program runs on one thread, and a launch after the one before; only the compiler must
        // not move accesses.
        return success();
      })
      .Case<AssumeOp, YieldOp, scf::YieldOp, scf::ConditionOp, func::ReturnOp>(
          [](Operation *) { return success(); })
      .Default([&](Operation *) { return emitScalar(op); });
}

LogicalResult KernelEmitter::refuseAssembly(InlineAsmOp op) {
  hasFailed = true;
  op.emitError(
        "inline_asm_elementwise: the assembly is a GPU's, and this kernel is compiled for the "
        "CPU")
          .attachNote()
      << "compile the kernel for an NVIDIA GPU, or write it with the language's own operations and "
         "those of libdevice";
  return failure();
}

LogicalResult KernelEmitter::emitScalar(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return success();
  if (auto id = dyn_cast<ProgramIdOp>(op)) {
    setScalar(id, programIndex(id.getAxis()));
    return success();
  }
  if (auto count = dyn_cast<NumProgramsOp>(op)) {
    setScalar(count, gridExtents[count.getAxis()]);
    return success();
  }
  if (isa<ClockOp, ProcessorOp>(op)) {
    llvm::Value *services = callField(offsetof(HostCall, services), builder.getPtrTy(), "services");
    uint64_t field =
        isa<ClockOp>(op) ? offsetof(HostServices, nanoseconds) : offsetof(HostServices, processor);
    llvm::Value *service = builder.CreateAlignedLoad(
        builder.getPtrTy(),
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), services, field), llvm::Align(8));
    auto *type = llvm::FunctionType::get(registerType(op->getResult(0).getType()), {}, false);
    setScalar(op->getResult(0), builder.CreateCall(type, service, {}));
    return success(!hasFailed);
  }
  if (isa<LoadOp, StoreOp>(op)) {
    Nest nest;
    NestEmitter emitter(*this, nest);
    emitter.emitScalarAccess(op);
    return success(!hasFailed);
  }
  if (!isElementwise(op)) {
    fail(op, "no lowering to host code");
    return failure();
  }
  SmallVector<llvm::Value *, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalar(operand));
  for (auto [result, value] : llvm::zip(op->getResults(), emitElementwise(op, operands)))
    setScalar(result, value);
  return success(!hasFailed);
}

} // namespace sectile::cpu
