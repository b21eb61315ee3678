//===-- LoopWrites.h - whether a load may run before the iterations it follows ----------------===//
// A load of a later iteration may start early if it reads nothing that earlier iterations write,
// and the loop orders no memory. Reads of buffers in shared memory, and products that are started
// there and waited for, are no obstacle; what fills buffers (copies, stores) and barriers are.
// Arguments are assumed to share no memory. KernelImage::overlapHazards records the assumption, and
// a launch that breaks it gets code without it (CompileOptions::argumentsOverlap).
#pragma once

#include "lang/tile/TileDialect.h"
#include "optimizer/PointerProvenance.h"

#include <string>

namespace sectile::optimizer {

/// Two arguments of the kernel that the code assumes to share no memory.
struct ApartArguments {
  unsigned written = 0, other = 0;
  /// False: the code is right also where both are one array that starts at one address.
  bool evenIfSame = true;
  friend bool operator==(const ApartArguments &, const ApartArguments &) = default;
};

/// Adds an assumption to others; for each two arguments there is one.
void assumeApart(llvm::SmallVectorImpl<ApartArguments> &apart, ApartArguments pair);

class LoopWrites {
public:
  /// Collects the writes of a loop.
  LoopWrites(mlir::scf::ForOp loop, const PointerProvenance &provenance, bool argumentsOverlap);
  /// Collects the writes of a whole kernel, for loads that may run at any time.
  LoopWrites(mlir::func::FuncOp function, const PointerProvenance &provenance,
             bool argumentsOverlap);

  /// Whether the load may run before earlier iterations; adds to `apart` what that assumes.
  bool mayBePassedBy(tile::LoadOp load, llvm::SmallVectorImpl<ApartArguments> &apart) const;
  /// Returns the reason why it must not, as the text of a remark.
  std::string whyNotPassedBy(tile::LoadOp load) const;
  /// Whether no load waits for what other programs write, so that all that the scope writes are
  /// stores of its own.
  bool areOwnStores() const { return !ordersMemory; }

private:
  LoopWrites(mlir::Block &body, const char *scope, const PointerProvenance &provenance,
             bool argumentsOverlap);

  const char *const scope; // "loop" or "kernel", for remarks
  const PointerProvenance &provenance;
  const bool argumentsOverlap;
  bool ordersMemory = false;
  bool writesAnywhere = false;            // to memory of an unknown argument
  llvm::SmallVector<unsigned, 4> written; // arguments
};

} // namespace sectile::optimizer
