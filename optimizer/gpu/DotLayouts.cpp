#include "optimizer/gpu/DotLayouts.h"

#include "lang/layout/Builders.h"
#include "lang/layout/MmaLayouts.h"

#include "llvm/Support/MathExtras.h"

using namespace sectile::tile;

namespace sectile::optimizer {

namespace {

using Counts = llvm::SmallVector<int64_t, 3>;

/// Calls `use` with every way to write `count` as a product over the axes, batches first, the best
/// balanced first.
template <class Use>
void forEachSplit(llvm::ArrayRef<int64_t> extents, int64_t count, Use use) {
  size_t rank = extents.size();
  Counts counts(rank, 1);
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    counts[axis] = std::min<int64_t>(count, llvm::PowerOf2Ceil(uint64_t(extents[axis])));
    count /= counts[axis];
  }
  llvm::SmallVector<int64_t, 8> splits;
  for (int64_t rows = 1; rows <= count; rows *= 2)
    splits.push_back(rows);
  // What is left for each of `count` should be square: it takes the fewest rows and columns then.
  auto perimeter = [&](int64_t rows) {
    return double(extents[rank - 2]) / rows + double(extents[rank - 1]) * rows / count;
  };
  llvm::sort(splits, [&](int64_t a, int64_t b) {
    return std::pair(perimeter(a), a) < std::pair(perimeter(b), b);
  });
  for (int64_t rows : splits) {
    counts[rank - 2] = rows;
    counts[rank - 1] = count / rows;
    use(counts);
  }
}

/// The lanes of the fragments in MmaLayouts.h.
constexpr int64_t kFragmentLanes = 32;

unsigned operandBits(DotOp dot) {
  return dot.getLhs().getType().getElementTypeBitWidth();
}

} // namespace

bool usesMatrixInstructions(DotOp dot, const GpuShape &shape) {
  auto lhs = dot.getLhs().getType(), rhs = dot.getRhs().getType();
  unsigned bits = lhs.getElementTypeBitWidth();
  return shape.hasMatrixProduct && shape.laneCount == kFragmentLanes && bits >= 8 &&
         bits == rhs.getElementTypeBitWidth() &&
         lhs.getShape().back() % layout::mmaShape(bits).k == 0 && shape.hasMatrixProduct(dot);
}

LayoutList matrixAccumulators(DotOp dot, const GpuShape &shape) {
  LayoutList layouts;
  auto extents = shapeOf(dot.getType());
  forEachSplit(extents, shape.warpCount, [&](llvm::ArrayRef<int64_t> warps) {
    layouts.push_back(layout::mmaAccumulator(extents, warps, operandBits(dot)));
  });
  return layouts;
}

LayoutList multiplyAddAccumulators(DotOp dot, const GpuShape &shape) {
  LayoutList layouts;
  auto extents = shapeOf(dot.getType());
  size_t rank = extents.size();
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  llvm::SmallVector<int, 3> order;
  for (int axis = rank; axis-- > 0;)
    order.push_back(axis);
  // A thread's rectangle: k rows and k columns are read for k * k products.
  for (int64_t size : {4, 2, 1}) {
    if (size > 1 && size * size * shape.threadCount() > count)
      continue;
    Counts perThread(rank, 1), lanes(rank, 1);
    perThread[rank - 2] = perThread[rank - 1] = size;
    lanes[rank - 1] = std::min<int64_t>(8, llvm::PowerOf2Ceil(uint64_t(extents[rank - 1])));
    lanes[rank - 2] = shape.laneCount / lanes[rank - 1];
    forEachSplit(extents, shape.warpCount, [&](llvm::ArrayRef<int64_t> warps) {
      layouts.push_back(layout::blocked(extents, perThread, lanes, warps, order));
    });
  }
  return layouts;
}

layout::TileLayout matrixOperand(DotOp dot, const layout::TileLayout &accumulator, bool isLhs) {
  Counts warps;
  for (int axis = 0; axis < accumulator.rank(); ++axis)
    warps.push_back(
        int64_t(1) << llvm::popcount(accumulator.contributionMask(layout::Dim::Warp, axis)));
  auto operand = isLhs ? dot.getLhs().getType() : dot.getRhs().getType();
  return layout::mmaOperand(isLhs ? layout::MmaOperand::A : layout::MmaOperand::B,
                            operand.getShape(), warps, operandBits(dot));
}

} // namespace sectile::optimizer
