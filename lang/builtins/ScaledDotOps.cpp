// dot_scaled: products of matrices in block-scaled formats (OCP Microscaling Formats 1.0).
//
// Operands become numbers of 16 bits, each times its scale, and are multiplied by dot: bf16, or
// fp16 where one operand is. The conversions are exact but for what leaves the range of these;
// hardware that multiplies scaled operands itself is not asked yet.
#include "lang/builtins/BuiltinTable.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kUInt8 = DType::scalar(ScalarKind::UInt8);
const DType kInt16 = DType::scalar(ScalarKind::Int16), kInt32 = DType::scalar(ScalarKind::Int32);
const DType kFloat32 = DType::scalar(ScalarKind::Float32);
const DType kFloat16 = DType::scalar(ScalarKind::Float16);
const DType kBFloat16 = DType::scalar(ScalarKind::BFloat16);
const DType kE4M3 = DType::scalar(ScalarKind::Float8E4NV);

/// The arguments of one operand; their indices.
struct Side {
  const char *name; // "lhs"
  size_t tile, scale, format, isPackedAlongK;
  bool isRhs;
};
constexpr Side kLhs = {"lhs", 0, 1, 2, 8, false}, kRhs = {"rhs", 3, 4, 5, 9, true};

/// Builds operations; stops at the first that fails.
class ScaledDot {
public:
  explicit ScaledDot(Arguments &args) : args(args), sema(args.sema) {}

  FailureOr<Operand> build();

private:
  struct Matrix {
    Value value; // [.., M, K] or [.., K, N]
    std::string format;
  };
  FailureOr<Matrix> operand(const Side &side);
  FailureOr<Value> unpacked(const Side &side, Value bytes, bool alongK, DType computed);
  FailureOr<Value> scaled(const Side &side, Value matrix, DType computed);
  FailureOr<Value> scaleFactors(const Side &side, Value scale, int64_t inner, int64_t outer);

  // Each may fail as the language's operations do; none does with what is given to them here.
  Value op(BinaryOperator which, const Value &x, int64_t number) {
    return *sema.arithmetic(which, x, Constant::integer(number));
  }
  Value choose(const Value &condition, const Value &x, int64_t otherwise) {
    return *select(sema, condition, Constant::integer(otherwise), x, args.operation);
  }
  Value equals(const Value &x, int64_t number) {
    return sema.compare(BinaryOperator::Equal, x,
                        sema.splatConstant(Constant::integer(number), x.type));
  }
  FailureOr<Value> call(StringRef builtin, ArrayRef<Operand> operands) {
    FailureOr<Operand> made = callBuiltin(sema, builtin, operands, {});
    if (failed(made))
      return failure();
    return *made->value();
  }
  /// The last two dimensions exchanged.
  FailureOr<Value> transposed(const Value &x) { return call("trans", Operand(x)); }

  Arguments &args;
  Semantics &sema;
};

FailureOr<ScaledDot::Matrix> ScaledDot::operand(const Side &side) {
  FailureOr<Value> tile = args.tile(side.tile);
  if (failed(tile))
    return failure();
  FailureOr<std::string> format = args.text(side.format);
  if (failed(format))
    return failure();
  FailureOr<bool> alongK = args.flag(side.isPackedAlongK);
  if (failed(alongK))
    return failure();
  if (tile->type.shape.size() < 2)
    return args.error(Twine(side.name) + " should be a matrix, not " + sema.nameOf(tile->type));
  struct Format {
    StringRef name;
    DType dtype;
  };
  const Format formats[] = {{"e2m1", kUInt8},
                            {"e4m3", kE4M3},
                            {"e5m2", DType::scalar(ScalarKind::Float8E5)},
                            {"bf16", kBFloat16},
                            {"fp16", kFloat16}};
  auto *found = llvm::find_if(formats, [&](const Format &f) { return f.name == *format; });
  if (found == std::end(formats))
    return args.error("no format '" + *format + "' of " + side.name,
                      "known are e2m1, e4m3, e5m2, bf16 and fp16");
  bool isBits = tile->type.dtype == kUInt8 && found->dtype.isFp8();
  if (tile->type.dtype != found->dtype && !isBits)
    return args.error(Twine(side.name) + " of format '" + *format + "' should hold " +
                          sema.nameOf(found->dtype) + ", not " + sema.nameOf(tile->type.dtype),
                      *format == "e2m1" ? "two numbers of 4 bits are packed into a byte" : "");
  if (!*alongK && *format != "e2m1")
    return args.error(Twine(side.name) +
                      "_k_pack=False is for e2m1, of which two numbers share a "
                      "byte, not for " +
                      *format);
  if (isBits) {
    tile = sema.cast(*tile, found->dtype, /*bitcast=*/true);
    if (failed(tile))
      return failure();
  }
  return Matrix{*tile, *format};
}

/// Numbers of 4 bits, two in a byte and the lower half first, as numbers of 16 bits.
FailureOr<Value> ScaledDot::unpacked(const Side &side, Value bytes, bool alongK, DType computed) {
  bool isHalf = computed == kFloat16;
  int64_t mantissaBits = isHalf ? 10 : 7, belowOne = (isHalf ? 14 : 126) << mantissaBits;
  auto number = [&](Value bits) -> FailureOr<Value> {
    // s|ee|m: with another bias, exponent and mantissa go together; 0 and 0.5 have no leading 1.
    Value magnitude = op(BinaryOperator::BitAnd, bits, 7);
    Value shifted = op(BinaryOperator::ShiftLeft, magnitude, mantissaBits - 1);
    Value normal = op(BinaryOperator::Add, shifted, belowOne);
    Value some = choose(equals(magnitude, 1), normal, belowOne);
    Value positive = choose(equals(magnitude, 0), some, 0);
    Value sign = op(BinaryOperator::ShiftLeft, op(BinaryOperator::BitAnd, bits, 8), 12);
    FailureOr<Value> all = sema.arithmetic(BinaryOperator::BitOr, positive, sign);
    return failed(all) ? all : sema.cast(*all, computed, /*bitcast=*/true);
  };
  FailureOr<Value> wide = sema.cast(bytes, kInt16);
  if (failed(wide))
    return failure();
  FailureOr<Value> low = number(op(BinaryOperator::BitAnd, *wide, 15));
  FailureOr<Value> high = number(op(BinaryOperator::ShiftRight, *wide, 4));
  if (failed(low) || failed(high))
    return failure();
  // Neighbours along the last dimension, or, exchanged, along the one before.
  bool isLast = alongK != side.isRhs;
  SmallVector<int64_t, 4> shape = bytes.type.shape;
  if (!isLast) {
    low = transposed(*low);
    high = transposed(*high);
    if (failed(low) || failed(high))
      return failure();
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  }
  shape.back() *= 2;
  FailureOr<Value> pairs = call("join", {Operand(*low), Operand(*high)});
  FailureOr<Value> row = failed(pairs) ? pairs : reshape(sema, *pairs, shape, args.operation);
  return failed(row) || isLast ? row : transposed(*row);
}

/// The factor of each element of `matrix`, in fp32: one for `size` neighbours along K.
FailureOr<Value> ScaledDot::scaleFactors(const Side &side, Value scale, int64_t inner,
                                         int64_t outer) {
  bool isE4M3 = scale.type.dtype == kE4M3;
  int64_t size = isE4M3 ? 16 : 32;
  SmallVector<int64_t, 4> shape = scale.type.shape;
  size_t rank = shape.size();
  if (rank < 2 || inner % size || shape[rank - 1] != inner / size || shape[rank - 2] != outer)
    return args.error(Twine(side.name) + "_scale is " + scale.type.shapeName() +
                          ", and should be " + Twine(outer) + "x" + Twine(inner / size) +
                          ": one factor for " + Twine(size) + " elements along K",
                      side.isRhs ? "the scales of rhs have a row for each column of rhs" : "");
  FailureOr<Value> factors = failure();
  if (isE4M3) {
    factors = sema.cast(scale, kFloat32);
  } else {
    FailureOr<bool> isFast = args.flag(7);
    FailureOr<Value> exponent = sema.cast(scale, kInt32);
    if (failed(isFast) || failed(exponent))
      return failure();
    // 2^(s - 127): the exponent of a float; 2^-127 is below the normal ones, and 255 says NaN.
    Value bits = op(BinaryOperator::ShiftLeft, *exponent, 23);
    bits = choose(equals(*exponent, 0), bits, 0x00400000);
    if (!*isFast)
      bits = choose(equals(*exponent, 255), bits, 0x7fc00000);
    factors = sema.cast(bits, kFloat32, /*bitcast=*/true);
  }
  if (failed(factors))
    return failure();
  FailureOr<Value> split = expandDims(sema, *factors, int64_t(rank));
  if (failed(split))
    return failure();
  shape.push_back(size);
  FailureOr<Value> repeated = sema.broadcastTo(*split, shape);
  if (failed(repeated))
    return failure();
  shape.pop_back();
  shape.back() = inner;
  FailureOr<Value> row = reshape(sema, *repeated, shape, args.operation);
  return failed(row) || !side.isRhs ? row : transposed(*row);
}

FailureOr<Value> ScaledDot::scaled(const Side &side, Value matrix, DType computed) {
  if (args.isNone(side.scale))
    return matrix.type.dtype == computed ? FailureOr<Value>(matrix) : sema.cast(matrix, computed);
  FailureOr<Value> scale = args.tile(side.scale);
  if (failed(scale))
    return failure();
  if (scale->type.dtype == DType::scalar(ScalarKind::Int8))
    scale = sema.cast(*scale, kUInt8, /*bitcast=*/true);
  if (failed(scale))
    return failure();
  if (scale->type.dtype != kUInt8 && scale->type.dtype != kE4M3)
    return args.error(Twine(side.name) + "_scale should hold uint8 (e8m0) or " +
                      sema.nameOf(kE4M3) + ", not " + sema.nameOf(scale->type.dtype));
  ArrayRef<int64_t> shape = matrix.type.shape;
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  FailureOr<Value> factors =
      scaleFactors(side, *scale, side.isRhs ? rows : columns, side.isRhs ? columns : rows);
  FailureOr<Value> wide = sema.cast(matrix, kFloat32);
  if (failed(factors) || failed(wide))
    return failure();
  FailureOr<Value> product = sema.arithmetic(BinaryOperator::Multiply, *wide, *factors);
  return failed(product) ? product : sema.cast(*product, computed);
}

FailureOr<Operand> ScaledDot::build() {
  FailureOr<Matrix> lhs = operand(kLhs);
  if (failed(lhs))
    return failure();
  FailureOr<Matrix> rhs = operand(kRhs);
  if (failed(rhs))
    return failure();
  bool hasHalf = lhs->format == "fp16" || rhs->format == "fp16";
  bool hasBrain = lhs->format == "bf16" || rhs->format == "bf16";
  DType computed = hasHalf && hasBrain ? kFloat32 : hasHalf ? kFloat16 : kBFloat16;
  Value sides[2];
  for (auto [side, matrix, result] :
       {std::tuple(&kLhs, &*lhs, &sides[0]), std::tuple(&kRhs, &*rhs, &sides[1])}) {
    FailureOr<Value> made = matrix->value;
    if (matrix->format == "e2m1")
      made = unpacked(*side, matrix->value, *args.flag(side->isPackedAlongK), computed);
    if (succeeded(made))
      made = scaled(*side, *made, computed);
    if (failed(made))
      return failure();
    *result = *made;
  }
  std::vector<NamedOperand> named = {{"out_dtype", args[10]}};
  if (computed == kFloat32)
    named.push_back({"input_precision", Constant{std::string("ieee")}});
  return callBuiltin(sema, "dot", {Operand(sides[0]), Operand(sides[1]), args[6]}, named);
}

} // namespace

void addScaledDotOps(BuiltinTable &table) {
  table.add("dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, "
            "fast_math=False, lhs_k_pack=True, rhs_k_pack=True, out_dtype=float32)",
            [](Arguments &args) { return ScaledDot(args).build(); });
}

} // namespace sectile::lang
