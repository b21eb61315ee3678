//===-- RecomputeCost.h - is a tile value cheaper to compute again than to keep? --------------===//
// A rough count of vector instructions per vector of elements, down to values that are in buffers.
// The plan keeps what is *dear*; index arithmetic is almost always computed again, because an
// address is needed once per vector and not once per element.
#pragma once

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace sectile::cpu {

struct RecomputeCost {
  int instructions = 0;
  bool isIndex = false; // integers, truth values and pointers
  bool containsLoad = false;
  /// Contains something far dearer than a load: a math function, an integer division, a gather.
  bool isCostly = false;

  bool isDear() const { return instructions >= (isIndex && !containsLoad ? 24 : 6); }
  bool isDearAcrossRegions() const { return containsLoad || isCostly || isDear(); }
};

class RecomputeCosts {
public:
  const RecomputeCost &of(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, RecomputeCost> known;
};

} // namespace sectile::cpu
