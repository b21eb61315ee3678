#include "lang/layout/BufferOperand.h"

#include "lang/layout/PowersOfTwo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace sectile::layout {

namespace {

constexpr int64_t kWidestPanel = 128, kNarrowestPanel = 32;

/// Where the instruction looks for an element: bytes, by the address alone.
int64_t placeOf(const BufferOperand &operand, int64_t row, int64_t byteOfRow) {
  int64_t place = byteOfRow / operand.panelBytes * operand.panelStride + row * operand.panelBytes +
                  byteOfRow % operand.panelBytes;
  // Bits 7 and up are xored into bits 4 and up, as many as number the pieces of a row.
  return place ^ ((place >> 7 & (operand.panelBytes / 16 - 1)) << 4);
}

} // namespace

std::optional<BufferOperand> bufferOperandOf(const SharedLayout &shared, int depthAxis,
                                             unsigned elementBits) {
  if (shared.rank() != 2 || shared.padding().interval)
    return std::nullopt;
  const int64_t bytes = elementBits / 8;
  for (int contiguous : {depthAxis, 1 - depthAxis})
    for (int64_t panel = kWidestPanel; panel >= kNarrowestPanel; panel /= 2) {
      const int rowAxis = 1 - contiguous;
      const int64_t columns = shared.blockExtent(contiguous), rows = shared.blockExtent(rowAxis);
      BufferOperand operand{panel, rows * shared.repetitions()[rowAxis] * panel,
                            contiguous == depthAxis};
      if (columns * bytes < panel || rows < kSwizzledRows)
        continue;
      // Within a block both are linear: they are the same where they agree on all steps. Blocks are
      // whole groups of eight rows, and whole panels: the swizzle is that of the first in each.
      auto agree = [&](int axisNumber) {
        auto agreesAt = [&](int64_t step) {
          Coordinates at(2, 0);
          at[axisNumber] = int32_t(step);
          return shared.offsetOf(at) * bytes ==
                 placeOf(operand, at[rowAxis], at[contiguous] * bytes);
        };
        const int64_t extent = shared.blockExtent(axisNumber);
        for (int64_t step = 1; step < extent; step *= 2)
          if (!agreesAt(step))
            return false;
        for (int64_t number = 1; number < shared.repetitions()[axisNumber]; ++number)
          if (!agreesAt(number * extent))
            return false;
        return true;
      };
      if (agree(contiguous) && agree(rowAxis))
        return operand;
    }
  return std::nullopt;
}

SharedLayout bufferOperandLayout(llvm::ArrayRef<int64_t> shape, int contiguousAxis,
                                 unsigned elementBits, int64_t extent) {
  const int rowAxis = 1 - contiguousAxis;
  int64_t panel = std::clamp(lowestBit(std::min(extent, shape[contiguousAxis])) * elementBits / 8,
                             kNarrowestPanel, kWidestPanel);
  if (llvm::all_of(shape, llvm::isPowerOf2_64))
    return panelSwizzledShared(shape, {contiguousAxis, rowAxis}, elementBits, panel);
  // A block is a panel of some rows. Those with more rows of it follow, then those of other panels.
  Extents block = sharedBlockExtents(shape);
  block[contiguousAxis] = std::min(block[contiguousAxis], panel * 8 / int64_t(elementBits));
  SharedLayout one = panelSwizzledShared(block, {contiguousAxis, rowAxis}, elementBits, panel);
  return SharedLayout(one.offsets(), shape, {}, {rowAxis, contiguousAxis});
}

} // namespace sectile::layout
