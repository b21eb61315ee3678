#include "lang/layout/MmaLayouts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace sectile::layout {

namespace {

/// Steps 1, 2, 4, ... of `count` indices.
LinearLayout steps(int64_t count, Dim in, int axisNumber) {
  return LinearLayout::identity1D(count, in, axis(axisNumber));
}

/// One instruction's fragment, with axes of extent 1 in front for the batch, then the warps.
TileLayout spread(LinearLayout fragment, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> warps, int missingAxis) {
  int rank = shape.size();
  for (int index = 0; index < rank; ++index)
    fragment = fragment * LinearLayout::identity1D(1, Dim::Register, axis(index));
  for (int index = 0; index < rank; ++index)
    fragment = fragment * (index == missingAxis
                               ? LinearLayout::zeros1D(warps[index], Dim::Warp, axis(index))
                               : steps(warps[index], Dim::Warp, index));
  return TileLayout(std::move(fragment), shape);
}

} // namespace

MmaShape mmaShape(unsigned operandBits) {
  if (operandBits == 64)
    return {8, 8, 4};
  return {16, 8, 256 / int64_t(operandBits)};
}

TileLayout mmaAccumulator(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> warps,
                          unsigned operandBits) {
  int rows = shape.size() - 2, columns = shape.size() - 1;
  LinearLayout fragment =
      steps(2, Dim::Register, columns) * steps(4, Dim::Lane, columns) * steps(8, Dim::Lane, rows);
  if (operandBits != 64)
    fragment = fragment * steps(2, Dim::Register, rows);
  return spread(std::move(fragment), shape, warps, -1);
}

TileLayout mmaOperand(MmaOperand operand, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> warps, unsigned elementBits, int64_t kWidth) {
  int last = shape.size() - 1;
  bool isA = operand == MmaOperand::A;
  int k = isA ? last : last - 1, outer = isA ? last - 1 : last;
  if (kWidth == 0)
    kWidth = elementBits >= 32 ? 1 : 32 / elementBits;
  LinearLayout fragment =
      steps(kWidth, Dim::Register, k) * steps(4, Dim::Lane, k) * steps(8, Dim::Lane, outer);
  if (elementBits != 64) {
    if (isA)
      fragment = fragment * steps(2, Dim::Register, outer);
    fragment = fragment * steps(2, Dim::Register, k);
  }
  return spread(std::move(fragment), shape, warps, k);
}

} // namespace sectile::layout
