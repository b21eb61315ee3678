// Rounding to integral numbers, remainders, and the fused product.
#include "backends/common/math/LaneFunctions.h"
#include "backends/common/math/MathFamilies.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace sectile::backends {

using V = llvm::Value *;
namespace Intrinsic = llvm::Intrinsic;

V emitRoundEven(const Lanes &l, V x) {
  if (l.host.sse41)
    return l.builder.CreateUnaryIntrinsic(Intrinsic::roundeven, x);
  // From 2^mantissa on all numbers are integral; below, adding that rounds at the ones.
  V big = l.number(l.isDouble ? 0x1p52 : 0x1p23);
  V magnitude = l.abs(x);
  V rounded = l.copySign(l.sub(l.add(magnitude, big), big), x);
  return l.select(l.less(magnitude, big), rounded, x);
}

V emitFloor(const Lanes &l, V x) {
  if (l.host.sse41)
    return l.builder.CreateUnaryIntrinsic(Intrinsic::floor, x);
  V nearest = emitRoundEven(l, x);
  V correction = l.select(l.less(x, nearest), l.number(1), l.number(0));
  return l.copySign(l.sub(nearest, correction), x);
}

V emitCeil(const Lanes &l, V x) {
  if (l.host.sse41)
    return l.builder.CreateUnaryIntrinsic(Intrinsic::ceil, x);
  return l.neg(emitFloor(l, l.neg(x)));
}

V emitTrunc(const Lanes &l, V x) {
  if (l.host.sse41)
    return l.builder.CreateUnaryIntrinsic(Intrinsic::trunc, x);
  return l.copySign(emitFloor(l, l.abs(x)), x);
}

V emitRoundAway(const Lanes &l, V x) {
  // The number below one half: one half itself would carry 0.49999997 up to 1.
  V almostHalf = l.number(l.isDouble ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2);
  return emitTrunc(l, l.add(x, l.copySign(almostHalf, x)));
}

/// a + b where an inexact sum gets an odd last bit, which survives one more rounding to fewer bits.
/// Boldo, Melquiond: Emulation of FMA and Correctly Rounded Sums, IEEE Trans. Computers 57, 2008.
static V addRoundToOdd(const Lanes &l, V a, V b) {
  llvm::IRBuilderBase &builder = l.builder;
  Lanes::Pair sum = l.twoSum(a, b);
  V bits = l.bitsOf(sum.high), one = l.integer(1);
  V isInexact = builder.CreateFCmpONE(sum.low, l.number(0));
  V isEven = builder.CreateICmpEQ(builder.CreateAnd(bits, one), l.integer(0));
  // The exact sum lies toward zero when the error's sign differs from the sum's.
  V differs = builder.CreateICmpSLT(builder.CreateXor(bits, l.bitsOf(sum.low)), l.integer(0));
  V moved =
      builder.CreateAdd(bits, l.select(differs, llvm::Constant::getAllOnesValue(l.intType), one));
  V adjusts = builder.CreateAnd(isInexact, isEven);
  return l.floatOf(l.select(adjusts, moved, bits));
}

/// Whether all lanes are the constant `number`, with its sign.
static bool isConstant(V value, double number) {
  llvm::ConstantFP *constant = constantOf(value);
  return constant && constant->isExactlyValue(number);
}

V emitFma(const Lanes &l, V x, V y, V z) {
  // How formulas write a sum or product that nothing may be fused with (ExactArithmetic.h).
  if (isConstant(y, 1))
    return l.add(x, z);
  if (isConstant(z, -0.0))
    return l.mul(x, y);
  if (l.hasFma())
    return l.mulAdd(x, y, z);
  llvm::IRBuilderBase &b = l.builder;
  if (!l.isDouble) {
    Lanes wide(b, l.host, l.withElement(b.getDoubleTy()));
    auto extend = [&](V v) { return b.CreateFPExt(v, wide.type); };
    V product = wide.mul(extend(x), extend(y)); // exact: 48 bits
    return b.CreateFPTrunc(addRoundToOdd(wide, product, extend(z)), l.type);
  }
  // high + (low + rest): one rounding of the sum of three but for rare ties, and none of the
  // special cases where the splitting overflows or underflows, which fall back to two roundings.
  Lanes::Pair product = l.twoProduct(x, y);
  Lanes::Pair sum = l.twoSum(product.high, z);
  V result = l.add(sum.high, addRoundToOdd(l, sum.low, product.low));
  V plain = l.add(product.high, z);
  V isSafe = b.CreateAnd(
      l.less(l.abs(result), l.infinity()),
      b.CreateAnd(l.less(l.abs(x), l.number(0x1p990)), l.less(l.abs(y), l.number(0x1p990))));
  return l.select(isSafe, result, plain);
}

//===-- fmod ----------------------------------------------------------------------------------===//

/// One remainder by integers: the dividend's mantissa times powers of two, modulo the divisor's, as
/// many bits a step as fit in 64. Both positive and finite, the divisor not zero.
static llvm::Function *exactRemainder(llvm::Function &caller) {
  const char *name = "sectile.remainder";
  if (llvm::Function *existing = caller.getParent()->getFunction(name))
    return existing;
  llvm::LLVMContext &context = caller.getContext();
  llvm::Type *f64 = llvm::Type::getDoubleTy(context), *i64 = llvm::Type::getInt64Ty(context);
  llvm::Function *function = createLaneFunction(caller, name, f64, {f64, f64});
  auto newBlock = [&] { return llvm::BasicBlock::Create(context, "", function); };
  llvm::BasicBlock *entry = &function->getEntryBlock();
  llvm::BasicBlock *head = newBlock(), *body = newBlock(), *exit = newBlock();
  llvm::IRBuilder<> b(entry);
  struct Parts {
    V mantissa, exponent;
  };
  // f32 widened to f64 has no subnormals; those of f64 count with the smallest exponent.
  auto parts = [&](V x) -> Parts {
    V bits = b.CreateBitCast(x, i64);
    V field = b.CreateLShr(bits, 52), fraction = b.CreateAnd(bits, (uint64_t(1) << 52) - 1);
    V isSubnormal = b.CreateICmpEQ(field, b.getInt64(0));
    V mantissa = b.CreateOr(fraction, uint64_t(1) << 52);
    return {b.CreateSelect(isSubnormal, fraction, mantissa),
            b.CreateSelect(isSubnormal, b.getInt64(1), field)};
  };
  Parts x = parts(function->getArg(0)), y = parts(function->getArg(1));
  // The caller makes sure that x >= y, so the difference is not negative.
  V distance = b.CreateSub(x.exponent, y.exponent);
  V first = b.CreateURem(x.mantissa, y.mantissa);
  V start = b.CreateSelect(b.CreateICmpEQ(distance, b.getInt64(0)), first, x.mantissa);
  b.CreateBr(head);

  b.SetInsertPoint(head);
  llvm::PHINode *rest = b.CreatePHI(i64, 2), *left = b.CreatePHI(i64, 2);
  rest->addIncoming(start, entry);
  left->addIncoming(distance, entry);
  b.CreateCondBr(b.CreateICmpSGT(left, b.getInt64(0)), body, exit);

  b.SetInsertPoint(body);
  V step = b.CreateBinaryIntrinsic(Intrinsic::smin, left, b.getInt64(11));
  V shifted = b.CreateURem(b.CreateShl(rest, step), y.mantissa);
  rest->addIncoming(shifted, body);
  left->addIncoming(b.CreateSub(left, step), body);
  b.CreateBr(head);

  b.SetInsertPoint(exit);
  // rest * 2^(y.exponent - 1075): normalise. Subnormal results keep their place.
  V zeros = b.CreateIntrinsic(Intrinsic::ctlz, {i64}, {rest, b.getFalse()});
  V wanted = b.CreateSub(zeros, b.getInt64(11));
  V shift =
      b.CreateBinaryIntrinsic(Intrinsic::smin, wanted, b.CreateSub(y.exponent, b.getInt64(1)));
  V mantissa = b.CreateShl(rest, shift);
  V exponent = b.CreateSub(y.exponent, shift);
  V isNormal = b.CreateICmpUGE(mantissa, b.getInt64(uint64_t(1) << 52));
  V biased = b.CreateSelect(isNormal, b.CreateShl(b.CreateSub(exponent, b.getInt64(1)), 52),
                            b.getInt64(0));
  b.CreateRet(b.CreateBitCast(b.CreateAdd(mantissa, biased), f64));
  return function;
}

static V fmodBody(const Lanes &l, V x, V y) {
  llvm::IRBuilderBase &b = l.builder;
  llvm::Function &function = *b.GetInsertBlock()->getParent();
  V dividend = l.abs(x), divisor = l.abs(y);
  // With a quotient that fits a mantissa, dividend - quotient * divisor is exact. The division may
  // have rounded up to the next integer.
  const double most = l.isDouble ? 0x1p51 : 0x1p22, least = l.isDouble ? 0x1p-900 : 0x1p-100;
  V quotient = emitTrunc(l, l.ratio(dividend, divisor));
  V rest;
  if (l.hasFma()) {
    rest = l.negMulAdd(quotient, divisor, dividend);
  } else {
    Lanes::Pair product = l.twoProduct(quotient, divisor);
    rest = l.sub(l.sub(dividend, product.high), product.low);
  }
  if (l.host.oneThread) { // whose ratio may have come to less than an integer, too
    V next = l.negMulAdd(l.add(quotient, l.number(1)), divisor, dividend);
    rest = l.select(l.lessEqual(divisor, rest), next, rest);
  }
  rest = l.select(l.less(rest, l.number(0)), l.add(rest, divisor), rest);
  rest = l.select(l.less(dividend, divisor), dividend, rest);
  V isHard = b.CreateOr(
      b.CreateFCmpUGE(quotient, l.number(most)), // or NaN, of a ratio that is infinite
      b.CreateOr(l.less(divisor, l.number(least)), l.less(l.number(1 / least), divisor)));
  V isRegular = b.CreateAnd(l.less(dividend, l.infinity()), l.less(l.number(0), divisor));
  isHard = b.CreateAnd(b.CreateAnd(isHard, isRegular), l.lessEqual(divisor, dividend));
  auto exact = [&](llvm::ArrayRef<V> numbers) -> llvm::SmallVector<V> {
    V exact = b.CreateCall(exactRemainder(function), {b.CreateFPCast(numbers[0], b.getDoubleTy()),
                                                      b.CreateFPCast(numbers[1], b.getDoubleTy())});
    return {b.CreateFPCast(exact, l.type->getScalarType())};
  };
  rest = repairLanes(b, isHard, {dividend, divisor}, {rest}, exact)[0];
  V isInvalid =
      b.CreateOr(b.CreateFCmpUEQ(dividend, l.infinity()), b.CreateFCmpUEQ(divisor, l.number(0)));
  return l.copySign(l.select(isInvalid, l.nan(), rest), x);
}

V emitFmod(const Lanes &caller, V x, V y) {
  if (caller.host.oneThread)
    return fmodBody(caller, x, y);
  return callLaneFunction(caller, "fmod", {x, y}, [](const Lanes &l, llvm::ArrayRef<V> a) {
    return fmodBody(l, a[0], a[1]);
  });
}

} // namespace sectile::backends
