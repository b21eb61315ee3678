// What is done to one element after the other: functions of elements that loop, text for the
// assembler, histograms.
#include "backends/gpu/GpuEmitter.h"
#include "backends/plain/DeviceAbi.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/Support/Error.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

LogicalResult GpuEmitter::emitMap(MapOp op) {
  const TileLayout &layout = layoutOf(op.getResult(0));
  Block &function = op.getFunction().front();
  SmallVector<Registers, 2> results(op.getNumResults(), Registers(layout.registersPerThread()));
  for (int reg : layout.uniqueRegisters()) {
    for (auto [argument, source] : llvm::zip(function.getArguments(), op.getSrcs()))
      setScalar(argument, registers(source)[reg]);
    if (mlir::failed(emitBlock(function)))
      return failure();
    for (auto [all, value] : llvm::zip(results, function.getTerminator()->getOperands()))
      all[reg] = scalar(value);
  }
  // Duplicates of a register are not computed again.
  for (auto [result, all] : llvm::zip(op.getResults(), results)) {
    for (int reg = 0; reg < int(all.size()); ++reg)
      if (!all[reg])
        all[reg] = all[layout.registerHolding(layout.constantOf(reg)).value_or(0)];
    setRegisters(result, std::move(all));
  }
  return success(!hasFailed);
}

//===-- assembly ------------------------------------------------------------------------------===//

namespace {

/// How the elements of one source or result go in and out: so many side by side in a word of 32
/// bits, or each by itself.
struct AssemblyWords {
  AssemblyWords(llvm::Type *element, unsigned bits, unsigned pack)
      : element(element), bits(bits), perWord(bits < 32 ? std::min(32 / bits, pack) : 1) {}

  llvm::Type *typeIn(llvm::IRBuilderBase &builder) const {
    if (perWord > 1 || !element->isFloatingPointTy() || bits < 32)
      return builder.getIntNTy(bits * perWord);
    return element;
  }
  llvm::Value *join(llvm::IRBuilderBase &builder, ArrayRef<llvm::Value *> elements) const {
    if (element->isPointerTy())
      return builder.CreatePtrToInt(elements.front(), typeIn(builder));
    return builder.CreateBitCast(vectorOf(builder, elements), typeIn(builder));
  }
  void split(llvm::IRBuilderBase &builder, llvm::Value *word, Registers &elements) const {
    if (element->isPointerTy()) {
      elements.push_back(builder.CreateIntToPtr(word, element));
      return;
    }
    llvm::Type *type = perWord > 1 ? llvm::FixedVectorType::get(element, perWord) : element;
    llvm::Value *vector = builder.CreateBitCast(word, type);
    for (unsigned i = 0; i < perWord; ++i)
      elements.push_back(perWord > 1 ? elementOf(builder, vector, i) : vector);
  }

  llvm::Type *element;
  unsigned bits, perWord;
};

} // namespace

LogicalResult GpuEmitter::emitInlineAsm(InlineAsmOp op) {
  if (!target.takesAssembly()) {
    hasFailed = true;
    op.emitError("inline_asm_elementwise: the assembly is another GPU's than ")
            .append(target.name())
            .attachNote()
        << "compile the kernel for an NVIDIA GPU, or write it with the language's own operations "
           "and those of libdevice";
    return failure();
  }
  const unsigned pack = op.getPack();
  auto wordsOf = [&](Value value) {
    Type type = elementTypeOf(value.getType());
    return AssemblyWords(registerType(type), isa<PtrType>(type) ? 64 : type.getIntOrFloatBitWidth(),
                         pack);
  };
  SmallVector<AssemblyWords, 4> sources, results;
  SmallVector<llvm::Type *> inputs, outputs;
  auto describe = [&](Value value, SmallVectorImpl<AssemblyWords> &all,
                      SmallVectorImpl<llvm::Type *> &types) {
    all.push_back(wordsOf(value));
    types.append(pack / all.back().perWord, all.back().typeIn(builder));
  };
  for (Value source : op.getSrcs())
    describe(source, sources, inputs);
  for (Value result : op.getResults())
    describe(result, results, outputs);
  llvm::Type *returned =
      outputs.size() == 1 ? outputs.front() : llvm::StructType::get(builder.getContext(), outputs);
  auto *type = llvm::FunctionType::get(returned, inputs, /*isVarArg=*/false);
  if (llvm::Error wrong = llvm::InlineAsm::verify(type, op.getConstraints())) {
    hasFailed = true;
    op.emitError("inline_asm_elementwise: `constraints` does not fit: ")
            .append(llvm::toString(std::move(wrong)))
            .attachNote()
        << "it names " << outputs.size() << " outputs, then " << inputs.size()
        << " inputs: one for each register of 32 bits, or for each element of 32 bits and more";
    return failure();
  }
  auto *assembly = llvm::InlineAsm::get(
      type, (backends::kOwnAssembly + ("\n" + op.getText())).str(), op.getConstraints(),
      /*hasSideEffects=*/!op.getPure());

  SmallVector<Registers, 4> given;
  for (Value source : op.getSrcs())
    given.push_back(valuesOf(source));
  const size_t count = isa<RankedTensorType>(op.getResult(0).getType())
                           ? layoutOf(op.getResult(0)).registersPerThread()
                           : 1;
  SmallVector<Registers, 4> made(op.getNumResults());
  for (size_t first = 0; first < count; first += pack) {
    SmallVector<llvm::Value *> words;
    for (auto [registers, form] : llvm::zip(given, sources))
      for (unsigned i = 0; i < pack; i += form.perWord) {
        SmallVector<llvm::Value *, 4> elements;
        for (unsigned j = 0; j < form.perWord; ++j) // the last instance may have too few
          elements.push_back(registers[std::min(first + i + j, registers.size() - 1)]);
        words.push_back(form.join(builder, elements));
      }
    llvm::Value *answer = builder.CreateCall(type, assembly, words);
    unsigned next = 0;
    for (auto [registers, form] : llvm::zip(made, results))
      for (unsigned i = 0; i < pack; i += form.perWord) {
        llvm::Value *word =
            outputs.size() == 1 ? answer : builder.CreateExtractValue(answer, next++);
        form.split(builder, word, registers);
      }
  }
  for (auto [result, registers] : llvm::zip(op.getResults(), made)) {
    registers.resize(count);
    setValues(result, std::move(registers));
  }
  return success(!hasFailed);
}

//===-- histograms ----------------------------------------------------------------------------===//

/// A table in shared memory, to which all threads add.
LogicalResult GpuEmitter::emitHistogram(HistogramOp op) {
  const int64_t bins = op.getType().getDimSize(0), scratch = plan.scratchOf(op);
  llvm::Type *word = builder.getInt32Ty();
  llvm::Value *table = sharedAddress(scratch);
  auto entry = [&](llvm::Value *number) { return builder.CreateGEP(word, table, number); };
  for (int64_t first = 0; first < bins; first += threadCount()) {
    llvm::Value *number = builder.CreateAdd(threadIndex(), builder.getInt32(first));
    auto clear = [&] {
      builder.CreateAlignedStore(builder.getInt32(0), entry(number), llvm::Align(4));
    };
    if (first + int64_t(threadCount()) <= bins)
      clear();
    else
      emitIf(builder.CreateICmpULT(number, builder.getInt32(bins)), clear);
  }
  barrier();

  const TileLayout &layout = layoutOf(op.getSrc());
  const Registers &values = registers(op.getSrc());
  llvm::Value *isFirst = isFirstCopy(layout);
  for (int reg : layout.uniqueRegisters()) {
    if (layout.isPaddingRegister(reg))
      continue;
    llvm::Type *type = values[reg]->getType();
    llvm::Value *isCounted = builder.CreateICmpULT(values[reg], llvm::ConstantInt::get(type, bins));
    isCounted = both(isCounted, both(isFirst, isInside(layout, reg)));
    if (op.getMask())
      isCounted = both(isCounted, registers(op.getMask())[reg]);
    emitIf(isCounted, [&] {
      builder.CreateAtomicRMW(
          llvm::AtomicRMWInst::Add, entry(builder.CreateZExtOrTrunc(values[reg], word)),
          builder.getInt32(1), llvm::Align(4), llvm::AtomicOrdering::Monotonic,
          builder.getContext().getOrInsertSyncScopeID(target.syncScope(MemoryScope::Block)));
    });
  }
  barrier();
  const TileLayout &result = layoutOf(op.getResult());
  setRegisters(op.getResult(), readRowMajor(result, op.getType().getElementType(), scratch, {bins},
                                            [&](unsigned reg, unsigned axis) {
                                              return coordinate(result, reg, axis);
                                            }));
  return success(!hasFailed);
}

} // namespace sectile::gpu
