// Arithmetic and conversions with a rounding of their own: rn to nearest even, rz toward zero, rd
// down, ru up.
//
// A back end has rounding to nearest alone. The other results are that one or the number next to
// it: exact arithmetic finds on which side of the rounded result the true one lies, and a step in
// the bits of the magnitude goes there. That the sides are right near overflow and underflow, too,
// follows from taking them of mantissas, whose exponents are small.
#include "lang/builtins/ExactArithmetic.h"
#include "lang/builtins/LibdeviceTable.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kInt32 = DType::scalar(ScalarKind::Int32);
const DType kUInt32 = DType::scalar(ScalarKind::UInt32);
const DType kInt64 = DType::scalar(ScalarKind::Int64);
const DType kUInt64 = DType::scalar(ScalarKind::UInt64);
const DType kFloat32 = DType::scalar(ScalarKind::Float32);
const DType kFloat64 = DType::scalar(ScalarKind::Float64);

enum class Rounding { Nearest, TowardZero, Down, Up };
struct {
  const char *suffix;
  Rounding rounding;
} const kRoundings[] = {{"rn", Rounding::Nearest},
                        {"rz", Rounding::TowardZero},
                        {"rd", Rounding::Down},
                        {"ru", Rounding::Up}};

/// A result that is rounded to nearest, and on which side of it the true one is.
struct Rounded {
  Term nearest;
  /// Has the sign of the true result less `nearest`, where that is finite; NaN says nothing.
  Term side;
  /// Whether a result of infinity comes from rounding.
  Term mayOverflow;
  /// Carries the signs of the operands of a sum: one that is exactly zero is +0 only where all are
  /// positive, when it is rounded down.
  std::optional<Term> signs = {};
};

Term directed(const Rounded &result, Rounding rounding) {
  Term nearest = result.nearest;
  if (rounding == Rounding::Nearest)
    return nearest;
  Term bits = bitsOf(nearest);
  Term isNegative = bits < 0;
  Term isFiniteResult = isFinite(nearest);
  Term isBelow = isFiniteResult & (result.side < 0.0),
       isAbove = isFiniteResult & (result.side > 0.0);
  // Of magnitudes.
  Term isLess = select(isNegative, isAbove, isBelow) | (isInfinite(nearest) & result.mayOverflow);
  Term isMore = select(isNegative, isBelow, isAbove);
  Term none = literal(0, bits);
  Term shrink = select(isLess, -1, none), grow = select(isMore, 1, none);
  Term steps = rounding == Rounding::TowardZero ? shrink
               : rounding == Rounding::Down     ? select(isNegative, grow, shrink)
                                                : select(isNegative, shrink, grow);
  Term moved = stepMagnitude(nearest, steps);
  if (!result.signs || rounding != Rounding::Down)
    return moved;
  Term isZero = (nearest == 0.0) & (result.side == 0.0);
  return select(isZero, copySign(nearest, *result.signs), moved);
}

Term orBits(Term x, Term y) {
  return reinterpret(bitsOf(x) | bitsOf(y), x.dtype());
}

Rounded sum(Term x, Term y) {
  Term isLarger = abs(x) >= abs(y);
  TermPair exact = fastTwoSum(select(isLarger, x, y), select(isLarger, y, x));
  return {exact.high, exact.low, isFinite(x) & isFinite(y), orBits(x, y)};
}

/// The sign of the first number that is not zero.
Term firstNonZero(ArrayRef<Term> numbers) {
  Term result = numbers.back();
  for (Term number : llvm::reverse(numbers.drop_back()))
    result = select(number != 0.0, number, result);
  return result;
}

/// Adds to an expansion, numbers of increasing magnitude whose bits do not overlap. The largest one
/// that is not zero has the sign of the sum. Shewchuk, Adaptive Precision Floating-Point
/// Arithmetic, 1997, theorem 10.
SmallVector<Term> grow(ArrayRef<Term> expansion, Term number) {
  SmallVector<Term> result;
  for (Term part : expansion) {
    TermPair exact = twoSum(number, part);
    result.push_back(exact.low);
    number = exact.high;
  }
  result.push_back(number);
  return result;
}

/// number * 2^-exponent, 0 for 0, where the exponents differ by `bound` at most.
Term relativeTo(Term number, Term exponent, int64_t bound) {
  Parts parts = partsOf(number);
  Term difference = clampInteger(parts.exponent - exponent, -bound, bound);
  Term scaled = roundedProduct(parts.mantissa, powerOfTwo(difference, number));
  return select(number == 0.0, 0.0, scaled);
}

/// x * y + z, or x * y. Everything is divided by the power of two of x * y.
Rounded productSum(Term x, Term y, std::optional<Term> z) {
  Term nearest = z ? fma(x, y, *z) : roundedProduct(x, y);
  // Further below x * y, z only tells a tie from what is next to it.
  const int64_t far = x.isDouble() ? 200 : 80;
  Parts ofX = partsOf(x), ofY = partsOf(y);
  Term exponent = ofX.exponent + ofY.exponent;
  TermPair product = twoProduct(ofX.mantissa, ofY.mantissa);
  SmallVector<Term> exact = {product.low, product.high};
  if (z)
    exact = grow(exact, relativeTo(*z, exponent, far));
  exact = grow(exact, -relativeTo(nearest, exponent, far + 8));
  std::reverse(exact.begin(), exact.end());
  Term side = firstNonZero(exact);
  if (z) {
    // Further above it, the result is z.
    Term isSmall = partsOf(*z).exponent - exponent > far;
    side = select(isSmall & (*z != 0.0), product.high, side);
  }
  Term zero = literal(0.0, x);
  side = select((x == 0.0) | (y == 0.0), zero, side);
  Term mayOverflow = isFinite(x) & isFinite(y);
  if (!z)
    return {nearest, side, mayOverflow};
  Term signOfProduct = reinterpret(bitsOf(x) ^ bitsOf(y), x.dtype());
  return {nearest, side, mayOverflow & isFinite(*z), orBits(signOfProduct, *z)};
}

Rounded quotient(Term x, Term y) {
  Term nearest = x / y;
  Parts ofX = partsOf(x), ofY = partsOf(y);
  Term scaled = relativeTo(nearest, ofX.exponent - ofY.exponent, 8);
  Term rest = fma(-scaled, ofY.mantissa, ofX.mantissa);
  Term isFiniteQuotient = isFinite(x) & isFinite(y) & (y != 0.0);
  Term side = select(bitsOf(y) < 0, -rest, rest);
  side = select(isFiniteQuotient & (x != 0.0), side, 0.0);
  return {nearest, side, isFiniteQuotient};
}

Rounded squareRoot(Term x) {
  Term nearest = sqrt(x);
  Parts root = partsOf(nearest);
  Term scaled = relativeTo(x, root.exponent + root.exponent, 8);
  Term rest = fma(-root.mantissa, root.mantissa, scaled);
  Term side = select(x > 0.0, rest, 0.0);
  return {nearest, side, x.formula->integer(0, DType::scalar(ScalarKind::Int1))};
}

//===-- conversions ---------------------------------------------------------------------------===//

Rounded narrowed(Term x) {
  Term nearest = convert(x, kFloat32);
  Term back = convert(nearest, kFloat64);
  // The sign survives where the difference is too small for f32.
  Term side = select(x > back, 1.0, select(x < back, literal(-1.0, x), 0.0));
  return {nearest, convert(side, kFloat32), isFinite(x)};
}

/// Of an integer: digits that the float has no bits for are cut off, which rounds toward zero, and
/// the number is next to the result then.
Term directedFloatOf(Term x, DType to, Rounding rounding) {
  if (rounding == Rounding::Nearest)
    return convert(x, to);
  bool isSigned = x.dtype().isSignedInt();
  unsigned width = x.dtype().bits();
  int64_t digits = to.bits() == 64 ? 53 : 24;
  DType magnitudeType = width == 64 ? kUInt64 : kUInt32;
  Term isNegative = isSigned ? x < 0 : x.formula->integer(0, DType::scalar(ScalarKind::Int1));
  Term magnitude = reinterpret(isSigned ? select(isNegative, -x, x) : x, magnitudeType);
  Term zeros = reinterpret(leadingZeros(magnitude), x.dtype().bits() == 64 ? kInt64 : kInt32);
  Term excess = clampInteger(literal(int64_t(width) - digits, zeros) - zeros, 0, width - 1);
  Term shift = reinterpret(excess, magnitudeType);
  Term cut = (magnitude >> shift) << shift;
  Term truncated = convert(cut, to);
  if (rounding != Rounding::TowardZero) {
    Term isAway = rounding == Rounding::Down ? isNegative : !isNegative;
    Term steps = select((cut != magnitude) & isAway, literal(1, bitsOf(truncated)), 0);
    truncated = stepMagnitude(truncated, steps);
  }
  return select(isNegative, -truncated, truncated);
}

/// Of a float, saturating. NaN gives 0 where fp32 becomes an integer of 32 bits, else the pattern
/// of the upper bit alone, as NVIDIA's instructions do (PTX ISA, cvt).
Term integerOf(Term x, DType to, Rounding rounding) {
  Term whole = rounding == Rounding::Nearest      ? roundEven(x)
               : rounding == Rounding::TowardZero ? trunc(x)
               : rounding == Rounding::Down       ? floor(x)
                                                  : ceil(x);
  bool isSigned = to.isSignedInt();
  int width = to.bits();
  double end = std::ldexp(1.0, isSigned ? width - 1 : width); // the first number beyond
  double least = isSigned ? -end : 0.0;
  Int largest = (Int(1) << (isSigned ? width - 1 : width)) - 1;
  Term isHigh = whole >= end, isLow = whole < least;
  Term inside = select(isHigh | isLow | isNan(x), 0.0, whole);
  Term number = convert(inside, to);
  auto constant = [&](Int value) { return x.formula->integer(value, to); };
  number = select(isHigh, constant(largest), number);
  number = select(isLow, constant(isSigned ? -largest - 1 : 0), number);
  if (!x.isDouble() && width == 32)
    return number;
  return select(isNan(x), constant(isSigned ? -largest - 1 : Int(1) << (width - 1)), number);
}

} // namespace

void addLibdeviceRounding(BuiltinTable &table) {
  using Terms = ArrayRef<Term>;
  using Function = Rounded (*)(Terms);
  struct {
    const char *name, *parameters;
    Function function;
  } const arithmetic[] = {
      {"add", "(x, y)", [](Terms t) { return sum(t[0], t[1]); }},
      {"sub", "(x, y)", [](Terms t) { return sum(t[0], -t[1]); }},
      {"mul", "(x, y)", [](Terms t) { return productSum(t[0], t[1], {}); }},
      {"fma", "(x, y, z)", [](Terms t) { return productSum(t[0], t[1], t[2]); }},
      {"div", "(x, y)", [](Terms t) { return quotient(t[0], t[1]); }},
      {"rcp", "(x)", [](Terms t) { return quotient(literal(1.0, t[0]), t[0]); }},
      {"sqrt", "(x)", [](Terms t) { return squareRoot(t[0]); }},
  };
  for (const auto &[suffix, rounding] : kRoundings) {
    for (const auto &[name, parameters, function] : arithmetic) {
      StringRef text = name;
      // div_rn and sqrt_rn are older than these.
      if (rounding == Rounding::Nearest && (text == "div" || text == "sqrt"))
        continue;
      addOfFloats(table, (text + "_" + suffix + parameters).str(),
                  [function, rounding](Terms t) { return directed(function(t), rounding); });
    }
    addTyped(table, (Twine("double2float_") + suffix + "(x)").str(), {kFloat64},
             [rounding](Terms t) { return directed(narrowed(t[0]), rounding); });

    struct {
      const char *name;
      DType dtype;
    } const integers[] = {{"int", kInt32}, {"uint", kUInt32}, {"ll", kInt64}, {"ull", kUInt64}};
    struct {
      const char *name;
      DType dtype;
    } const floats[] = {{"float", kFloat32}, {"double", kFloat64}};
    for (const auto &[integerName, integer] : integers)
      for (const auto &[floatName, floating] : floats) {
        addTyped(table, (Twine(floatName) + "2" + integerName + "_" + suffix + "(x)").str(),
                 {floating},
                 [to = integer, rounding](Terms t) { return integerOf(t[0], to, rounding); });
        // Every integer of 32 bits is a double.
        if (floating == kFloat64 && integer.bits() == 32 && rounding != Rounding::Nearest)
          continue;
        addTyped(
            table, (Twine(integerName) + "2" + floatName + "_" + suffix + "(x)").str(), {integer},
            [to = floating, rounding](Terms t) { return directedFloatOf(t[0], to, rounding); });
      }
  }
  // f64 has the digits to spare; all f32 between two powers of four are tested.
  addTyped(table, "rsqrt_rn(x)", {kFloat32}, [](Terms t) {
    Term x = convert(t[0], kFloat64);
    return convert(1.0 / sqrt(x), kFloat32);
  });
}

} // namespace sectile::lang
