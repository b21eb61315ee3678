#include "backends/SourcePlace.h"

using namespace mlir;

namespace sectile::backends {

SourcePlace sourcePlaceOf(Location location) {
  SourcePlace place;
  while (!isa<FileLineColLoc>(location)) {
    if (auto call = dyn_cast<CallSiteLoc>(location)) {
      location = call.getCallee();
    } else if (auto name = dyn_cast<NameLoc>(location)) {
      place.function = name.getName().str();
      location = name.getChildLoc();
    } else if (auto fused = dyn_cast<FusedLoc>(location); fused && !fused.getLocations().empty()) {
      location = fused.getLocations().front();
    } else {
      return place;
    }
  }
  auto file = cast<FileLineColLoc>(location);
  place.file = file.getFilename().str();
  place.line = int32_t(file.getLine());
  place.column = int32_t(file.getColumn());
  return place;
}

} // namespace sectile::backends
