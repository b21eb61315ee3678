// Numeric conversions and bit casts.
#include "lang/semantics/Semantics.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {

static std::string castName(const Semantics &sema, DType from, DType to) {
  return "cast: " + sema.nameOf(from) + " to " + sema.nameOf(to);
}

static FailureOr<Value> bitcastNumber(Semantics &sema, const Value &value, DType to) {
  DType from = value.type.dtype;
  if (from.bits() != to.bits())
    return sema.error("bitcast: " + sema.nameOf(from) + " has " + std::to_string(from.bits()) +
                          " bits, " + sema.nameOf(to) + " has " + std::to_string(to.bits()),
                      "without the bitcast the number itself is converted");
  Type type = value.type.withDType(to);
  mlir::Type ir = sema.irType(type);
  if (value.ir.getType() == ir) // signedness is ours alone
    return Value{value.ir, type};
  return Value{arith::BitcastOp::create(sema.builder, sema.location(), ir, value.ir), type};
}

static FailureOr<Value> castPointer(Semantics &sema, const Value &value, DType to) {
  DType from = value.type.dtype;
  Type type = value.type.withDType(to);
  mlir::Type ir = sema.irType(type);
  OpBuilder &builder = sema.builder;
  if (from.isPointer && to.isPointer) {
    if (value.ir.getType() == ir)
      return Value{value.ir, type};
    return Value{tile::PtrCastOp::create(builder, sema.location(), ir, value.ir), type};
  }
  if (from.isPointer && to.isBool())
    return sema.isNonZero(value);
  if (from.isPointer && to.isInt() && to.bits() == 64)
    return Value{tile::PtrToIntOp::create(builder, sema.location(), ir, value.ir), type};
  if (from.isInt() && from.bits() == 64 && to.isPointer)
    return Value{tile::IntToPtrOp::create(builder, sema.location(), ir, value.ir), type};
  return sema.error(castName(sema, from, to) + " is not possible",
                    "an address is a 64-bit integer: go through " +
                        sema.words.dtype(DType::scalar(ScalarKind::Int64)));
}

static mlir::Value splatInteger(Semantics &sema, mlir::Type type, uint64_t number) {
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  TypedAttr attr = IntegerAttr::get(element, APInt(element.getWidth(), number));
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    attr = SplatElementsAttr::get(tensor, Attribute(attr));
  return arith::ConstantOp::create(sema.builder, sema.location(), attr);
}

/// The bits of a float8e4b15 are those of an fp16 but for the exponent's first bit, which is 0, and
/// the last seven of the fraction: every one of its numbers is an fp16.
static Value halfOfFloat8E4B15(Semantics &sema, const Value &value) {
  OpBuilder &b = sema.builder;
  Location at = sema.location();
  mlir::Type wide = sema.irType(value.type.withDType(DType::scalar(ScalarKind::Int16)));
  Type half = value.type.withDType(DType::scalar(ScalarKind::Float16));
  // The sign is extended over the bit above the exponent, and taken off that bit.
  mlir::Value bits = arith::ExtSIOp::create(b, at, wide, value.ir);
  bits = arith::ShLIOp::create(b, at, bits, splatInteger(sema, wide, 7));
  bits = arith::AndIOp::create(b, at, bits, splatInteger(sema, wide, 0xbf80));
  return {arith::BitcastOp::create(b, at, sema.irType(half), bits), half};
}

/// As Triton converts: at most 1.75 (also infinity and NaN, with their signs), halves away from
/// zero. `value` is an fp16 that was rounded towards zero, which leaves every half what it is.
static Value float8E4B15OfHalf(Semantics &sema, const Value &value, bool roundTowardZero) {
  OpBuilder &b = sema.builder;
  Location at = sema.location();
  mlir::Type wide = sema.irType(value.type.withDType(DType::scalar(ScalarKind::Int16)));
  Type narrow = value.type.withDType(DType::scalar(ScalarKind::Float8E4B15));
  auto number = [&](uint64_t bits) { return splatInteger(sema, wide, bits); };
  mlir::Value bits = arith::BitcastOp::create(b, at, wide, value.ir);
  mlir::Value magnitude = arith::AndIOp::create(b, at, bits, number(0x7fff));
  magnitude = arith::MinUIOp::create(b, at, magnitude, number(0x3f00));
  if (!roundTowardZero)
    magnitude = arith::AddIOp::create(b, at, magnitude, number(0x40));
  magnitude = arith::ShRUIOp::create(b, at, magnitude, number(7));
  mlir::Value sign = arith::ShRUIOp::create(b, at, bits, number(8));
  sign = arith::AndIOp::create(b, at, sign, number(0x80));
  mlir::Value joined = arith::OrIOp::create(b, at, magnitude, sign);
  return {arith::TruncIOp::create(b, at, sema.irType(narrow), joined), narrow};
}

/// Between floating-point kinds. fp64 to fp8 and to the 16-bit kinds is one rounding, as in
/// hardware.
static Value castFloat(Semantics &sema, const Value &value, DType to, bool roundTowardZero) {
  DType from = value.type.dtype;
  Type type = value.type.withDType(to);
  if (from == to)
    return value;
  DType single = DType::scalar(ScalarKind::Float32), half = DType::scalar(ScalarKind::Float16);
  if (from.kind == ScalarKind::Float8E4B15)
    return castFloat(sema, halfOfFloat8E4B15(sema, value), to, roundTowardZero);
  if (to.kind == ScalarKind::Float8E4B15) {
    Value wide =
        from.bits() == 32 ? value : castFloat(sema, value, from == half ? half : single, true);
    return float8E4B15OfHalf(sema, castFloat(sema, wide, half, true), roundTowardZero);
  }
  // Equal widths (fp16 and bf16, two fp8 kinds) convert through fp32, which holds both exactly.
  if (from.bits() == to.bits()) {
    Value wide = castFloat(sema, value, single, false);
    return castFloat(sema, wide, to, roundTowardZero);
  }
  OpBuilder &builder = sema.builder;
  Location location = sema.location();
  mlir::Type ir = sema.irType(type);
  if (from.bits() < to.bits())
    return {arith::ExtFOp::create(builder, location, ir, value.ir), type};
  if (to.isFp8())
    return {tile::NarrowOp::create(builder, location, ir, value.ir, roundTowardZero), type};
  auto truncated = arith::TruncFOp::create(builder, location, ir, value.ir);
  if (roundTowardZero)
    truncated.setRoundingmode(arith::RoundingMode::toward_zero);
  return {truncated, type};
}

FailureOr<Value> Semantics::cast(const Value &value, DType to, bool bitcast, bool roundTowardZero) {
  DType from = value.type.dtype;
  bool isNarrowing = from.isFloat() && to.isFloat() && to.bits() < from.bits();
  if (roundTowardZero && !isNarrowing)
    return error(castName(*this, from, to) + " takes no fp_downcast_rounding",
                 "rounding can be chosen only where a floating-point number becomes narrower");
  if (from == to)
    return value;
  if (to.isVoid())
    return error(castName(*this, from, to) + " is not possible");
  if (from.isPointer || to.isPointer)
    return castPointer(*this, value, to);
  if (bitcast)
    return bitcastNumber(*this, value, to);
  if (to.isBool())
    return isNonZero(value);

  Type type = value.type.withDType(to);
  mlir::Type ir = irType(type);
  if (from.isFloat() && to.isFloat())
    return castFloat(*this, value, to, roundTowardZero);
  // The narrow float kinds convert to and from integers through fp32.
  auto isNarrow = [](DType dtype) { return dtype.isFloat() && dtype.bits() < 32; };
  DType single = DType::scalar(ScalarKind::Float32);
  if (from.isFloat()) {
    if (isNarrow(from))
      return cast(castFloat(*this, value, single, false), to);
    mlir::Value result =
        to.isSignedInt() ? arith::FPToSIOp::create(builder, location(), ir, value.ir).getResult()
                         : arith::FPToUIOp::create(builder, location(), ir, value.ir).getResult();
    return Value{result, type};
  }
  if (to.isFloat()) {
    if (to.isFp8()) {
      FailureOr<Value> wide = cast(value, single);
      return failed(wide) ? wide : castFloat(*this, *wide, to, false);
    }
    mlir::Value result =
        from.isSignedInt() ? arith::SIToFPOp::create(builder, location(), ir, value.ir).getResult()
                           : arith::UIToFPOp::create(builder, location(), ir, value.ir).getResult();
    return Value{result, type};
  }
  // Integers: extended by the signedness of the source; a truth value is zero or one.
  mlir::Value result = value.ir;
  if (to.bits() < from.bits())
    result = arith::TruncIOp::create(builder, location(), ir, result);
  else if (to.bits() > from.bits() && from.isSignedInt())
    result = arith::ExtSIOp::create(builder, location(), ir, result);
  else if (to.bits() > from.bits())
    result = arith::ExtUIOp::create(builder, location(), ir, result);
  return Value{result, type};
}

} // namespace sectile::lang
