// program_id, num_programs, arange, zeros, full, zeros_like, to_tensor.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kInt32 = DType::scalar(ScalarKind::Int32);

template <class GridOp>
FailureOr<Operand> gridQuery(Arguments &args) {
  FailureOr<int64_t> axis = args.integer(0);
  if (failed(axis))
    return failure();
  if (*axis < 0 || *axis > 2)
    return args.error("axis is " + Twine(*axis) + ", but a grid has axes 0, 1 and 2");
  Semantics &sema = args.sema;
  return Operand(
      Value{GridOp::create(sema.builder, sema.location(), int32_t(*axis)), {kInt32, {}}});
}

FailureOr<Operand> arange(Arguments &args) {
  FailureOr<int64_t> start = args.integer(0);
  if (failed(start))
    return failure();
  FailureOr<int64_t> end = args.integer(1);
  if (failed(end))
    return failure();
  if (*start < INT32_MIN || *end > INT32_MAX)
    return args.error("[" + Twine(*start) + ", " + Twine(*end) + ") does not fit int32");
  if (*end <= *start)
    return args.error("end " + Twine(*end) + " should be greater than start " + Twine(*start));
  Semantics &sema = args.sema;
  Type type{kInt32, {*end - *start}};
  if (failed(sema.checkShape(type.shape, args.operation)))
    return failure();
  return Operand(Value{tile::ArangeOp::create(sema.builder, sema.location(), sema.irType(type),
                                              int32_t(*start), int32_t(*end)),
                       type});
}

FailureOr<Operand> fill(Arguments &args, ArrayRef<int64_t> shape, const Operand &with,
                        DType dtype) {
  Semantics &sema = args.sema;
  if (dtype.isVoid())
    return args.error("dtype is void");
  if (failed(sema.checkShape(shape, args.operation)))
    return failure();
  Type type{dtype, SmallVector<int64_t, 4>(shape)};
  if (auto *literal = with.constant(); literal && !dtype.isPointer) {
    // A number as truth value: whether it is non-zero.
    Constant number = *literal;
    if (dtype.isBool() && (number.is<Int>() || number.is<double>()))
      number = Constant{!number.equals(Constant::integer(0))};
    if (failed(sema.convertsTo(number, dtype, args.operation)))
      return failure();
    return Operand(sema.splatConstant(number, type));
  }
  FailureOr<Value> value = sema.toValue(with, (args.operation + ": `value`").str());
  if (failed(value))
    return failure();
  if (value->type.elementCount() != 1)
    return args.error("value should be a scalar, not " + args.sema.nameOf(value->type),
                      "use " + sema.words.operation("broadcast_to") + " to repeat a tile");
  if (!value->type.isScalar())
    value = sema.extractElement(*value);
  value = sema.cast(*value, dtype);
  if (failed(value))
    return failure();
  value = sema.broadcastTo(*value, shape);
  if (failed(value))
    return failure();
  return Operand(*value);
}

} // namespace

void addCreationOps(BuiltinTable &table) {
  table.add("program_id(axis)", gridQuery<tile::ProgramIdOp>);
  table.add("num_programs(axis)", gridQuery<tile::NumProgramsOp>);
  table.add("num_warps()", [](Arguments &args) -> FailureOr<Operand> {
    return Operand(Constant::integer(args.sema.warpCount));
  });
  // As in Triton, 32 of each warp whatever runs them.
  table.add("num_threads()", [](Arguments &args) -> FailureOr<Operand> {
    return Operand(Constant::integer(Int(args.sema.warpCount) * 32));
  });
  table.add("is_cuda()", [](Arguments &args) -> FailureOr<Operand> {
    return Operand(Constant{args.sema.cudaCapability > 0});
  });
  for (const char *signature : {"is_hip()", "is_hip_cdna3()", "is_hip_cdna4()"})
    table.add(signature,
              [](Arguments &) -> FailureOr<Operand> { return Operand(Constant{false}); });
  table.add("cuda_capability_geq(major, minor=0)", [](Arguments &args) -> FailureOr<Operand> {
    FailureOr<int64_t> major = args.integer(0), minor = args.integer(1);
    if (failed(major) || failed(minor))
      return failure();
    int64_t capability = args.sema.cudaCapability;
    return Operand(Constant{capability > 0 && capability >= *major * 10 + *minor});
  });
  table.add("globaltimer()", [](Arguments &args) -> FailureOr<Operand> {
    Semantics &sema = args.sema;
    auto clock = tile::ClockOp::create(sema.builder, sema.location(), sema.builder.getI64Type());
    return Operand(Value{clock, {DType::scalar(ScalarKind::Int64), {}}});
  });
  table.add("smid()", [](Arguments &args) -> FailureOr<Operand> {
    Semantics &sema = args.sema;
    auto where =
        tile::ProcessorOp::create(sema.builder, sema.location(), sema.builder.getI32Type());
    return Operand(Value{where, {DType::scalar(ScalarKind::Int32), {}}});
  });
  table.add("arange(start, end)", arange);
  table.add("full(shape, value, dtype)", [](Arguments &args) -> FailureOr<Operand> {
    auto shape = args.integers(0);
    if (failed(shape))
      return failure();
    FailureOr<DType> dtype = args.dtype(2);
    if (failed(dtype))
      return failure();
    return fill(args, *shape, args[1], *dtype);
  });
  table.add("zeros(shape, dtype)", [](Arguments &args) -> FailureOr<Operand> {
    auto shape = args.integers(0);
    if (failed(shape))
      return failure();
    FailureOr<DType> dtype = args.dtype(1);
    if (failed(dtype))
      return failure();
    return fill(args, *shape, Constant::integer(0), *dtype);
  });
  table.add("zeros_like(input)", [](Arguments &args) -> FailureOr<Operand> {
    FailureOr<Value> input = args.value(0);
    if (failed(input))
      return failure();
    return Operand(args.sema.zero(input->type));
  });
  table.add("to_tensor(x)", [](Arguments &args) -> FailureOr<Operand> {
    FailureOr<Value> value = args.value(0);
    if (failed(value))
      return failure();
    return Operand(*value);
  });
}

} // namespace sectile::lang
