// Binary and unary operators, and indexing with None.
#include "lang/semantics/Semantics.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {

StringRef spelling(BinaryOperator op) {
  static constexpr StringLiteral texts[] = {
      "+",  "-",  "*",  "/", "//", "%", "**", "&",   "|",  "^", "<<",
      ">>", "==", "!=", "<", "<=", ">", ">=", "and", "or", "@"};
  return texts[static_cast<int>(op)];
}

namespace {

bool isComparison(BinaryOperator op) {
  return op >= BinaryOperator::Equal && op <= BinaryOperator::GreaterEqual;
}

const DType kFloat32 = DType::scalar(ScalarKind::Float32);
const DType kInt64 = DType::scalar(ScalarKind::Int64);

DType dtypeOf(const Operand &operand) {
  auto *value = operand.value();
  return value ? value->type.dtype : DType{};
}
bool isPointer(const Operand &operand) {
  return dtypeOf(operand).isPointer;
}

/// A GPU may approximate plain `/`; div_rn() asks for the correctly rounded quotient. That of fp64
/// is always so, and without the flag: LLVM would keep it where it narrows a division whose result
/// is rounded to fp32 anyway.
arith::FastMathFlagsAttr mayApproximate(mlir::Value operand) {
  auto flag = tile::elementTypeOf(operand.getType()).isF64() ? arith::FastMathFlags::none
                                                             : arith::FastMathFlags::afn;
  return arith::FastMathFlagsAttr::get(operand.getContext(), flag);
}

/// pointer + integer. Offsets are signed, so narrow unsigned ones are widened first.
FailureOr<Value> offsetPointer(Semantics &sema, const Value &pointer, const Operand &offset,
                               StringRef operation, bool isNegated) {
  FailureOr<Value> count = sema.toValue(offset, "offset");
  if (failed(count))
    return failure();
  DType dtype = count->type.dtype;
  if (!dtype.isIntOrBool())
    return sema.error(
        (operation + ": pointers move by integers, not by " + sema.nameOf(dtype)).str(),
        "cast the offset, for example with " + sema.words.cast(kInt64));
  if (!dtype.isSignedInt() && dtype.bits() < 64) {
    count = sema.cast(*count, DType::scalar(ScalarKind::Int64));
    if (failed(count))
      return failure();
  }
  if (isNegated) {
    Value nothing = sema.zero(count->type);
    count->ir = arith::SubIOp::create(sema.builder, sema.location(), nothing.ir, count->ir);
  }
  auto both = sema.broadcast(pointer, *count, operation);
  if (failed(both))
    return failure();
  auto [to, by] = *both;
  return Value{tile::PtrAddOp::create(sema.builder, sema.location(), to.ir, by.ir), to.type};
}

/// The integer or float op of `op` on two values of one type; none for an op without one.
mlir::Value buildArithmetic(Semantics &sema, BinaryOperator op, const Value &lhs, const Value &rhs,
                            bool isSigned) {
  OpBuilder &b = sema.builder;
  Location at = sema.location();
  mlir::Value l = lhs.ir, r = rhs.ir;
  if (lhs.type.dtype.isFloat()) {
    switch (op) {
    case BinaryOperator::Add:
      return arith::AddFOp::create(b, at, l, r);
    case BinaryOperator::Subtract:
      return arith::SubFOp::create(b, at, l, r);
    case BinaryOperator::Multiply:
      return arith::MulFOp::create(b, at, l, r);
    case BinaryOperator::Divide:
      return arith::DivFOp::create(b, at, l, r, mayApproximate(l));
    case BinaryOperator::Modulo:
      return arith::RemFOp::create(b, at, l, r);
    default:
      return {};
    }
  }
  switch (op) {
  case BinaryOperator::Add:
    return arith::AddIOp::create(b, at, l, r);
  case BinaryOperator::Subtract:
    return arith::SubIOp::create(b, at, l, r);
  case BinaryOperator::Multiply:
    return arith::MulIOp::create(b, at, l, r);
  case BinaryOperator::FloorDivide:
    return isSigned ? arith::DivSIOp::create(b, at, l, r).getResult()
                    : arith::DivUIOp::create(b, at, l, r).getResult();
  case BinaryOperator::Modulo:
    return isSigned ? arith::RemSIOp::create(b, at, l, r).getResult()
                    : arith::RemUIOp::create(b, at, l, r).getResult();
  case BinaryOperator::BitAnd:
    return arith::AndIOp::create(b, at, l, r);
  case BinaryOperator::BitOr:
    return arith::OrIOp::create(b, at, l, r);
  case BinaryOperator::BitXor:
    return arith::XOrIOp::create(b, at, l, r);
  case BinaryOperator::ShiftLeft:
    return arith::ShLIOp::create(b, at, l, r);
  case BinaryOperator::ShiftRight:
    return isSigned ? arith::ShRSIOp::create(b, at, l, r).getResult()
                    : arith::ShRUIOp::create(b, at, l, r).getResult();
  default:
    return {};
  }
}

bool isBitwise(BinaryOperator op) {
  return op >= BinaryOperator::BitAnd && op <= BinaryOperator::ShiftRight;
}

bool isIntegerDivision(BinaryOperator op) {
  return op == BinaryOperator::FloorDivide || op == BinaryOperator::Modulo;
}

/// `result` of `op` is what the same op gives in 64 bits. Nothing where `op` is none that
/// overflows.
void assertNoOverflow(Semantics &sema, BinaryOperator op, const Value &result) {
  Operation *narrow = result.ir.getDefiningOp();
  DType dtype = result.type.dtype;
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(narrow) || dtype.isPointer ||
      !dtype.isInt() || dtype.bits() >= 64)
    return;
  OpBuilder &b = sema.builder;
  if (tile::isForElements(b.getInsertionBlock()))
    return;
  Location at = sema.location();
  auto widen = [&](mlir::Value value) -> mlir::Value {
    mlir::Type wide = sema.irType(result.type.withDType(DType::scalar(ScalarKind::Int64)));
    return dtype.isSignedInt() ? arith::ExtSIOp::create(b, at, wide, value).getResult()
                               : arith::ExtUIOp::create(b, at, wide, value).getResult();
  };
  Value lhs{widen(narrow->getOperand(0)), result.type}, rhs{widen(narrow->getOperand(1)), {}};
  mlir::Value exact = buildArithmetic(sema, op, lhs, rhs, dtype.isSignedInt());
  mlir::Value isExact =
      arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, exact, widen(result.ir));
  static constexpr StringLiteral names[] = {"add", "sub", "mul"};
  std::string kind = (dtype.isSignedInt() ? "int" : "uint") + std::to_string(dtype.bits());
  tile::AssertOp::create(b, at, isExact,
                         kind + " overflow detected for operation " +
                             names[static_cast<int>(op)].str());
}

/// Comparing addresses: as unsigned 64-bit integers.
FailureOr<Value> comparePointers(Semantics &sema, BinaryOperator op, const Operand &lhs,
                                 const Operand &rhs) {
  if (!isPointer(lhs) || !isPointer(rhs)) {
    std::string message =
        (spelling(op) + ": " + lhs.kindName() + " and " + rhs.kindName() + " cannot be compared")
            .str();
    if (std::string remedy = sema.pointerRemedy(isPointer(lhs) ? lhs : rhs); !remedy.empty())
      return sema.errorOnce(message, remedy);
    return sema.error(message,
                      "compare pointers with pointers, or cast with " + sema.words.cast(kInt64));
  }
  DType address = DType::scalar(ScalarKind::UInt64);
  FailureOr<Value> left = sema.cast(*lhs.value(), address);
  FailureOr<Value> right = sema.cast(*rhs.value(), address);
  if (failed(left) || failed(right))
    return failure();
  return sema.arithmetic(op, *left, *right);
}

} // namespace

Value Semantics::compare(BinaryOperator op, const Value &lhs, const Value &rhs) {
  using arith::CmpFPredicate;
  using arith::CmpIPredicate;
  int which = static_cast<int>(op) - static_cast<int>(BinaryOperator::Equal);
  Type type = lhs.type.withDType(DType::scalar(ScalarKind::Int1));
  if (lhs.type.dtype.isFloat()) {
    constexpr CmpFPredicate predicates[] = {CmpFPredicate::OEQ, CmpFPredicate::UNE,
                                            CmpFPredicate::OLT, CmpFPredicate::OLE,
                                            CmpFPredicate::OGT, CmpFPredicate::OGE};
    // fp8 has no comparison of its own; fp32 holds it exactly.
    mlir::Value left = lhs.ir, right = rhs.ir;
    if (lhs.type.dtype.isFp8()) {
      left = cast(lhs, kFloat32)->ir;
      right = cast(rhs, kFloat32)->ir;
    }
    return {arith::CmpFOp::create(builder, location(), predicates[which], left, right), type};
  }
  constexpr CmpIPredicate signedPredicates[] = {CmpIPredicate::eq,  CmpIPredicate::ne,
                                                CmpIPredicate::slt, CmpIPredicate::sle,
                                                CmpIPredicate::sgt, CmpIPredicate::sge};
  constexpr CmpIPredicate unsignedPredicates[] = {CmpIPredicate::eq,  CmpIPredicate::ne,
                                                  CmpIPredicate::ult, CmpIPredicate::ule,
                                                  CmpIPredicate::ugt, CmpIPredicate::uge};
  auto predicate =
      lhs.type.dtype.isSignedInt() ? signedPredicates[which] : unsignedPredicates[which];
  return {arith::CmpIOp::create(builder, location(), predicate, lhs.ir, rhs.ir), type};
}

FailureOr<Value> Semantics::arithmetic(BinaryOperator op, const Operand &lhs, const Operand &rhs) {
  StringRef name = spelling(op);
  if (op == BinaryOperator::Power)
    return error("**: tiles have no power operator",
                 "use " + words.power() + ", or multiply for small integer exponents");
  if (op == BinaryOperator::MatrixMultiply)
    return error("@: tiles have no matrix product operator",
                 "use " + words.operation("dot") + "(a, b)");

  if (op == BinaryOperator::LogicalAnd || op == BinaryOperator::LogicalOr) {
    FailureOr<Value> left = toValue(lhs, (name + ": lhs").str());
    if (failed(left) || failed(left = isNonZero(*left)))
      return failure();
    FailureOr<Value> right = toValue(rhs, (name + ": rhs").str());
    if (failed(right) || failed(right = isNonZero(*right)))
      return failure();
    return arithmetic(op == BinaryOperator::LogicalAnd ? BinaryOperator::BitAnd
                                                       : BinaryOperator::BitOr,
                      *left, *right);
  }

  if (isPointer(lhs) || isPointer(rhs)) {
    if (isComparison(op))
      return comparePointers(*this, op, lhs, rhs);
    if (isPointer(lhs) && isPointer(rhs)) {
      std::string remedy = op == BinaryOperator::Subtract ? "" : pointerRemedy(rhs);
      return error(
          (name + ": " + lhs.kindName() + " and " + rhs.kindName() + " are both pointers").str(),
          remedy.empty() ? "pointers take + and - of integers; for a distance subtract " +
                               words.cast(kInt64, "p")
                         : remedy + "; pointers take + and - of integers");
    }
    if (op == BinaryOperator::Add)
      return isPointer(lhs) ? offsetPointer(*this, *lhs.value(), rhs, name, false)
                            : offsetPointer(*this, *rhs.value(), lhs, name, false);
    if (op == BinaryOperator::Subtract && isPointer(lhs))
      return offsetPointer(*this, *lhs.value(), rhs, name, true);
    std::string remedy = pointerRemedy(isPointer(lhs) ? lhs : rhs);
    return error((name + ": not defined for pointers: lhs is " + lhs.kindName() + ", rhs is " +
                  rhs.kindName())
                     .str(),
                 remedy.empty()
                     ? "pointers take + and - of integers; load through the pointer first, or "
                       "cast it with " +
                           words.cast(kInt64)
                     : remedy + "; read its elements first, with " + words.operation("load"));
  }

  if (isComparison(op) && (lhs.constant() || rhs.constant())) {
    const bool isLeft = lhs.constant();
    FailureOr<Operand> literal =
        comparedLiteral(*(isLeft ? lhs : rhs).constant(), dtypeOf(isLeft ? rhs : lhs));
    if (failed(literal))
      return failure();
    auto both = isLeft ? unify(*literal, rhs, name) : unify(lhs, *literal, name);
    if (failed(both))
      return failure();
    return compare(op, both->first, both->second);
  }

  bool isDivision = op == BinaryOperator::Divide || isIntegerDivision(op);
  // Shifts follow the signedness that the shifted side had before promotion.
  DType shifted = lhs.value() ? dtypeOf(lhs) : dtypeOf(rhs);
  auto both = unify(lhs, rhs, name, isDivision);
  if (failed(both))
    return failure();
  auto [left, right] = *both;
  DType dtype = left.type.dtype;
  if (isComparison(op))
    return compare(op, left, right);
  if (isBitwise(op) && dtype.isFloat())
    return error((name + ": integers or truth values expected, found " + lhs.kindName() + " and " +
                  rhs.kindName())
                     .str(),
                 "cast to an integer dtype, " + words.bitcast() +
                     " to work on the bits of a float");
  if (op == BinaryOperator::FloorDivide && dtype.isFloat())
    return error("//: integers expected, found " + lhs.kindName() + " and " + rhs.kindName(),
                 "use " + words.operation("floor") + "(x / y)");
  if (op == BinaryOperator::Divide && !dtype.isFloat()) {
    FailureOr<Value> wideLeft = cast(left, kFloat32);
    FailureOr<Value> wideRight = cast(right, kFloat32);
    if (failed(wideLeft) || failed(wideRight))
      return failure();
    left = *wideLeft, right = *wideRight;
    dtype = kFloat32;
  }
  // fp8 is for storage and matrix products: other arithmetic is done in fp32 and rounded back.
  if (dtype.isFp8()) {
    FailureOr<Value> wideLeft = cast(left, kFloat32);
    FailureOr<Value> wideRight = cast(right, kFloat32);
    if (failed(wideLeft) || failed(wideRight))
      return failure();
    Value wide{buildArithmetic(*this, op, *wideLeft, *wideRight, true), wideLeft->type};
    return cast(wide, dtype);
  }
  bool isSigned = op == BinaryOperator::ShiftRight ? shifted.isSignedInt() : dtype.isSignedInt();
  return Value{buildArithmetic(*this, op, left, right, isSigned), left.type};
}

FailureOr<Operand> Semantics::binary(BinaryOperator op, const Operand &lhs, const Operand &rhs) {
  FailureOr<Value> result = arithmetic(op, lhs, rhs);
  if (failed(result))
    return failure();
  if (sanitizeOverflow)
    assertNoOverflow(*this, op, *result);
  return Operand(*result);
}

FailureOr<Operand> Semantics::truncatingDivide(const Operand &lhs, const Operand &rhs) {
  auto isFloat = [](const Operand &operand) {
    return dtypeOf(operand).isFloat() || (operand.constant() && operand.constant()->is<double>());
  };
  if (isFloat(lhs) || isFloat(rhs) || isPointer(lhs) || isPointer(rhs))
    return binary(BinaryOperator::Divide, lhs, rhs);
  auto both = unify(lhs, rhs, "/", true);
  if (failed(both))
    return failure();
  auto [left, right] = *both;
  bool isSigned = left.type.dtype.isSignedInt();
  return Operand(
      Value{buildArithmetic(*this, BinaryOperator::FloorDivide, left, right, isSigned), left.type});
}

FailureOr<Operand> Semantics::unary(UnaryOperator op, const Operand &operand) {
  static constexpr StringLiteral names[] = {"unary +", "unary -", "~", "not"};
  StringRef name = names[static_cast<int>(op)];
  FailureOr<Value> value = toValue(operand, (name + ": operand").str());
  if (failed(value))
    return failure();
  Type type = value->type;
  if (op == UnaryOperator::LogicalNot) {
    FailureOr<Value> truth = isNonZero(*value);
    if (failed(truth))
      return failure();
    Value yes = splatConstant(Constant{true}, truth->type);
    return Operand(
        Value{arith::XOrIOp::create(builder, location(), truth->ir, yes.ir), truth->type});
  }
  if (type.dtype.isPointer)
    return error((name + ": not defined for pointers, found " + nameOf(type)).str());
  switch (op) {
  case UnaryOperator::Plus:
    return Operand(*value);
  case UnaryOperator::Negate: {
    if (type.dtype.isFp8()) {
      FailureOr<Value> wide = cast(*value, kFloat32);
      if (failed(wide))
        return failure();
      wide->ir = arith::NegFOp::create(builder, location(), wide->ir);
      FailureOr<Value> narrow = cast(*wide, type.dtype);
      if (failed(narrow))
        return failure();
      return Operand(*narrow);
    }
    if (type.dtype.isFloat())
      return Operand(Value{arith::NegFOp::create(builder, location(), value->ir), type});
    Value nothing = zero(type);
    return Operand(Value{arith::SubIOp::create(builder, location(), nothing.ir, value->ir), type});
  }
  default: {
    if (type.dtype.isFloat())
      return error((name + ": integers or truth values expected, found " + nameOf(type)).str());
    // All ones, which for a truth value is true.
    Constant ones = type.dtype.isBool() ? Constant{true} : Constant::integer(-1);
    Value mask = splatConstant(ones, type);
    return Operand(Value{arith::XOrIOp::create(builder, location(), value->ir, mask.ir), type});
  }
  }
}

FailureOr<Operand> Semantics::expandByIndex(const Value &value, ArrayRef<bool> isNone) {
  // A scalar has no dimension for the ':' in p[None, :] and p[:, None]; as in Triton, the
  // dimensions that the Nones make are enough.
  SmallVector<bool> onlyNones(llvm::count(isNone, true), true);
  if (value.type.isScalar() && !onlyNones.empty())
    isNone = onlyNones;
  size_t slices = llvm::count(isNone, false);
  if (slices > value.type.shape.size())
    return error("indexing: " + std::to_string(slices) + " dimensions in a tile of " +
                     value.type.shapeName(),
                 "write one " + words.wholeDimension() + " per dimension, and " +
                     words.newDimension() + " for each new one");
  Value result = value;
  for (size_t dim = 0; dim < isNone.size(); ++dim) {
    if (!isNone[dim])
      continue;
    Type type = result.type;
    type.shape.insert(type.shape.begin() + dim, 1);
    if (result.type.isScalar())
      result.ir = tile::SplatOp::create(builder, location(), irType(type), result.ir);
    else
      result.ir = tile::ExpandDimsOp::create(builder, location(), irType(type), result.ir, dim);
    result.type = type;
  }
  return Operand(result);
}

} // namespace sectile::lang
