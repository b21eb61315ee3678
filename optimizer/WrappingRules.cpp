#include "optimizer/WrappingRules.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/SequenceRules.h"

#include <numeric>

using namespace mlir;

namespace sectile::optimizer {

static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Range typeRange(Type type) {
  auto integer = dyn_cast<IntegerType>(tile::elementTypeOf(type));
  if (!integer || integer.getWidth() >= 64)
    return {kMin, kMax};
  if (integer.getWidth() == 1)
    return {0, 1};
  int64_t half = int64_t(1) << (integer.getWidth() - 1);
  return {-half, half - 1};
}

bool setRange(IndexFacts &facts, Type type, __int128 low, __int128 high) {
  Range limits = typeRange(type);
  if (low < limits.low || high > limits.high) {
    facts.low = limits.low;
    facts.high = limits.high;
    return false;
  }
  facts.low = int64_t(low);
  facts.high = int64_t(high);
  return true;
}

/// (Wrap) A number that leaves its type comes back 2^width away: runs go on only in groups that lie
/// between two multiples of 2^(width - 1), and the divisors that remain are powers of two.
static IndexFacts cutAtWraps(IndexFacts facts, unsigned width) {
  int64_t half = width > 62 ? kMaxDivisibility : int64_t(1) << (width - 1);
  for (DimensionFacts &dim : facts.dimensions) {
    if (dim.stride != 0) {
      int64_t group = groupsWithin(dim, half);
      dim = normalized(
          sequence(dim.extent, group, dim.stride, dim.strideSymbol, divisibilityAt(dim, group)));
    }
    dim.divisibility = std::gcd(dim.divisibility, multiplyDivisors(half, 2));
  }
  facts.modulusBits = 0;
  return facts;
}

IndexFacts withoutRuns(IndexFacts facts) {
  for (DimensionFacts &dim : facts.dimensions)
    dim = normalized(sequence(dim.extent, 1));
  facts.modulusBits = 0;
  facts.isOffset = facts.isAssumed = false;
  return facts;
}

IndexFacts numbersOf(const IndexFacts &x) {
  if (x.isOffset)
    return withoutRuns(x);
  return x.modulusBits ? cutAtWraps(x, x.modulusBits) : x;
}

IndexFacts exactUnlessShorter(IndexFacts exact, IndexFacts other) {
  bool isAsLong = llvm::all_of(llvm::zip(exact.dimensions, other.dimensions), [](auto pair) {
    auto &[e, o] = pair;
    return e.run >= o.run && (e.run == 1 || sameStride(e, o));
  });
  return isAsLong ? exact : other;
}

void inherit(IndexFacts &facts, const IndexFacts &x, const IndexFacts &y) {
  // 0 is infinitely many bits.
  facts.modulusBits = std::min(x.modulusBits - 1, y.modulusBits - 1) + 1;
  facts.isOffset = x.isOffset || y.isOffset;
  facts.isAssumed = x.isAssumed || y.isAssumed;
}

IndexFacts wrapped(Type type, const IndexFacts &x) {
  Range limits = typeRange(type);
  auto integer = dyn_cast<IntegerType>(tile::elementTypeOf(type));
  IndexFacts facts = cutAtWraps(x, integer ? integer.getWidth() : 64);
  facts.scalar = {};
  facts.low = limits.low, facts.high = limits.high;
  facts.isNonNegative = false;
  return facts;
}

IndexFacts computed(Type type, IndexFacts facts, bool stays) {
  auto integer = dyn_cast<IntegerType>(tile::elementTypeOf(type));
  unsigned width = integer ? integer.getWidth() : 64;
  if (stays)
    return facts;
  if (width < 32) // bytes and the like are no offsets, of which something is assumed
    return wrapped(type, facts);
  facts.modulusBits = facts.modulusBits ? std::min(facts.modulusBits, width) : width;
  return facts;
}

/// Assumption (Sign): sums and products of numbers of unknown size are assumed to stay in their
/// type.
static bool isOfUnknownSize(const IndexFacts &x) {
  return (x.isNonNegative && x.low < 0) || (x.scalar && !x.constant());
}
bool isAssumedNonNegative(const IndexFacts &x, const IndexFacts &y) {
  return x.isNonNegative && y.isNonNegative && (isOfUnknownSize(x) || isOfUnknownSize(y));
}

} // namespace sectile::optimizer
