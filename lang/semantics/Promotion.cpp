// The common dtype and shape of two operands. The rules are Triton's; README.md lists them.
#include "lang/semantics/Semantics.h"
#include "lang/tile/TileDialect.h"

#include <cmath>

using namespace mlir;

namespace sectile::lang {
namespace {

constexpr DType kFloat32 = DType::scalar(ScalarKind::Float32);
constexpr DType kInt64 = DType::scalar(ScalarKind::Int64);

/// The order in which scalars give way: truth value, integer, float.
int kindRank(DType dtype) {
  return dtype.isFloat() ? 2 : dtype.isInt() ? 1 : 0;
}

/// C's usual arithmetic conversions, without its promotion to int.
DType promoteIntegers(DType lhs, DType rhs) {
  bool lhsSigned = lhs.isSignedInt(), rhsSigned = rhs.isSignedInt();
  if (lhsSigned == rhsSigned)
    return lhs.bits() > rhs.bits() ? lhs : rhs;
  if (!lhsSigned)
    return lhs.bits() >= rhs.bits() ? lhs : rhs;
  return rhs.bits() >= lhs.bits() ? rhs : lhs;
}

/// The common shape, ranks padded on the left; none if the extents do not fit.
std::optional<SmallVector<int64_t, 4>> commonShape(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  SmallVector<int64_t, 4> shape(std::max(lhs.size(), rhs.size()));
  for (size_t fromEnd = 1; fromEnd <= shape.size(); ++fromEnd) {
    int64_t left = fromEnd <= lhs.size() ? lhs[lhs.size() - fromEnd] : 1;
    int64_t right = fromEnd <= rhs.size() ? rhs[rhs.size() - fromEnd] : 1;
    if (left != right && left != 1 && right != 1)
      return std::nullopt;
    shape[shape.size() - fromEnd] = left == 1 ? right : left;
  }
  return shape;
}

std::string transposedHint(const Vocabulary &words, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  if (lhs.size() == 1 && rhs.size() == 1)
    return "extents broadcast only if they are equal or one; to combine every pair, write " +
           words.asColumn("x") + " and " + words.asRow("y");
  return "extents broadcast only if they are equal or one; ranks are padded on the left";
}

} // namespace

FailureOr<DType> Semantics::promote(const Operand &lhs, const Operand &rhs, StringRef operation,
                                    bool isDivision) {
  const Constant *lhsLiteral = lhs.constant(), *rhsLiteral = rhs.constant();
  auto dtypeOf = [&](const Operand &operand, StringRef side) -> FailureOr<DType> {
    if (auto *value = operand.value())
      return value->type.dtype;
    std::optional<DType> dtype;
    if (auto *literal = operand.constant()) {
      dtype = literalDType(*literal);
      if (!dtype && literal->is<Int>())
        return error((operation + ": " + literal->repr() + " does not fit 64 bits").str());
    }
    if (!dtype)
      return notATile(operation + ": " + side, operand);
    return *dtype;
  };
  FailureOr<DType> lhsDType = dtypeOf(lhs, "lhs");
  if (failed(lhsDType))
    return failure();
  FailureOr<DType> rhsDType = dtypeOf(rhs, "rhs");
  if (failed(rhsDType))
    return failure();
  DType a = *lhsDType, b = *rhsDType;
  if (a.isPointer || b.isPointer) {
    if (a == b)
      return a;
    return error((operation + ": " + nameOf(a) + " and " + nameOf(b) + " do not go together").str(),
                 "load through the pointer first, or cast it with " + words.cast(kInt64));
  }

  auto meet = [&]() -> FailureOr<DType> {
    // A literal whose kind does not exceed the value's takes no part. A scalar *value* does take
    // part.
    if (bool(lhsLiteral) != bool(rhsLiteral)) {
      DType literal = lhsLiteral ? a : b, value = lhsLiteral ? b : a;
      if (kindRank(literal) <= kindRank(value)) {
        bool isHalf = value.kind == ScalarKind::Float16 || value.kind == ScalarKind::BFloat16;
        return isDivision && isHalf ? kFloat32 : value;
      }
    }
    auto either = [&](ScalarKind kind) { return a.kind == kind || b.kind == kind; };
    if (either(ScalarKind::Float64))
      return DType::scalar(ScalarKind::Float64);
    if (either(ScalarKind::Float32))
      return kFloat32;
    if (either(ScalarKind::Float16))
      return isDivision ? kFloat32 : DType::scalar(ScalarKind::Float16);
    if (either(ScalarKind::BFloat16))
      return a == b && !isDivision ? a : kFloat32;
    if (a.isFp8() && b.isFp8())
      return a == b ? a : DType::scalar(ScalarKind::Float16);
    if (a.isFp8() || b.isFp8())
      return error(
          (operation + ": " + nameOf(a) + " and " + nameOf(b) + " have no common dtype").str(),
          "cast one side, for example with " + words.cast(kFloat32));
    if (isDivision && a.isSignedInt() != b.isSignedInt())
      return error(
          (operation + ": " + nameOf(a) + " and " + nameOf(b) + " differ in signedness").str(),
          "cast one side, for example with " +
              words.cast(*DType::parse((a.isSignedInt() ? "i" : "u") +
                                       std::to_string(std::max(a.bits(), b.bits())))) +
              ", so that it is clear which division is meant");
    return promoteIntegers(a, b);
  };
  FailureOr<DType> result = meet();
  if (failed(result))
    return failure();

  // A literal must be representable among integers: x_u32 + (-1) is a mistake, not a wrap-around.
  if (!result->isFloat())
    for (const Constant *literal : {lhsLiteral, rhsLiteral}) {
      auto *integer = literal ? literal->as<Int>() : nullptr;
      if (!integer)
        continue;
      if (*integer < 0 && !result->isSignedInt())
        return error((operation + ": negative number " + literal->repr() + " with unsigned " +
                      result->name())
                         .str(),
                     "cast one side explicitly");
      if (failed(convertsTo(*literal, *result, operation)))
        return failure();
    }
  return result;
}

FailureOr<Value> Semantics::broadcastTo(const Value &value, ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(value.type.shape) == shape)
    return value;
  Type type = value.type.withShape(shape);
  auto fits = commonShape(value.type.shape, shape);
  if (!fits || ArrayRef<int64_t>(*fits) != shape)
    return error("broadcast: " + value.type.shapeName() + " does not broadcast to " +
                     type.shapeName(),
                 "only extents of one are repeated; ranks are padded on the left");
  if (failed(checkShape(shape, "broadcast")))
    return failure();
  if (value.type.isScalar())
    return Value{tile::SplatOp::create(builder, location(), irType(type), value.ir), type};
  Value padded = value;
  while (padded.type.shape.size() < shape.size()) {
    padded.type.shape.insert(padded.type.shape.begin(), 1);
    padded.ir = tile::ExpandDimsOp::create(builder, location(), irType(padded.type), padded.ir, 0);
  }
  if (ArrayRef<int64_t>(padded.type.shape) != shape)
    padded.ir = tile::BroadcastOp::create(builder, location(), irType(type), padded.ir);
  padded.type = type;
  return padded;
}

FailureOr<std::pair<Value, Value>> Semantics::broadcast(const Value &lhs, const Value &rhs,
                                                        StringRef operation) {
  auto shape = commonShape(lhs.type.shape, rhs.type.shape);
  if (!shape)
    return error((operation + ": shapes do not fit: lhs is " + lhs.type.shapeName() + ", rhs is " +
                  rhs.type.shapeName())
                     .str(),
                 transposedHint(words, lhs.type.shape, rhs.type.shape));
  if (failed(checkShape(*shape, operation)))
    return failure();
  FailureOr<Value> left = broadcastTo(lhs, *shape);
  if (failed(left))
    return failure();
  FailureOr<Value> right = broadcastTo(rhs, *shape);
  if (failed(right))
    return failure();
  return std::make_pair(*left, *right);
}

FailureOr<Operand> Semantics::comparedLiteral(const Constant &number, DType beside) {
  std::optional<DType> own = literalDType(number);
  if (!own || beside.isPointer || (beside.isFp8() && number.is<Int>()))
    return Operand(number); // promote() reports it, or rounds it
  Constant rounded = number;
  if (*own == kFloat32)
    rounded = Constant(double(float(*number.as<double>())));
  if (kindRank(*own) > kindRank(beside) || holdsExactly(beside, rounded))
    return Operand(rounded);
  FailureOr<Value> typed = toValue(Operand(rounded));
  if (failed(typed))
    return failure();
  return Operand(*typed);
}

FailureOr<std::pair<Value, Value>> Semantics::unify(const Operand &lhs, const Operand &rhs,
                                                    StringRef operation, bool isDivision) {
  FailureOr<DType> dtype = promote(lhs, rhs, operation, isDivision);
  if (failed(dtype))
    return failure();
  // A literal beside a tile becomes a constant tile at once, not a scalar that is spread later.
  auto convert = [&](const Operand &operand, const Operand &other) -> FailureOr<Value> {
    if (auto *value = operand.value())
      return cast(*value, *dtype);
    Type type{*dtype, {}};
    if (auto *value = other.value())
      type.shape = value->type.shape;
    return splatConstant(*operand.constant(), type);
  };
  FailureOr<Value> left = convert(lhs, rhs);
  if (failed(left))
    return failure();
  FailureOr<Value> right = convert(rhs, lhs);
  if (failed(right))
    return failure();
  return broadcast(*left, *right, operation);
}

} // namespace sectile::lang
