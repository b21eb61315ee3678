//===-- UnheededHints.h - answers to the wishes that a compile does not follow ----------------===//
// A kernel may wish more of its loops and products than a target does: tl.range(..., flatten=True),
// num_stages on the CPU, tl.dot(..., max_num_imprecise_acc=32). Each such wish gets a remark of the
// kind "hint", at the loop or product, that says what happens instead.
//
// No target keeps partial sums of so many products apart, as max_num_imprecise_acc asks, so it gets
// a remark on every target, whatever the operands. One thing follows from it all the same: products
// of fp8 are done without Hopper's wgmma, whose sums keep fewer digits (canBeOfBuffers in
// gpu/DotLayouts.cpp). For 0 that is all that was asked, so it gets no remark.
#pragma once

#include "lang/tile/SourcePlace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::optimizer {

/// What the back end makes of num_stages.
enum class LoadsAhead {
  Never,
  Staged, // PipelineLoops and PrefetchLoads have remarks for each load
};

/// Adds the remarks of a kernel as the optimiser leaves it, before loops are pipelined.
void noteUnheededHints(mlir::func::FuncOp function, LoadsAhead ahead, lang::Remarks &remarks);

} // namespace sectile::optimizer
