// #tile.layout and #tile.shared_layout: their text, and what tensor and buffer types demand of
// them.
#include "lang/layout/LayoutReader.h"
#include "lang/layout/LayoutText.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::tile;

namespace {

/// The tokens of LayoutReader.h, from MLIR's parser.
class ParserTokens {
public:
  explicit ParserTokens(AsmParser &parser) : parser(parser) {}

  bool consume(char punctuation) {
    switch (punctuation) {
    case '(':
      return succeeded(parser.parseOptionalLParen());
    case ')':
      return succeeded(parser.parseOptionalRParen());
    case '[':
      return succeeded(parser.parseOptionalLSquare());
    case ']':
      return succeeded(parser.parseOptionalRSquare());
    case ',':
      return succeeded(parser.parseOptionalComma());
    case '=':
      return succeeded(parser.parseOptionalEqual());
    default:
      return succeeded(parser.parseOptionalPlus());
    }
  }
  bool consumeKeyword(StringRef keyword) { return succeeded(parser.parseOptionalKeyword(keyword)); }
  bool readShape(layout::Extents &shape) {
    if (consumeKeyword("scalar"))
      return true;
    SmallVector<int64_t> extents;
    if (failed(parser.parseDimensionList(extents, /*allowDynamic=*/false,
                                         /*withTrailingX=*/false)) ||
        extents.empty())
      return false;
    shape.assign(extents.begin(), extents.end());
    return true;
  }
  bool readNumber(int64_t &number) {
    OptionalParseResult result = parser.parseOptionalInteger(number);
    return result.has_value() && succeeded(*result);
  }

private:
  AsmParser &parser;
};

/// `<` layout `>`
template <class AttrType, class Read>
Attribute parseLayout(AsmParser &parser, Read read) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  ParserTokens tokens(parser);
  std::string problem;
  auto layout = read(layout::LayoutReader<ParserTokens>(tokens, problem));
  if (!layout) {
    parser.emitError(loc, problem);
    return {};
  }
  if (parser.parseGreater())
    return {};
  return AttrType::get(parser.getContext(), *layout);
}

} // namespace

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  return parseLayout<LayoutAttr>(parser, [](auto reader) { return reader.readTile(); });
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<" << layout::print(getLayout()) << ">";
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (ArrayRef(getLayout().shape()) != shape)
    return emitError() << "layout is of a tile of " << layout::printShape(getLayout().shape())
                       << ", not of " << layout::printShape(shape);
  return success();
}

Attribute SharedLayoutAttr::parse(AsmParser &parser, Type) {
  return parseLayout<SharedLayoutAttr>(parser, [](auto reader) { return reader.readShared(); });
}

void SharedLayoutAttr::print(AsmPrinter &printer) const {
  printer << "<" << layout::print(getLayout()) << ">";
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages,
                                 ArrayRef<int64_t> shape, Type element, SharedLayoutAttr layout) {
  if (stages < 1)
    return emitError() << "a buffer has one stage or more, not " << stages;
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return emitError() << "a buffer is of numbers of whole bytes, not of " << element;
  if (ArrayRef(layout.getLayout().shape()) != shape)
    return emitError() << "shared layout is of a tile of "
                       << layout::printShape(layout.getLayout().shape()) << ", not of "
                       << layout::printShape(shape);
  return success();
}

int64_t BufferType::getStageBytes() const {
  return llvm::alignTo(getLayout().getLayout().bytes(getElement().getIntOrFloatBitWidth()), 128);
}
