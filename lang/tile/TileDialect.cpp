#include "lang/tile/TileDialect.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile;

#include "lang/tile/TileDialect.cpp.inc"
#include "lang/tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "lang/tile/TileAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "lang/tile/TileTypes.cpp.inc"

void tile::TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "lang/tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lang/tile/TileAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lang/tile/TileOps.cpp.inc"
      >();
}
