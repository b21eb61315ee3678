#include "lang/layout/LayoutText.h"

#include "lang/layout/LayoutReader.h"

#include "llvm/ADT/StringExtras.h"

namespace sectile::layout {

namespace {

std::string printBasis(const Coordinates &basis) {
  if (basis.size() == 1)
    return std::to_string(basis[0]);
  return "(" +
         llvm::join(llvm::map_range(basis, [](int32_t step) { return std::to_string(step); }),
                    ", ") +
         ")";
}

std::string printBases(const LinearLayout &block) {
  std::string text;
  for (const DimBits &in : block.inDims()) {
    text += (", " + nameOf(in.dim) + " = [").str();
    for (unsigned bit = 0; bit < in.bits; ++bit)
      text += (bit ? " " : "") + printBasis(block.basis(in.dim, bit));
    text += "]";
  }
  return text;
}

/// Words, numbers and punctuation of a string.
class StringTokens {
public:
  explicit StringTokens(llvm::StringRef text) : rest(text) {}

  bool consume(char punctuation) {
    rest = rest.ltrim();
    return rest.consume_front(llvm::StringRef(&punctuation, 1));
  }
  bool consumeKeyword(llvm::StringRef keyword) {
    rest = rest.ltrim();
    if (rest.take_while(llvm::isAlpha) != keyword)
      return false;
    rest = rest.drop_front(keyword.size());
    return true;
  }
  bool readNumber(int64_t &number) {
    rest = rest.ltrim();
    return !rest.consumeInteger(10, number);
  }
  bool readShape(Extents &shape) {
    if (consumeKeyword("scalar"))
      return true;
    do {
      if (!readNumber(shape.emplace_back()))
        return false;
    } while (rest.consume_front("x"));
    return true;
  }
  bool atEnd() { return rest.trim().empty(); }

private:
  llvm::StringRef rest;
};

template <class Layout>
std::optional<Layout> checkEnd(std::optional<Layout> layout, StringTokens &tokens,
                               std::string &problem) {
  if (!layout || tokens.atEnd())
    return layout;
  problem = "layout: text follows the layout";
  return std::nullopt;
}

} // namespace

std::string printShape(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  return llvm::join(llvm::map_range(shape, [](int64_t extent) { return std::to_string(extent); }),
                    "x");
}

std::string print(const TileLayout &layout) {
  return printShape(layout.shape()) + printBases(layout.block());
}

std::string print(const SharedLayout &layout) {
  LinearLayout block = layout.block();
  std::string text = printShape(layout.shape()) + printBases(block);
  if (block.inDims().empty())
    text += ", offset = []";
  if (const RowPadding &padding = layout.padding(); padding.interval)
    text +=
        ", padding = " + std::to_string(padding.interval) + " + " + std::to_string(padding.amount);
  if (!layout.isRepeatedRowMajor()) {
    llvm::ArrayRef<int> order = layout.repetitionOrder();
    text += ", repeated = [" +
            llvm::join(llvm::map_range(order, [](int axis) { return std::to_string(axis); }), " ") +
            "]";
  }
  return text;
}

std::optional<TileLayout> parseTileLayout(llvm::StringRef text, std::string &problem) {
  StringTokens tokens(text);
  return checkEnd(LayoutReader<StringTokens>(tokens, problem).readTile(), tokens, problem);
}

std::optional<SharedLayout> parseSharedLayout(llvm::StringRef text, std::string &problem) {
  StringTokens tokens(text);
  return checkEnd(LayoutReader<StringTokens>(tokens, problem).readShared(), tokens, problem);
}

} // namespace sectile::layout
