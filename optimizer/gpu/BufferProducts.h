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
// A transposed operand is a view of the buffer of what was transposed. PipelineLoops puts the
// stages of its buffers in place of tiles that are loaded in a loop; fill-buffers stores the rest:
//
//   x = to_buffer a              =>   buffer_store a, x
//   ...                               ...
//   s = dot_async x, y, c             proxy_fence; barrier
//                                     s = dot_async x, y, c
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --start-products=warps=4,wgmma=false: of a kernel that is laid out.
std::unique_ptr<mlir::Pass> createStartProducts(const GpuPipelineOptions &options = {});

/// --fill-buffers: of a kernel whose loops are pipelined.
std::unique_ptr<mlir::Pass> createFillBuffers();

/// A product under way in a loop: it adds to what the loop carries, and nothing else takes that.
struct CarriedProduct {
  tile::DotAsyncOp start;
  tile::DotWaitOp wait;
  unsigned argument; // number of the carried value
};

/// The loop's only product, if rounds need not wait for it: both operands lie in buffers.
std::optional<CarriedProduct> carriedProduct(mlir::scf::ForOp loop);

} // namespace sectile::optimizer
