#include "optimizer/IndexRules.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/SequenceRules.h"
#include "optimizer/WrappingRules.h"

#include <numeric>

using namespace mlir;

namespace sectile::optimizer {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

//===-- all dimensions ------------------------------------------------------------------------===//

using Lookup = function_ref<const IndexFacts &(Value)>;

IndexFacts uniformFacts(Type type, int64_t divisibility) {
  IndexFacts facts = unknownFacts(type);
  for (DimensionFacts &dim : facts.dimensions) {
    dim.run = dim.extent;
    dim.divisibility = divisibility;
    dim.isPrefix = true;
  }
  return facts;
}

IndexFacts numberFacts(Type type, int64_t number) {
  IndexFacts facts = uniformFacts(type, divisorOf(number));
  facts.low = facts.high = number;
  facts.isNonNegative = number >= 0;
  return facts;
}

int64_t signedValue(const APInt &value) {
  return value.getBitWidth() == 1 ? int64_t(value.getBoolValue())
                                  : value.sextOrTrunc(64).getSExtValue();
}

IndexFacts constantRule(arith::ConstantOp op) {
  Type type = op.getType();
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue()))
    return numberFacts(type, signedValue(integer.getValue()));
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return uniformFacts(type, 1); // a float
  if (!isa<IntegerType>(tile::elementTypeOf(type)))
    return elements.isSplat() ? uniformFacts(type, 1) : unknownFacts(type);
  if (elements.isSplat())
    return numberFacts(type, signedValue(elements.getSplatValue<APInt>()));
  IndexFacts facts = unknownFacts(type);
  facts.low = kMax, facts.high = kMin;
  int64_t divisor = kMaxDivisibility;
  for (const APInt &value : elements.getValues<APInt>()) {
    int64_t number = signedValue(value);
    facts.low = std::min(facts.low, number), facts.high = std::max(facts.high, number);
    divisor = std::gcd(divisor, divisorOf(number));
  }
  for (DimensionFacts &dim : facts.dimensions)
    dim.divisibility = divisor;
  facts.isNonNegative = facts.low >= 0;
  return facts;
}

IndexFacts constancyRule(Type type, ValueRange operands, Lookup of) {
  IndexFacts facts = unknownFacts(type);
  for (auto [d, dim] : llvm::enumerate(facts.dimensions)) {
    SmallVector<DimensionFacts> along;
    for (Value operand : operands)
      if (isa<RankedTensorType>(operand.getType()))
        along.push_back(of(operand).dimensions[d]);
    dim = constantRuns(dim.extent, along);
  }
  // What is equal modulo 2^bits is equal.
  for (Value operand : operands)
    facts.isAssumed |= of(operand).isAssumed;
  return facts;
}

template <class Rule>
IndexFacts perDimension(Type type, const IndexFacts &x, const IndexFacts &y, Rule rule) {
  IndexFacts facts = unknownFacts(type);
  for (auto [d, dim] : llvm::enumerate(facts.dimensions))
    dim = rule(x.dimensions[d], y.dimensions[d]);
  inherit(facts, x, y);
  return facts;
}

IndexFacts add(Type type, const IndexFacts &x, const IndexFacts &y, int64_t sign) {
  IndexFacts facts =
      perDimension(type, x, y, [&](const auto &a, const auto &b) { return addRule(a, b, sign); });
  bool stays = sign > 0 ? setRange(facts, type, __int128(x.low) + y.low, __int128(x.high) + y.high)
                        : setRange(facts, type, __int128(x.low) - y.high, __int128(x.high) - y.low);
  facts.isNonNegative = facts.low >= 0 || (sign > 0 && isAssumedNonNegative(x, y));
  return computed(type, facts, stays);
}

IndexFacts multiply(Type type, const IndexFacts &x, const IndexFacts &y) {
  IndexFacts facts = perDimension(
      type, x, y, [&](const auto &a, const auto &b) { return multiplyRule(a, x, b, y); });
  __int128 corners[] = {__int128(x.low) * y.low, __int128(x.low) * y.high, __int128(x.high) * y.low,
                        __int128(x.high) * y.high};
  bool stays = setRange(facts, type, *std::min_element(corners, corners + 4),
                        *std::max_element(corners, corners + 4));
  facts.isNonNegative = facts.low >= 0 || isAssumedNonNegative(x, y);
  return computed(type, facts, stays);
}

enum class Division { Truncating, Floor, Unsigned };

/// (Unsigned) Read as unsigned, a negative number gains a power of two: only such divisors stay,
/// and runs go on only where no element changes sign.
IndexFacts asUnsigned(const IndexFacts &x) {
  IndexFacts facts = x;
  if (x.low >= 0)
    return facts;
  for (DimensionFacts &dim : facts.dimensions) {
    if (dim.stride != 0) {
      int64_t group = groupsWithin(dim, dim.divisibility);
      dim = normalized(
          sequence(dim.extent, group, dim.stride, dim.strideSymbol, divisibilityAt(dim, group)));
    }
    dim.divisibility = lowestBit(dim.divisibility);
  }
  return facts;
}

IndexFacts asOperand(const IndexFacts &x, Division division) {
  return division == Division::Unsigned ? asUnsigned(numbersOf(x)) : numbersOf(x);
}

/// Facts of a quotient or remainder by `rule(isFloor)`: truncating is rounding down where x is not
/// negative, which may be assumption (Sign).
template <class Rule>
IndexFacts rounded(const IndexFacts &x, Division division, Rule rule) {
  if (division != Division::Truncating || x.low >= 0)
    return rule(true);
  if (!x.isNonNegative)
    return rule(false);
  IndexFacts assumed = rule(true);
  assumed.isAssumed = true;
  return exactUnlessShorter(rule(false), std::move(assumed));
}

IndexFacts divide(Type type, const IndexFacts &dividend, const IndexFacts &y, Division division) {
  IndexFacts x = asOperand(dividend, division);
  auto divisor = y.constant();
  IndexFacts facts = rounded(x, division, [&](bool isFloor) {
    return perDimension(type, x, numbersOf(y), [&](const auto &a, const auto &b) {
      return divideRule(a, b, divisor, isFloor);
    });
  });
  if (divisor && *divisor > 0 && (division != Division::Unsigned || x.low >= 0)) {
    auto quotient = [&](int64_t n) {
      return n / *divisor - (division == Division::Floor && n % *divisor < 0);
    };
    setRange(facts, type, quotient(x.low), quotient(x.high));
  }
  // Assumption (Sign): a scalar that divides is positive, if it is not known.
  bool mayBePositive = !divisor && !isa<RankedTensorType>(type);
  facts.isNonNegative = facts.low >= 0 || (x.isNonNegative && (y.isNonNegative || mayBePositive));
  return facts;
}

IndexFacts remainder(Type type, const IndexFacts &dividend, const IndexFacts &modulus,
                     Division division) {
  IndexFacts x = asOperand(dividend, division), y = asOperand(modulus, division);
  auto divisor = y.constant();
  if (divisor && x.low >= 0 && x.high < *divisor)
    return x; // nothing to take away
  int64_t period = y.commonDivisor();
  IndexFacts facts = rounded(x, division, [&](bool isFloor) {
    return perDimension(type, x, y, [&](const auto &a, const auto &b) {
      return remainderRule(a, b, period, isFloor);
    });
  });
  bool isTruncating = division == Division::Truncating;
  if (divisor && *divisor > 0) {
    bool canBeNegative = isTruncating && x.low < 0;
    setRange(facts, type, canBeNegative ? -__int128(*divisor) + 1 : 0, *divisor - 1);
  } else if (isTruncating && x.low >= 0) {
    setRange(facts, type, 0, x.high); // by whatever it is divided
  }
  // Truncating, a remainder has the sign of what is divided.
  facts.isNonNegative = facts.low >= 0 || (x.isNonNegative && (isTruncating || y.isNonNegative));
  return facts;
}

std::optional<int64_t> powerOfTwo(const IndexFacts &shift, Type type) {
  auto amount = shift.constant();
  auto integer = dyn_cast<IntegerType>(tile::elementTypeOf(type));
  if (!amount || !integer || *amount < 0 || *amount >= std::min(62u, integer.getWidth() - 1))
    return std::nullopt;
  return int64_t(1) << *amount;
}

IndexFacts bitAnd(Type type, const IndexFacts &x, const IndexFacts &y,
                  const IndexFacts &otherwise) {
  if (typeRange(type).high == 1) { // truth values
    IndexFacts facts = otherwise;
    if (x.constant() == 1)
      return y;
    if (y.constant() == 1)
      return x;
    for (auto [d, dim] : llvm::enumerate(facts.dimensions))
      dim.isPrefix = x.dimensions[d].isPrefix && y.dimensions[d].isPrefix;
    return facts;
  }
  if (!y.constant() && x.constant())
    return bitAnd(type, y, x, otherwise);
  IndexFacts facts = otherwise;
  IndexFacts numbers = numbersOf(x);
  if (auto mask = y.constant()) {
    if (*mask >= 0 && llvm::isPowerOf2_64(uint64_t(*mask) + 1) && *mask < kMaxDivisibility) {
      facts = remainder(type, x, numberFacts(type, *mask + 1), Division::Floor);
      facts.scalar = {};
    } else if (*mask < 0 && llvm::isPowerOf2_64(-uint64_t(*mask))) {
      int64_t unit = -*mask;
      for (auto [d, dim] : llvm::enumerate(facts.dimensions)) {
        const DimensionFacts &from = numbers.dimensions[d];
        if (int64_t group = groupsWithin(from, unit); group > dim.run)
          dim = normalized(sequence(dim.extent, group));
        dim.divisibility = std::max(dim.divisibility, unit);
      }
    }
  }
  facts.isNonNegative |= x.isNonNegative || y.isNonNegative;
  if (x.low >= 0 || y.low >= 0) {
    int64_t high = x.low >= 0 && y.low >= 0 ? std::min(x.high, y.high)
                   : x.low >= 0             ? x.high
                                            : y.high;
    facts.low = std::max<int64_t>(facts.low, 0);
    facts.high = std::min(facts.high, high);
    facts.isNonNegative = true;
  }
  return facts;
}

IndexFacts bitOr(Type type, const IndexFacts &x, const IndexFacts &y, const IndexFacts &otherwise) {
  if (typeRange(type).high == 1) {
    IndexFacts facts = otherwise;
    for (auto [d, dim] : llvm::enumerate(facts.dimensions))
      dim.isPrefix = x.dimensions[d].isPrefix && y.dimensions[d].isPrefix;
    return facts;
  }
  // (Disjoint) x | y == x + y when no bit is set in both.
  auto disjoint = [](const IndexFacts &high, const IndexFacts &low) {
    return low.low >= 0 && low.high < lowestBit(high.commonDivisor());
  };
  IndexFacts a = numbersOf(x), b = numbersOf(y);
  if (disjoint(a, b) || disjoint(b, a))
    return add(type, a, b, 1);
  return otherwise;
}

arith::CmpIPredicate asSigned(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::ult:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::ule:
    return arith::CmpIPredicate::sle;
  case arith::CmpIPredicate::ugt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::uge:
    return arith::CmpIPredicate::sge;
  default:
    return predicate;
  }
}

/// The answer when the ranges already give it.
std::optional<bool> compareRanges(arith::CmpIPredicate order, const IndexFacts &x,
                                  const IndexFacts &y) {
  switch (order) {
  case arith::CmpIPredicate::slt:
    return x.high < y.low    ? std::optional(true)
           : x.low >= y.high ? std::optional(false)
                             : std::nullopt;
  case arith::CmpIPredicate::sle:
    return x.high <= y.low  ? std::optional(true)
           : x.low > y.high ? std::optional(false)
                            : std::nullopt;
  case arith::CmpIPredicate::sgt:
    return compareRanges(arith::CmpIPredicate::slt, y, x);
  case arith::CmpIPredicate::sge:
    return compareRanges(arith::CmpIPredicate::sle, y, x);
  case arith::CmpIPredicate::eq:
    if (x.constant() && x.constant() == y.constant())
      return true;
    return x.high < y.low || y.high < x.low ? std::optional(false) : std::nullopt;
  case arith::CmpIPredicate::ne:
    if (auto equal = compareRanges(arith::CmpIPredicate::eq, x, y))
      return !*equal;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

IndexFacts compare(Type type, arith::CmpIPredicate predicate, const IndexFacts &lhs,
                   const IndexFacts &rhs, bool isTruth) {
  // Masks hold whatever is assumed.
  IndexFacts x = lhs.isAssumed ? withoutRuns(lhs) : numbersOf(lhs);
  IndexFacts y = rhs.isAssumed ? withoutRuns(rhs) : numbersOf(rhs);
  arith::CmpIPredicate order = asSigned(predicate);
  bool isUnsigned = order != predicate;
  bool areSmall = x.low >= 0 && y.low >= 0;
  if (!isTruth && (!isUnsigned || areSmall))
    if (auto answer = compareRanges(order, x, y))
      return numberFacts(type, *answer);
  bool keepsOrder = !isTruth && (!isUnsigned || areSmall);
  return perDimension(type, x, y, [&](const auto &a, const auto &b) {
    return keepsOrder ? compareRule(a, b, order) : constantRuns(a.extent, {a, b});
  });
}

/// (Select) In groups where the condition does not change the result is one side's run.
IndexFacts select(Type type, const IndexFacts &condition, const IndexFacts &a, const IndexFacts &b,
                  int64_t unit) {
  if (auto known = condition.constant())
    return *known ? a : b;
  IndexFacts facts = unknownFacts(type);
  for (auto [d, dim] : llvm::enumerate(facts.dimensions)) {
    const DimensionFacts &x = a.dimensions[d], &y = b.dimensions[d];
    // A scalar condition governs whole tiles.
    const DimensionFacts whole = sequence(dim.extent, dim.extent);
    const DimensionFacts &c = condition.dimensions.size() == facts.dimensions.size() &&
                                      condition.dimensions[d].extent == dim.extent
                                  ? condition.dimensions[d]
                                  : whole;
    int64_t run = sameStride(x, y)
                      ? commonRun(dim.extent, commonRun(dim.extent, x.run, y.run), c.constancy())
                      : 1;
    dim = sequence(dim.extent, run, x.stride, x.strideSymbol);
    dim.divisibility = std::gcd(divisibilityAt(x, run, unit), divisibilityAt(y, run, unit));
    dim = normalized(dim);
    dim.isPrefix |= c.isConstant() && x.isPrefix && y.isPrefix;
  }
  facts.low = std::min(a.low, b.low), facts.high = std::max(a.high, b.high);
  facts.isNonNegative = a.isNonNegative && b.isNonNegative;
  inherit(facts, a, b);
  facts.isAssumed |= condition.isAssumed;
  return facts;
}

//===-- casts ---------------------------------------------------------------------------------===//

IndexFacts extend(Type type, const IndexFacts &x, Type from, bool isSigned) {
  IndexFacts facts = x;
  facts.scalar = {};
  unsigned width = cast<IntegerType>(tile::elementTypeOf(from)).getWidth();
  if (width == 1) {
    for (DimensionFacts &dim : facts.dimensions) {
      dim.isPrefix = dim.isConstant();
      dim.divisibility = 1;
    }
    if (auto known = x.constant())
      return numberFacts(type, isSigned ? -*known : *known);
    facts.low = isSigned ? -1 : 0, facts.high = isSigned ? 0 : 1;
    facts.isNonNegative = !isSigned;
    return facts;
  }
  IndexFacts numbers = numbersOf(x);
  numbers.scalar = {};
  facts.isOffset |= facts.modulusBits != 0;
  facts.modulusBits = 0;
  if (isSigned || x.low >= 0)
    return exactUnlessShorter(std::move(numbers), std::move(facts));
  numbers = asUnsigned(numbers);
  facts.isAssumed = true;
  if (x.isNonNegative)
    numbers = exactUnlessShorter(std::move(numbers), std::move(facts));
  numbers.low = 0;
  numbers.high = width < 63 ? (int64_t(1) << width) - 1 : kMax;
  numbers.isNonNegative = true;
  return numbers;
}

IndexFacts truncate(Type type, const IndexFacts &x) {
  Range limits = typeRange(type);
  IndexFacts facts = x;
  facts.scalar = {};
  if (limits.high == 1) {
    facts = unknownFacts(type);
    for (auto [d, dim] : llvm::enumerate(facts.dimensions))
      dim = constantRuns(dim.extent, {x.dimensions[d]});
    facts.isAssumed = x.isAssumed;
    return facts;
  }
  if (x.low >= limits.low && x.high <= limits.high)
    return facts;
  return wrapped(type, numbersOf(x));
}

//===-- shapes --------------------------------------------------------------------------------===//

IndexFacts splatRule(tile::SplatOp op, const IndexFacts &x) {
  IndexFacts facts = uniformFacts(op.getType(), x.dimensions[0].divisibility);
  facts.low = x.low, facts.high = x.high, facts.isNonNegative = x.isNonNegative;
  facts.scalar = op.getSrc();
  inherit(facts, x, x);
  return facts;
}

IndexFacts expandRule(tile::ExpandDimsOp op, const IndexFacts &x) {
  IndexFacts facts = x;
  DimensionFacts dim;
  dim.divisibility = x.commonDivisor(elementBytes(op.getType()));
  dim.isPrefix = true;
  facts.dimensions.insert(facts.dimensions.begin() + op.getAxis(), dim);
  return facts;
}

IndexFacts broadcastRule(tile::BroadcastOp op, const IndexFacts &x) {
  IndexFacts facts = x;
  for (auto [dim, extent] : llvm::zip(facts.dimensions, op.getType().getShape()))
    if (dim.extent != extent) {
      dim.extent = dim.run = extent;
      dim.stride = 0;
      dim.strideSymbol = {};
      dim.isPrefix = true;
    }
  return facts;
}

IndexFacts transposeRule(tile::TransposeOp op, const IndexFacts &x) {
  IndexFacts facts = x;
  for (auto [dim, source] : llvm::zip(facts.dimensions, op.getOrder()))
    dim = x.dimensions[source];
  return facts;
}

IndexFacts flipRule(tile::FlipOp op, const IndexFacts &x) {
  IndexFacts facts = x;
  DimensionFacts &dim = facts.dimensions[op.getAxis()];
  int64_t unit = elementBytes(op.getType());
  int64_t everywhere = divisibilityEverywhere(dim, unit);
  if (dim.isConstant())
    return facts;
  if (dim.extent % dim.run == 0) {
    // The last of a run comes first.
    int64_t step = dim.strideSymbol ? everywhere : multiplyDivisors(divisorOf(dim.stride), unit);
    dim.divisibility = std::gcd(dim.divisibility, dim.run > 1 ? multiplyDivisors(step, dim.run - 1)
                                                              : kMaxDivisibility);
    dim.stride = -dim.stride;
  } else {
    dim.run = 1;
    dim.divisibility = everywhere;
  }
  dim.isPrefix = false;
  dim = normalized(dim);
  return facts;
}

/// (Reshape) Row-major order of one long run is a run in every shape; extents of one come and go
/// freely.
IndexFacts reshapeRule(tile::ReshapeOp op, const IndexFacts &x) {
  int64_t unit = elementBytes(op.getType());
  int64_t everywhere = x.commonDivisor(unit);
  IndexFacts facts = unknownFacts(op.getType());
  facts.low = x.low, facts.high = x.high, facts.isNonNegative = x.isNonNegative;
  facts.scalar = x.scalar;
  inherit(facts, x, x);
  SmallVector<const DimensionFacts *> from;
  for (const DimensionFacts &dim : x.dimensions)
    if (dim.extent != 1)
      from.push_back(&dim);
  SmallVector<DimensionFacts *> to;
  for (DimensionFacts &dim : facts.dimensions) {
    dim.divisibility = everywhere;
    dim.isPrefix = dim.extent == 1;
    if (dim.extent != 1)
      to.push_back(&dim);
  }
  auto extentsAgree = [&] {
    return from.size() == to.size() && llvm::all_of(llvm::zip(from, to), [](auto pair) {
             return std::get<0>(pair)->extent == std::get<1>(pair)->extent;
           });
  };
  if (extentsAgree()) {
    for (auto [source, result] : llvm::zip(from, to))
      *result = *source;
    return facts;
  }
  // One run through all of the source?
  int64_t stride = from.empty() ? 0 : from.back()->stride;
  Value symbol = from.empty() ? Value() : from.back()->strideSymbol;
  __int128 expected = stride;
  for (const DimensionFacts *dim : llvm::reverse(from)) {
    if (!dim->isStrided() || dim->stride != expected || dim->strideSymbol != symbol)
      return facts;
    expected *= dim->extent;
    if (expected > kMax || expected < kMin)
      return facts;
  }
  int64_t start = 1;
  for (const DimensionFacts *dim : from)
    start = std::max(start, dim->divisibility);
  int64_t step = stride;
  for (DimensionFacts *dim : llvm::reverse(to)) {
    dim->run = dim->extent;
    dim->stride = step;
    dim->strideSymbol = symbol;
    // Starts along this dimension differ by the strides of the others.
    dim->divisibility = start;
    step *= dim->extent;
  }
  for (DimensionFacts *dim : to) {
    for (DimensionFacts *other : to)
      if (other != dim && other->stride != 0)
        dim->divisibility =
            std::gcd(dim->divisibility, multiplyDivisors(divisorOf(other->stride), unit));
    *dim = normalized(*dim);
  }
  return facts;
}

//===-- pointers and hints --------------------------------------------------------------------===//

IndexFacts ptrAddRule(tile::PtrAddOp op, const IndexFacts &ptr, const IndexFacts &offset) {
  int64_t unit = elementBytes(op.getType());
  return perDimension(op.getType(), ptr, offset,
                      [&](const auto &a, const auto &b) { return addRule(a, b, 1, unit); });
}

/// The same addresses, counted in other units.
IndexFacts recountRule(Type to, const IndexFacts &x, int64_t unitFrom, int64_t unitTo) {
  IndexFacts facts = unknownFacts(to);
  for (auto [d, dim] : llvm::enumerate(facts.dimensions)) {
    dim = x.dimensions[d];
    if ((dim.stride * unitFrom) % unitTo == 0) {
      dim.stride = dim.stride * unitFrom / unitTo;
    } else {
      dim.divisibility = divisibilityEverywhere(dim, unitFrom);
      dim.run = 1;
    }
    dim = normalized(dim);
  }
  inherit(facts, x, x);
  return facts;
}

/// (Hint) The user's facts are taken for true; the user's runs replace shorter ones of ours.
IndexFacts hintRule(tile::HintOp op, const IndexFacts &x) {
  IndexFacts facts = x;
  for (auto [d, dim] : llvm::enumerate(facts.dimensions)) {
    auto hinted = [d = d](std::optional<ArrayRef<int64_t>> numbers) {
      return numbers ? (*numbers)[d] : int64_t(1);
    };
    auto adopt = [&dim = dim](int64_t run, int64_t stride) {
      run = std::min(run, dim.extent);
      if (run > dim.run) {
        dim.run = run;
        dim.stride = stride;
        dim.strideSymbol = {};
      }
    };
    adopt(hinted(op.getContiguity()), 1);
    adopt(hinted(op.getConstancy()), 0);
    int64_t divisor = hinted(op.getDivisibility());
    if (dim.divisibility % divisor != 0) {
      int64_t both =
          multiplyDivisors(dim.divisibility / std::gcd(dim.divisibility, divisor), divisor);
      dim.divisibility = both % divisor == 0 ? both : divisor;
    }
    dim = normalized(dim);
  }
  return facts;
}

} // namespace

//===-- the interface -------------------------------------------------------------------------===//

int64_t elementBytes(Type type) {
  auto ptr = dyn_cast<tile::PtrType>(tile::elementTypeOf(type));
  return ptr ? std::max<int64_t>(1, ptr.getPointee().getIntOrFloatBitWidth() / 8) : 1;
}

IndexFacts unknownFacts(Type type) {
  IndexFacts facts;
  for (int64_t extent : tile::shapeOf(type)) {
    DimensionFacts dim = sequence(extent, 1);
    facts.dimensions.push_back(normalized(dim));
  }
  if (facts.dimensions.empty())
    facts.dimensions.push_back(normalized({}));
  Range range = typeRange(type);
  facts.low = range.low, facts.high = range.high;
  facts.isNonNegative = facts.low >= 0;
  return facts;
}

IndexFacts joinFacts(const IndexFacts &a, const IndexFacts &b) {
  IndexFacts facts = a;
  // Strides of pointers count elements whose size is not known here: gcd(1 * ...) is a safe unit.
  for (auto [d, dim] : llvm::enumerate(facts.dimensions))
    dim = joinRule(a.dimensions[d], b.dimensions[d], 1);
  facts.low = std::min(a.low, b.low), facts.high = std::max(a.high, b.high);
  facts.isNonNegative = a.isNonNegative && b.isNonNegative;
  facts.scalar = a.scalar == b.scalar ? a.scalar : Value();
  inherit(facts, a, b);
  return facts;
}

SmallVector<IndexFacts, 1> applyRules(Operation *op, Lookup of) {
  SmallVector<IndexFacts, 1> results;
  auto operand = [&](unsigned i) -> const IndexFacts & { return of(op->getOperand(i)); };
  if (op->getNumResults() != 1) {
    for (Type type : op->getResultTypes())
      results.push_back(unknownFacts(type));
    return results;
  }
  Type type = op->getResult(0).getType();
  bool isInteger = isa<IntegerType, IndexType>(tile::elementTypeOf(type));
  auto generic = [&] { return constancyRule(type, op->getOperands(), of); };
  bool isElementwise = OpTrait::hasElementwiseMappableTraits(op);

  auto shift = [&](auto rule) {
    auto power = powerOfTwo(operand(1), type);
    return power ? rule(*power) : generic();
  };
  // min and max choose by comparison.
  auto choose = [&](arith::CmpIPredicate predicate) {
    Type truth = tile::maskOf(type);
    IndexFacts facts =
        select(type, compare(truth, predicate, operand(0), operand(1), /*isTruth=*/false),
               operand(0), operand(1), 1);
    return facts;
  };

  IndexFacts facts =
      llvm::TypeSwitch<Operation *, IndexFacts>(op)
          .Case([&](arith::ConstantOp constant) { return constantRule(constant); })
          .Case([&](tile::ProgramIdOp) {
            IndexFacts id = unknownFacts(type);
            id.low = 0, id.high = std::numeric_limits<int32_t>::max() - 1;
            id.isNonNegative = true;
            return id;
          })
          .Case([&](tile::WorkerIdOp) {
            IndexFacts id = unknownFacts(type);
            id.low = 0, id.high = std::numeric_limits<int32_t>::max() - 1;
            id.isNonNegative = true;
            return id;
          })
          .Case([&](tile::TeamIdOp) {
            IndexFacts id = unknownFacts(type);
            id.low = 0, id.high = tile::kTeams - 1;
            id.isNonNegative = true;
            return id;
          })
          .Case<tile::NumProgramsOp, tile::NumWorkersOp>([&](Operation *) {
            IndexFacts count = unknownFacts(type);
            count.low = 1, count.high = std::numeric_limits<int32_t>::max();
            count.isNonNegative = true;
            return count;
          })
          .Case([&](tile::ArangeOp arange) {
            IndexFacts numbers = unknownFacts(type);
            DimensionFacts &dim = numbers.dimensions[0];
            dim = normalized(sequence(dim.extent, dim.extent, 1, {}, divisorOf(arange.getStart())));
            numbers.low = int32_t(arange.getStart()), numbers.high = int32_t(arange.getEnd()) - 1;
            numbers.isNonNegative = numbers.low >= 0;
            return numbers;
          })
          .Case([&](tile::SplatOp splat) { return splatRule(splat, operand(0)); })
          .Case([&](tile::BroadcastOp broadcast) { return broadcastRule(broadcast, operand(0)); })
          .Case([&](tile::ExpandDimsOp expand) { return expandRule(expand, operand(0)); })
          .Case([&](tile::ReshapeOp reshape) { return reshapeRule(reshape, operand(0)); })
          .Case([&](tile::TransposeOp transpose) { return transposeRule(transpose, operand(0)); })
          .Case([&](tile::FlipOp flip) { return flipRule(flip, operand(0)); })
          .Case([&](tile::PtrAddOp add) { return ptrAddRule(add, operand(0), operand(1)); })
          .Case([&](tile::PtrCastOp cast) {
            return recountRule(type, operand(0), elementBytes(cast.getSrc().getType()),
                               elementBytes(type));
          })
          .Case([&](tile::PtrToIntOp cast) {
            IndexFacts numbers =
                recountRule(type, operand(0), elementBytes(cast.getSrc().getType()), 1);
            numbers.isOffset |= numbers.modulusBits != 0; // they did not wrap in 64 bits
            return numbers;
          })
          .Case([&](tile::IntToPtrOp) {
            return recountRule(type, operand(0), 1, elementBytes(type));
          })
          .Case([&](tile::HintOp hint) { return hintRule(hint, operand(0)); })
          .Case([&](tile::ConvertLayoutOp) { return operand(0); })
          .Case([&](arith::AddIOp) {
            return typeRange(type).high == 1 ? generic() : add(type, operand(0), operand(1), 1);
          })
          .Case([&](arith::SubIOp) {
            return typeRange(type).high == 1 ? generic() : add(type, operand(0), operand(1), -1);
          })
          .Case([&](arith::MulIOp) {
            return typeRange(type).high == 1 ? generic() : multiply(type, operand(0), operand(1));
          })
          .Case([&](arith::DivSIOp) {
            return divide(type, operand(0), operand(1), Division::Truncating);
          })
          .Case([&](arith::FloorDivSIOp) {
            return divide(type, operand(0), operand(1), Division::Floor);
          })
          .Case([&](arith::DivUIOp) {
            return divide(type, operand(0), operand(1), Division::Unsigned);
          })
          .Case([&](arith::RemSIOp) {
            return remainder(type, operand(0), operand(1), Division::Truncating);
          })
          .Case([&](arith::RemUIOp) {
            return remainder(type, operand(0), operand(1), Division::Unsigned);
          })
          .Case([&](arith::ShLIOp) {
            return shift([&](int64_t power) {
              return multiply(type, operand(0), numberFacts(type, power));
            });
          })
          .Case([&](arith::ShRSIOp) {
            return shift([&](int64_t power) {
              return divide(type, operand(0), numberFacts(type, power), Division::Floor);
            });
          })
          .Case([&](arith::ShRUIOp) {
            return shift([&](int64_t power) {
              return divide(type, operand(0), numberFacts(type, power), Division::Unsigned);
            });
          })
          .Case([&](arith::AndIOp) { return bitAnd(type, operand(0), operand(1), generic()); })
          .Case([&](arith::OrIOp) { return bitOr(type, operand(0), operand(1), generic()); })
          .Case([&](arith::MinSIOp) { return choose(arith::CmpIPredicate::slt); })
          .Case([&](arith::MaxSIOp) { return choose(arith::CmpIPredicate::sgt); })
          .Case([&](arith::CmpIOp compareOp) {
            bool isTruth = typeRange(compareOp.getLhs().getType()).high == 1;
            return compare(type, compareOp.getPredicate(), operand(0), operand(1), isTruth);
          })
          .Case([&](arith::SelectOp) {
            return select(type, operand(0), operand(1), operand(2), elementBytes(type));
          })
          .Case([&](arith::ExtSIOp extension) {
            return extend(type, operand(0), extension.getIn().getType(), true);
          })
          .Case([&](arith::ExtUIOp extension) {
            return extend(type, operand(0), extension.getIn().getType(), false);
          })
          .Case([&](arith::TruncIOp) { return truncate(type, operand(0)); })
          .Case([&](tile::LoadOp load) {
            // Equal addresses have equal contents, however it is known that they are equal.
            IndexFacts content = generic();
            content.isAssumed = load.getOther() && of(load.getOther()).isAssumed;
            return content;
          })
          .Default([&](Operation *) { return isElementwise ? generic() : unknownFacts(type); });

  if (!isInteger && !isa<tile::PtrType>(tile::elementTypeOf(type)))
    for (DimensionFacts &dim : facts.dimensions)
      dim.divisibility = 1;
  if (!isa<RankedTensorType>(type))
    facts.scalar = op->getResult(0);
  else if (!isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::ReshapeOp,
                tile::TransposeOp, tile::FlipOp, tile::HintOp>(op))
    facts.scalar = {};
  results.push_back(std::move(facts));
  return results;
}

} // namespace sectile::optimizer
