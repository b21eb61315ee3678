// Which thread this is, and which elements it holds.
#include "backends/gpu/GpuEmitter.h"

using namespace mlir;

namespace sectile::gpu {

using layout::Dim;
using layout::TileLayout;

llvm::Value *GpuEmitter::threadIndex() {
  if (!threadIndexValue) {
    llvm::IRBuilderBase::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryEnd);
    threadIndexValue = target.threadIndex(builder);
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(threadIndexValue))
      call->addRangeRetAttr(
          llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, blockThreads())));
    if (teams > 1)
      threadIndexValue = builder.CreateAnd(threadIndexValue, threadCount() - 1);
  }
  return threadIndexValue;
}

llvm::Value *GpuEmitter::laneIndex() {
  if (!laneIndexValue) {
    llvm::Value *thread = threadIndex();
    llvm::IRBuilderBase::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryEnd);
    laneIndexValue = builder.CreateAnd(thread, builder.getInt32(target.laneCount - 1), "lane");
  }
  return laneIndexValue;
}

llvm::Value *GpuEmitter::warpIndex() {
  if (!warpIndexValue) {
    llvm::Value *thread = threadIndex();
    llvm::IRBuilderBase::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryEnd);
    warpIndexValue = builder.CreateLShr(thread, llvm::Log2_32(target.laneCount), "warp");
  }
  return warpIndexValue;
}

llvm::Value *GpuEmitter::uniformWarpIndex() {
  if (!uniformWarpIndexValue) {
    llvm::Value *warp = warpIndex();
    llvm::IRBuilderBase::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryEnd);
    uniformWarpIndexValue = target.shuffleFrom(builder, warp, builder.getInt32(0));
  }
  return uniformWarpIndexValue;
}

llvm::Value *GpuEmitter::teamIndex() {
  if (!teamIndexValue) {
    llvm::IRBuilderBase::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryEnd);
    llvm::Value *team =
        builder.CreateLShr(target.threadIndex(builder), llvm::Log2_32(threadCount()));
    teamIndexValue = target.shuffleFrom(builder, team, builder.getInt32(0));
  }
  return teamIndexValue;
}

/// The xor of `bases` over the set bits of `index`. Runs of bits whose bases double are moved in
/// one piece.
static llvm::Value *combineBases(llvm::IRBuilderBase &builder, llvm::Value *index,
                                 ArrayRef<int32_t> bases, llvm::Value *sum, int32_t &usedBits) {
  for (unsigned bit = 0; bit < bases.size();) {
    int32_t first = bases[bit];
    if (!first) {
      ++bit;
      continue;
    }
    unsigned count = 1;
    if (llvm::isPowerOf2_32(first))
      while (bit + count < bases.size() && bases[bit + count] == first << count)
        ++count;
    int32_t mask = ((1 << count) - 1);
    llvm::Value *piece = builder.CreateAnd(builder.CreateLShr(index, bit), mask);
    int32_t bits = first;
    if (llvm::isPowerOf2_32(first)) {
      piece = builder.CreateShl(piece, llvm::Log2_32(first), "", /*NUW=*/true, /*NSW=*/true);
      bits = mask * first;
    } else {
      piece = builder.CreateMul(piece, builder.getInt32(first), "", true, true);
    }
    if (!sum)
      sum = piece;
    else if (usedBits & bits)
      sum = builder.CreateXor(sum, piece);
    else
      sum = builder.CreateOr(sum, piece, "", /*IsDisjoint=*/true);
    usedBits |= bits;
    bit += count;
  }
  return sum;
}

ArrayRef<llvm::Value *> GpuEmitter::threadCoordinate(const TileLayout &layout) {
  for (auto &[known, values] : coordinates)
    if (known == layout)
      return values;
  llvm::Value *lane = laneIndex(), *warp = warpIndex();
  llvm::IRBuilderBase::InsertPointGuard guard(builder);
  builder.SetInsertPoint(entryEnd);
  SmallVector<llvm::Value *, 3> values;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    auto basesOf = [&](Dim dim) {
      SmallVector<int32_t, 8> bases;
      for (unsigned bit = 0; bit < layout.block().inBits(dim); ++bit)
        bases.push_back(layout.block().basis(dim, bit, layout::axis(axis)));
      return bases;
    };
    int32_t usedBits = 0;
    llvm::Value *sum = combineBases(builder, lane, basesOf(Dim::Lane), nullptr, usedBits);
    sum = combineBases(builder, warp, basesOf(Dim::Warp), sum, usedBits);
    values.push_back(sum ? sum : builder.getInt32(0));
  }
  coordinates.push_back({layout, values});
  return coordinates.back().second;
}

llvm::Value *GpuEmitter::coordinate(const TileLayout &layout, unsigned reg, unsigned dimension) {
  llvm::Value *thread = threadCoordinate(layout)[dimension];
  layout::RegisterPart part = layout.coordinateOf(reg);
  int32_t inBlock = part.inBlock[dimension], offset = part.offset[dimension];
  // Disjoint bits add without carry: one constant, which addresses swallow.
  if (layout.threadBits(dimension) & inBlock) {
    thread = builder.CreateXor(thread, builder.getInt32(inBlock));
    inBlock = 0;
  }
  if (inBlock + offset == 0)
    return thread;
  return builder.CreateAdd(thread, builder.getInt32(inBlock + offset), "", /*NUW=*/true,
                           /*NSW=*/true);
}

llvm::Value *GpuEmitter::isFirstCopy(const TileLayout &layout) {
  auto isZero = [&](llvm::Value *index, layout::Word mask) -> llvm::Value * {
    if (!mask)
      return nullptr;
    return builder.CreateICmpEQ(builder.CreateAnd(index, builder.getInt32(uint32_t(mask))),
                                builder.getInt32(0));
  };
  llvm::Value *lane = isZero(laneIndex(), layout.copyMask(Dim::Lane));
  return both(lane, isZero(warpIndex(), layout.copyMask(Dim::Warp)));
}

llvm::Value *GpuEmitter::isInside(const TileLayout &layout, unsigned reg) {
  llvm::Value *inside = nullptr;
  layout::RegisterPart part = layout.coordinateOf(reg);
  for (int axis = 0; axis < layout.rank(); ++axis) {
    int64_t extent = layout.shape()[axis];
    int64_t farthest = (layout.threadBits(axis) | part.inBlock[axis]) + part.offset[axis];
    if (farthest >= extent)
      inside = both(inside, builder.CreateICmpULT(coordinate(layout, reg, axis),
                                                  builder.getInt32(uint32_t(extent))));
  }
  return inside;
}

llvm::Value *GpuEmitter::rowMajorNumber(const TileLayout &layout, int reg) {
  llvm::Value *number = builder.getInt32(0);
  for (int axis = 0; axis < layout.rank(); ++axis)
    number = builder.CreateAdd(builder.CreateMul(number, builder.getInt32(layout.shape()[axis])),
                               coordinate(layout, reg, axis));
  return number;
}

llvm::Value *GpuEmitter::both(llvm::Value *lhs, llvm::Value *rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return builder.CreateAnd(lhs, rhs);
}

} // namespace sectile::gpu
