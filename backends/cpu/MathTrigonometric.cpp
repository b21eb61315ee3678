// sin, cos and tan. Near zero the argument is reduced by multiples of pi in several parts (Cody and
// Waite); far from it, lane by lane, with as many bits of 1/pi as it takes (Payne and Hanek: Radian
// Reduction for Trigonometric Functions, 1983). The second way needs branches, so each function is
// an internal function of the module.
#include "backends/cpu/LaneFunctions.h"
#include "backends/cpu/MathCoefficients.h"
#include "backends/cpu/MathFamilies.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace sectile::cpu {

using V = llvm::Value *;

namespace {

/// x = r + n * period, |r| <= period / 2 (cos: plus half a period); `odd` is n & 1, as integer
/// lanes. The period is pi, for tan pi / 2.
struct Reduced {
  V r, odd;
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

/// double -> {double r, i64 odd}: the reduction of one finite number with |x| >= 2^-9. NaN for
/// others.
llvm::Function *exactReduction(llvm::Function &caller, Periodic kind) {
  llvm::Module &module = *caller.getParent();
  const char *names[] = {"sectile.reduce.sin", "sectile.reduce.cos", "sectile.reduce.tan"};
  const char *name = names[int(kind)];
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

  // |x| = mantissa * 2^e. In mantissa * 2^e / pi, the bits of 1/pi of weight 2^(1 - e) and more
  // only add even multiples of the period; the 192 bits from there on decide. `position` is where
  // they start, with tan's factor of two and the 64 zeros of the table counted in.
  int constant = -1075 - 1 + 64 + (kind == Periodic::Tan ? 1 : 0);
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

  // The product modulo 2^192: one bit of parity, then 191 bits of fraction.
  auto wide = [&](V v) { return b.CreateZExt(v, i128); };
  V low = b.CreateMul(wide(mantissa), wide(window[2]));
  V middle = b.CreateAdd(b.CreateMul(wide(mantissa), wide(window[1])), b.CreateLShr(low, 64));
  V high =
      b.CreateAdd(b.CreateMul(mantissa, window[0]), b.CreateTrunc(b.CreateLShr(middle, 64), i64));
  V top = b.CreateOr(b.CreateShl(wide(high), 64), wide(b.CreateTrunc(middle, i64)));
  // cos(x) = sin(x + pi / 2)
  if (kind == Periodic::Cos)
    top = b.CreateAdd(top, b.CreateShl(llvm::ConstantInt::get(i128, 1), 126));
  // Without the parity bit and read as signed, the fraction is that of the nearest multiple.
  V lowest = b.CreateLShr(b.CreateTrunc(low, i64), 63);
  V fraction = b.CreateOr(b.CreateShl(top, 1), wide(lowest));
  V roundsUp = b.CreateTrunc(b.CreateLShr(fraction, 127), i64);
  V parity = b.CreateTrunc(b.CreateLShr(top, 127), i64);
  V odd = b.CreateXor(parity, roundsUp);

  V isNegative = b.CreateICmpSLT(fraction, llvm::ConstantInt::get(i128, 0));
  V magnitude = b.CreateSelect(isNegative, b.CreateNeg(fraction), fraction);
  V zeros = b.CreateIntrinsic(llvm::Intrinsic::ctlz, {i128}, {magnitude, b.getFalse()});
  V normalized = b.CreateShl(magnitude, b.CreateAnd(zeros, llvm::ConstantInt::get(i128, 127)));
  V leading = b.CreateTrunc(b.CreateLShr(normalized, 64 + 1), i64); // 63 bits: converts as signed
  V value = b.CreateSIToFP(leading, f64);
  // leading * 2^(1 + 64 - zeros) is the fraction in units of 2^-128.
  V power = b.CreateSub(b.getInt64(1023 + 65 - 128), b.CreateTrunc(zeros, i64));
  value = b.CreateFMul(value, b.CreateBitCast(b.CreateShl(power, 52), f64));
  const double pi = 0x1.921fb54442d18p1;
  V r = b.CreateFMul(value, llvm::ConstantFP::get(f64, kind == Periodic::Tan ? pi / 2 : pi));
  // Of -x: the negative, but half a period was added before, not subtracted: cos is even.
  if (kind != Periodic::Cos)
    isNegative = b.CreateXor(isNegative, b.CreateICmpSLT(bits, b.getInt64(0)));
  r = b.CreateSelect(isNegative, b.CreateFNeg(r), r);
  r = b.CreateSelect(isFinite, r, llvm::ConstantFP::getNaN(f64));
  V result = b.CreateInsertValue(llvm::PoisonValue::get(resultType), r, 0);
  b.CreateRet(b.CreateInsertValue(result, odd, 1));
  return function;
}

V subtractMultiple(const Lanes &l, V x, V n, llvm::ArrayRef<double> period) {
  for (double part : period)
    x = l.negMulAdd(n, l.number(part), x);
  return x;
}

/// For |x| below limitOf(l).
Reduced quickReduction(const Lanes &l, Periodic kind, V x) {
  llvm::IRBuilderBase &b = l.builder;
  if (!l.isDouble && !l.hasFma()) {
    // n * pi is exact only with fused operations, or in f64.
    llvm::Type *f64 = b.getDoubleTy();
    Lanes wide(b, l.host, l.withElement(f64));
    Reduced reduced = quickReduction(wide, kind, b.CreateFPExt(x, wide.type));
    return {b.CreateFPTrunc(reduced.r, l.type), b.CreateTrunc(reduced.odd, l.intType)};
  }
  const double inversePi = 0x1.45f306dc9c883p-2;
  Lanes::Whole n;
  V multiple;
  if (kind == Periodic::Cos) {
    // r = x - (n + 1/2) pi. Half of 2n + 1 needs no rounding.
    n = l.nearest(l.mulAdd(x, l.number(inversePi), l.number(-0.5)));
    multiple = l.add(n.whole, l.number(0.5));
  } else {
    n = l.nearestProduct(x, kind == Periodic::Tan ? 2 * inversePi : inversePi);
    multiple = n.whole;
  }
  // The multiple counts halves for tan: its period's parts are halved instead.
  double unit = kind == Periodic::Tan ? 0.5 : 1;
  V r;
  if (!l.isDouble) {
    r = subtractMultiple(l, x, multiple, {0x1.921fb6p1, -0x1.777a5cp-24, -0x1.ee59dap-49});
  } else if (l.hasFma()) {
    r = subtractMultiple(
        l, x, multiple,
        {unit * 0x1.921fb54442d18p1, unit * 0x1.1a62633145c07p-53, unit * -0x1.f1976b7ed8fbcp-109});
  } else { // parts of 33 bits: products with n are exact
    r = subtractMultiple(l, x, multiple,
                         {unit * 0x1.921fb544p1, unit * 0x1.0b4611a6p-33, unit * 0x1.3198a2ep-68,
                          unit * 0x1.b839a252049c1p-103});
  }
  V odd = b.CreateAnd(n.raw, l.integer(1));
  // cos(x) = cos(r + (n + 1/2) pi) = -sin(r) for even n
  if (kind == Periodic::Cos)
    odd = b.CreateXor(odd, l.integer(1));
  return {r, odd};
}

double limitOf(const Lanes &l) {
  return l.isDouble ? 0x1p19 : 0x1p17;
}

/// (-1)^odd sin(r), |r| <= pi/2.
V sine(const Lanes &l, const Reduced &reduced) {
  llvm::IRBuilderBase &b = l.builder;
  V sign = b.CreateShl(reduced.odd, l.integer(l.bits() - 1));
  V r = l.floatOf(b.CreateXor(l.bitsOf(reduced.r), sign));
  V z = l.mul(r, r);
  V p = l.isDouble ? l.polynomial(z, coefficients::kSin64) : l.polynomial(z, coefficients::kSin32);
  V result = l.mulAdd(l.mul(r, z), p, r);
  return l.select(l.equal(r, l.number(0)), r, result); // keeps the sign of zero
}

/// tan(r), for odd n -1 / tan(r); |r| <= pi/4.
V tangent(const Lanes &l, const Reduced &reduced) {
  V r = reduced.r;
  V z = l.mul(r, r);
  V sin = l.mulAdd(l.mul(r, z), l.polynomial(z, coefficients::kSin64), r);
  V cos = l.mulAdd(z, l.number(-0.5), l.mul(l.mul(z, z), l.polynomial(z, coefficients::kCos64)));
  cos = l.add(cos, l.number(1));
  V isOdd = l.builder.CreateICmpNE(reduced.odd, l.integer(0));
  V result = l.div(l.select(isOdd, l.neg(cos), sin), l.select(isOdd, sin, cos));
  return l.select(l.equal(r, l.number(0)), r, result);
}

Reduced reduce(const Lanes &l, Periodic kind, V x) {
  llvm::IRBuilderBase &b = l.builder;
  llvm::Function &function = *b.GetInsertBlock()->getParent();
  Reduced quick = quickReduction(l, kind, x);
  V isFar = b.CreateFCmpOGE(l.abs(x), l.number(limitOf(l)));
  auto exact = [&](llvm::ArrayRef<V> number) -> llvm::SmallVector<V> {
    V reduced =
        b.CreateCall(exactReduction(function, kind), {b.CreateFPCast(number[0], b.getDoubleTy())});
    return {b.CreateFPCast(b.CreateExtractValue(reduced, 0), l.type->getScalarType()),
            b.CreateTrunc(b.CreateExtractValue(reduced, 1), l.intType->getScalarType())};
  };
  llvm::SmallVector<V> repaired = repairLanes(b, isFar, {x}, {quick.r, quick.odd}, exact);
  return {repaired[0], repaired[1]};
}

} // namespace

V emitPeriodic(const Lanes &caller, Periodic kind, V x) {
  llvm::Function &parent = *caller.builder.GetInsertBlock()->getParent();
  const char *stems[] = {"sin", "cos", "tan"};
  std::string name = laneFunctionName(stems[int(kind)], caller.type);
  llvm::Function *function = parent.getParent()->getFunction(name);
  if (!function) {
    function = createLaneFunction(parent, name, caller.type, {caller.type});
    llvm::IRBuilder<> b(&function->getEntryBlock());
    Lanes l(b, caller.host, caller.type);
    Reduced reduced = reduce(l, kind, function->getArg(0));
    b.CreateRet(kind == Periodic::Tan ? tangent(l, reduced) : sine(l, reduced));
  }
  return caller.builder.CreateCall(function, {x});
}

} // namespace sectile::cpu
