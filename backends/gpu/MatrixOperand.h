//===-- MatrixOperand.h - fragments of an operand, step by step along the depth ---------------===//
// What the warps' matrix instructions take: words of 32 bits (f64: numbers).
//
//   MatrixOperand lhs(emitter, value, fragments, ...);
//   lhs.prepare(0);
//   for (step ...) {
//     lhs.prepare(step + 1);         // reads ahead of the instructions that need it
//     ... lhs.words(place) ...
//   }
//
// An operand that comes straight from a buffer is read here, each step's part when it is prepared:
// all of it at once would fill the registers and leave the matrix units waiting.
#pragma once

#include "backends/gpu/BufferReader.h"

#include <map>

namespace sectile::gpu {

/// The registers of a tile cut into the fragments of one instruction each. A fragment is named by
/// its place in units of the instruction's extents, batch axes first.
class Fragments {
public:
  using Place = std::vector<int32_t>;

  /// `instruction` is the instruction's layout of that matrix, repeated so often along its columns;
  /// `tile` is it, spread.
  Fragments(const layout::TileLayout &tile, const layout::LinearLayout &instruction,
            int64_t repeats = 1);

  /// Registers of the tile, in the instruction's order of registers.
  std::map<Place, llvm::SmallVector<int, 8>> byPlace;
};

/// How numbers become words.
struct WordForm {
  unsigned perWord = 1;
  bool isTf32 = false;
};

class MatrixOperand {
public:
  using Words = llvm::SmallVector<llvm::Value *, 4>;

  /// `depthAxis`, `depth`: the axis that is summed over and how much of it one step takes.
  MatrixOperand(GpuEmitter &emitter, mlir::Value tile, Fragments fragments, int depthAxis,
                int64_t depth, WordForm form);

  /// Emits what step `step` reads, and returns whether that is anything.
  bool prepare(int64_t step);
  bool has(const Fragments::Place &place) const { return fragments.byPlace.count(place); }
  Words words(const Fragments::Place &place);
  /// What rounding f32 numbers to tf32 loses, itself rounded to tf32.
  Words remainders(const Fragments::Place &place);

private:
  llvm::Value *wordAt(llvm::ArrayRef<int> registers);
  llvm::Value *asFloat(int reg);

  GpuEmitter &emitter;
  llvm::IRBuilderBase &builder;
  Fragments fragments;
  WordForm form;
  Registers values; // some or all are null while they are not read
  std::optional<BufferReader> reader;
  std::vector<llvm::SmallVector<unsigned, 8>> groupsOfStep;
  llvm::DenseMap<int, llvm::Value *> rawWords, tf32Words, remainderWords; // by first register
};

} // namespace sectile::gpu
