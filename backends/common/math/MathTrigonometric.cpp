// sin, cos and tan. Near zero the argument is reduced by multiples of pi in several parts (Cody and
// Waite); far from it, lane by lane, with as many bits of 1/pi as it takes (Payne and Hanek: Radian
// Reduction for Trigonometric Functions, 1983). The second way needs branches, so each function is
// an internal function of the module.
#include "backends/common/math/LaneFunctions.h"
#include "backends/common/math/MathCoefficients.h"
#include "backends/common/math/MathFamilies.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace sectile::backends {

using V = llvm::Value *;

namespace {

/// x = r + n * pi / 2, |r| <= pi / 4. `quadrant` is n in its low bits, as integer lanes.
struct Reduced {
  V r, quadrant;
};

/// The first 1280 bits of 1/pi behind 64 zeros.
llvm::GlobalVariable *inversePiBits(llvm::Module &module) {
  const char *name = "sectile.inverse_pi";
  if (llvm::GlobalVariable *existing = module.getGlobalVariable(name, true))
    return existing;
  static const uint64_t words[] = {0,
                                   0x517cc1b727220a94,
                                   0xfe13abe8fa9a6ee0,
                                   0x6db14acc9e21c820,
                                   0xff28b1d5ef5de2b0,
                                   0xdb92371d2126e970,
                                   0x0324977504e8c90e,
                                   0x7f0ef58e5894d39f,
                                   0x74411afa975da242,
                                   0x74ce38135a2fbf20,
                                   0x9cc8eb1cc1a99cfa,
                                   0x4e422fc5defc941d,
                                   0x8ffc4bffef02cc07,
                                   0xf79788c5ad05368f,
                                   0xb69b3f6793e584db,
                                   0xa7a31fb34f2ff516,
                                   0xba93dd63f5f2f8bd,
                                   0x9e839cfbc5294975,
                                   0x35fdafd88fc6ae84,
                                   0x2b0198237e3db5d5,
                                   0xf867de104d7a1b0e};
  auto *values = llvm::ConstantDataArray::get(module.getContext(), words);
  return new llvm::GlobalVariable(module, values->getType(), true,
                                  llvm::GlobalValue::InternalLinkage, values, name);
}

/// double -> {double r, i64 quadrant}: the reduction of one number with |x| >= 1. r is NaN for
/// infinity.
llvm::Function *exactReduction(const ArithmeticFeatures &host, llvm::Function &caller) {
  llvm::Module &module = *caller.getParent();
  const char *name = "sectile.reduce_radians";
  if (llvm::Function *existing = module.getFunction(name))
    return existing;
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *f64 = llvm::Type::getDoubleTy(context), *i64 = llvm::Type::getInt64Ty(context);
  llvm::Type *i128 = llvm::Type::getInt128Ty(context);
  auto *resultType = llvm::StructType::get(f64, i64);
  llvm::Function *function = createLaneFunction(caller, name, resultType, {f64});
  llvm::IRBuilder<> b(&function->getEntryBlock());
  V x = function->getArg(0);
  V bits = b.CreateBitCast(x, i64);
  V exponentField = b.CreateAnd(b.CreateLShr(bits, 52), 0x7ff);
  V mantissa = b.CreateOr(b.CreateAnd(bits, (uint64_t(1) << 52) - 1), uint64_t(1) << 52);

  // |x| = mantissa * 2^e. In mantissa * 2^e * 2/pi, the bits of 1/pi of weight 2^(1 - e) and more
  // only add whole turns; the 192 bits from there on decide. `position` is where they start in the
  // table.
  const int constant = -1075 - 1 + 64;
  V isFinite = b.CreateICmpNE(exponentField, b.getInt64(0x7ff));
  V position = b.CreateAdd(exponentField, b.getInt64(constant));
  position = b.CreateSelect(isFinite, position, b.getInt64(0));
  V word = b.CreateLShr(position, 6), shift = b.CreateAnd(position, 63);
  llvm::GlobalVariable *table = inversePiBits(module);
  V loaded[4], window[3];
  for (unsigned k = 0; k < 4; ++k) {
    V address = b.CreateGEP(i64, table, b.CreateAdd(word, b.getInt64(k)));
    loaded[k] = b.CreateAlignedLoad(i64, address, llvm::Align(8));
  }
  for (unsigned k = 0; k < 3; ++k)
    window[k] = b.CreateIntrinsic(llvm::Intrinsic::fshl, {i64}, {loaded[k], loaded[k + 1], shift});

  // The product modulo 2^192: two bits of quadrant, then 190 bits of fraction.
  auto wide = [&](V v) { return b.CreateZExt(v, i128); };
  V low = b.CreateMul(wide(mantissa), wide(window[2]));
  V middle = b.CreateAdd(b.CreateMul(wide(mantissa), wide(window[1])), b.CreateLShr(low, 64));
  V high =
      b.CreateAdd(b.CreateMul(mantissa, window[0]), b.CreateTrunc(b.CreateLShr(middle, 64), i64));
  V top = b.CreateOr(b.CreateShl(wide(high), 64), wide(b.CreateTrunc(middle, i64)));
  // Without the quadrant and read as signed, the fraction is that of the nearest multiple.
  V next = b.CreateLShr(b.CreateTrunc(low, i64), 62);
  V fraction = b.CreateOr(b.CreateShl(top, 2), wide(next));
  V roundsUp = b.CreateTrunc(b.CreateLShr(fraction, 127), i64);
  V quadrant = b.CreateAdd(b.CreateTrunc(b.CreateLShr(top, 126), i64), roundsUp);

  V isNegative = b.CreateICmpSLT(fraction, llvm::ConstantInt::get(i128, 0));
  V magnitude = b.CreateSelect(isNegative, b.CreateNeg(fraction), fraction);
  V zeros = b.CreateIntrinsic(llvm::Intrinsic::ctlz, {i128}, {magnitude, b.getFalse()});
  V normalized = b.CreateShl(magnitude, b.CreateAnd(zeros, llvm::ConstantInt::get(i128, 127)));
  // The fraction is (leading + following / 2^53) * 2^(75 - zeros) in units of 2^-128.
  Lanes l(b, host, f64);
  V leading = b.CreateSIToFP(b.CreateTrunc(b.CreateLShr(normalized, 75), i64), f64);
  V rest = b.CreateTrunc(b.CreateLShr(normalized, 22), i64);
  V following = b.CreateSIToFP(b.CreateAnd(rest, (uint64_t(1) << 53) - 1), f64);
  V power = b.CreateSub(b.getInt64(1023 + 75 - 128), b.CreateTrunc(zeros, i64));
  power = b.CreateBitCast(b.CreateShl(power, 52), f64);
  const double half = 0x1.921fb54442d18p0, halfLow = 0x1.1a62633145c07p-54; // pi / 2
  Lanes::Pair product = l.twoProduct(leading, l.number(half));
  V small = l.mulAdd(leading, l.number(halfLow), l.mul(following, l.number(half * 0x1p-53)));
  V r = l.mul(l.add(product.high, l.add(product.low, small)), power);
  V reflects = b.CreateICmpSLT(bits, b.getInt64(0));
  r = l.select(b.CreateXor(isNegative, reflects), l.neg(r), r);
  quadrant = l.select(reflects, b.CreateNeg(quadrant), quadrant);
  r = l.select(isFinite, r, l.nan());
  V result = b.CreateInsertValue(llvm::PoisonValue::get(resultType), r, 0);
  b.CreateRet(b.CreateInsertValue(result, quadrant, 1));
  return function;
}

V subtractMultiple(const Lanes &l, V x, V n, llvm::ArrayRef<double> period) {
  for (double part : period)
    x = l.negMulAdd(n, l.number(part), x);
  return x;
}

/// For |x| below limitOf(l).
Reduced quickReduction(const Lanes &l, V x) {
  llvm::IRBuilderBase &b = l.builder;
  if (!l.isDouble && !l.hasFma()) {
    // Multiples of pi are exact only in fused operations, or in f64.
    Lanes wide(b, l.host, l.withElement(b.getDoubleTy()));
    Reduced reduced = quickReduction(wide, b.CreateFPExt(x, wide.type));
    return {b.CreateFPTrunc(reduced.r, l.type), b.CreateTrunc(reduced.quadrant, l.intType)};
  }
  Lanes::Whole n = l.nearestProduct(x, 0x1.45f306dc9c883p-1);
  V r;
  if (!l.isDouble)
    r = subtractMultiple(l, x, n.whole, {0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50});
  else if (l.hasFma())
    r = subtractMultiple(l, x, n.whole,
                         {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110});
  else // parts of 33 bits: products with n are exact
    r = subtractMultiple(
        l, x, n.whole, {0x1.921fb544p0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049c1p-104});
  return {r, n.raw};
}

double limitOf(const Lanes &l) {
  return l.isDouble ? 0x1p19 : 0x1p17;
}

Reduced reduce(const Lanes &l, V x) {
  llvm::IRBuilderBase &b = l.builder;
  llvm::Function &function = *b.GetInsertBlock()->getParent();
  Reduced quick = quickReduction(l, x);
  // Infinity minus its multiples is NaN already.
  V magnitude = l.abs(x);
  V isFar = b.CreateAnd(b.CreateFCmpOGE(magnitude, l.number(limitOf(l))),
                        b.CreateFCmpONE(magnitude, l.infinity()));
  auto exact = [&](llvm::ArrayRef<V> number) -> llvm::SmallVector<V> {
    V reduced = b.CreateCall(exactReduction(l.host, function),
                             {b.CreateFPCast(number[0], b.getDoubleTy())});
    return {b.CreateFPCast(b.CreateExtractValue(reduced, 0), l.type->getScalarType()),
            b.CreateTrunc(b.CreateExtractValue(reduced, 1), l.intType->getScalarType())};
  };
  llvm::SmallVector<V> repaired = repairLanes(b, isFar, {x}, {quick.r, quick.quadrant}, exact);
  return {repaired[0], repaired[1]};
}

V evaluate(const Lanes &l, Periodic kind, V x) {
  llvm::IRBuilderBase &b = l.builder;
  auto [r, quadrant] = reduce(l, x);
  V z = l.mul(r, r);
  V sinTail =
      l.isDouble ? l.polynomial(z, coefficients::kSin64) : l.polynomial(z, coefficients::kSin32);
  V cosTail =
      l.isDouble ? l.polynomial(z, coefficients::kCos64) : l.polynomial(z, coefficients::kCos32);
  V sin = l.mulAdd(l.mul(r, z), sinTail, r);
  V cos = l.mulAdd(l.mul(z, z), cosTail, l.mulAdd(z, l.number(-0.5), l.number(1)));

  if (kind == Periodic::Cos) // cos(x) = sin(x + pi / 2)
    quadrant = b.CreateAdd(quadrant, l.integer(1));
  V isOdd = b.CreateICmpNE(b.CreateAnd(quadrant, l.integer(1)), l.integer(0));
  V result;
  if (kind == Periodic::Tan) {
    result = l.ratio(l.select(isOdd, l.neg(cos), sin), l.select(isOdd, sin, cos));
  } else {
    V sign = b.CreateShl(b.CreateAnd(quadrant, l.integer(2)), l.integer(l.bits() - 2));
    result = l.floatOf(b.CreateXor(l.bitsOf(l.select(isOdd, cos, sin)), sign));
  }
  if (kind == Periodic::Cos)
    return result;
  return l.select(l.equal(x, l.number(0)), x, result); // keeps the sign of zero
}

} // namespace

V emitPeriodic(const Lanes &caller, Periodic kind, V x) {
  if (caller.host.oneThread)
    return evaluate(caller, kind, x);
  const char *stems[] = {"sin", "cos", "tan"};
  return callLaneFunction(
      caller, stems[int(kind)], {x},
      [kind](const Lanes &l, llvm::ArrayRef<V> a) { return evaluate(l, kind, a[0]); });
}

} // namespace sectile::backends
