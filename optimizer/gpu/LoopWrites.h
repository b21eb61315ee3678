//===-- LoopWrites.h - whether a load may run before the iterations it follows ----------------===//
// A load of a later iteration may start early if nothing that earlier iterations write is what it
// reads. Arguments are taken to be apart; the launch is told (KernelImage::overlapHazards), and
// where they are not, gets code that does not (CompileOptions::argumentsOverlap).
#pragma once

#include "lang/tile/TileDialect.h"
#include "optimizer/PointerProvenance.h"

#include <string>

namespace sectile::optimizer {

/// Two arguments of the kernel that the code takes to share no memory.
struct ApartArguments {
  unsigned written = 0, other = 0;
  friend bool operator==(const ApartArguments &, const ApartArguments &) = default;
};

class LoopWrites {
public:
  LoopWrites(mlir::scf::ForOp loop, const PointerProvenance &provenance, bool argumentsOverlap);

  /// Adds to `apart` what that takes for granted.
  bool mayBePassedBy(tile::LoadOp load, llvm::SmallVectorImpl<ApartArguments> &apart) const;
  /// The reason for a remark, where it must not.
  std::string whyNotPassedBy(tile::LoadOp load) const;

private:
  const PointerProvenance &provenance;
  const bool argumentsOverlap;
  /// Something that orders memory, or writes who knows where.
  bool isOpaque = false;
  llvm::SmallVector<unsigned, 4> written; // arguments
};

} // namespace sectile::optimizer
