//===-- AssignLayouts.h - every tile gets a layout --------------------------------------------===//
// Layout-free tile IR -> tile IR in which every tensor type says which thread holds which element,
// and `tile.convert_layout` changes that where it must change. Layouts are chosen so that global
// memory is read and written in wide, neighbouring accesses, matrix products take and give the
// fragments of the warps' instructions or read shared memory, and little is moved between threads.
//
//   %x = tile.load %p : tensor<256x!tile.ptr<f32>>
//     ==>
//   %x = tile.load %p : tensor<256x!tile.ptr<f32>, #tile.layout<256, register = [1],
//                                                    lane = [2 4 8 16 32], warp = [64 128]>>
//
// The layouts of an operation (VerifyLayouts.h) afterwards: all alike for elementwise operations,
// memory accesses, scans and flips; a reduction's results are slices of its operands; shape changes
// move nothing between threads, but for reshape, cat and gather, which may; the operands of a dot
// are fragments that fit its accumulator where the accumulator is one, else anything. An operand
// that the instruction will read in shared memory (isReadFromBuffer) has any layout, too: that of
// its load, say. BufferProducts.h makes buffers of such operands.
//
// Runs after the target-neutral passes, once; the order of passes is in optimizer/gpu/Pipeline.h.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --assign-layouts=warps=4,lanes=32,bytes=16,registers=65536,each=255,async=false,matrix=false,
/// wgmma=false,fixed=false: `matrix` has products of floats of 8, 16, 32 (as tf32) and 64 bits and
/// of 8-bit integers done by the instructions of one warp (mma.sync), as tests want it; with
/// `wgmma` also by those of four warps that Hopper has.
std::unique_ptr<mlir::Pass> createAssignLayouts(const GpuPipelineOptions &options = {});

} // namespace sectile::optimizer
