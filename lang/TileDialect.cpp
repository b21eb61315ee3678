#include "lang/TileDialect.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile;

#include "lang/TileDialect.cpp.inc"
#include "lang/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "lang/TileAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "lang/TileTypes.cpp.inc"

void tile::TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "lang/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lang/TileAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lang/TileOps.cpp.inc"
      >();
}
