#include "backends/gpu/MatrixOperand.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::Coordinates;

Fragments::Fragments(const layout::TileLayout &tile, int64_t rows, int64_t columns, unsigned size,
                     llvm::function_ref<unsigned(int64_t row, int64_t column)> slot) {
  int rank = tile.rank();
  for (int reg = 0; reg < tile.registersPerThread(); ++reg) {
    Coordinates at = tile.constantOf(reg);
    int64_t row = at[rank - 2] % rows, column = at[rank - 1] % columns;
    at[rank - 2] /= rows;
    at[rank - 1] /= columns;
    auto &registers = byPlace[{at.begin(), at.end()}];
    registers.resize(size, -1);
    registers[slot(row, column)] = reg;
  }
}

MatrixOperand::MatrixOperand(GpuEmitter &emitter, Value tile, Fragments fragments, int depthAxis,
                             int64_t depth, WordForm form)
    : emitter(emitter), builder(emitter.builder), fragments(std::move(fragments)), form(form) {
  if (!emitter.isReadByProduct(tile)) {
    values = emitter.registers(tile);
    return;
  }
  const layout::TileLayout &layout = emitter.layoutOf(tile);
  reader.emplace(emitter, cast<BufferLoadOp>(tile.getDefiningOp()));
  values.resize(layout.registersPerThread());
  for (unsigned group = 0; group < reader->groupCount(); ++group) {
    int64_t first = layout.paddedExtent(depthAxis);
    for (int reg : reader->registersOf(group))
      first = std::min<int64_t>(first, layout.constantOf(reg)[depthAxis]);
    auto step = size_t(first / depth);
    groupsOfStep.resize(std::max(groupsOfStep.size(), step + 1));
    groupsOfStep[step].push_back(group);
  }
}

void MatrixOperand::prepare(int64_t step) {
  if (!reader || step >= int64_t(groupsOfStep.size()))
    return;
  for (unsigned group : groupsOfStep[step]) {
    if (!reader->givesWords()) {
      reader->read(group, values);
      continue;
    }
    for (auto [position, word] : llvm::enumerate(reader->readWords(group)))
      rawWords[reader->registersOf(group)[position * form.perWord]] = word;
  }
}

llvm::Value *MatrixOperand::wordAt(int reg) {
  llvm::Value *&word = rawWords[reg];
  if (word)
    return word;
  llvm::Type *type = values[reg]->getType();
  if (form.perWord == 1)
    return word = type->isDoubleTy() ? values[reg]
                                     : builder.CreateBitCast(values[reg], builder.getInt32Ty());
  llvm::Value *vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, form.perWord));
  for (unsigned i = 0; i < form.perWord; ++i)
    vector = builder.CreateInsertElement(vector, values[reg + i], uint64_t(i));
  return word = builder.CreateBitCast(vector, builder.getInt32Ty());
}

llvm::Value *MatrixOperand::asFloat(int reg) {
  return builder.CreateBitCast(wordAt(reg), builder.getFloatTy());
}

MatrixOperand::Words MatrixOperand::words(const Fragments::Place &place) {
  llvm::ArrayRef<int> registers = fragments.byPlace.at(place);
  Words made;
  for (size_t i = 0; i < registers.size(); i += form.perWord) {
    int reg = registers[i];
    if (!form.isTf32) {
      made.push_back(wordAt(reg));
      continue;
    }
    llvm::Value *&word = tf32Words[reg];
    if (!word)
      word = builder.CreateBitCast(emitter.target.tf32Rounding()->round(builder, asFloat(reg)),
                                   builder.getInt32Ty());
    made.push_back(word);
  }
  return made;
}

MatrixOperand::Words MatrixOperand::remainders(const Fragments::Place &place) {
  llvm::ArrayRef<int> registers = fragments.byPlace.at(place);
  Words rounded = words(place), made;
  for (auto [reg, high] : llvm::zip(registers, rounded)) {
    llvm::Value *&word = remainderWords[reg];
    if (!word) {
      llvm::Value *rest =
          builder.CreateFSub(asFloat(reg), builder.CreateBitCast(high, builder.getFloatTy()));
      word = builder.CreateBitCast(emitter.target.tf32Rounding()->round(builder, rest),
                                   builder.getInt32Ty());
    }
    made.push_back(word);
  }
  return made;
}

} // namespace sectile::gpu
