//===-- DotKernel.h - matrix products from registers ------------------------------------------===//
// Emits loops over register blocks: a block of acc stays in registers while the whole of K passes
// by.
//
//   acc[M][N] += lhs[M][K] * rhs[K][N]
//
// All three are row-major with the row strides of `DotShape`. Code size does not depend on the
// extents: at most two block heights times two block widths.
//
// Narrow operands come as words of 32 bits, each of which holds neighbours along K, as the
// instructions for them want: two bf16, or four i8. A row of lhs is such words as it is; rhs has
// been packed (packRows), so that a word holds elements of several rows of one column. The words
// lie in panels of 16 columns, one panel behind the other: rows of a panel are neighbours in
// memory. With rows of 256 columns instead, every fourth row would take the same place in the
// first-level cache.
//
//   rhs, bf16      r0c0 r0c1 .. r0c15 r0c16 ..      packed      r0c0 r1c0 | r0c1 r1c1 | .. r1c15
//                  r1c0 r1c1 .. r1c15 r1c16 ..                  r2c0 r3c0 | r2c1 r3c1 | .. r3c15
//                                                               ..
//                                                               r0c16 r1c16 | ..
//
// Memory touched: exactly the elements of acc and lhs; rhs may be read up to one vector past the
// last element of a row, so its buffer needs `dotPaddingBytes(host)` readable bytes behind its end.
// The buffers do not overlap. The builder is left at the end of a new block.
#pragma once

#include "backends/cpu/HostFeatures.h"

#include "llvm/IR/IRBuilder.h"

namespace sectile::cpu {

/// Rows of memory to ask for while a product runs, spread evenly over its register blocks: one
/// after the other they would fill the queue of misses, and the product would wait for it.
struct DotPrefetch {
  /// An array of `rows` addresses, to each of which `distance` (i64, bytes) is added.
  llvm::Value *addresses = nullptr, *distance = nullptr;
  int64_t rows = 0, rowBytes = 0;
  /// Whether there is anything to ask for (i1); null if there always is. The same for all operands
  /// of a product.
  llvm::Value *isUseful = nullptr;
  /// The rows are those that the product itself reads, where they lie (DotShape::lhsRows): each
  /// block of rows asks for the next one, the last block for the first of the rows `distance` away.
  /// What is asked for a whole round earlier would have to stay in the cache until then, and rows
  /// that lie a power of two apart have few places there.
  bool isOfNextBlock = false;
};

/// What lhs and rhs are made of.
enum class DotWord {
  Element,  // of the accumulator's type
  Bf16Pair, // acc is float
  Int8Quad, // signed; acc is i32
};

/// Elements of K that a word holds.
inline int64_t elementsIn(DotWord word) {
  return word == DotWord::Bf16Pair ? 2 : word == DotWord::Int8Quad ? 4 : 1;
}

struct DotShape {
  int64_t rows, columns, depth; // M, N, K; K in words
  /// The element type of the accumulator: float, double, i32 or i64.
  llvm::Type *element;
  /// Strides in elements; zero means dense. rhsStride is for elements only: words lie in panels.
  int64_t lhsStride = 0, rhsStride = 0, accStride = 0;
  /// Instead of lhs and lhsStride: an array of the addresses of its rows. They may lie in the
  /// user's memory, which is then read without a copy.
  llvm::Value *lhsRows = nullptr;
  /// Not for products in tile registers (`usesTileRegisters`): the copies that they multiply take
  /// what lies far away in long runs, and asking ahead for it measured slower.
  llvm::SmallVector<DotPrefetch, 2> prefetches = {};
  /// Where this holds (i1), acc has nothing in it yet, and the sums begin at zero. Null: never.
  llvm::Value *isFirst = nullptr;
  /// Products in tile registers: lhs and rhs are those of so many rounds of a loop (i64, at least
  /// 1), one behind the other, and acc gets the sum of the rounds' products. Null: of one.
  llvm::Value *rounds = nullptr;
  DotWord word = DotWord::Element;
};

void emitDot(llvm::IRBuilderBase &builder, const HostFeatures &host, const DotShape &shape,
             llvm::Value *lhs, llvm::Value *rhs, llvm::Value *acc);

/// The word in which products of narrow elements (bf16 into f32, i8 into i32) are fastest, for a
/// product of this depth in elements; Element when the processor knows none, and the operands have
/// to be widened.
DotWord dotWordFor(const HostFeatures &host, llvm::Type *narrow, llvm::Type *acc, int64_t depth);

/// Columns of a panel of packed words: a vector of the instructions, a row of a tile register.
inline constexpr int64_t kPanelColumns = 16;

/// Rows of narrow elements (i16: the bits of bf16; i8) to be packed into panels of words.
struct DotRows {
  int64_t rows, columns;
  /// Where they begin, one every `stride` elements; or an array of the addresses of rows, wherever
  /// they lie, and no stride.
  llvm::Value *from;
  int64_t stride = 0;
  /// Adds 128 to each i8, as products in vectors want (`takesUnsigned`).
  bool asUnsigned = false;
};

/// Words that `columns` columns of packed rows take, of a depth in words.
inline int64_t packedWords(int64_t columns, int64_t depth) {
  return (columns + kPanelColumns - 1) / kPanelColumns * kPanelColumns * depth;
}

/// Packs rows into panels of words at `to`. A row may be read up to a vector past its end if
/// `columns` is no multiple of kPanelColumns; the last panel is written whole in any case.
void packRows(llvm::IRBuilderBase &builder, const HostFeatures &host, DotWord word,
              const DotRows &rows, llvm::Value *to);

/// True when the product runs in the processor's tile registers (AMX). Its function then has to
/// configure them: `emitTileConfiguration` once at its entry, `emitTileRelease` before it returns.
bool usesTileRegisters(const HostFeatures &host, const DotShape &shape);
/// True when packed rhs has to be unsigned: AVX512-VNNI multiplies unsigned by signed numbers.
inline bool takesUnsigned(const HostFeatures &host, const DotShape &shape) {
  return shape.word == DotWord::Int8Quad && !usesTileRegisters(host, shape);
}
void emitTileConfiguration(llvm::IRBuilderBase &builder);
void emitTileRelease(llvm::IRBuilderBase &builder);

/// Readable bytes needed behind the end of rhs.
inline unsigned dotPaddingBytes(const HostFeatures &host) {
  return host.vectorBits / 8;
}

} // namespace sectile::cpu
