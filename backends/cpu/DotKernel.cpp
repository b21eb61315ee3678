// Blocks as in Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication, 2008: the
// block of acc in registers, the panel of rhs under it in the first-level cache.
//
//   for column block j:                     rhs panel: depth x (block width)
//     for row block i:
//       acc(i, j) -> registers
//       for k: load one row of the panel; for each row of the block: broadcast lhs, multiply, add
//       registers -> acc(i, j)
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

/// Splits `total` into blocks of at most `largest`, of two sizes that differ by one: no block is a
/// small remainder that would leave the multipliers idle.
llvm::SmallVector<Run> splitEvenly(int64_t total, int64_t largest) {
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
    int64_t vectors = (shape.columns + lanes - 1) / lanes;
    int64_t tail = shape.columns % lanes;
    for (Run columns : splitEvenly(vectors, host.avx512 ? 4 : 2)) {
      bool hasTail = tail && columns.first + columns.count * columns.size == vectors;
      if (hasTail)
        --columns.count;
      if (columns.count)
        emitColumns(columns, lanes);
      if (hasTail)
        emitColumns({columns.first + columns.count * columns.size, 1, columns.size}, tail);
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
  /// Register blocks that the runs of columns emitted so far come to when they run.
  int64_t emittedBlocks = 0;
  /// Products of i8: what to take from every row of the sums, for each vector of columns.
  llvm::SmallVector<V> columnBiases;

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

  void emitColumns(const Run &columns, int64_t lastLanes) {
    auto rowRuns = splitEvenly(shape.rows, blockHeight(columns.size));
    int64_t rowBlocks = 0;
    for (const Run &rows : rowRuns)
      rowBlocks += rows.count;
    loop(columns.count, [&](V block) {
      V first = b.CreateAdd(b.CreateMul(block, index(columns.size)), index(columns.first));
      V panel = advance(rhs, b.CreateMul(first, index(vectorStride))),
        target = advance(acc, b.CreateMul(first, index(lanes)));
      if (shape.word == DotWord::Int8Quad)
        columnBiases = biases(columns.size, panel);
      V number = b.CreateAdd(b.CreateMul(block, index(rowBlocks)), index(emittedBlocks));
      emittedBlocks += columns.count * rowBlocks;
      int64_t blocksBefore = 0;
      for (const Run &rows : rowRuns) {
        loop(rows.count, [&](V rowBlock) {
          emitShareOfPrefetches(b, shape.prefetches,
                                b.CreateAdd(number, b.CreateAdd(rowBlock, index(blocksBefore))),
                                blockCount());
          V row = b.CreateAdd(b.CreateMul(rowBlock, index(rows.size)), index(rows.first));
          V stride = shape.lhsRowStride ? shape.lhsRowStride : index(lhsStride);
          emitBlock(rows.size, columns.size, lastLanes, advance(lhs, b.CreateMul(row, stride)),
                    panel, advance(target, b.CreateMul(row, index(accStride))));
        });
        blocksBefore += rows.count;
      }
    });
  }

  /// The number of register blocks, whichever their sizes.
  int64_t blockCount() {
    int64_t vectors = (shape.columns + lanes - 1) / lanes, count = 0;
    for (const Run &columns : splitEvenly(vectors, host.avx512 ? 4 : 2))
      for (const Run &rows : splitEvenly(shape.rows, blockHeight(columns.size)))
        count += columns.count * rows.count;
    return count;
  }

  V mask(int64_t width, int64_t lastLanes, int64_t v) {
    if (lastLanes == lanes || v + 1 < width)
      return nullptr;
    llvm::SmallVector<llvm::Constant *> bits;
    for (int64_t lane = 0; lane < lanes; ++lane)
      bits.push_back(b.getInt1(lane < lastLanes));
    return llvm::ConstantVector::get(bits);
  }

  V multiplyAdd(V x, V y, V sum) {
    if (shape.word == DotWord::Bf16Pair) {
      auto *pairs = llvm::FixedVectorType::get(b.getBFloatTy(), unsigned(2 * lanes));
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                               {sum, b.CreateBitCast(x, pairs), b.CreateBitCast(y, pairs)});
    }
    if (shape.word == DotWord::Int8Quad) {
      // The instruction multiplies unsigned by signed: lhs comes with 128 added to it, which
      // `columnBiases` takes away again.
      auto *quads = llvm::FixedVectorType::get(b.getInt8Ty(), unsigned(4 * lanes));
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {},
                               {sum, b.CreateBitCast(x, quads), b.CreateBitCast(y, quads)});
    }
    if (element->isIntegerTy())
      return b.CreateAdd(b.CreateMul(x, y), sum);
    if (host.fma)
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {x, y, sum});
    return b.CreateFAdd(b.CreateFMul(x, y), sum);
  }

  /// 128 times the sum of each column of the panel: lhs is read with 128 added to its elements.
  llvm::SmallVector<V> biases(int64_t width, V panel) {
    auto *quads = llvm::FixedVectorType::get(b.getInt8Ty(), unsigned(4 * lanes));
    llvm::BasicBlock *before = b.GetInsertBlock();
    llvm::Function *function = before->getParent();
    llvm::BasicBlock *head = llvm::BasicBlock::Create(b.getContext(), "dot.bias", function);
    llvm::BasicBlock *after = llvm::BasicBlock::Create(b.getContext(), "dot.bias.end", function);
    b.CreateBr(head);
    b.SetInsertPoint(head);
    llvm::PHINode *k = b.CreatePHI(b.getInt64Ty(), 2);
    k->addIncoming(index(0), before);
    llvm::SmallVector<V> sums;
    llvm::SmallVector<llvm::PHINode *> carried;
    for (int64_t v = 0; v < width; ++v) {
      carried.push_back(b.CreatePHI(vector, 2));
      carried.back()->addIncoming(llvm::Constant::getNullValue(vector), before);
    }
    V row = advance(panel, b.CreateMul(k, index(rhsStride)));
    for (int64_t v = 0; v < width; ++v) {
      V words = b.CreateAlignedLoad(wordVector, advance(row, v * vectorStride), llvm::Align(4));
      sums.push_back(b.CreateIntrinsic(
          llvm::Intrinsic::x86_avx512_vpdpbusd_512, {},
          {carried[v], llvm::ConstantInt::get(quads, 128), b.CreateBitCast(words, quads)}));
      carried[v]->addIncoming(sums.back(), head);
    }
    V next = b.CreateAdd(k, index(1));
    k->addIncoming(next, head);
    b.CreateCondBr(b.CreateICmpULT(next, index(shape.depth)), head, after);
    b.SetInsertPoint(after);
    return sums;
  }

  /// height rows times width vectors, all of depth.
  void emitBlock(int64_t height, int64_t width, int64_t lastLanes, V left, V panel, V target) {
    llvm::Align align(static_cast<uint64_t>(elementBytes));
    llvm::SmallVector<V> sums, rowOffsets;
    for (int64_t i = 0; i < height; ++i)
      rowOffsets.push_back(shape.lhsRowStride ? b.CreateMul(shape.lhsRowStride, index(i))
                                              : index(i * lhsStride));
    for (int64_t i = 0; i < height; ++i)
      for (int64_t v = 0; v < width; ++v) {
        V address = advance(target, i * accStride + v * lanes);
        if (V laneMask = mask(width, lastLanes, v))
          sums.push_back(b.CreateMaskedLoad(vector, address, align, laneMask,
                                            llvm::Constant::getNullValue(vector)));
        else
          sums.push_back(b.CreateAlignedLoad(vector, address, align));
      }

    for (auto [number, bias] : llvm::enumerate(columnBiases))
      for (int64_t i = 0; i < height; ++i)
        sums[i * width + number] = b.CreateSub(sums[i * width + number], bias);

    auto step = [&](V leftNow, V panelNow, int64_t k) {
      llvm::SmallVector<V> row;
      for (int64_t v = 0; v < width; ++v)
        row.push_back(b.CreateAlignedLoad(
            wordVector, advance(panelNow, k * rhsStride + v * vectorStride), align));
      for (int64_t i = 0; i < height; ++i) {
        V address = advance(advance(leftNow, rowOffsets[i]), k);
        V left = b.CreateAlignedLoad(word, address, align);
        if (shape.word == DotWord::Int8Quad)
          left = b.CreateXor(left, b.getInt32(0x80808080));
        V splat = b.CreateVectorSplat(unsigned(lanes), left);
        for (int64_t v = 0; v < width; ++v)
          sums[i * width + v] = multiplyAdd(splat, row[v], sums[i * width + v]);
      }
    };

    constexpr int64_t unroll = 4;
    int64_t rounds = shape.depth / unroll;
    if (rounds > 1) {
      llvm::BasicBlock *before = b.GetInsertBlock();
      llvm::Function *function = before->getParent();
      llvm::BasicBlock *head = llvm::BasicBlock::Create(b.getContext(), "dot.depth", function);
      llvm::BasicBlock *after = llvm::BasicBlock::Create(b.getContext(), "dot.depth.end", function);
      b.CreateBr(head);
      b.SetInsertPoint(head);
      llvm::PHINode *round = b.CreatePHI(b.getInt64Ty(), 2);
      llvm::PHINode *leftNow = b.CreatePHI(b.getPtrTy(), 2),
                    *panelNow = b.CreatePHI(b.getPtrTy(), 2);
      round->addIncoming(index(rounds), before);
      leftNow->addIncoming(left, before);
      panelNow->addIncoming(panel, before);
      llvm::SmallVector<llvm::PHINode *> carried;
      for (V &sum : sums) {
        carried.push_back(b.CreatePHI(vector, 2));
        carried.back()->addIncoming(sum, before);
        sum = carried.back();
      }
      for (int64_t k = 0; k < unroll; ++k)
        step(leftNow, panelNow, k);
      V nextRound = b.CreateSub(round, index(1));
      V nextLeft = advance(leftNow, unroll), nextPanel = advance(panelNow, unroll * rhsStride);
      round->addIncoming(nextRound, head);
      leftNow->addIncoming(nextLeft, head);
      panelNow->addIncoming(nextPanel, head);
      for (auto [phi, sum] : llvm::zip_equal(carried, sums))
        phi->addIncoming(sum, head);
      b.CreateCondBr(b.CreateICmpNE(nextRound, index(0)), head, after);
      b.SetInsertPoint(after);
      left = nextLeft;
      panel = nextPanel;
    } else {
      rounds = 0;
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
