#include "backends/gpu/BufferReader.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

BufferReader::BufferReader(GpuEmitter &emitter, BufferLoadOp load) : emitter(emitter) {
  auto buffer = cast<BufferType>(load.getBuffer().getType());
  const layout::TileLayout &tile = emitter.layoutOf(load);
  const layout::SharedLayout &shared = buffer.getLayout().getLayout();
  element = buffer.getElement();
  registerType = emitter.registerType(element);
  bits = emitter.memoryBytes(element) * 8;
  llvm::Type *memory = emitter.memoryType(element);
  llvm::Value *start = emitter.stageAddress(load.getBuffer(), load.getStage());
  for (bool transposed : {false, true}) {
    if (!emitter.target.matrixLoads() || element.isInteger(1))
      break;
    if (auto access = layout::accessSharedMatrices(tile, shared, bits, transposed)) {
      matrices = access->matrices;
      isTransposed = transposed;
      places.emplace(emitter, std::move(access->rows), memory, start);
      return;
    }
  }
  places.emplace(emitter, layout::accessShared(tile, shared, bits), memory, start);
  if (const AsyncCopies *copies = emitter.target.asyncCopies())
    places->setAliasing(copies->aliasingOfReads(emitter.builder.getContext()));
}

llvm::SmallVector<llvm::Value *, 4> BufferReader::readWords(unsigned group) {
  return emitter.target.matrixLoads()->load(emitter.builder, places->address(group), matrices,
                                            isTransposed);
}

void BufferReader::read(unsigned group, Registers &values) {
  llvm::IRBuilderBase &builder = emitter.builder;
  if (!givesWords()) {
    places->load(group, values);
    for (int reg : registersOf(group))
      values[reg] = emitter.fromMemory(values[reg], element);
    return;
  }
  unsigned perWord = 32 / bits;
  for (auto [position, word] : llvm::enumerate(readWords(group))) {
    if (perWord == 1) {
      values[registersOf(group)[position]] = builder.CreateBitCast(word, registerType);
      continue;
    }
    llvm::Value *elements =
        builder.CreateBitCast(word, llvm::FixedVectorType::get(registerType, perWord));
    for (unsigned i = 0; i < perWord; ++i)
      values[registersOf(group)[position * perWord + i]] =
          builder.CreateExtractElement(elements, uint64_t(i));
  }
}

} // namespace sectile::gpu
