//===-- UnheededHints.h - answers to the wishes that a compile does not follow ----------------===//
// A kernel may wish more of its loops and products than a target does: tl.range(..., flatten=True),
// num_stages on the CPU, tl.dot(..., max_num_imprecise_acc=32). Each such wish gets a remark of the
// kind "hint", at the loop or product, that says what happens instead.
//
// Sums of fp8 are kept apart, as max_num_imprecise_acc asks, where the instruction keeps fewer
// digits than they have: Hopper's wgmma. Other products of fp8 do without (canBeOfBuffers in
// gpu/DotLayouts.cpp); for 0 that is all that was asked, so it gets no remark.
#pragma once

#include "lang/tile/SourcePlace.h"
#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::optimizer {

/// What the back end makes of num_stages.
enum class LoadsAhead {
  Never,
  Staged, // PipelineLoops and PrefetchLoads have remarks for each load
};

/// What the back end makes of max_num_imprecise_acc.
enum class SumsApart {
  Never,
  ByProduct, // StartProducts has remarks for each product
};

/// Adds the remark of a product of fp8 whose sums are not kept apart, if it wishes so.
void noteSumsTogether(tile::DotOp product, SumsApart apart, lang::Remarks &remarks);

/// Adds the remarks of a kernel as the optimiser leaves it, before loops are pipelined.
void noteUnheededHints(mlir::func::FuncOp function, LoadsAhead ahead, SumsApart apart,
                       lang::Remarks &remarks);

} // namespace sectile::optimizer
