//===-- HoistUniformOffsets.h - loop-carried tiles that only move become a scalar -------------===//
// A tile of pointers or integers that a loop advances by the same amount in every element is a tile
// that stays plus a scalar that moves. The tile is then computed once and its facts (IndexAnalysis)
// are those of its start; the loop carries one integer instead of a tile of addresses.
//
//   before                                              after
//   %r = scf.for ... iter_args(%p = %p0) {      %r = scf.for ... iter_args(%o = %c0 : i64) {
//     %x = tile.load %p                           %p = tile.ptr_add %p0, splat %o
//     %q = tile.ptr_add %p, splat %step           %x = tile.load %p
//     scf.yield %q                                %n = arith.addi %o, %step
//   }                                             scf.yield %n
//                                               }
//   use of %r                                   use of tile.ptr_add %p0, splat %r
//
// `%step` must be a scalar or a splat (constant or not) of one, and may differ from iteration to
// iteration. Integer tiles are treated alike with arith.addi in their own type, in which both sides
// wrap alike. Pointer offsets are carried in 64 bits, so nothing is lost. Scalars are left as they
// are. Runs after canonicalization, which brings splats to the surface, and before code generation.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

std::unique_ptr<mlir::Pass> createHoistUniformOffsets();

} // namespace sectile::optimizer
