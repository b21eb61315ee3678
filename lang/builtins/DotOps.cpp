// The matrix product.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kInt8 = DType::scalar(ScalarKind::Int8);
const DType kInt32 = DType::scalar(ScalarKind::Int32);

FailureOr<tile::InputPrecision> inputPrecision(Arguments &args) {
  FailureOr<std::string> text = args.text(3);
  if (failed(text))
    return failure();
  if (text->empty()) {
    // The deprecated spelling of the same choice.
    if (args.isNone(4))
      return *tile::symbolizeInputPrecision(args.sema.dotPrecision);
    FailureOr<bool> allowTf32 = args.flag(4);
    if (failed(allowTf32))
      return failure();
    return *allowTf32 ? tile::InputPrecision::Tf32 : tile::InputPrecision::Ieee;
  }
  if (!args.isNone(4))
    return args.error("input_precision and allow_tf32 are both given", "leave out allow_tf32");
  if (auto precision = tile::symbolizeInputPrecision(StringRef(*text).lower()))
    return *precision;
  return args.error("no input precision '" + *text + "'",
                    "known are tf32, tf32x3, ieee, bf16x3, bf16x6");
}

bool isByte(DType dtype) {
  return dtype == kInt8 || dtype == DType::scalar(ScalarKind::UInt8);
}

/// What products of `operand` may be accumulated in.
bool accumulatesIn(DType operand, DType result) {
  switch (operand.kind) {
  case ScalarKind::Int8:
  case ScalarKind::UInt8:
    return result.kind == ScalarKind::Int32;
  case ScalarKind::Float64:
    return result.kind == ScalarKind::Float64;
  case ScalarKind::Float32:
  case ScalarKind::BFloat16:
    return result.kind == ScalarKind::Float32;
  default: // fp16 and fp8
    return result.kind == ScalarKind::Float32 || result.kind == ScalarKind::Float16;
  }
}

FailureOr<Operand> dot(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> lhs = args.tile(0);
  if (failed(lhs))
    return failure();
  FailureOr<Value> rhs = args.tile(1);
  if (failed(rhs))
    return failure();
  auto precision = inputPrecision(args);
  if (failed(precision))
    return failure();
  FailureOr<DType> outDType = args.dtype(6);
  if (failed(outDType))
    return failure();

  // Kinds.
  DType left = lhs->type.dtype, right = rhs->type.dtype;
  for (DType side : {left, right})
    if (!side.isFloat() && !isByte(side))
      return args.error("operands of " + args.sema.nameOf(side) + " cannot be multiplied",
                        side.isPointer ? "load through the pointers first"
                                       : "cast to int8, uint8 or a floating-point dtype");
  if (left != right && !(left.isFp8() && right.isFp8()))
    return args.error("dtypes differ: lhs is " + args.sema.nameOf(lhs->type) + ", rhs is " +
                          args.sema.nameOf(rhs->type),
                      "cast one side, for example with " + sema.words.cast(left, "rhs"));

  // Extents.
  ArrayRef<int64_t> a = lhs->type.shape, b = rhs->type.shape;
  std::string shapes = "lhs is " + lhs->type.shapeName() + ", rhs is " + rhs->type.shapeName();
  size_t rank = a.size();
  if (rank < 2 || b.size() != rank)
    return args.error("two matrices, or two batches of them, expected: " + shapes,
                      "reshape a vector to a matrix, as in " + sema.words.asRow("x"));
  if (a.drop_back(2) != b.drop_back(2))
    return args.error("batch extents differ: " + shapes);
  int64_t rows = a[rank - 2], inner = a[rank - 1], columns = b[rank - 1];
  if (inner != b[rank - 2]) {
    std::string help = "rhs should have " + std::to_string(inner) + " rows";
    if (inner == columns)
      help = "transpose rhs with " + sema.words.operation("trans");
    else if (rows == b[rank - 2])
      help = "transpose lhs with " + sema.words.operation("trans");
    return args.error("inner dimensions differ: " + shapes, help);
  }
  Type type{*outDType, SmallVector<int64_t, 4>(a.drop_back(2))};
  type.shape.append({rows, columns});
  if (failed(sema.checkShape(type.shape, args.operation)))
    return failure();

  // Accumulator. Left at its default, out_dtype follows the accumulator.
  Value acc;
  if (args.isNone(2)) {
    if (isByte(left))
      type.dtype = kInt32;
    else if (left.kind == ScalarKind::Float64)
      type.dtype = left;
    else if (outDType->kind == ScalarKind::BFloat16)
      return args.error("products are not accumulated in bf16",
                        "leave out_dtype at fp32, and cast the result with " +
                            sema.words.cast(*outDType));
    if (!accumulatesIn(left, type.dtype))
      return args.error("products of " + args.sema.nameOf(left) + " are not accumulated in " +
                            args.sema.nameOf(type.dtype),
                        "leave out out_dtype and cast the result");
    acc = sema.splatConstant(Constant::integer(0), type);
  } else {
    FailureOr<Value> given = args.tile(2);
    if (failed(given))
      return failure();
    acc = *given;
    if (acc.type.shape != type.shape)
      return args.error("accumulator is " + acc.type.shapeName() + ", the product is " +
                        type.shapeName());
    if (!accumulatesIn(left, acc.type.dtype)) {
      DType wanted = DType::scalar(isByte(left)                       ? ScalarKind::Int32
                                   : left.kind == ScalarKind::Float64 ? ScalarKind::Float64
                                                                      : ScalarKind::Float32);
      return args.error("accumulator is " + args.sema.nameOf(acc.type) + ", but products of " +
                            args.sema.nameOf(left) + " are accumulated in " +
                            args.sema.nameOf(wanted),
                        "make the accumulator " + args.sema.nameOf(wanted) + ", as in " +
                            sema.words.zeros({rows, columns}, wanted) + ", and cast the result");
    }
    type.dtype = acc.type.dtype;
  }

  IntegerAttr imprecise;
  if (!args.isNone(5)) {
    FailureOr<int64_t> asked = args.integer(5);
    if (failed(asked))
      return failure();
    if (*asked < 0 || (left.isFp8() && *asked > inner))
      return args.error("max_num_imprecise_acc is " + Twine(*asked) + ", but the inner extent is " +
                        Twine(inner));
    imprecise = args.sema.builder.getI32IntegerAttr(
        int32_t(std::min<int64_t>(*asked, std::numeric_limits<int32_t>::max())));
  }

  // More than one batch dimension: flattened around the product.
  Value x = *lhs, y = *rhs;
  // No target multiplies this kind; fp16 holds every number of fp8.
  if (left.kind == ScalarKind::Float8E4B15 || right.kind == ScalarKind::Float8E4B15) {
    DType half = DType::scalar(ScalarKind::Float16);
    x = *sema.cast(x, half);
    y = *sema.cast(y, half);
  }
  // The IR's i8 products are signed; unsigned bytes go through a wider integer.
  if (left.kind == ScalarKind::UInt8) {
    FailureOr<Value> wideX = sema.cast(x, kInt32);
    FailureOr<Value> wideY = sema.cast(y, kInt32);
    if (failed(wideX) || failed(wideY))
      return failure();
    x = *wideX, y = *wideY;
  }
  Type productType = type;
  if (rank > 3) {
    int64_t batches = 1;
    for (int64_t extent : a.drop_back(2))
      batches *= extent;
    productType.shape = {batches, rows, columns};
    FailureOr<Value> flatX = reshape(sema, x, {batches, rows, inner}, args.operation);
    FailureOr<Value> flatY = reshape(sema, y, {batches, inner, columns}, args.operation);
    FailureOr<Value> flatAcc = reshape(sema, acc, productType.shape, args.operation);
    if (failed(flatX) || failed(flatY) || failed(flatAcc))
      return failure();
    x = *flatX, y = *flatY, acc = *flatAcc;
  }
  Value product{tile::DotOp::create(sema.builder, sema.location(), sema.irType(productType), x.ir,
                                    y.ir, acc.ir, *precision, imprecise,
                                    /*instruction=*/{}),
                productType};
  if (rank <= 3)
    return Operand(product);
  FailureOr<Value> result = reshape(sema, product, type.shape, args.operation);
  if (failed(result))
    return failure();
  return Operand(*result);
}

} // namespace

void addDotOps(BuiltinTable &table) {
  table.add("dot(input, other, acc=None, input_precision=None, allow_tf32=None, "
            "max_num_imprecise_acc=None, out_dtype=float32)",
            dot);
}

} // namespace sectile::lang
