//===-- AssignAccessWidths.h - every access to global memory gets its width -------------------===//
// A laid-out kernel -> the same with the axis and the width of the accesses (AccessWidth.h) on its
// loads, stores and atomics of tiles. The emitter obeys them.
//
//   %x = tile.load %p : tensor<256x!tile.ptr<f32>, #tile.layout<256, register = [1 2], ...>>
//     ==>
//   %x = tile.load %p access = <axis = 0, width = 4> : tensor<256x!tile.ptr<f32>, ...>
//
// Runs last, because a width depends on what is known of pointers and masks at the access's place.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

void assignAccessWidths(mlir::func::FuncOp function, const GpuShape &shape);

/// --assign-access-widths=bytes=16
std::unique_ptr<mlir::Pass> createAssignAccessWidths(const GpuPipelineOptions &options = {});

} // namespace sectile::optimizer
