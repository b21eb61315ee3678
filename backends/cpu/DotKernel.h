//===-- DotKernel.h - matrix products from registers ------------------------------------------===//
// Emits loops over register blocks: a block of acc stays in registers while the whole of K passes
// by.
//
//   acc[M][N] += lhs[M][K] * rhs[K][N]
//
// All three are row-major with the row strides of `DotShape`. Code size does not depend on the
// extents: at most two block heights times two block widths.
//
// Memory touched: exactly the elements of acc and lhs; rhs may be read up to one vector past the
// last element of a row, so its buffer needs `dotPaddingBytes(host)` readable bytes behind its end.
// The buffers do not overlap. The builder is left at the end of a new block.
#pragma once

#include "backends/cpu/HostFeatures.h"

#include "llvm/IR/IRBuilder.h"

namespace sectile::cpu {

struct DotShape {
  int64_t rows, columns, depth; // M, N, K
  /// Of all three matrices: float, double, i32 or i64.
  llvm::Type *element;
  /// In elements. Zero: dense.
  int64_t lhsStride = 0, rhsStride = 0, accStride = 0;
  /// Instead of lhsStride, an i64 known only when the kernel runs: lhs is then read where the user
  /// left it, without a copy.
  llvm::Value *lhsRowStride = nullptr;
};

void emitDot(llvm::IRBuilderBase &builder, const HostFeatures &host, const DotShape &shape,
             llvm::Value *lhs, llvm::Value *rhs, llvm::Value *acc);

/// Readable bytes needed behind the end of rhs.
inline unsigned dotPaddingBytes(const HostFeatures &host) {
  return host.vectorBits / 8;
}

} // namespace sectile::cpu
