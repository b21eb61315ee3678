//===-- SourcePlace.h - where an op stands in the user's source -------------------------------===//
//   SourcePlace place = sourcePlaceOf(op->getLoc());
//   place.file, place.line, place.column     "kernel.py", 12, 5
//
// Within functions called by the kernel: the place in the one called, not that of the call.
#pragma once

#include "mlir/IR/Location.h"

#include <cstdint>
#include <string>

namespace sectile::backends {

struct SourcePlace {
  std::string file, function;
  int32_t line = 0, column = 0;
  bool isKnown() const { return line > 0; }
};

SourcePlace sourcePlaceOf(mlir::Location location);

} // namespace sectile::backends
