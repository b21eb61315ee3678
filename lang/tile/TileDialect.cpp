#include "lang/tile/TileDialect.h"

#include "lang/tile/LoopTrips.h"

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

void tile::TileDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  addLoopPatterns(patterns);
}

namespace {

using tile::DiscardableAttribute;

LogicalResult verifyAttribute(Operation *op, NamedAttribute attribute,
                              DiscardableAttribute::Place place) {
  for (const DiscardableAttribute &known : tile::discardableAttributes())
    if (known.name == attribute.getName() && known.place == place)
      return success();
  return op->emitError() << "unknown attribute " << attribute.getName();
}

} // namespace

LogicalResult tile::TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  auto place = isa<LoopLikeOpInterface>(op) ? DiscardableAttribute::Place::Loop
                                            : DiscardableAttribute::Place::Function;
  return verifyAttribute(op, attribute, place);
}

LogicalResult tile::TileDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                          NamedAttribute attribute) {
  return verifyAttribute(op, attribute, DiscardableAttribute::Place::Argument);
}

ArrayRef<tile::DiscardableAttribute> tile::discardableAttributes() {
#define SECTILE_ENTRY(constant, text, place) {text, #constant, DiscardableAttribute::Place::place},
  static constexpr DiscardableAttribute all[] = {SECTILE_DISCARDABLE_ATTRIBUTES(SECTILE_ENTRY)};
#undef SECTILE_ENTRY
  return all;
}
