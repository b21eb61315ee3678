// Random layouts for law tests; every one is derived from the seed alone.
#pragma once

#include "lang/layout/Builders.h"

#include <random>

namespace sectile::layout {

class RandomLayouts {
public:
  explicit RandomLayouts(unsigned seed) : generator(seed) {}

  int64_t below(int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(generator);
  }
  template <class T>
  T oneOf(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }
  Word word(unsigned bits) { return bits ? generator() & ((Word(1) << bits) - 1) : 0; }

  DimList dims(std::initializer_list<Dim> names, unsigned maxBits) {
    DimList list;
    for (Dim name : names)
      list.push_back({name, unsigned(below(maxBits + 1))});
    return list;
  }
  DimList axes(int rank, unsigned maxBits) {
    DimList list;
    for (int index = 0; index < rank; ++index)
      list.push_back({axis(index), unsigned(below(maxBits + 1))});
    return list;
  }
  static unsigned bitsOf(const DimList &dims) {
    unsigned bits = 0;
    for (const DimBits &dim : dims)
      bits += dim.bits;
    return bits;
  }

  LinearLayout layout(DimList ins, DimList outs) {
    Words columns;
    for (unsigned bit = 0, bits = bitsOf(ins); bit < bits; ++bit)
      columns.push_back(word(bitsOf(outs)));
    return LinearLayout::fromColumns(std::move(ins), std::move(outs), std::move(columns));
  }
  LinearLayout hardwareLayout(int rank = 2) {
    return layout(dims({Dim::Register, Dim::Lane, Dim::Warp}, 3), axes(rank, 3));
  }
  /// Of as many bits in as out.
  LinearLayout bijection(const DimList &ins, const DimList &outs) {
    while (true) {
      LinearLayout made = layout(ins, outs);
      if (made.isInvertible())
        return made;
    }
  }

  /// A power of two up to `bound`.
  int64_t power(int64_t bound) {
    int64_t result = 1;
    while (result < bound && below(2))
      result *= 2;
    return result;
  }
  llvm::SmallVector<int, 4> order(int rank) {
    llvm::SmallVector<int, 4> order;
    for (int index = 0; index < rank; ++index)
      order.push_back(index);
    std::shuffle(order.begin(), order.end(), generator);
    return order;
  }
  /// `total`, a power of two, as a product over the axes.
  Extents factors(int64_t total, int rank) {
    Extents counts(rank, 1);
    for (; total > 1; total /= 2)
      counts[below(rank)] *= 2;
    return counts;
  }
  TileLayout blockedTile(Counts shape, int64_t lanes, int64_t warps) {
    int rank = shape.size();
    return blocked(shape, factors(power(16), rank), factors(lanes, rank), factors(warps, rank),
                   order(rank));
  }
  /// A blocked layout whose lanes and registers are then exchanged at random: anything a warp can
  /// hold.
  TileLayout shuffledTile(Counts shape, int64_t lanes, int64_t warps) {
    TileLayout tile = blockedTile(shape, lanes, warps);
    LinearLayout block = tile.block();
    DimList inside;
    for (Dim dim : {Dim::Register, Dim::Lane})
      inside.push_back({dim, block.inBits(dim)});
    LinearLayout mix = bijection(inside, inside);
    // Warps as they are.
    if (unsigned bits = block.inBits(Dim::Warp))
      mix = mix * LinearLayout::identity1D(int64_t(1) << bits, Dim::Warp, Dim::Warp);
    return TileLayout(mix.compose(block), shape);
  }

  std::mt19937_64 generator;
};

} // namespace sectile::layout
