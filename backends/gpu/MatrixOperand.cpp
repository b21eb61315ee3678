#include "backends/gpu/MatrixOperand.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::Coordinates;

Fragments::Fragments(const layout::TileLayout &tile, const layout::LinearLayout &instruction,
                     int64_t repeats) {
  int rank = tile.rank();
  const int64_t rows = instruction.getOutDimSize(0), repeated = instruction.getOutDimSize(1),
                columns = repeated * repeats;
  // A thread's elements are those of thread 0, moved: its registers are theirs.
  auto size = unsigned(instruction.inSize(layout::Dim::Register));
  llvm::DenseMap<int64_t, unsigned> slots; // by row-major number in the instruction's matrix
  for (unsigned slot = 0; slot < size; ++slot) {
    Coordinates at = instruction.apply({{layout::Dim::Register, slot}});
    for (int64_t number = 0; number < repeats; ++number)
      slots[at[0] * columns + number * repeated + at[1]] = unsigned(number * size + slot);
  }
  for (int reg = 0; reg < tile.registersPerThread(); ++reg) {
    Coordinates at = tile.constantOf(reg);
    int64_t row = at[rank - 2] % rows, column = at[rank - 1] % columns;
    at[rank - 2] /= rows;
    at[rank - 1] /= columns;
    auto &registers = byPlace[{at.begin(), at.end()}];
    registers.resize(size * size_t(repeats), -1);
    registers[slots.at(row * columns + column)] = reg;
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

bool MatrixOperand::prepare(int64_t step) {
  if (!reader || step >= int64_t(groupsOfStep.size()))
    return false;
  // What the first instruction takes comes last (emitMatrixProduct).
  for (unsigned group : llvm::reverse(groupsOfStep[step])) {
    if (!reader->givesWords()) {
      reader->read(group, values);
      continue;
    }
    for (auto [position, word] : llvm::enumerate(reader->readWords(group)))
      rawWords[reader->registersOf(group)[position * form.perWord]] = word;
  }
  return !groupsOfStep[step].empty();
}

llvm::Value *MatrixOperand::wordAt(llvm::ArrayRef<int> registers) {
  llvm::Value *&word = rawWords[registers.front()];
  if (word)
    return word;
  llvm::Value *first = values[registers.front()];
  if (form.perWord == 1)
    return word = first->getType()->isDoubleTy()
                      ? first
                      : builder.CreateBitCast(first, builder.getInt32Ty());
  Registers elements;
  for (int reg : registers)
    elements.push_back(values[reg]);
  return word = wordOf(builder, elements);
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
      made.push_back(wordAt(registers.slice(i, form.perWord)));
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
