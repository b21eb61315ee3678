// Where we are, what went wrong, and constants becoming values.
#include "lang/semantics/Semantics.h"

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;

namespace sectile::lang {

std::string shapeText(ArrayRef<int64_t> shape) {
  return Type{{}, SmallVector<int64_t, 4>(shape)}.shapeName();
}

//===-- where we are --------------------------------------------------------------------------===//

void Semantics::at(const SourceRange &range) {
  currentRange = range;
  currentLocation.reset();
}

static Location locationOf(MLIRContext *context, const SourceRange &range,
                           const std::string &function) {
  Location place = UnknownLoc::get(context);
  if (range.isKnown())
    place = FileLineColLoc::get(context, range.file, range.line, range.column);
  if (function.empty())
    return place;
  return NameLoc::get(StringAttr::get(context, function), place);
}

Location Semantics::location() const {
  if (!currentLocation) {
    MLIRContext *context = builder.getContext();
    Location place = locationOf(context, currentRange, function);
    for (const CallSite &caller : callers)
      place = CallSiteLoc::get(place, locationOf(context, caller.range, caller.function));
    currentLocation = place;
  }
  return *currentLocation;
}

static Diagnostic diagnosticAt(const Semantics &sema, Diagnostic::Severity severity,
                               std::string message, std::string help) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.message = std::move(message);
  diagnostic.range = sema.range();
  diagnostic.function = sema.function;
  diagnostic.callers = sema.callers;
  diagnostic.help = std::move(help);
  if (sema.sourceLine && sema.range().isKnown())
    diagnostic.sourceLine = sema.sourceLine(sema.range().file, sema.range().line);
  return diagnostic;
}

LogicalResult Semantics::error(std::string message, std::string help) {
  sink.report(
      diagnosticAt(*this, Diagnostic::Severity::Error, std::move(message), std::move(help)));
  return failure();
}

void Semantics::warning(std::string message, std::string help) {
  sink.report(
      diagnosticAt(*this, Diagnostic::Severity::Warning, std::move(message), std::move(help)));
}

//===-- types ---------------------------------------------------------------------------------===//

mlir::Type Semantics::irType(DType dtype) const {
  MLIRContext *context = builder.getContext();
  if (dtype.isPointer) {
    // A truth value in memory is a byte.
    DType pointee =
        dtype.kind == ScalarKind::Int1 ? DType::scalar(ScalarKind::Int8) : dtype.pointee();
    return tile::PtrType::get(irType(pointee));
  }
  switch (dtype.kind) {
  case ScalarKind::Void:
    return NoneType::get(context);
  case ScalarKind::Float8E4B15: // MLIR has no such float: the IR holds its bits
    return IntegerType::get(context, 8);
  case ScalarKind::Float8E4NV:
    return Float8E4M3FNType::get(context);
  case ScalarKind::Float8E4B8:
    return Float8E4M3FNUZType::get(context);
  case ScalarKind::Float8E5:
    return Float8E5M2Type::get(context);
  case ScalarKind::Float8E5B16:
    return Float8E5M2FNUZType::get(context);
  case ScalarKind::Float16:
    return Float16Type::get(context);
  case ScalarKind::BFloat16:
    return BFloat16Type::get(context);
  case ScalarKind::Float32:
    return Float32Type::get(context);
  case ScalarKind::Float64:
    return Float64Type::get(context);
  default:
    return IntegerType::get(context, dtype.bits());
  }
}

mlir::Type Semantics::irType(const Type &type) const {
  return tile::tileOf(type.shape, irType(type.dtype));
}

LogicalResult Semantics::checkShape(ArrayRef<int64_t> shape, StringRef operation) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 1)
      return error((operation + ": extents should be positive, not " + shapeText(shape)).str());
    if (extent > kMaxElements / count)
      return error(
          (operation + ": a tile of " + shapeText(shape) + " has more than 2^24 elements").str(),
          "use smaller tiles and more programs, or a loop over the tile");
    count *= extent;
  }
  return success();
}

//===-- constants into values -----------------------------------------------------------------===//

static bool isNumber(const Constant &constant) {
  return constant.is<bool>() || constant.is<Int>() || constant.is<double>();
}

static Int integerOf(const Constant &number) {
  if (auto *truth = number.as<bool>())
    return *truth;
  if (auto *integer = number.as<Int>())
    return *integer;
  return static_cast<Int>(*number.as<double>());
}

static APInt wideInteger(Int value) {
  auto bits = static_cast<unsigned __int128>(value);
  uint64_t words[] = {static_cast<uint64_t>(bits), static_cast<uint64_t>(bits >> 64)};
  return APInt(128, words);
}

static APFloat exactFloat(const Constant &number) {
  if (auto *real = number.as<double>())
    return APFloat(*real);
  // It holds the integers of the language, which have 64 bits.
  APFloat value = APFloat::getZero(APFloat::IEEEquad());
  value.convertFromAPInt(wideInteger(integerOf(number)), true, APFloat::rmTowardZero);
  return value;
}

/// The bits of a float8e4b15, as the casts of Casts.cpp make them: through fp16 towards zero.
static uint64_t bitsOfFloat8E4B15(APFloat number) {
  bool losesInfo = false;
  number.convert(APFloat::IEEEhalf(), APFloat::rmTowardZero, &losesInfo);
  uint64_t half = number.bitcastToAPInt().getZExtValue();
  return (half >> 8 & 0x80) | (std::min<uint64_t>(half & 0x7fff, 0x3f00) + 0x40) >> 7;
}

/// The constant as an attribute of `element`, rounded once.
static TypedAttr numberAttr(const Constant &number, DType dtype, mlir::Type element) {
  if (auto floatType = dyn_cast<FloatType>(element))
    return FloatAttr::get(floatType, tile::convertFloat(exactFloat(number), floatType));
  if (dtype == DType::scalar(ScalarKind::Float8E4B15))
    return IntegerAttr::get(element, APInt(8, bitsOfFloat8E4B15(exactFloat(number))));
  unsigned width = element.getIntOrFloatBitWidth();
  return IntegerAttr::get(element, wideInteger(integerOf(number)).trunc(width));
}

static std::pair<Int, Int> integerRange(DType dtype) {
  unsigned bits = dtype.bits();
  if (dtype.isSignedInt())
    return {-(Int(1) << (bits - 1)), (Int(1) << (bits - 1)) - 1};
  return {0, (Int(1) << bits) - 1};
}

bool fitsDType(const Constant &number, DType dtype) {
  if (!isNumber(number) || dtype.isPointer || dtype.isVoid())
    return false;
  if (dtype.isFloat())
    return true;
  if (auto *real = number.as<double>())
    if (!(std::fabs(*real) < 0x1p126) || *real != std::trunc(*real))
      return false;
  auto [low, high] = integerRange(dtype);
  Int value = integerOf(number);
  return value >= low && value <= high;
}

std::optional<DType> literalDType(const Constant &number) {
  if (number.is<bool>())
    return DType::scalar(ScalarKind::Int1);
  if (auto *real = number.as<double>()) {
    double magnitude = std::fabs(*real);
    bool isNormal = magnitude >= 0x1p-126 && magnitude <= 0x1.fffffep127;
    bool fits = magnitude == 0 || std::isinf(*real) || std::isnan(*real) || isNormal;
    return DType::scalar(fits ? ScalarKind::Float32 : ScalarKind::Float64);
  }
  if (!number.is<Int>())
    return std::nullopt;
  for (ScalarKind kind :
       {ScalarKind::Int32, ScalarKind::UInt32, ScalarKind::Int64, ScalarKind::UInt64})
    if (fitsDType(number, DType::scalar(kind)))
      return DType::scalar(kind);
  return std::nullopt;
}

bool Semantics::holdsExactly(DType dtype, const Constant &number) {
  if (!dtype.isFloat())
    return !number.is<double>() && fitsDType(number, dtype);
  auto type = dyn_cast<FloatType>(irType(dtype));
  if (!type) // fp8e4b15
    return false;
  APFloat exact = exactFloat(number), held = tile::convertFloat(exact, type);
  bool losesInfo = false;
  held.convert(exact.getSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return exact.isNaN() || held.compare(exact) == APFloat::cmpEqual;
}

LogicalResult Semantics::convertsTo(const Constant &number, DType dtype, StringRef operation) {
  auto reject = [&](const llvm::Twine &why, std::string help = "") {
    return error((operation + ": " + why).str(), std::move(help));
  };
  if (!isNumber(number))
    return reject("expected a number, found " + number.kindName());
  if (dtype.isPointer || dtype.isVoid())
    return reject("a number cannot become " + nameOf(dtype));
  if (fitsDType(number, dtype))
    return success();
  if (number.is<double>())
    return reject(number.repr() + " is not an integer, as " + nameOf(dtype) + " wants",
                  "write an integer, or use a floating-point dtype");
  auto [low, high] = integerRange(dtype);
  return reject(number.repr() + " is out of range for " + nameOf(dtype),
                "it holds " + Constant::integer(low).repr() + " to " +
                    Constant::integer(high).repr());
}

Value Semantics::constant(const Constant &number, DType dtype) {
  return splatConstant(number, Type{dtype, {}});
}

Value Semantics::splatConstant(const Constant &number, const Type &type) {
  TypedAttr attr = numberAttr(number, type.dtype, irType(type.dtype));
  if (!type.isScalar())
    attr = SplatElementsAttr::get(cast<RankedTensorType>(irType(type)), Attribute(attr));
  return {arith::ConstantOp::create(builder, location(), attr), type};
}

Value Semantics::zero(const Type &type) {
  if (!type.dtype.isPointer)
    return splatConstant(Constant::integer(0), type);
  Value bits =
      splatConstant(Constant::integer(0), type.withDType(DType::scalar(ScalarKind::Int64)));
  return {tile::IntToPtrOp::create(builder, location(), irType(type), bits.ir), type};
}

FailureOr<Value> Semantics::toValue(const Operand &operand, StringRef what) {
  if (auto *value = operand.value())
    return *value;
  auto *number = operand.constant();
  if (!number || !isNumber(*number))
    return notATile(what, operand);
  if (std::optional<DType> dtype = literalDType(*number))
    return constant(*number, *dtype);
  return error((what + " " + number->repr() + " does not fit 64 bits").str());
}

/// What `value` is if it follows from constants by arithmetic alone; nothing in the IR changes.
/// `budget` bounds the operations looked at: a shared operand is met once per use.
static TypedAttr constantBehind(mlir::Value value, int &budget) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constant.getValue();
  if (!isa_and_nonnull<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1 ||
      op->getNumOperands() == 0 || --budget < 0)
    return {};
  SmallVector<Attribute, 3> operands;
  for (mlir::Value operand : op->getOperands()) {
    TypedAttr known = constantBehind(operand, budget);
    if (!known)
      return {};
    operands.push_back(known);
  }
  SmallVector<OpFoldResult, 1> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return {};
  if (auto folded = dyn_cast<Attribute>(results.front()))
    return dyn_cast<TypedAttr>(folded);
  // One of the operands, as in x + 0.
  for (auto [operand, known] : llvm::zip(op->getOperands(), operands))
    if (operand == cast<mlir::Value>(results.front()))
      return cast<TypedAttr>(known);
  return {};
}

std::optional<Constant> Semantics::asConstant(const Operand &operand) const {
  if (auto *held = operand.constant())
    return *held;
  if (auto *items = operand.items()) {
    std::vector<Constant> constants;
    for (const Operand &item : *items) {
      auto held = asConstant(item);
      if (!held)
        return std::nullopt;
      constants.push_back(*held);
    }
    return Constant::tuple(std::move(constants), items->tupleClass);
  }
  auto *value = operand.value();
  if (!value || !value->type.isScalar())
    return std::nullopt;
  int budget = 256;
  TypedAttr known = constantBehind(value->ir, budget);
  if (!known)
    return std::nullopt;
  DType dtype = value->type.dtype;
  if (auto integer = dyn_cast<IntegerAttr>(known)) {
    APInt bits = integer.getValue();
    if (dtype.isBool())
      return Constant{!bits.isZero()};
    if (dtype == DType::scalar(ScalarKind::Float8E4B15)) {
      uint64_t half = (bits.getZExtValue() << 8 & 0x8000) | (bits.getZExtValue() & 0x7f) << 7;
      return Constant{APFloat(APFloat::IEEEhalf(), APInt(16, half)).convertToDouble()};
    }
    return Constant::integer(dtype.isSignedInt() ? Int(bits.getSExtValue())
                                                 : Int(bits.getZExtValue()));
  }
  if (auto real = dyn_cast<FloatAttr>(known))
    return Constant{real.getValueAsDouble()};
  return std::nullopt;
}

//===-- conditions ----------------------------------------------------------------------------===//

FailureOr<Value> Semantics::isNonZero(const Value &value) {
  DType dtype = value.type.dtype;
  if (dtype.isBool())
    return value;
  if (dtype.isPointer) {
    Type bits = value.type.withDType(DType::scalar(ScalarKind::Int64));
    Value address{tile::PtrToIntOp::create(builder, location(), irType(bits), value.ir), bits};
    return isNonZero(address);
  }
  Value nothing = zero(value.type);
  return compare(BinaryOperator::NotEqual, value, nothing);
}

Value Semantics::extractElement(const Value &value) {
  if (value.type.isScalar())
    return value;
  // A reduction over one element is that element; its combiner is never run.
  Location here = location();
  Type flat = value.type.withShape({1}), scalar{value.type.dtype, {}};
  mlir::Value source = value.ir;
  if (value.type.shape.size() != 1)
    source = tile::ReshapeOp::create(builder, here, irType(flat), source);
  mlir::Type element = irType(scalar);
  auto reduce = tile::ReduceOp::create(builder, here, TypeRange{element}, source, 0);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&reduce.getCombiner(), {}, {element, element}, {here, here});
  tile::YieldOp::create(builder, here, ValueRange{block->getArgument(0)});
  return {reduce.getResult(0), scalar};
}

FailureOr<Value> Semantics::condition(const Operand &operand, StringRef statement) {
  if (auto *held = operand.constant()) {
    bool truth = true;
    if (held->isNone())
      truth = false;
    else if (auto *text = held->as<std::string>())
      truth = !text->empty();
    else if (auto *tuple = held->as<ConstantTuple>())
      truth = !(*tuple)->empty();
    else if (isNumber(*held))
      truth = !held->equals(Constant::integer(0));
    return constant(Constant{truth}, DType::scalar(ScalarKind::Int1));
  }
  auto *value = operand.value();
  if (!value)
    return error((statement + ": the condition is a " + operand.kindName()).str());
  if (value->type.elementCount() == 1)
    return isNonZero(extractElement(*value));
  return error((statement + ": the condition is a tile of " + value->type.shapeName() +
                ", not one truth value")
                   .str(),
               "choose element by element with " + words.operation("where") +
                   ", or combine the elements first, for example with " + words.operation("max"));
}

} // namespace sectile::lang
