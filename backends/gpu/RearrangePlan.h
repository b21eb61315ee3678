//===-- RearrangePlan.h - how elements get elsewhere ------------------------------------------===//
// transpose, reshape, join, split, flip, cat and gather. What the layouts allow is a renaming of
// registers; else a conversion of layouts before or after one; else the whole tile goes through
// shared memory, row-major. EmitRearrange.cpp emits it.
#pragma once

#include "backends/gpu/GpuTarget.h"

#include <optional>

namespace sectile::gpu {

/// Source registers of each result register; -1: padding.
using Renaming = llvm::SmallVector<int, 16>;

/// A renaming of registers, with a conversion before or after it.
struct Renamed {
  /// Layout of the operands that is renamed; nullopt: the one they have.
  std::optional<layout::TileLayout> before;
  /// Layout of what the renaming gives.
  layout::TileLayout after;
  /// One for each result; in a join, of operands one after another.
  llvm::SmallVector<Renaming, 2> of;
};

bool isRearrangement(mlir::Operation *op);

/// Transposes, joins and splits are renamings always, a reshape is unless it tears elements apart
/// in either layout. Nullopt for what is none.
std::optional<Renamed> renamingOf(mlir::Operation *op);

struct FlipPlan {
  Renaming renaming;
  unsigned laneMask = 0;
};

/// Nullopt where warps differ, or the axis has padding.
std::optional<FlipPlan> planFlip(tile::FlipOp op);

/// Every thread has what it needs, when the three layouts spread their threads alike within what
/// divides the first part's extent. Registers of rhs follow those of lhs.
std::optional<Renaming> planCat(tile::CatOp op);

/// Shared memory for the tile as a whole.
int64_t wholeBytes(mlir::Value tile);

int64_t rearrangeScratchBytes(mlir::Operation *op, const GpuTarget &target);

} // namespace sectile::gpu
