#include "optimizer/SequenceRules.h"

#include <numeric>

using namespace mlir;

namespace sectile::optimizer {

static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

//===-- numbers -------------------------------------------------------------------------------===//

int64_t divisorOf(int64_t number) {
  if (number == 0 || number == kMin)
    return kMaxDivisibility;
  return std::abs(number);
}

int64_t multiplyDivisors(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product) && product <= kMaxDivisibility)
    return product;
  __int128 bits = __int128(lowestBit(a)) * lowestBit(b);
  return bits > kMaxDivisibility ? kMaxDivisibility : int64_t(bits);
}

int64_t commonRun(int64_t extent, int64_t a, int64_t b) {
  if (a >= extent)
    return b;
  if (b >= extent)
    return a;
  return std::gcd(a, b);
}

//===-- one dimension -------------------------------------------------------------------------===//

DimensionFacts sequence(int64_t extent, int64_t run, int64_t stride, Value symbol,
                        int64_t divisibility) {
  DimensionFacts dim;
  dim.extent = extent;
  dim.run = run;
  dim.stride = stride;
  dim.strideSymbol = symbol;
  dim.divisibility = divisibility;
  return dim;
}

/// How far apart neighbouring elements are, as a divisor (bytes for pointers); 0 when constant.
static int64_t stepDivisor(const DimensionFacts &dim, int64_t unit) {
  // A symbolic stride is some multiple of its coefficient.
  return dim.stride == 0 ? 0 : multiplyDivisors(divisorOf(dim.stride), unit);
}

/// (Restart) Divisibility of f at multiples of `period`, from that at multiples of `run`: such an
/// index is a multiple of gcd(period, run) beyond a run's start.
int64_t divisibilityAt(const DimensionFacts &dim, int64_t period, int64_t unit) {
  int64_t step = stepDivisor(dim, unit);
  if (period >= dim.extent || period % dim.run == 0 || step == 0)
    return dim.divisibility;
  return std::gcd(dim.divisibility, multiplyDivisors(step, std::gcd(period, dim.run)));
}

int64_t divisibilityEverywhere(const DimensionFacts &dim, int64_t unit) {
  return dim.extent == 1 ? dim.divisibility : divisibilityAt(dim, 1, unit);
}

DimensionFacts normalized(DimensionFacts dim) {
  if (dim.run <= 1 || dim.extent == 1) {
    dim.run = 1;
    dim.stride = 0;
    dim.strideSymbol = {};
  }
  if (dim.stride == 0)
    dim.strideSymbol = {};
  if (dim.isConstant())
    dim.isPrefix = true;
  return dim;
}

bool sameStride(const DimensionFacts &a, const DimensionFacts &b) {
  return a.stride == b.stride && a.strideSymbol == b.strideSymbol;
}

/// (Constancy) f(g(i), h(i)) is constant where g and h are. Nothing else is known of it.
DimensionFacts constantRuns(int64_t extent, ArrayRef<DimensionFacts> operands) {
  DimensionFacts dim = sequence(extent, extent);
  for (const DimensionFacts &operand : operands)
    dim.run = commonRun(extent, dim.run, operand.constancy());
  return normalized(dim);
}

/// (Add) Strides add up, and so do starts. `sign` is -1 for a difference. Units are bytes per
/// stride.
DimensionFacts addRule(const DimensionFacts &x, const DimensionFacts &y, int64_t sign,
                       int64_t unit) {
  DimensionFacts dim = sequence(x.extent, commonRun(x.extent, x.run, y.run));
  if (x.strideSymbol == y.strideSymbol) {
    dim.strideSymbol = x.strideSymbol;
    if (sign > 0 ? __builtin_add_overflow(x.stride, y.stride, &dim.stride)
                 : __builtin_sub_overflow(x.stride, y.stride, &dim.stride))
      dim.run = 1;
  } else if (x.stride == 0 || y.stride == 0) {
    const DimensionFacts &moving = x.stride == 0 ? y : x;
    dim.stride = x.stride == 0 ? sign * y.stride : x.stride;
    dim.strideSymbol = moving.strideSymbol;
  } else {
    dim.run = 1;
  }
  dim.divisibility = std::gcd(divisibilityAt(x, dim.run, unit),
                              multiplyDivisors(divisibilityAt(y, dim.run), unit));
  return normalized(dim);
}

/// (Multiply) A run times something constant is a run of the multiplied stride.
DimensionFacts multiplyRule(const DimensionFacts &x, const IndexFacts &xs, const DimensionFacts &y,
                            const IndexFacts &ys) {
  if (x.stride == 0 && y.stride != 0)
    return multiplyRule(y, ys, x, xs);
  DimensionFacts dim = sequence(x.extent, commonRun(x.extent, x.run, y.run));
  if (y.stride != 0) {
    dim.run = 1; // both move
  } else if (x.stride != 0) {
    int64_t product;
    if (auto factor = ys.constant();
        factor && !__builtin_mul_overflow(x.stride, *factor, &product)) {
      dim.stride = product;
      dim.strideSymbol = x.strideSymbol;
    } else if (ys.scalar && !x.strideSymbol) {
      dim.stride = x.stride;
      dim.strideSymbol = ys.scalar;
    } else {
      dim.run = 1;
    }
  }
  dim.divisibility = multiplyDivisors(divisibilityAt(x, dim.run), divisibilityAt(y, dim.run));
  return normalized(dim);
}

/// Length of aligned groups in which a rising run, every start of which is a multiple of `period`,
/// stays within one [m * period, (m + 1) * period). 1 when there is none.
int64_t groupsWithin(const DimensionFacts &x, int64_t period) {
  if (x.strideSymbol || x.stride <= 0 || x.run == 1)
    return 1;
  int64_t span = std::gcd(period, x.divisibility);
  if (span % x.stride != 0)
    return 1;
  int64_t group = span / x.stride;
  return x.run >= x.extent ? std::min(group, x.extent) : std::gcd(group, x.run);
}

/// (Divide) By a number: exact where stride and starts are multiples of it; else constant in groups
/// that stay between two of its multiples. The latter needs floor division, or no negative numbers.
DimensionFacts divideRule(const DimensionFacts &x, const DimensionFacts &y,
                          std::optional<int64_t> divisor, bool isFloor) {
  DimensionFacts dim = constantRuns(x.extent, {x, y});
  if (!divisor || *divisor <= 0)
    return dim;
  bool startsExact = x.divisibility % *divisor == 0;
  if (startsExact && x.stride % *divisor == 0) {
    dim = sequence(x.extent, x.run, x.stride / *divisor, x.strideSymbol, x.divisibility / *divisor);
  } else if (isFloor) {
    int64_t group = groupsWithin(x, *divisor);
    if (group > dim.run)
      dim = sequence(x.extent, group);
    if (group >= x.extent && startsExact)
      dim.divisibility = x.divisibility / *divisor;
  }
  return normalized(dim);
}

/// (Remainder) Runs go on until a multiple of the divisor; `period` divides the divisor.
DimensionFacts remainderRule(const DimensionFacts &x, const DimensionFacts &y, int64_t period,
                             bool isFloor) {
  DimensionFacts dim = constantRuns(x.extent, {x, y});
  if (dim.run >= x.extent || !isFloor || !y.isConstant()) {
    dim.divisibility = std::gcd(divisibilityAt(x, dim.run), period);
    return dim;
  }
  int64_t group = groupsWithin(x, period);
  if (group > dim.run)
    dim = sequence(x.extent, group, x.stride);
  dim.divisibility = std::gcd(divisibilityAt(x, dim.run), period);
  return normalized(dim);
}

/// (Compare) The sign of a rising difference changes only at a multiple of what divides its starts;
/// (Prefix) and once.
DimensionFacts compareRule(const DimensionFacts &x, const DimensionFacts &y,
                           arith::CmpIPredicate order) {
  DimensionFacts difference = addRule(x, y, -1);
  DimensionFacts dim = constantRuns(x.extent, {difference});
  bool isBelow = order == arith::CmpIPredicate::slt || order == arith::CmpIPredicate::sle;
  bool isAbove = order == arith::CmpIPredicate::sgt || order == arith::CmpIPredicate::sge;
  if (difference.strideSymbol || (!isBelow && !isAbove))
    return dim;
  bool rises = difference.stride > 0;
  dim.isPrefix |= difference.isStrided() && (difference.stride == 0 || rises == isBelow);
  // x < y and x >= y turn on the sign of a rising difference, x > y and x <= y on that of a falling
  // one.
  bool isSign = order == arith::CmpIPredicate::slt || order == arith::CmpIPredicate::sge;
  DimensionFacts rising = difference;
  rising.stride = std::abs(rising.stride);
  if (isSign == rises)
    dim.run = std::max(dim.run, groupsWithin(rising, rising.divisibility));
  return normalized(dim);
}

/// (Join) Of a value that is one or the other, in runs: common where the strides agree.
DimensionFacts joinRule(const DimensionFacts &a, const DimensionFacts &b, int64_t unit) {
  DimensionFacts dim = sequence(a.extent, 1);
  if (sameStride(a, b)) {
    dim = sequence(a.extent, commonRun(a.extent, a.run, b.run), a.stride, a.strideSymbol);
  }
  dim.divisibility = std::gcd(divisibilityAt(a, dim.run, unit), divisibilityAt(b, dim.run, unit));
  dim.isPrefix = a.isPrefix && b.isPrefix;
  return normalized(dim);
}

} // namespace sectile::optimizer
