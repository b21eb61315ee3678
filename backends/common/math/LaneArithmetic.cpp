#include "backends/common/math/LaneArithmetic.h"

#include "backends/common/math/Branch.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace sectile::backends {

using llvm::Intrinsic::ID;
using V = Lanes::V;

Lanes::Lanes(llvm::IRBuilderBase &builder, const ArithmeticFeatures &host, llvm::Type *floatType)
    : builder(builder), host(host), type(floatType),
      intType(floatType->getWithNewBitWidth(floatType->getScalarSizeInBits())),
      isDouble(floatType->getScalarType()->isDoubleTy()), guard(builder) {
  builder.clearFastMathFlags();
}

llvm::ConstantFP *constantOf(V lanes) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(lanes);
  if (constant && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
}

V Lanes::number(double value) const {
  return llvm::ConstantFP::get(type, value);
}
V Lanes::integer(uint64_t bits) const {
  return llvm::ConstantInt::get(intType, isDouble ? bits : uint64_t(uint32_t(bits)));
}
V Lanes::infinity() const {
  return llvm::ConstantFP::getInfinity(type);
}
V Lanes::nan() const {
  return llvm::ConstantFP::getNaN(type);
}

V Lanes::abs(V a) const {
  return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
}
V Lanes::sqrt(V a) const {
  return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
}

V Lanes::approximation(ID instruction, V a) const {
  if (isDouble || instruction == llvm::Intrinsic::not_intrinsic)
    return nullptr;
  llvm::SmallVector<llvm::Type *, 1> types;
  if (llvm::Intrinsic::isOverloaded(instruction))
    types.push_back(type);
  return builder.CreateIntrinsic(instruction, types, {a});
}

V Lanes::inverse(V b) const {
  V close = approximation(host.instructions.reciprocal, b);
  return close ? close : div(number(1), b);
}

V Lanes::ratio(V a, V b) const {
  V close = approximation(host.instructions.reciprocal, b);
  if (!close)
    return div(a, b);
  V quotient = mul(a, close);
  return mulAdd(negMulAdd(quotient, b, a), close, quotient);
}

V Lanes::root(V a) const {
  V close = approximation(host.instructions.squareRoot, a);
  return close ? close : sqrt(a);
}

V Lanes::isPositiveFinite(V a) const {
  if (!host.oneThread)
    return builder.CreateAnd(less(number(0), a), less(a, infinity()));
  // Not by comparing numbers: LLVM makes llvm.is.fpclass of two, ten instructions.
  V fromLeast = builder.CreateSub(bitsOf(a), integer(1));
  return builder.CreateICmpULT(fromLeast, builder.CreateSub(bitsOf(infinity()), integer(1)));
}

V Lanes::usually(V condition, V usual, llvm::function_ref<V()> rare) const {
  if (!host.oneThread)
    return select(condition, usual, rare());
  V other = nullptr;
  auto [before, end] = emitUnlikely(builder, builder.CreateNot(condition), [&] { other = rare(); });
  llvm::PHINode *result = builder.CreatePHI(usual->getType(), 2);
  result->addIncoming(usual, before);
  result->addIncoming(other, end);
  return result;
}

V Lanes::mulAdd(V a, V b, V c) const {
  // Without the instruction llvm.fma is a call to libm.
  if (!hasFma())
    return add(mul(a, b), c);
  return builder.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {a, b, c});
}

V Lanes::copySign(V magnitude, V sign) const {
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

// Written so that they become one minps or maxps, which returns its second operand for NaN.
V Lanes::min(V a, double limit) const {
  return select(less(number(limit), a), number(limit), a);
}
V Lanes::max(V a, double limit) const {
  return select(less(a, number(limit)), number(limit), a);
}

V Lanes::polynomial(V x, llvm::ArrayRef<double> c) const {
  if (c.size() == 1)
    return number(c[0]);
  // Short ones by Horner. Long ones in two interleaved chains, which halves the latency.
  if (c.size() <= 6) {
    V sum = number(c.back());
    for (double next : llvm::reverse(c.drop_back()))
      sum = mulAdd(sum, x, number(next));
    return sum;
  }
  V square = mul(x, x);
  auto chain = [&](size_t first) {
    size_t last = first + (c.size() - 1 - first) / 2 * 2;
    V sum = number(c[last]);
    for (size_t k = last; k > first; k -= 2)
      sum = mulAdd(sum, square, number(c[k - 2]));
    return sum;
  };
  return mulAdd(chain(1), x, chain(0));
}

// 1.5 * 2^mantissa: the sum's last bit counts ones, and the half below the leading bit leaves room
// for negative numbers.
static double roundingBias(const Lanes &l) {
  return l.isDouble ? 0x1.8p52 : 0x1.8p23;
}

Lanes::Whole Lanes::nearest(V a) const {
  V biased = add(a, number(roundingBias(*this)));
  return {sub(biased, number(roundingBias(*this))), bitsOf(biased)};
}

Lanes::Whole Lanes::nearestProduct(V a, double scale) const {
  V biased = mulAdd(a, number(scale), number(roundingBias(*this)));
  return {sub(biased, number(roundingBias(*this))), bitsOf(biased)};
}

V Lanes::powerOfTwo(const Whole &n) const {
  // The bias' own low bits are zero, and its others leave at the top.
  return floatOf(builder.CreateShl(builder.CreateAdd(n.raw, integer(exponentBias())),
                                   integer(mantissaBits())));
}

/// The AVX-512 instruction that multiplies by 2^floor(n) on one native vector, or none.
static V scalef(const Lanes &l, V p, V n) {
  llvm::IRBuilderBase &b = l.builder;
  unsigned lanes = 1;
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(p->getType()))
    lanes = vector->getNumElements();
  unsigned bits = lanes * l.bits();
  ID id;
  switch (bits) {
  case 512:
    id = l.isDouble ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                    : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
    break;
  case 256:
    id = l.isDouble ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_256
                    : llvm::Intrinsic::x86_avx512_mask_scalef_ps_256;
    break;
  case 128:
    id = l.isDouble ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_128
                    : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
    break;
  default:
    return nullptr;
  }
  // Eight mask bits at least; all lanes.
  V mask = llvm::ConstantInt::getAllOnesValue(b.getIntNTy(std::max(8u, lanes)));
  llvm::SmallVector<V> arguments{p, n, llvm::Constant::getNullValue(p->getType()), mask};
  if (bits == 512)
    arguments.push_back(b.getInt32(4)); // rounding mode: the current one
  return b.CreateIntrinsic(id, {}, arguments);
}

V Lanes::scale(V p, const Whole &n) const {
  if (!host.slowSubnormals)
    return multiplyByPower(p, n);
  // Below 2^-126 (f32) the result is subnormal or zero. There p * 2^(n + 126) is taken, which is
  // below 1, and 1 added: the sum has the last place of subnormal numbers, so that this is the one
  // rounding, and its bits less those of 1 are the result's. Padding of rows, exp(-infinity), comes
  // this way.
  const unsigned toNormal = exponentBias() - 1;
  V isTiny = less(n.whole, number(-double(toNormal)));
  Whole lifted{select(isTiny, add(n.whole, number(toNormal)), n.whole),
               select(isTiny, builder.CreateAdd(n.raw, integer(toNormal)), n.raw)};
  V scaled = multiplyByPower(p, lifted);
  V one = number(1);
  V tiny = floatOf(builder.CreateSub(bitsOf(add(scaled, one)), bitsOf(one)));
  return select(isTiny, tiny, scaled);
}

V Lanes::multiplyByPower(V p, const Whole &n) const {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (host.avx512 && vector) {
    unsigned lanes = vector->getNumElements(), native = host.laneCount(bits());
    if (lanes <= native) {
      if (V result = scalef(*this, p, n.whole))
        return result;
    } else if (lanes % native == 0) {
      llvm::SmallVector<V> parts;
      for (unsigned first = 0; first < lanes; first += native) {
        llvm::SmallVector<int> piece;
        for (unsigned lane = 0; lane < native; ++lane)
          piece.push_back(int(first + lane));
        parts.push_back(scalef(*this, builder.CreateShuffleVector(p, piece),
                               builder.CreateShuffleVector(n.whole, piece)));
      }
      V joined = llvm::PoisonValue::get(type);
      for (unsigned k = 0; k < parts.size(); ++k)
        joined = builder.CreateInsertVector(type, joined, parts[k], uint64_t(k) * native);
      return joined;
    }
  }
  // 2^n may not be representable although p * 2^n is, so multiply twice: by 2^(n/2) and by the
  // rest. Subnormal results are rounded in the second product only, for the first is exact.
  V whole = builder.CreateSub(n.raw, bitsOf(number(roundingBias(*this))));
  V half = builder.CreateAShr(whole, integer(1));
  V rest = builder.CreateSub(whole, half);
  return mul(mul(p, powerOfTwo({nullptr, half})), powerOfTwo({nullptr, rest}));
}

Lanes::Pair Lanes::twoSum(V a, V b) const {
  V sum = add(a, b);
  V fromA = sub(sum, b);
  V fromB = sub(sum, fromA);
  return {sum, add(sub(a, fromA), sub(b, fromB))};
}

Lanes::Pair Lanes::fastTwoSum(V a, V b) const {
  V sum = add(a, b);
  return {sum, sub(b, sub(sum, a))};
}

Lanes::Pair Lanes::split(V a) const {
  V scaled = mul(a, number(isDouble ? 0x1p27 + 1 : 0x1p12 + 1));
  V high = sub(scaled, sub(scaled, a));
  return {high, sub(a, high)};
}

Lanes::Pair Lanes::twoProduct(V a, V b) const {
  V product = mul(a, b);
  if (hasFma())
    return {product, mulAdd(a, b, neg(product))};
  Pair left = split(a), right = split(b);
  V error = sub(mul(left.high, right.high), product);
  error = add(error, mul(left.high, right.low));
  error = add(error, mul(left.low, right.high));
  return {product, add(error, mul(left.low, right.low))};
}

} // namespace sectile::backends
