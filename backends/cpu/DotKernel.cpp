// Blocks as in Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication, 2008: the
// block of acc in registers, the panel of rhs under it in the first-level cache.
//
//   for column block j:                     rhs panel: depth x (block width)
//     for row block i:
//       acc(i, j) -> registers
//       for k: load one row of the panel; for each row of the block: broadcast lhs, multiply, add
//       registers -> acc(i, j)
#include "backends/cpu/DotKernel.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"

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
        elementBytes(element->getScalarSizeInBits() / 8) {
    int64_t native = host.laneCount(element->getScalarSizeInBits());
    lanes = std::min<int64_t>(native, llvm::bit_ceil(uint64_t(shape.columns)));
    vector = llvm::FixedVectorType::get(element, unsigned(lanes));
    lhsStride = shape.lhsStride ? shape.lhsStride : shape.depth;
    rhsStride = shape.rhsStride ? shape.rhsStride : shape.columns;
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
  llvm::Type *element;
  int64_t elementBytes, lanes;
  llvm::FixedVectorType *vector;
  int64_t lhsStride, rhsStride, accStride;

  V index(int64_t value) { return b.getInt64(uint64_t(value)); }
  V advance(V pointer, V elements) { return b.CreateGEP(element, pointer, elements); }
  V advance(V pointer, int64_t elements) {
    return elements ? b.CreateGEP(element, pointer, index(elements)) : pointer;
  }

  /// for (i = 0; i < count; ++i) body(i), count > 0.
  void loop(int64_t count, llvm::function_ref<void(V)> body) {
    if (count == 1)
      return body(index(0));
    llvm::BasicBlock *before = b.GetInsertBlock();
    llvm::Function *function = before->getParent();
    llvm::BasicBlock *head = llvm::BasicBlock::Create(b.getContext(), "dot", function);
    llvm::BasicBlock *after = llvm::BasicBlock::Create(b.getContext(), "dot.end", function);
    b.CreateBr(head);
    b.SetInsertPoint(head);
    llvm::PHINode *i = b.CreatePHI(b.getInt64Ty(), 2);
    i->addIncoming(index(0), before);
    body(i);
    V next = b.CreateAdd(i, index(1));
    i->addIncoming(next, b.GetInsertBlock());
    b.CreateCondBr(b.CreateICmpULT(next, index(count)), head, after);
    b.SetInsertPoint(after);
  }

  /// Rows that fit in registers beside `width` vectors of rhs and one broadcast element.
  int64_t blockHeight(int64_t width) {
    int64_t registers = host.vectorRegisterCount();
    return std::min<int64_t>((registers - width - 1) / width, host.avx512 ? 12 : 8);
  }

  void emitColumns(const Run &columns, int64_t lastLanes) {
    loop(columns.count, [&](V block) {
      V column = b.CreateAdd(b.CreateMul(block, index(columns.size * lanes)),
                             index(columns.first * lanes));
      V panel = advance(rhs, column), target = advance(acc, column);
      for (const Run &rows : splitEvenly(shape.rows, blockHeight(columns.size)))
        loop(rows.count, [&](V rowBlock) {
          V row = b.CreateAdd(b.CreateMul(rowBlock, index(rows.size)), index(rows.first));
          V stride = shape.lhsRowStride ? shape.lhsRowStride : index(lhsStride);
          emitBlock(rows.size, columns.size, lastLanes, advance(lhs, b.CreateMul(row, stride)),
                    panel, advance(target, b.CreateMul(row, index(accStride))));
        });
    });
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
    if (element->isIntegerTy())
      return b.CreateAdd(b.CreateMul(x, y), sum);
    if (host.fma)
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {x, y, sum});
    return b.CreateFAdd(b.CreateFMul(x, y), sum);
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

    auto step = [&](V leftNow, V panelNow, int64_t k) {
      llvm::SmallVector<V> row;
      for (int64_t v = 0; v < width; ++v)
        row.push_back(
            b.CreateAlignedLoad(vector, advance(panelNow, k * rhsStride + v * lanes), align));
      for (int64_t i = 0; i < height; ++i) {
        V address = advance(advance(leftNow, rowOffsets[i]), k);
        V splat =
            b.CreateVectorSplat(unsigned(lanes), b.CreateAlignedLoad(element, address, align));
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
  DotEmitter(builder, host, shape, lhs, rhs, acc).emit();
}

} // namespace sectile::cpu
