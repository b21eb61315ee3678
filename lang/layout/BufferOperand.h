//===-- BufferOperand.h - operands of matrix instructions, in shared memory ---------------===//
// Where an instruction that reads shared memory itself finds the elements of an operand: in a
// buffer of one stage, a stage of a larger one, or a view of either with its axes exchanged. wgmma
// wants panels (PTX ISA, "Shared Memory Matrix Layout"): along one axis `panelBytes` of each row of
// the other axis, row after row, then the next panel; pieces of 16 bytes have changed places within
// the rows by bits of the address that number the rows.
//
//   SharedLayout shared = bufferOperandLayout({64, 256}, /*contiguousAxis=*/1, 16, 256);
//   std::optional<BufferOperand> found = bufferOperandOf(shared, /*depthAxis=*/0, 16);
//   found->panelBytes          // 128
//   found->isDepthContiguous   // false
//   found->panelStride         // 64 * 128: from one panel to the next
#pragma once

#include "lang/layout/SharedLayout.h"

namespace sectile::layout {

/// Rows of a panel in which pieces change places: the pattern is that of the next so many again.
inline constexpr int64_t kSwizzledRows = 8;

struct BufferOperand {
  int64_t panelBytes = 0;  // 128, 64 or 32: pieces change places within so many
  int64_t panelStride = 0; // bytes
  /// Whether elements are contiguous along the axis that the product sums over; else they are along
  /// the operand's other axis.
  bool isDepthContiguous = true;

  /// Returns the bytes from eight rows to the next eight: the instruction takes rows in such
  /// groups.
  int64_t rowGroupStride() const { return kSwizzledRows * panelBytes; }
  /// Returns what the first byte of the buffer, and of each of its stages, must be aligned to, as
  /// pieces change places by the address.
  int64_t alignment() const { return kSwizzledRows * panelBytes; }
  bool operator==(const BufferOperand &) const = default;
};

/// Returns what a layout of rank 2 is to such an instruction; nullopt when the instruction cannot
/// read it. Whichever pass has made the layout, all its elements are compared.
std::optional<BufferOperand> bufferOperandOf(const SharedLayout &shared, int depthAxis,
                                             unsigned elementBits);

/// Returns the layout of an operand whose elements are contiguous along `contiguousAxis`, of which
/// one instruction takes `extent`: the panels are as wide as that allows, a power of two that
/// divides it.
SharedLayout bufferOperandLayout(llvm::ArrayRef<int64_t> shape, int contiguousAxis,
                                 unsigned elementBits, int64_t extent);

} // namespace sectile::layout
