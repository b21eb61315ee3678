//===-- BufferProducts.h - products that read shared memory themselves ------------------------===//
// What layout assignment has given an instruction that several warps carry out together on operands
// in shared memory (layout::MatrixInstruction::isOfBuffers) becomes a product that is started and
// waited for:
//
//   d = dot a, b, c              =>   x = to_buffer a
//                                     y = to_buffer b
//                                     s = dot_async x, y, c
//                                     d = dot_wait 0, s
//
// Where the instruction adds with fewer digits than the accumulator has, and the kernel says of how
// many products it may (max_num_imprecise_acc), so many are summed up apart (sumsApart in
// DotLayouts.h):
//
//                                     s = dot_async x, y, 0 depth = [0, 64]
//                                     u = addf c, (dot_wait 0, s)
//                                     t = dot_async x, y, 0 depth = [64, 128]
//                                     d = addf u, (dot_wait 0, t)
//
// OrderProducts then begins the second before the first is waited for, if registers suffice.
//
// An operand that the instruction takes from registers, and that is no load, stays there. A
// transposed operand is a view of the buffer of what was transposed. PipelineLoops puts the stages
// of its buffers in place of tiles that are loaded in a loop; fill-buffers stores the rest:
//
//                                     x = buffer_alloc
//   x = to_buffer a              =>   buffer_store a, x[0]
//   ...                               ...
//   s = dot_async x, y, c             proxy_fence; barrier
//                                     s = dot_async x, y, c
//
// In a loop the store fills the buffer anew in each round: backends/gpu/SharedMemoryPlan.h puts a
// barrier in front of it.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --start-products=warps=4,lanes=32,bytes=16,registers=65536,each=255,wgmma=false,fixed=false:
/// takes a kernel that is laid out. A product whose instruction these options do not allow stays as
/// it is, so they should be those of assign-layouts.
std::unique_ptr<mlir::Pass> createStartProducts(const GpuPipelineOptions &options = {},
                                                GpuAssumptions *assumed = nullptr);

/// --fill-buffers: takes a kernel whose products are started and whose loops are pipelined, if they
/// are to be.
std::unique_ptr<mlir::Pass> createFillBuffers();

/// Returns the wait that is all that takes the product's result, in the same block; null where
/// there is none, or other products are waited for there, too.
tile::DotWaitOp onlyWaitFor(tile::DotAsyncOp product);

/// Returns the number of the loop's carried value that `wait` gives on, and that nothing else
/// takes.
std::optional<unsigned> carriedBy(tile::DotWaitOp wait, mlir::scf::ForOp loop);

/// A product that may stay under way from round to round of a loop: it adds to what the loop
/// carries, and nothing else takes that.
struct CarriedProduct {
  tile::DotAsyncOp start;
  tile::DotWaitOp wait;
  unsigned argument; // the number of the carried value
};

/// Returns the product as one of those, if it is.
std::optional<CarriedProduct> asCarried(tile::DotAsyncOp start, mlir::scf::ForOp loop);

/// Returns whether a product that goes on into the next round keeps its left operand until it is
/// done. The instruction reads registers all that time: the operand lies in a buffer or outside the
/// loop, or the round writes its registers only behind a wait for a product that is none of
/// `carried`, when all products of the round before are done.
bool keepsLhs(tile::DotAsyncOp product, mlir::scf::ForOp loop,
              llvm::ArrayRef<tile::DotAsyncOp> carried);

/// Returns the loop's only product, if rounds need not wait for it and both operands lie in
/// buffers.
std::optional<CarriedProduct> carriedProduct(mlir::scf::ForOp loop);

} // namespace sectile::optimizer
