//===-- OverlapProducts.h - of two products in a chain the second runs a round late ------------===//
// In attention, and wherever a product takes what is computed from another one's sums, the matrix
// units wait while threads compute (softmax), and threads wait while they multiply. A second
// product that only adds to what the loop carries can be done a round later, under the computation
// of that round:
//
//   for i:                              if there is a first round:
//     s = dot_async q, k[i], 0            p = softmax (dot q, k[0]); acc = acc * r
//     s = dot_wait 0, s                   for i from the second round on:
//     p = softmax s                         s = dot_async q, k[i], 0
//     acc = acc * r             =>          t = dot_async p, v[i-1], acc
//     t = dot_async p, v[i], acc            s = dot_wait 1, s
//     acc = dot_wait 0, t                   p = softmax s
//                                           acc = dot_wait 0, t
//                                           acc = acc * r
//                                         acc = dot_wait 0, (dot_async p, v[last], acc)
//
// The order of the sums stays as it was. What changes the carried sums in a round (`acc * r`)
// stands behind the wait, so that nothing touches them meanwhile. p is carried in registers, and
// the stage of v must keep its bytes for a round more: PipelineLoops sees to that, and marks the
// product (`delayable`). That is FlashAttention-3's schedule within a warpgroup (Shah et al. 2024,
// "FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision", section 3.2).
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// A product of a loop that may run a round late.
struct DelayedProduct {
  tile::DotAsyncOp start;
  tile::DotWaitOp wait;
  unsigned argument; // the number of the carried value that it adds to
  /// The last product whose sums it takes, and the wait for that: it runs behind that start.
  tile::DotAsyncOp before;
  tile::DotWaitOp waitBefore;
  /// What the round does to the carried value before the product adds to it.
  llvm::SmallVector<mlir::Operation *, 4> changes;
};

/// Returns the loop's last product that takes from registers what an earlier one's sums have become
/// and that nothing else in the loop waits for. Whether the buffer that it reads holds its bytes so
/// long is not asked.
std::optional<DelayedProduct> delayedProduct(mlir::scf::ForOp loop);

/// Returns the buffer that views of it show, and adds those of them that are in the loop to
/// `views`.
mlir::Value bufferBehind(mlir::Value shown, mlir::scf::ForOp loop,
                         llvm::SmallVectorImpl<tile::BufferViewOp> *views = nullptr);

/// --overlap-products=fixed=false,exact=false: takes a kernel whose loops are pipelined. Products
/// that are `delayable` run a round late.
std::unique_ptr<mlir::Pass> createOverlapProducts(const GpuPipelineOptions &options = {},
                                                  GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
