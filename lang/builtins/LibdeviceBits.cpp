// Bits of numbers, and integers.
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

Term asUnsigned(Term x) {
  return reinterpret(x, x.dtype().bits() == 64 ? kUInt64 : kUInt32);
}

//===-- integers ------------------------------------------------------------------------------===//

/// Bits in reverse: neighbours change places, then pairs, and so on.
Term reverseBits(Term x) {
  Term bits = asUnsigned(x);
  bool isWide = x.dtype().bits() == 64;
  static const uint64_t low[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
                                 0x00ff00ff00ff00ff, 0x0000ffff0000ffff};
  for (int step = 0; step < 5; ++step) {
    Int mask = isWide ? Int(low[step]) : Int(uint32_t(low[step]));
    Term keep = bits.formula->integer(mask, bits.dtype());
    bits = ((bits & keep) << (1 << step)) | ((bits >> (1 << step)) & keep);
  }
  if (isWide)
    bits = (bits << 32) | (bits >> 32);
  return reinterpret(bits, x.dtype());
}

/// Four bytes of the eight of x and y, x the lower ones; each is named by three bits of a nibble of
/// `selector`.
Term permuteBytes(Term x, Term y, Term selector) {
  Term both = (convert(asUnsigned(y), kUInt64) << 32) | convert(asUnsigned(x), kUInt64);
  Term result = literal(0, selector);
  for (int byte = 0; byte < 4; ++byte) {
    Term index = convert((selector >> (4 * byte)) & 7, kUInt64);
    Term chosen = convert((both >> (index * 8)) & 255, kUInt32);
    result = result | (reinterpret(chosen, selector.dtype()) << (8 * byte));
  }
  return reinterpret(result, kInt32);
}

/// The lower half of the product of the lower 24 bits, which carry a sign where the type does.
Term multiply24(Term x, Term y) {
  auto low = [](Term value) { return (value << 8) >> 8; };
  return low(x) * low(y);
}

/// |x - y| + z; the difference of any two integers fits the unsigned type.
Term sumOfDifference(Term x, Term y, Term z) {
  Term difference = select(x < y, y - x, x - y);
  return asUnsigned(difference) + asUnsigned(z);
}

/// (x + y) / 2 without overflow: the bits that both have, and half of those that one has.
Term averageDown(Term x, Term y) {
  return (x & y) + ((x ^ y) >> 1);
}
Term averageUp(Term x, Term y) {
  return (x | y) - ((x ^ y) >> 1);
}

FailureOr<Operand> sumOfAbsoluteDifference(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> z = args.value(2);
  if (failed(z))
    return failure();
  auto both = sema.unify(args[0], args[1], args.operation);
  if (failed(both))
    return failure();
  auto [x, y] = *both;
  for (Value *side : {&x, &y, &*z}) {
    if (side->type.dtype.isIntOrBool() && side->type.dtype.bits() < 32)
      *side = *sema.cast(*side, kInt32);
    if (!side->type.dtype.isInt() || side->type.dtype.bits() != 32)
      return args.error("32-bit integers expected, found " + sema.nameOf(side->type));
  }
  auto wide = sema.broadcast(*z, x, args.operation);
  if (failed(wide))
    return failure();
  FailureOr<Value> other = sema.broadcastTo(y, wide->first.type.shape);
  if (failed(other))
    return failure();
  Formula formula(sema, wide->first.type.shape);
  Term left = formula.input(wide->second), right = formula.input(*other);
  return Operand(formula.build(sumOfDifference(left, right, formula.input(wide->first))));
}

//===-- bits and exponents of floats ----------------------------------------------------------===//

Term fromWords(Term high, Term low) {
  Term bits = (convert(asUnsigned(high), kUInt64) << 32) | convert(asUnsigned(low), kUInt64);
  return reinterpret(bits, kFloat64);
}

Term nextAfter(Term x, Term y) {
  Term bits = bitsOf(x);
  Term one = literal(1, bits);
  Term isAway = (x < y) ^ (x < 0.0);
  Term stepped = stepMagnitude(x, select(isAway, one, -1));
  Term least = reinterpret(one, x.dtype());
  Term result = select(x == 0.0, copySign(least, y), stepped);
  result = select(x == y, y, result);
  return select(isNan(x) | isNan(y), x + y, result);
}

/// INT_MIN of 0 and NaN, INT_MAX of infinity, as CUDA's.
Term exponentAsInteger(Term x) {
  Term exponent = convert(partsOf(x).exponent, kInt32);
  Term result = select(isInfinite(x), literal(INT32_MAX, exponent), exponent);
  return select((x == 0.0) | isNan(x), literal(INT32_MIN, exponent), result);
}

Term exponentAsFloat(Term x) {
  Term exponent = convert(partsOf(x).exponent, x.dtype());
  Term result = select(isFinite(x), exponent, x * x); // infinite, or NaN
  return select(x == 0.0, -INFINITY, result);
}

FailureOr<Operand> scale(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> x = wideFloat(args, 0);
  if (failed(x))
    return failure();
  FailureOr<Value> n = args.value(1);
  if (failed(n))
    return failure();
  DType dtype = n->type.dtype;
  if (!dtype.isIntOrBool() || dtype.bits() > 32 || (dtype.isUnsignedInt() && dtype.bits() == 32))
    return args.error("`n`: " + sema.nameOf(kInt32) + " expected, found " + sema.nameOf(n->type),
                      "cast it with " + sema.words.cast(kInt32));
  n = sema.cast(*n, x->type.dtype.bits() == 64 ? kInt64 : kInt32);
  if (failed(n))
    return failure();
  auto both = sema.broadcast(*x, *n, args.operation);
  if (failed(both))
    return failure();
  Formula formula(sema, both->first.type.shape);
  Term number = formula.input(both->first);
  return Operand(formula.build(scaleByPower(number, formula.input(both->second))));
}

/// x - n y, n the nearest whole number to x / y, the even one of two. What is left of whole 2 y has
/// its nearest multiple of y among 0, y and 2 y; all the differences are exact.
Term ieeeRemainder(Term x, Term y) {
  Term divisor = abs(y);
  Term rest = fmod(abs(x), divisor + divisor);
  // Halves of tiny divisors are not exact, doubles of large numbers overflow.
  Term isTiny = divisor < std::ldexp(1.0, x.isDouble() ? -1020 : -124);
  Term half = select(isTiny, divisor, divisor * 0.5);
  auto measured = [&](Term value) { return select(isTiny, value + value, value); };
  Term once = select(measured(rest) > half, rest - divisor, rest);
  Term isBeyond = (once >= 0.0) & (measured(rest) > half) & (measured(once) >= half);
  Term result = select(isBeyond, once - divisor, once);
  // The sign of zero is the dividend's.
  Term isNegative = bitsOf(x) < 0;
  return select(isNegative, -result, result);
}

/// An estimate of 1 / x from the upper words: the lower word of the result is 0, subnormal numbers
/// count as 0 and come back as 0.
Term reciprocalOfUpperWord(Term x) {
  const uint64_t upper = 0xffffffff00000000;
  auto cut = [&](Term value) { return reinterpret(bitsOf(value) & int64_t(upper), value.dtype()); };
  auto flushed = [](Term value) {
    return select(abs(value) < 0x1p-1022, copySign(literal(0.0, value), value), value);
  };
  Term result = flushed(cut(1.0 / flushed(cut(x))));
  return select(isNan(x), x, result);
}

} // namespace

void addLibdeviceBits(BuiltinTable &table) {
  using Terms = ArrayRef<Term>;
  auto integers = IntegerWidths::Only32;
  addOfIntegers(table, "brev(x)", IntegerWidths::Also64, [](Terms t) { return reverseBits(t[0]); });
  addOfIntegers(table, "byte_perm(x, y, s)", integers,
                [](Terms t) { return permuteBytes(t[0], t[1], t[2]); });
  addOfIntegers(table, "mul24(x, y)", integers, [](Terms t) { return multiply24(t[0], t[1]); });
  addOfIntegers(table, "hadd(x, y)", integers, [](Terms t) { return averageDown(t[0], t[1]); });
  addOfIntegers(table, "rhadd(x, y)", integers, [](Terms t) { return averageUp(t[0], t[1]); });
  table.add("sad(x, y, z)", sumOfAbsoluteDifference);

  struct {
    const char *signature;
    DType from, to;
  } const casts[] = {
      {"float_as_int(x)", kFloat32, kInt32},       {"float_as_uint(x)", kFloat32, kUInt32},
      {"int_as_float(x)", kInt32, kFloat32},       {"uint_as_float(x)", kUInt32, kFloat32},
      {"double_as_longlong(x)", kFloat64, kInt64}, {"longlong_as_double(x)", kInt64, kFloat64}};
  for (auto [signature, from, to] : casts)
    addTyped(table, signature, {from}, [to](Terms t) { return reinterpret(t[0], to); });
  addTyped(table, "double2hiint(x)", {kFloat64},
           [](Terms t) { return convert(bitsOf(t[0]) >> 32, kInt32); });
  addTyped(table, "double2loint(x)", {kFloat64},
           [](Terms t) { return convert(bitsOf(t[0]), kInt32); });
  addTyped(table, "hiloint2double(hi, lo)", {kInt32, kInt32},
           [](Terms t) { return fromWords(t[0], t[1]); });

  addOfFloats(table, "nextafter(x, y)", [](Terms t) { return nextAfter(t[0], t[1]); });
  addOfFloats(table, "ilogb(x)", [](Terms t) { return exponentAsInteger(t[0]); });
  addOfFloats(table, "logb(x)", [](Terms t) { return exponentAsFloat(t[0]); });
  addOfFloats(table, "remainder(x, y)", [](Terms t) { return ieeeRemainder(t[0], t[1]); });
  table.add("ldexp(x, n)", scale);
  table.add("scalbn(x, n)", scale);
  addTyped(table, "rcp64h(x)", {kFloat64}, [](Terms t) { return reciprocalOfUpperWord(t[0]); });
  addTyped(table, "saturatef(x)", {kFloat32},
           [](Terms t) { return select(t[0] > 0.0, select(t[0] < 1.0, t[0], 1.0), 0.0); });
}

} // namespace sectile::lang
