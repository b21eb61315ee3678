// Blocks as in Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication, 2008: the
// block of acc in registers, the rows of lhs beside it in the first-level cache.
//
//   for row block i:
//     for column block j:                     rhs panel: depth x (block width)
//       acc(i, j) -> registers
//       for k: load one row of the panel; for each row of the block: broadcast lhs, multiply, add
//       registers -> acc(i, j)
//
// The rows of a block stay in the first-level cache while all columns pass by, so that each row of
// lhs is read once from further away; the panels of rhs come from the second-level cache, which
// costs nothing: the loads of a row of the panel are known long before its products.
#include "backends/cpu/DotKernel.h"

#include "backends/cpu/DotBlocks.h"
#include "backends/cpu/DotTiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/IR/IntrinsicsX86.h"

#include <algorithm>

namespace sectile::cpu {

using V = llvm::Value *;

namespace {

/// `count` blocks of `size` units from `first` on.
struct Run {
  int64_t first, count, size;
};

/// Splits `total` into blocks of one size from `smallest` to `largest`, the largest that divides
/// it. Where none does, into blocks of at most `largest` of two sizes that differ by one: no block
/// is a small remainder that would leave the multipliers idle.
llvm::SmallVector<Run> splitEvenly(int64_t total, int64_t smallest, int64_t largest) {
  for (int64_t size = largest; size >= smallest; --size)
    if (total % size == 0)
      return {{0, total / size, size}};
  int64_t blocks = (total + largest - 1) / largest, size = total / blocks, larger = total % blocks;
  llvm::SmallVector<Run> runs;
  if (larger)
    runs.push_back({0, larger, size + 1});
  if (blocks > larger)
    runs.push_back({larger * (size + 1), blocks - larger, size});
  return runs;
}

class DotEmitter {
public:
  DotEmitter(llvm::IRBuilderBase &b, const HostFeatures &host, const DotShape &shape, V lhs, V rhs,
             V acc)
      : b(b), host(host), shape(shape), lhs(lhs), rhs(rhs), acc(acc), element(shape.element),
        word(shape.word == DotWord::Element ? shape.element : b.getInt32Ty()),
        elementBytes(element->getScalarSizeInBits() / 8) {
    int64_t native = host.laneCount(element->getScalarSizeInBits());
    lanes = std::min<int64_t>(native, llvm::bit_ceil(uint64_t(shape.columns)));
    if (shape.word != DotWord::Element) // the instructions' own width
      lanes = native;
    vector = llvm::FixedVectorType::get(element, unsigned(lanes));
    wordVector = llvm::FixedVectorType::get(word, unsigned(lanes));
    lhsStride = shape.lhsStride ? shape.lhsStride : shape.depth;
    rhsStride = shape.rhsStride ? shape.rhsStride : shape.columns;
    vectorStride = lanes;
    if (shape.word != DotWord::Element)
      rhsStride = kPanelColumns, vectorStride = kPanelColumns * shape.depth;
    accStride = shape.accStride ? shape.accStride : shape.columns;
  }

  void emit() {
    columnRuns = splitEvenly(vectorCount(), host.avx512 ? 3 : 2, host.avx512 ? 4 : 2);
    int64_t widest = 0;
    for (const Run &run : columnRuns)
      widest = std::max(widest, run.size);
    // Two sizes take twice the code. Few rows are done before that has paid.
    int64_t highest = blockHeight(widest);
    bool isLarge = shape.rows > 128;
    auto rowRuns = splitEvenly(shape.rows, isLarge ? highest : (2 * highest + 2) / 3, highest);
    int64_t rowBlocks = blocksOf(rowRuns), columnBlocks = blocksOf(columnRuns);
    blockCount = rowBlocks * columnBlocks;
    int64_t blocksBefore = 0;
    for (const DotPrefetch &rows : shape.prefetches)
      if (!rows.isOfNextBlock)
        ofNextRound.push_back(rows);
    for (const Run &rows : rowRuns) {
      loop(rows.count, [&](V rowBlock) {
        V row = b.CreateAdd(b.CreateMul(rowBlock, index(rows.size)), index(rows.first));
        V number = b.CreateMul(b.CreateAdd(rowBlock, index(blocksBefore)), index(columnBlocks));
        emitRows(rows.size, row, number);
      });
      blocksBefore += rows.count;
    }
  }

private:
  llvm::IRBuilderBase &b;
  const HostFeatures &host;
  const DotShape &shape;
  V lhs, rhs, acc;
  llvm::Type *element, *word; // of the same size
  int64_t elementBytes, lanes;
  llvm::FixedVectorType *vector, *wordVector;
  int64_t lhsStride, rhsStride, accStride;
  /// From a vector of a row of rhs to the next.
  int64_t vectorStride;
  /// The number of the register block that is being emitted, among all of them in the order in
  /// which they run (i64).
  V blockNumber = nullptr;
  /// Register blocks, whichever their sizes.
  int64_t blockCount = 0;
  llvm::SmallVector<Run> columnRuns; // in vectors
  /// What the register blocks of all rows ask for together, each its share; and what those of the
  /// current rows do, whose first has the number firstOfRows.
  llvm::SmallVector<DotPrefetch, 2> ofNextRound, ofNextRows;
  V firstOfRows = nullptr;

  /// The rows of lhs that a block multiplies: where each begins, or where the first begins when
  /// they lie `lhsStride` apart.
  struct Rows {
    llvm::SmallVector<V> starts;
    V first = nullptr;
    /// Products of i8: what to take from the sums of each row (i32).
    llvm::SmallVector<V> biases;
  };

  V index(int64_t value) { return b.getInt64(uint64_t(value)); }
  V advance(V pointer, V elements) { return b.CreateGEP(element, pointer, elements); }
  V advance(V pointer, int64_t elements) {
    return elements ? b.CreateGEP(element, pointer, index(elements)) : pointer;
  }

  void loop(int64_t count, llvm::function_ref<void(V)> body) {
    emitCountedLoop(b, count, "dot", body);
  }

  /// Rows that fit in registers beside `width` vectors of rhs and one broadcast element.
  int64_t blockHeight(int64_t width) {
    int64_t registers = host.vectorRegisterCount();
    return std::min<int64_t>((registers - width - 1) / width, host.avx512 ? 12 : 8);
  }

  int64_t vectorCount() const { return (shape.columns + lanes - 1) / lanes; }

  static int64_t blocksOf(llvm::ArrayRef<Run> runs) {
    int64_t blocks = 0;
    for (const Run &run : runs)
      blocks += run.count;
    return blocks;
  }

  /// The `height` rows behind those from `row` on, or the first ones of the next round.
  void findNextRows(int64_t height, V row) {
    ofNextRows.clear();
    for (DotPrefetch rows : shape.prefetches) {
      if (!rows.isOfNextBlock)
        continue;
      // Blocks become lower, not higher: of a lower last block the rows before it are asked for
      // once more.
      V next = b.CreateAdd(row, index(height)), isInRound = b.CreateICmpULT(next, index(rows.rows));
      V most = index(rows.rows - height);
      V start = b.CreateSelect(
          isInRound, b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, next, most), index(0));
      rows.addresses = b.CreateGEP(b.getPtrTy(), rows.addresses, start);
      rows.distance = b.CreateSelect(isInRound, index(0), rows.distance);
      if (rows.isUseful)
        rows.isUseful = b.CreateOr(isInRound, rows.isUseful);
      rows.rows = height;
      ofNextRows.push_back(rows);
    }
  }

  /// Asks for what slot `slot` of `slots` of the current register block has to.
  void emitPrefetches(V slot, int64_t slots) {
    emitShareOfPrefetches(b, ofNextRound, slot, blockCount * slots);
    if (!ofNextRows.empty())
      emitShareOfPrefetches(b, ofNextRows,
                            b.CreateSub(slot, b.CreateMul(firstOfRows, index(slots))),
                            blocksOf(columnRuns) * slots);
  }

  /// The blocks of `height` rows from `row` on; the first of them has this number.
  void emitRows(int64_t height, V row, V number) {
    findNextRows(height, row);
    firstOfRows = number;
    Rows rows;
    if (shape.lhsRows) {
      V addresses = b.CreateGEP(b.getPtrTy(), shape.lhsRows, row);
      for (int64_t i = 0; i < height; ++i)
        rows.starts.push_back(b.CreateAlignedLoad(
            b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), addresses, uint64_t(i)),
            llvm::Align(8)));
    } else {
      rows.first = advance(lhs, b.CreateMul(row, index(lhsStride)));
    }
    V target = advance(acc, b.CreateMul(row, index(accStride)));
    if (shape.word == DotWord::Int8Quad)
      for (int64_t i = 0; i < height; ++i)
        rows.biases.push_back(biasOf(rows, i));
    int64_t blocksBefore = 0, tail = shape.columns % lanes;
    auto emitColumns = [&](int64_t firstVector, int64_t count, int64_t width, int64_t lastLanes) {
      loop(count, [&](V block) {
        V first = b.CreateAdd(b.CreateMul(block, index(width)), index(firstVector));
        blockNumber = b.CreateAdd(number, b.CreateAdd(block, index(blocksBefore)));
        emitBlock(height, width, lastLanes, rows,
                  advance(rhs, b.CreateMul(first, index(vectorStride))),
                  advance(target, b.CreateMul(first, index(lanes))));
      });
      blocksBefore += count;
    };
    for (const Run &run : columnRuns) {
      bool hasTail = tail && run.first + run.count * run.size == vectorCount();
      int64_t whole = run.count - (hasTail ? 1 : 0);
      emitColumns(run.first, whole, run.size, lanes);
      if (hasTail)
        emitColumns(run.first + whole * run.size, 1, run.size, tail);
    }
  }

  V mask(int64_t width, int64_t lastLanes, int64_t v) {
    return lastLanes == lanes || v + 1 < width ? nullptr : firstLanes(lastLanes);
  }

  V firstLanes(int64_t count) {
    llvm::SmallVector<llvm::Constant *> bits;
    for (int64_t lane = 0; lane < lanes; ++lane)
      bits.push_back(b.getInt1(lane < count));
    return llvm::ConstantVector::get(bits);
  }

  V multiplyAdd(V x, V y, V sum) {
    if (shape.word == DotWord::Bf16Pair) {
      auto *pairs = llvm::FixedVectorType::get(b.getBFloatTy(), unsigned(2 * lanes));
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                               {sum, b.CreateBitCast(x, pairs), b.CreateBitCast(y, pairs)});
    }
    if (shape.word == DotWord::Int8Quad) {
      // The instruction multiplies unsigned by signed: rhs was packed with 128 added to its
      // elements, which `Rows::biases` takes away again.
      auto *quads = llvm::FixedVectorType::get(b.getInt8Ty(), unsigned(4 * lanes));
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {},
                               {sum, b.CreateBitCast(y, quads), b.CreateBitCast(x, quads)});
    }
    if (element->isIntegerTy())
      return b.CreateAdd(b.CreateMul(x, y), sum);
    if (host.fma)
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {x, y, sum});
    return b.CreateFAdd(b.CreateFMul(x, y), sum);
  }

  /// Where word `k` (i64; null: 0) plus `offset` of row `i` lies.
  V leftAddress(const Rows &rows, int64_t i, V k, int64_t offset) {
    V start = rows.first ? rows.first : rows.starts[i];
    if (k)
      start = b.CreateGEP(word, start, k);
    return advance(start, offset + (rows.first ? i * lhsStride : 0));
  }

  /// 128 times the sum of row `i` of lhs.
  V biasOf(const Rows &rows, int64_t i) {
    auto *quads = llvm::FixedVectorType::get(b.getInt8Ty(), unsigned(4 * lanes));
    V sum = llvm::Constant::getNullValue(vector);
    for (int64_t k = 0; k < shape.depth; k += lanes) {
      V address = leftAddress(rows, i, nullptr, k);
      V words =
          k + lanes <= shape.depth
              ? (V)b.CreateAlignedLoad(wordVector, address, llvm::Align(1))
              : b.CreateMaskedLoad(wordVector, address, llvm::Align(1), firstLanes(shape.depth - k),
                                   llvm::Constant::getNullValue(wordVector));
      sum = b.CreateIntrinsic(
          llvm::Intrinsic::x86_avx512_vpdpbusd_512, {},
          {sum, llvm::ConstantInt::get(quads, 128), b.CreateBitCast(words, quads)});
    }
    return b.CreateAddReduce(sum);
  }

  /// height rows times width vectors, all of depth.
  void emitBlock(int64_t height, int64_t width, int64_t lastLanes, const Rows &rows, V panel,
                 V target) {
    llvm::Align align(static_cast<uint64_t>(elementBytes));
    llvm::SmallVector<V> sums;
    for (int64_t i = 0; i < height; ++i)
      for (int64_t v = 0; v < width; ++v) {
        V address = advance(target, i * accStride + v * lanes);
        V sum;
        if (V laneMask = mask(width, lastLanes, v))
          sum = b.CreateMaskedLoad(vector, address, align, laneMask,
                                   llvm::Constant::getNullValue(vector));
        else
          sum = b.CreateAlignedLoad(vector, address, align);
        if (shape.isFirst)
          sum = b.CreateSelect(shape.isFirst, llvm::Constant::getNullValue(vector), sum);
        if (!rows.biases.empty())
          sum = b.CreateSub(sum, b.CreateVectorSplat(unsigned(lanes), rows.biases[i]));
        sums.push_back(sum);
      }

    auto step = [&](V leftNow, V panelNow, int64_t k) {
      llvm::SmallVector<V> row;
      for (int64_t v = 0; v < width; ++v)
        row.push_back(b.CreateAlignedLoad(
            wordVector, advance(panelNow, k * rhsStride + v * vectorStride), align));
      // Narrow elements are aligned as such where lhs lies in the user's array.
      llvm::Align leftAlign = shape.word == DotWord::Element ? align : llvm::Align(1);
      for (int64_t i = 0; i < height; ++i) {
        V left = b.CreateAlignedLoad(word, leftAddress(rows, i, leftNow, k), leftAlign);
        V splat = b.CreateVectorSplat(unsigned(lanes), left);
        for (int64_t v = 0; v < width; ++v)
          sums[i * width + v] = multiplyAdd(splat, row[v], sums[i * width + v]);
      }
    };

    constexpr int64_t unroll = 4;
    int64_t rounds = shape.depth / unroll;
    V left = nullptr;
    if (rounds > 1) {
      llvm::BasicBlock *before = b.GetInsertBlock();
      llvm::Function *function = before->getParent();
      llvm::BasicBlock *head = llvm::BasicBlock::Create(b.getContext(), "dot.depth", function);
      llvm::BasicBlock *after = llvm::BasicBlock::Create(b.getContext(), "dot.depth.end", function);
      llvm::PHINode *number = nullptr; // rounds of all blocks done
      bool isFetching = !shape.prefetches.empty();
      V firstNumber = isFetching ? b.CreateMul(blockNumber, index(rounds)) : nullptr;
      b.CreateBr(head);
      b.SetInsertPoint(head);
      llvm::PHINode *leftNow = b.CreatePHI(b.getInt64Ty(), 2); // words of K done
      llvm::PHINode *panelNow = b.CreatePHI(b.getPtrTy(), 2);
      leftNow->addIncoming(index(0), before);
      panelNow->addIncoming(panel, before);
      llvm::SmallVector<llvm::PHINode *> carried;
      for (V &sum : sums) {
        carried.push_back(b.CreatePHI(vector, 2));
        carried.back()->addIncoming(sum, before);
        sum = carried.back();
      }
      // A few rows with each round: all of a block's at its beginning would fill the queue of
      // misses, and the block would wait for them.
      if (isFetching) {
        number = b.CreatePHI(b.getInt64Ty(), 2);
        number->addIncoming(firstNumber, before);
        emitPrefetches(number, rounds);
      }
      for (int64_t k = 0; k < unroll; ++k)
        step(leftNow, panelNow, k);
      left = b.CreateAdd(leftNow, index(unroll));
      panel = advance(panelNow, unroll * rhsStride);
      llvm::BasicBlock *last = b.GetInsertBlock();
      if (isFetching)
        number->addIncoming(b.CreateAdd(number, index(1)), last);
      leftNow->addIncoming(left, last);
      panelNow->addIncoming(panel, last);
      for (auto [phi, sum] : llvm::zip_equal(carried, sums))
        phi->addIncoming(sum, last);
      b.CreateCondBr(b.CreateICmpULT(left, index(rounds * unroll)), head, after);
      b.SetInsertPoint(after);
    } else {
      rounds = 0;
      emitPrefetches(blockNumber, 1);
    }
    for (int64_t k = 0; k < shape.depth - rounds * unroll; ++k)
      step(left, panel, k);

    for (int64_t i = 0; i < height; ++i)
      for (int64_t v = 0; v < width; ++v) {
        V address = advance(target, i * accStride + v * lanes);
        V sum = sums[i * width + v];
        if (V laneMask = mask(width, lastLanes, v))
          b.CreateMaskedStore(sum, address, align, laneMask);
        else
          b.CreateAlignedStore(sum, address, align);
      }
  }
};

} // namespace

void emitDot(llvm::IRBuilderBase &builder, const HostFeatures &host, const DotShape &shape, V lhs,
             V rhs, V acc) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();
  if (usesTileRegisters(host, shape))
    return emitTileDot(builder, shape, lhs, rhs, acc);
  DotEmitter(builder, host, shape, lhs, rhs, acc).emit();
}

} // namespace sectile::cpu
