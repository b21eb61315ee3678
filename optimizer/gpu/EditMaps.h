//===-- EditMaps.h - maps of arrays that a program makes itself -------------------------------===//
//   %map = tensor_map %loaded of [..] by [..]        %memory = map_memory        at the entry
//                                              =>    ...
//                                                    %map = edited_map %memory[0], %loaded of ...
//                                                    ...
//                                                    map_memory_end %memory      at the end
//
// and a map_fence behind; likewise in a producer (Producer.h), for the maps that it copies by, of
// which each has two places in turn.
//
// The host makes maps of arrays that begin at arguments of the kernel, before it is launched. Of an
// array whose address is loaded (grouped products) the program makes one, in global memory, each
// time that it comes there: in front of the outermost loop in which the array is the same. Those
// copies and stores have ended by then that went by the map before, as that loop waits for all that
// it starts (PipelineLoops, StageStores), or the producer does, so that a map needs one place and
// no other in turn.
#pragma once

#include "optimizer/gpu/GpuPass.h"

namespace sectile::optimizer {

/// --edit-maps
std::unique_ptr<mlir::Pass> createEditMaps();

} // namespace sectile::optimizer
