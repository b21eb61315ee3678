//===-- MergeReductions.h - a tile that becomes one number is combined once -------------------===//
// `tl.max(x)` of a matrix combines along one axis, then along the other. Threads would so exchange
// a number for every row, although each can combine all its own elements first:
//
//   %r = tile.reduce(%x) axis 1 {f} : 128x64 -> 128       %f = tile.reshape %x : 128x64 -> 8192
//   %s = tile.reduce(%r) axis 0 {f} : 128 -> f32     =>   %s = tile.reduce(%f) axis 0 {f} -> f32
//
// The combination must be associative and commutative, which tile.reduce asks for anyway.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --merge-reductions
std::unique_ptr<mlir::Pass> createMergeReductions();

} // namespace sectile::optimizer
