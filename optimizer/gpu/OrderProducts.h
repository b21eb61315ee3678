//===-- OrderProducts.h - products begin early and are waited for late -------------------------===//
// A product that reads shared memory is begun where the kernel writes it and waited for right
// behind. In a loop with several, the matrix units would so wait for threads, and threads for them,
// at every product. Attention's gradient, two of whose four products add to what the loop carries:
//
//   for ..., dv, dk:                      for ..., dv, dk:          // both under way
//     s = dot_async k, q, 0                 s = dot_async k, q, 0
//     s = dot_wait 0, s                     dp = dot_async v, do, 0
//     p = exp2 s                            s = dot_wait 1, s       // and for dv, dk
//     dv = dot_async p, do, dv              p = exp2 s
//     dv = dot_wait 0, dv             =>    dv = dot_async p, do, dv
//     dp = dot_async v, do, 0               dp = dot_wait 1, dp
//     dp = dot_wait 0, dp                   ds = p * (dp - d)
//     ds = p * (dp - d)                     dk = dot_async ds, q, dk
//     dk = dot_async ds, q, dk              yield dv, dk
//     dk = dot_wait 0, dk                 dv, dk = dot_wait 0, dv, dk
//     yield dv, dk
//
// Three steps, each for loops whose products read stages, or buffers that lie still:
// - A product whose operands are there begins before the waits in front of it, if a thread has
//   registers for its sums so long.
// - A wait goes down to where its sums are used, or to what may overwrite its operands.
// - Sums that a loop carries, and that PipelineLoops has marked (`lasting`: the stages that their
//   products read hold their bytes for another round), are waited for in the next round, by its
//   first wait, and behind the loop.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// Returns the products of a loop with several of them that may stay under way from round to round:
/// each adds to a carried value that nothing else takes, and has its left operand in a buffer, or
/// in registers that the next round writes only behind a wait for a product of its own, which lets
/// it know that these are done. In their order; none where the loop has no such products.
llvm::SmallVector<tile::DotAsyncOp, 2> productsCarriedOn(mlir::scf::ForOp loop);

/// --order-products=warps=4,lanes=32,registers=65536,each=255: takes a kernel whose loops are
/// pipelined.
std::unique_ptr<mlir::Pass> createOrderProducts(const GpuPipelineOptions &options = {},
                                                GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
