//===-- LayoutReader.h - the grammar of layouts, over any source of tokens ----------------===//
// LayoutText.cpp reads from a string, the attributes of the tile dialect from MLIR's parser.
// `Tokens` has
//
//   bool consume(char punctuation);           one of ( ) [ ] , = +
//   bool consumeKeyword(StringRef keyword);
//   bool readShape(Extents &shape);           128x64, or `scalar`
//   bool readNumber(int64_t &number);
//
// each false, with nothing consumed, when something else is next. Every function of the reader
// returns nothing and sets `problem` when the text is not a layout.
#pragma once

#include "lang/layout/SharedLayout.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace sectile::layout {

template <class Tokens>
class LayoutReader {
public:
  LayoutReader(Tokens &tokens, std::string &problem) : tokens(tokens), problem(problem) {}

  std::optional<TileLayout> readTile() {
    if (!readShape())
      return std::nullopt;
    llvm::SmallVector<LinearLayout::NamedBases, 4> all;
    while (tokens.consume(',')) {
      std::optional<Dim> dim;
      for (Dim candidate : {Dim::Register, Dim::Lane, Dim::Warp, Dim::Block})
        if (!dim && tokens.consumeKeyword(nameOf(candidate)))
          dim = candidate;
      if (!dim)
        return fail("layout: expected register, lane, warp or block");
      for (const auto &[earlier, bases] : all)
        if (earlier == *dim)
          return fail("layout: " + nameOf(*dim) + " is given twice");
      all.push_back({*dim, {}});
      if (!readBases(all.back().second))
        return std::nullopt;
    }
    std::optional<LinearLayout> block = makeBlock(all);
    if (!block)
      return std::nullopt;
    return TileLayout(std::move(*block), shape);
  }

  std::optional<SharedLayout> readShared() {
    llvm::SmallVector<LinearLayout::NamedBases, 4> all = {{Dim::Offset, {}}};
    if (!readShape())
      return std::nullopt;
    if (!tokens.consume(',') || !tokens.consumeKeyword("offset"))
      return fail("layout: expected offset");
    if (!readBases(all.front().second))
      return std::nullopt;
    std::optional<LinearLayout> block = makeBlock(all);
    if (!block)
      return std::nullopt;
    std::optional<LinearLayout> offsets = block->invert();
    if (!offsets)
      return fail("layout: two offsets have the same element");
    RowPadding padding;
    llvm::SmallVector<int, 2> repetitionOrder;
    while (tokens.consume(',')) {
      if (!padding.interval && repetitionOrder.empty() && tokens.consumeKeyword("padding")) {
        if (!readPadding(padding, block->inSize(Dim::Offset)))
          return std::nullopt;
      } else if (repetitionOrder.empty() && tokens.consumeKeyword("repeated")) {
        if (!readAxes(repetitionOrder, block->outExtents()))
          return std::nullopt;
      } else {
        return fail("layout: expected padding = interval + amount or repeated = [axes]");
      }
    }
    return SharedLayout(std::move(*offsets), shape, padding, repetitionOrder);
  }

private:
  std::nullopt_t fail(const llvm::Twine &message) {
    if (problem.empty())
      problem = message.str();
    return std::nullopt;
  }

  bool readPadding(RowPadding &padding, int64_t blockElements) {
    if (!tokens.consume('=') || !tokens.readNumber(padding.interval) || !tokens.consume('+') ||
        !tokens.readNumber(padding.amount)) {
      fail("layout: expected padding = interval + amount");
      return false;
    }
    if (!llvm::isPowerOf2_64(padding.interval) || padding.amount < 0 ||
        padding.interval > blockElements) {
      fail("layout: the interval of padding is a power of two within the block");
      return false;
    }
    return true;
  }

  /// `= [axis ...]`: each axis once along which the block is repeated.
  bool readAxes(llvm::SmallVector<int, 2> &axes, llvm::ArrayRef<int64_t> blockExtents) {
    if (!tokens.consume('=') || !tokens.consume('[')) {
      fail("layout: expected = [");
      return false;
    }
    int64_t number;
    while (tokens.readNumber(number))
      axes.push_back(int(number));
    llvm::SmallVector<int, 2> repeated;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] > blockExtents[axis])
        repeated.push_back(int(axis));
    if (!tokens.consume(']') || axes.empty() ||
        !std::is_permutation(axes.begin(), axes.end(), repeated.begin(), repeated.end())) {
      fail("layout: expected each axis once along which the block is repeated");
      return false;
    }
    return true;
  }

  bool readShape() {
    if (!tokens.readShape(shape)) {
      fail("layout: expected a shape such as 128x64");
      return false;
    }
    for (int64_t extent : shape)
      if (extent <= 0 || extent > int64_t(1) << 30 || shape.size() > kMaxRank) {
        fail("layout: extents range from 1 to 2^30, in at most 16 axes");
        return false;
      }
    return true;
  }

  /// `= [basis ...]`
  bool readBases(llvm::SmallVector<Coordinates, 8> &bases) {
    if (!tokens.consume('=') || !tokens.consume('[')) {
      fail("layout: expected = [");
      return false;
    }
    while (!tokens.consume(']')) {
      Coordinates &basis = bases.emplace_back();
      bool grouped = tokens.consume('(');
      int64_t step;
      while (tokens.readNumber(step)) {
        if (step < 0 || step > 1 << 30) {
          fail("layout: a coordinate is out of range");
          return false;
        }
        basis.push_back(step);
        if (!grouped || !tokens.consume(','))
          break;
      }
      if ((grouped && !tokens.consume(')')) || basis.size() != shape.size()) {
        fail("layout: expected the coordinates of a bit, one per axis of the shape");
        return false;
      }
    }
    return true;
  }

  std::optional<LinearLayout> makeBlock(llvm::ArrayRef<LinearLayout::NamedBases> all) {
    Extents extents(shape.size(), 1);
    size_t bits = 0, outBits = 0;
    for (const auto &[dim, bases] : all) {
      bits += bases.size();
      for (const Coordinates &basis : bases)
        for (size_t index = 0; index < shape.size(); ++index)
          while (extents[index] <= basis[index])
            extents[index] *= 2;
    }
    for (int64_t extent : extents)
      outBits += llvm::Log2_64(extent);
    if (bits > 60 || outBits > 60)
      return fail("layout: more than 60 bits");
    LinearLayout block = LinearLayout::fromBases(extents, all);
    if (!block.isSurjective())
      return fail("layout: some elements of the block are held by nobody");
    return block;
  }

  Tokens &tokens;
  std::string &problem;
  Extents shape;
};

} // namespace sectile::layout
