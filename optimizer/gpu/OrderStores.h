//===-- OrderStores.h - stores wait for loads of other warps ----------------------------------===//
//   x = load p            : every warp loads the same      x = load p
//   store p, x + 1        : one warp stores          =>    barrier
//   if reduce x > 0 ...   : by a late warp's x             store p, x + 1
//
// A program's tile is loaded before what follows is stored, whatever the threads are: without the
// barrier a warp that is late would load what another has stored, and warps that hold copies of an
// element, or an element in other places, would go on with different numbers. Nor do copies load
// before one of them has stored. None is needed where a thread stores what itself has loaded (the
// same pointers in the same layout), for other arguments, and where one warp runs the program. A
// store and a later load by other threads through other pointers are the kernel's to order
// (tl.debug_barrier), as in Triton. Through the same pointers a kernel reads what it has written: a
// load of a tile of the same shape from the same array waits where its layout is not the store's.
//
// Nor is one needed where a block of neighbours begins at a multiple of its length in each of two
// accesses, as those of a loop over the whole array do: an element then belongs to one thread.
//
// Arguments are taken to share no memory, and each pair for which that saves a barrier is recorded:
//
//   x = load p + i                  GpuAssumptions::apart gets (q, p): a launch whose arrays at q
//   store q + 511 - i, x            and p overlap has other code, with the barrier
//
//   x = load p + i                  the same, but for the launch that gives one array twice
//   store q + i, x + 1              (evenIfSame is false): each thread stores what itself has read
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --order-stores=warps=4,overlap=false: of a kernel that is laid out. With `overlap` any two
/// arguments may share memory.
std::unique_ptr<mlir::Pass> createOrderStores(const GpuPipelineOptions &options = {},
                                              GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
