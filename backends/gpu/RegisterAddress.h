//===-- RegisterAddress.h - pointers of a thread told from each other -------------------------===//
// The pointers in a thread's registers mostly differ by what is known before the kernel runs, or by
// multiples of a scalar:
//
//   row * stride + arange(0, 64), two rows and eight columns per thread
//     register 5 (row 0, column 5)    == register 0 + 20 bytes
//     register 11 (row 16, column 3)  == register 0 + 12 bytes + stride * 64 bytes
//
// So one 64-bit pointer per thread is computed, and carried through loops, instead of one for every
// register; constants go into the instruction's address.
//
// Follows from (Run) of optimizer/IndexAnalysis.h, and like it assumes that the arithmetic on
// indices does not overflow.
#pragma once

#include "lang/layout/TileLayout.h"
#include "optimizer/IndexAnalysis.h"

namespace sectile::gpu {

struct RegisterAddress {
  /// The register whose pointer is taken.
  int base = 0;
  int64_t bytes = 0;
  /// Scalar integers of the kernel (signed) and the bytes each is multiplied by.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> scaled;
};

/// `pointer`: facts of the tile of pointers, whose elements have `elementBytes`.
RegisterAddress relativeAddress(const layout::TileLayout &layout,
                                const optimizer::IndexFacts &pointer, int64_t elementBytes,
                                int reg);

/// For each register one that holds the same number in every thread, itself where none is known:
/// the first of a run of equal elements. A mask `i < n` with n a multiple of 8 takes one comparison
/// for eight neighbours.
llvm::SmallVector<int, 16> equalRegisters(const layout::TileLayout &layout,
                                          const optimizer::IndexFacts &facts);

} // namespace sectile::gpu
