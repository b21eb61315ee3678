#include "lang/layout/BufferOperand.h"

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
  if (shared.rank() != 2 || shared.padding().interval ||
      llvm::any_of(shared.repetitions(), [](int64_t count) { return count != 1; }))
    return std::nullopt;
  const int64_t bytes = elementBits / 8;
  for (int contiguous : {depthAxis, 1 - depthAxis})
    for (int64_t panel = kWidestPanel; panel >= kNarrowestPanel; panel /= 2) {
      const int rowAxis = 1 - contiguous;
      const int64_t columns = shared.blockExtent(contiguous), rows = shared.blockExtent(rowAxis);
      BufferOperand operand{panel, rows * panel, contiguous == depthAxis};
      if (columns * bytes < panel || rows < 8)
        continue;
      // Both are linear: they are the same where they agree on all steps.
      auto agree = [&](int axisNumber, int64_t extent) {
        for (int64_t step = 1; step < extent; step *= 2) {
          Coordinates at(2, 0);
          at[axisNumber] = int32_t(step);
          if (shared.offsetOf(at) * bytes != placeOf(operand, at[rowAxis], at[contiguous] * bytes))
            return false;
        }
        return true;
      };
      if (agree(contiguous, columns) && agree(rowAxis, rows))
        return operand;
    }
  return std::nullopt;
}

SharedLayout bufferOperandLayout(llvm::ArrayRef<int64_t> shape, int contiguousAxis,
                                 unsigned elementBits, int64_t extent) {
  int64_t panel = std::clamp(std::min(extent, shape[contiguousAxis]) * elementBits / 8,
                             kNarrowestPanel, kWidestPanel);
  return panelSwizzledShared(shape, {contiguousAxis, 1 - contiguousAxis}, elementBits, panel);
}

} // namespace sectile::layout
