#include "backends/gpu/BufferReader.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

BufferReader::BufferReader(GpuEmitter &emitter, BufferLoadOp load) : emitter(emitter) {
  auto buffer = cast<BufferType>(load.getBuffer().getType());
  const layout::TileLayout &tile = emitter.layoutOf(load);
  const layout::SharedLayout &shared = buffer.getLayout().getLayout();
  element = buffer.getElement();
  const unsigned bits = emitter.memoryBytes(element) * 8;
  llvm::Type *memory = emitter.memoryType(element);
  llvm::Value *start = emitter.stageAddress(load.getBuffer(), load.getStage());
  if (const MatrixLoads *loads = emitter.target.matrixLoads(); loads && !element.isInteger(1))
    if (auto access = loads->access(tile, shared, bits)) {
      places.emplace(emitter, std::move(access->rows), memory, start);
      places->loadByMatrices({unsigned(access->words), bits, access->isTransposed});
      return;
    }
  places.emplace(emitter, layout::accessShared(tile, shared, bits), memory, start);
  if (const AsyncCopies *copies = emitter.target.asyncCopies())
    places->setAliasing(copies->aliasingOfReads(emitter.builder.getContext()));
}

void BufferReader::read(unsigned group, Registers &values) {
  places->load(group, values);
  for (int reg : registersOf(group))
    values[reg] = emitter.fromMemory(values[reg], element);
}

} // namespace sectile::gpu
