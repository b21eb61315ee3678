//===-- BufferAccesses.h - pointers of a tile become one pointer and offsets of 32 bits -------===//
// Some GPUs access memory through buffers: one pointer, which all lanes of a warp share and which
// lies in scalar registers, and an offset of 32 bits for each lane. A lane whose offset is outside
// accesses nothing, so a mask takes the place of a branch, and offsets take half the registers of
// pointers.
//
//   %p = tile.ptr_add (tile.splat %x), (tile.splat %start + %columns)
//   %v = tile.load %p, %mask
//     ==>
//   %y = tile.ptr_add %x, %start                                         a scalar
//   %q = tile.ptr_add (tile.splat %y), %columns in_buffer
//   %v = tile.load %q, %mask
//
// What is the same in all elements is added to the pointer; what is left is the offset. It has to
// be below 2^31 bytes, and not negative, wherever memory is touched. That follows
//
//   from ranges       arange(0, 1024) * 4 bytes, whatever the pointer is
//   from the launch   of `rows * stride + columns`: nothing that is added has a minus sign, no
//                     argument among it is negative, and the array ends less than 2 GiB behind the
//                     argument that points to it
//
// The latter is an assumption about arguments: GpuAssumptions::bufferArguments has them, the image
// lists them, and a launch that breaks it gets the variant that was compiled with
// CompileOptions::largeArrays. Beside that, IndexAnalysis' assumptions are made, that offsets do
// not wrap before they are widened, and that program numbers and the like are not negative.
//
// Runs last: the widths of accesses are decided by the facts of the pointers as they were.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --buffer-accesses=large=false
std::unique_ptr<mlir::Pass> createBufferAccesses(const GpuPipelineOptions &options = {},
                                                 GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
