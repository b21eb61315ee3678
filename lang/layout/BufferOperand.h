//===-- BufferOperand.h - operands of matrix instructions, in shared memory ---------------===//
// Where an instruction that reads shared memory itself finds the elements of an operand. wgmma
// wants panels (PTX ISA, "Shared Memory Matrix Layout"): along one axis `panelBytes` of each row of
// the other axis, row after row, then the next panel; pieces of 16 bytes have changed places within
// the rows by the number of the row.
//
//   SharedLayout shared = bufferOperandLayout({64, 256}, /*contiguousAxis=*/1, 16, 256);
//   std::optional<BufferOperand> found = bufferOperandOf(shared, /*depthAxis=*/0, 16);
//   found->panelBytes          // 128
//   found->isDepthContiguous   // false
//   found->panelStride         // 64 * 128: from one panel to the next
#pragma once

#include "lang/layout/SharedLayout.h"

namespace sectile::layout {

struct BufferOperand {
  int64_t panelBytes = 0;  // 128, 64 or 32, the period of the swizzle
  int64_t panelStride = 0; // bytes
  /// Panels lie along the axis that the product sums over, else along the operand's other axis.
  bool isDepthContiguous = true;

  /// Rows come in groups of eight.
  int64_t rowGroupStride() const { return 8 * panelBytes; }
  /// What the operand's first byte must be aligned to.
  int64_t alignment() const { return 8 * panelBytes; }
  bool operator==(const BufferOperand &) const = default;
};

/// What a layout of rank 2 is to such an instruction; nullopt when it cannot read it. The layout is
/// compared element by element, whoever made it.
std::optional<BufferOperand> bufferOperandOf(const SharedLayout &shared, int depthAxis,
                                             unsigned elementBits);

/// The layout of an operand whose elements are contiguous along `contiguousAxis`, of which one
/// instruction takes `extent`: the panels are as wide as it allows. `shape` has powers of two.
SharedLayout bufferOperandLayout(llvm::ArrayRef<int64_t> shape, int contiguousAxis,
                                 unsigned elementBits, int64_t extent);

} // namespace sectile::layout
