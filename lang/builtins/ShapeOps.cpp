// Operations that move elements without computing: reshape, trans, broadcast_to, join, split ...
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace sectile::lang {

FailureOr<Value> expandDims(Semantics &sema, const Value &value, int64_t axis) {
  Type type = value.type;
  type.shape.insert(type.shape.begin() + axis, 1);
  if (value.type.isScalar())
    return Value{tile::SplatOp::create(sema.builder, sema.location(), sema.irType(type), value.ir),
                 type};
  return Value{tile::ExpandDimsOp::create(sema.builder, sema.location(), sema.irType(type),
                                          value.ir, int32_t(axis)),
               type};
}

FailureOr<Value> reshape(Semantics &sema, const Value &value, ArrayRef<int64_t> shape,
                         StringRef operation) {
  if (failed(sema.checkShape(shape, operation)))
    return failure();
  Type type = value.type.withShape(shape);
  if (type.elementCount() != value.type.elementCount())
    return sema.error((operation + ": cannot turn " + value.type.shapeName() + " (" +
                       Twine(value.type.elementCount()) + " elements) into " + type.shapeName() +
                       " (" + Twine(type.elementCount()) + " elements)")
                          .str());
  if (type == value.type)
    return value;
  if (shape.empty())
    return sema.extractElement(value);
  if (value.type.isScalar())
    return Value{tile::SplatOp::create(sema.builder, sema.location(), sema.irType(type), value.ir),
                 type};
  return Value{tile::ReshapeOp::create(sema.builder, sema.location(), sema.irType(type), value.ir),
               type};
}

namespace {

FailureOr<Value> transpose(Arguments &args, const Value &value, ArrayRef<int64_t> order) {
  Semantics &sema = args.sema;
  size_t rank = value.type.shape.size();
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return args.error("dims should be a permutation of the " + Twine(rank) + " dimensions of " +
                      args.sema.nameOf(value.type));
  Type type = value.type;
  SmallVector<int32_t> narrowOrder;
  for (auto [dim, source] : llvm::enumerate(order)) {
    type.shape[dim] = value.type.shape[source];
    narrowOrder.push_back(int32_t(source));
  }
  if (llvm::is_sorted(order))
    return value;
  return Value{tile::TransposeOp::create(sema.builder, sema.location(), sema.irType(type), value.ir,
                                         narrowOrder),
               type};
}

FailureOr<Operand> toOperand(FailureOr<Value> value) {
  if (failed(value))
    return failure();
  return Operand(*value);
}

FailureOr<Operand> trans(Arguments &args) {
  FailureOr<Value> input = args.value(0);
  if (failed(input))
    return failure();
  auto order = args.integers(1);
  if (failed(order))
    return failure();
  auto rank = static_cast<int64_t>(input->type.shape.size());
  if (order->empty()) {
    if (rank < 2)
      return args.error("two dimensions or more expected, found " + args.sema.nameOf(input->type));
    llvm::append_range(*order, llvm::seq<int64_t>(0, rank));
    std::swap((*order)[rank - 1], (*order)[rank - 2]);
  }
  for (int64_t &dim : *order)
    if (dim < 0)
      dim += rank;
  return toOperand(transpose(args, *input, *order));
}

FailureOr<Operand> permute(Arguments &args) {
  if (auto *dims = args[1].constant(); dims && dims->equals(Constant::tuple({})))
    return args.error("dims are missing", "name every dimension, as in " +
                                              args.sema.words.operation("permute") + "(x, 1, 0)");
  return trans(args);
}

FailureOr<Operand> reshapeTo(Arguments &args) {
  FailureOr<Value> input = args.value(0);
  if (failed(input))
    return failure();
  auto shape = args.integers(1);
  if (failed(shape))
    return failure();
  return toOperand(reshape(args.sema, *input, *shape, args.operation));
}

FailureOr<Operand> ravel(Arguments &args) {
  FailureOr<Value> input = args.value(0);
  if (failed(input))
    return failure();
  return toOperand(reshape(args.sema, *input, {input->type.elementCount()}, args.operation));
}

FailureOr<Operand> broadcastBoth(Arguments &args) {
  FailureOr<Value> input = args.value(0);
  if (failed(input))
    return failure();
  FailureOr<Value> other = args.value(1);
  if (failed(other))
    return failure();
  auto both = args.sema.broadcast(*input, *other, args.operation);
  if (failed(both))
    return failure();
  return Operand::tuple({both->first, both->second});
}

FailureOr<Operand> broadcastToShape(Arguments &args) {
  FailureOr<Value> input = args.value(0);
  if (failed(input))
    return failure();
  auto shape = args.integers(1);
  if (failed(shape) || failed(args.sema.checkShape(*shape, args.operation)))
    return failure();
  return toOperand(args.sema.broadcastTo(*input, *shape));
}

FailureOr<Operand> expandDimsOp(Arguments &args) {
  FailureOr<Value> input = args.value(0);
  if (failed(input))
    return failure();
  auto axes = args.integers(1);
  if (failed(axes))
    return failure();
  auto rank = static_cast<int64_t>(input->type.shape.size() + axes->size());
  for (int64_t &axis : *axes) {
    if (axis < -rank || axis >= rank)
      return args.error("axis " + Twine(axis) + " is out of range for a result of rank " +
                        Twine(rank));
    if (axis < 0)
      axis += rank;
  }
  llvm::sort(*axes);
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end())
    return args.error("an axis is given twice");
  Value result = *input;
  for (int64_t axis : *axes) {
    FailureOr<Value> next = expandDims(args.sema, result, axis);
    if (failed(next))
      return failure();
    result = *next;
  }
  return Operand(result);
}

FailureOr<Operand> squeeze(Arguments &args) {
  FailureOr<Value> input = args.tile(0);
  if (failed(input))
    return failure();
  FailureOr<int64_t> axis = args.axis(1, input->type.shape.size());
  if (failed(axis))
    return failure();
  if (input->type.shape[*axis] != 1)
    return args.error("dimension " + Twine(*axis) + " of " + input->type.shapeName() +
                      " does not have extent one");
  SmallVector<int64_t, 4> shape = input->type.shape;
  shape.erase(shape.begin() + *axis);
  return toOperand(reshape(args.sema, *input, shape, args.operation));
}

FailureOr<Operand> flip(Arguments &args) {
  FailureOr<Value> input = args.tile(0);
  if (failed(input))
    return failure();
  size_t rank = input->type.shape.size();
  FailureOr<int64_t> axis = args.isNone(1) ? FailureOr<int64_t>(rank - 1) : args.axis(1, rank);
  if (failed(axis))
    return failure();
  Semantics &sema = args.sema;
  return Operand(Value{tile::FlipOp::create(sema.builder, sema.location(), input->ir.getType(),
                                            input->ir, int32_t(*axis)),
                       input->type});
}

FailureOr<Value> joinValues(Arguments &args) {
  FailureOr<Value> a = args.value(0);
  if (failed(a))
    return failure();
  FailureOr<Value> b = args.value(1);
  if (failed(b))
    return failure();
  if (a->type.dtype != b->type.dtype)
    return args.error("dtypes differ: " + args.sema.nameOf(a->type.dtype) + " and " +
                          args.sema.nameOf(b->type.dtype),
                      "cast one of them, for example with " +
                          args.sema.words.cast(a->type.dtype, "b"));
  Semantics &sema = args.sema;
  auto both = sema.broadcast(*a, *b, args.operation);
  if (failed(both))
    return failure();
  auto [lhs, rhs] = *both;
  bool areScalars = lhs.type.isScalar();
  if (areScalars) {
    FailureOr<Value> left = expandDims(sema, lhs, 0);
    FailureOr<Value> right = expandDims(sema, rhs, 0);
    if (failed(left) || failed(right))
      return failure();
    lhs = *left, rhs = *right;
  }
  Type type = lhs.type;
  type.shape.push_back(2);
  if (failed(sema.checkShape(type.shape, args.operation)))
    return failure();
  Value joined{
      tile::JoinOp::create(sema.builder, sema.location(), sema.irType(type), lhs.ir, rhs.ir), type};
  return areScalars ? reshape(sema, joined, {2}, args.operation) : FailureOr<Value>(joined);
}

FailureOr<Operand> interleave(Arguments &args) {
  FailureOr<Value> joined = joinValues(args);
  if (failed(joined))
    return failure();
  SmallVector<int64_t, 4> shape = joined->type.shape;
  if (shape.size() == 1) // two scalars
    return Operand(*joined);
  shape.pop_back();
  shape.back() *= 2;
  return toOperand(reshape(args.sema, *joined, shape, args.operation));
}

FailureOr<Operand> split(Arguments &args) {
  FailureOr<Value> input = args.tile(0);
  if (failed(input))
    return failure();
  if (input->type.shape.back() != 2)
    return args.error("the last extent should be two, found " + input->type.shapeName(),
                      "reshape to [..., 2] first");
  Semantics &sema = args.sema;
  bool givesScalars = input->type.shape.size() == 1;
  if (givesScalars)
    input = reshape(sema, *input, {1, 2}, args.operation);
  if (failed(input))
    return failure();
  Type half = input->type;
  half.shape.pop_back();
  mlir::Type ir = sema.irType(half);
  auto op = tile::SplitOp::create(sema.builder, sema.location(), ir, ir, input->ir);
  Value lhs{op.getLhs(), half}, rhs{op.getRhs(), half};
  if (givesScalars) {
    lhs = sema.extractElement(lhs);
    rhs = sema.extractElement(rhs);
  }
  return Operand::tuple({lhs, rhs});
}

FailureOr<Operand> cat(Arguments &args) {
  FailureOr<Value> lhs = args.tile(0);
  if (failed(lhs))
    return failure();
  FailureOr<Value> rhs = args.tile(1);
  if (failed(rhs))
    return failure();
  if (lhs->type.dtype != rhs->type.dtype)
    return args.error("dtypes differ: " + args.sema.nameOf(lhs->type.dtype) + " and " +
                          args.sema.nameOf(rhs->type.dtype),
                      "cast one of them, for example with " +
                          args.sema.words.cast(lhs->type.dtype, "rhs"));
  if (lhs->type.shape.size() != rhs->type.shape.size())
    return args.error("ranks differ: " + lhs->type.shapeName() + " and " + rhs->type.shapeName());
  FailureOr<int64_t> axis = args.axis(3, lhs->type.shape.size());
  if (failed(axis))
    return failure();
  Type type = lhs->type;
  for (size_t dim = 0; dim < type.shape.size(); ++dim)
    if (int64_t(dim) != *axis && type.shape[dim] != rhs->type.shape[dim])
      return args.error("extents differ outside dimension " + Twine(*axis) + ": " +
                        lhs->type.shapeName() + " and " + rhs->type.shapeName());
  type.shape[*axis] += rhs->type.shape[*axis];
  Semantics &sema = args.sema;
  if (failed(sema.checkShape(type.shape, args.operation)))
    return failure();
  return Operand(Value{tile::CatOp::create(sema.builder, sema.location(), sema.irType(type),
                                           lhs->ir, rhs->ir, int32_t(*axis)),
                       type});
}

FailureOr<Operand> gather(Arguments &args) {
  FailureOr<Value> src = args.tile(0);
  if (failed(src))
    return failure();
  FailureOr<Value> index = args.tile(1);
  if (failed(index))
    return failure();
  if (!index->type.dtype.isInt())
    return args.error("index should hold integers, found " + args.sema.nameOf(index->type));
  size_t rank = src->type.shape.size();
  if (index->type.shape.size() != rank)
    return args.error("ranks differ: src is " + src->type.shapeName() + ", index is " +
                      index->type.shapeName());
  FailureOr<int64_t> axis = args.axis(2, rank);
  if (failed(axis))
    return failure();
  for (size_t dim = 0; dim < rank; ++dim)
    if (int64_t(dim) != *axis && src->type.shape[dim] != index->type.shape[dim])
      return args.error("extents differ outside axis " + Twine(*axis) + ": src is " +
                        src->type.shapeName() + ", index is " + index->type.shapeName());
  Semantics &sema = args.sema;
  // Signed from here on, so that large unsigned numbers stay what they are.
  DType dtype = index->type.dtype;
  if (!dtype.isSignedInt() && dtype.bits() < 64) {
    ScalarKind wide = dtype.bits() < 32 ? ScalarKind::Int32 : ScalarKind::Int64;
    index = sema.cast(*index, DType::scalar(wide));
  }
  Type type{src->type.dtype, index->type.shape};
  return Operand(Value{tile::GatherOp::create(sema.builder, sema.location(), sema.irType(type),
                                              src->ir, index->ir, int32_t(*axis)),
                       type});
}

/// Elements first, first + step, ... along one axis, all known at compile time.
FailureOr<Operand> slice(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> input = args.tile(0);
  if (failed(input))
    return failure();
  FailureOr<int64_t> axis = args.axis(1, input->type.shape.size());
  int64_t numbers[3]; // first, count, step
  for (size_t i = 0; i < 3; ++i) {
    FailureOr<int64_t> number = args.integer(2 + i);
    if (failed(number))
      return failure();
    numbers[i] = *number;
  }
  if (failed(axis))
    return failure();
  auto [first, count, step] = numbers;
  SmallVector<int64_t, 4> shape = input->type.shape;
  if (first == 0 && step == 1 && count == shape[*axis])
    return Operand(*input);
  FailureOr<Operand> counted =
      callBuiltin(sema, "arange", {Constant::integer(0), Constant::integer(count)}, {});
  if (failed(counted))
    return failure();
  FailureOr<Value> places = *counted->value();
  if (step != 1)
    places = sema.arithmetic(BinaryOperator::Multiply, *places, Constant::integer(step));
  if (succeeded(places) && first != 0)
    places = sema.arithmetic(BinaryOperator::Add, *places, Constant::integer(first));
  if (failed(places))
    return failure();
  SmallVector<int64_t, 4> along(shape.size(), 1);
  along[*axis] = shape[*axis] = count;
  places = reshape(sema, *places, along, args.operation);
  if (succeeded(places))
    places = sema.broadcastTo(*places, shape);
  if (failed(places))
    return failure();
  Type type{input->type.dtype, shape};
  return Operand(Value{tile::GatherOp::create(sema.builder, sema.location(), sema.irType(type),
                                              input->ir, places->ir, int32_t(*axis)),
                       type});
}

} // namespace

void addShapeOps(BuiltinTable &table) {
  table.add("broadcast(input, other)", broadcastBoth);
  table.add("broadcast_to(input, *shape)", broadcastToShape, kMethod);
  table.add("expand_dims(input, axis)", expandDimsOp, kMethod);
  table.add("unsqueeze(x, dim)", expandDimsOp, kMethod);
  table.add("squeeze(x, dim)", squeeze, kMethod);
  table.add("reshape(input, *shape, can_reorder=False)", reshapeTo, kMethod);
  table.add("view(input, *shape)", reshapeTo, kMethod);
  table.add("ravel(x, can_reorder=False)", ravel, kMethod);
  table.add("trans(input, *dims)", trans, kMethod);
  table.add("permute(input, *dims)", permute, kMethod);
  table.add("flip(x, dim=None)", flip, kMethod);
  table.add("join(a, b)", [](Arguments &args) { return toOperand(joinValues(args)); });
  table.add("interleave(a, b)", interleave);
  table.add("split(a)", split, kMethod);
  table.add("cat(input, other, can_reorder=False, dim=0)", cat);
  table.add("gather(src, index, axis)", gather, kMethod);
  table.add("tile.slice(input, axis, first, count, step)", slice);
  table.add(
      "item(input)",
      [](Arguments &args) -> FailureOr<Operand> {
        FailureOr<Value> input = args.value(0);
        if (failed(input))
          return failure();
        if (input->type.elementCount() != 1)
          return args.error(
              "a tile of one element expected, found " + args.sema.nameOf(input->type),
              "reduce it first, for example with " + args.sema.words.operation("sum"));
        return Operand(args.sema.extractElement(*input));
      },
      kMethod);
}

} // namespace sectile::lang
