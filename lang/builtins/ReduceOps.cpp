// reduce and associative_scan, and the named reductions and scans made of them.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/EffectMasks.h"
#include "lang/tile/TileDialect.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kInt32 = DType::scalar(ScalarKind::Int32);
const DType kFloat32 = DType::scalar(ScalarKind::Float32);

//===-- the combiner's region -----------------------------------------------------------------===//

LogicalResult refuseOuter(Arguments &args) {
  return args.error("the combining function uses a value from outside",
                    "pass it in as one more source, or apply it after the reduction");
}

/// Removes what a combining function computes for nothing: one that asks for the type of a sum with
/// a tile, as torch's do, makes a tile that is used no further.
void eraseUnused(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (mlir::isOpTriviallyDead(&op))
        op.erase();
}

/// Checks the operations of a combining function.
LogicalResult checkFunction(Arguments &args, Region &region) {
  bool capturesOuter = false, hasEffects = false, hasLoop = false, printsInBranch = false;
  bool hasTile = false;
  region.walk([&](Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      hasTile |= isa<RankedTensorType>(type);
    for (mlir::Value operand : op->getOperands())
      capturesOuter |= !region.isAncestor(operand.getParentRegion());
    hasLoop |= isa<LoopLikeOpInterface>(op);
    if (op->getNumRegions() > 0 || isMemoryEffectFree(op))
      return;
    hasEffects = true;
    printsInBranch |= op->getParentRegion() != &region && !tile::canBeMasked(op);
  });
  if (capturesOuter)
    return refuseOuter(args);
  // Elements are combined one pair at a time, by each thread for itself.
  if (hasTile)
    return args.error("the combining function makes a tile, and it combines two elements",
                      "compute the tile before, and give it as one more source");
  // All elements of a tile go through such a function together (optimizer/ExpandReductions.h).
  if (hasEffects && hasLoop)
    return args.error("the combining function has side effects, and a loop",
                      "write its turns one after the other, as " +
                          args.sema.words.operation("static_range") + " does");
  if (printsInBranch)
    return args.error("the combining function has side effects in a branch that no mask leaves out",
                      "only loads, stores, atomic operations and assertions may stand there");
  return success();
}

/// Inlines `combine` into an empty region and checks what it yields.
LogicalResult buildCombiner(Arguments &args, Region &region, ArrayRef<Value> sources,
                            const Combiner &combine) {
  Semantics &sema = args.sema;
  OpBuilder &builder = sema.builder;
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<mlir::Type> elements;
  for (const Value &source : sources)
    elements.push_back(sema.irType(source.type.dtype));
  SmallVector<mlir::Type> pairs(elements);
  pairs.append(elements);
  SmallVector<Location> locations(pairs.size(), sema.location());
  Block *block = builder.createBlock(&region, {}, pairs, locations);
  SmallVector<Value> lhs, rhs;
  for (auto [index, source] : llvm::enumerate(sources)) {
    lhs.push_back({block->getArgument(index), {source.type.dtype, {}}});
    rhs.push_back({block->getArgument(index + sources.size()), {source.type.dtype, {}}});
  }
  SourceRange here = sema.range();
  FailureOr<SmallVector<Value>> combined = combine(lhs, rhs);
  if (failed(combined))
    return failure();
  sema.at(here);
  if (combined->size() != sources.size())
    return args.error("the combining function returns " + Twine(combined->size()) + " values for " +
                          Twine(sources.size()) + " sources",
                      "return one value per source");
  SmallVector<mlir::Value> yielded;
  for (auto [index, result] : llvm::enumerate(*combined)) {
    const Type &type = result.type;
    DType expected = sources[index].type.dtype;
    if (!type.isScalar() || type.dtype != expected)
      return args.error("the combining function returns " + args.sema.nameOf(type) +
                            ", but its source holds " + args.sema.nameOf(expected),
                        "cast the result, or the source, so that they agree");
    yielded.push_back(result.ir);
  }
  for (mlir::Value result : yielded)
    if (result.getParentRegion() != &region)
      return refuseOuter(args);
  tile::YieldOp::create(builder, sema.location(), yielded);
  eraseUnused(region);
  return checkFunction(args, region);
}

FailureOr<SmallVector<Value>> buildReduce(Arguments &args, ArrayRef<Value> sources, int64_t axis,
                                          const Combiner &combine) {
  Semantics &sema = args.sema;
  SmallVector<Value> results;
  SmallVector<mlir::Value> operands;
  SmallVector<mlir::Type> types;
  for (const Value &source : sources) {
    Type type = source.type;
    type.shape.erase(type.shape.begin() + axis);
    operands.push_back(source.ir);
    types.push_back(sema.irType(type));
    results.push_back({{}, type});
  }
  auto op = tile::ReduceOp::create(sema.builder, sema.location(), types, operands, int32_t(axis));
  if (failed(buildCombiner(args, op.getCombiner(), sources, combine)))
    return failure();
  for (auto [index, result] : llvm::enumerate(results))
    result.ir = op.getResult(index);
  return results;
}

//===-- what a user passes --------------------------------------------------------------------===//

/// One tile or a tuple of tiles of one shape.
FailureOr<SmallVector<Value>> sourceTiles(Arguments &args, size_t index) {
  SmallVector<Value> sources;
  if (auto *items = args[index].items()) {
    for (const Operand &item : *items) {
      FailureOr<Value> source = args.sema.toValue(item, (args.operation + ": source").str());
      if (failed(source))
        return failure();
      sources.push_back(*source);
    }
    if (sources.empty())
      return args.error("the tuple of sources is empty");
  } else {
    FailureOr<Value> source = args.tile(index);
    if (failed(source))
      return failure();
    sources.push_back(*source);
  }
  for (const Value &source : sources) {
    if (source.type.isScalar())
      return args.error("sources should be tiles, found a scalar " + args.sema.nameOf(source.type));
    if (source.type.shape != sources.front().type.shape)
      return args.error("sources should have one shape, found " + sources.front().type.shapeName() +
                        " and " + source.type.shapeName());
  }
  return sources;
}

FailureOr<Combiner> combiner(Arguments &args, size_t index) {
  if (auto *held = args[index].combiner())
    return *held;
  // An operation of the language itself, as in tl.reduce(x, 0, tl.maximum).
  auto *held = args[index].constant();
  if (auto *builtin = held ? held->as<BuiltinRef>() : nullptr) {
    Semantics &sema = args.sema;
    // Python's functions of numbers; the host's, of a kernel in Python only.
    StringRef python = builtin->name;
    if (python.consume_front("python."))
      return args.error("`combine_fn` is Python's " + python + "(), no function of a kernel",
                        python == "max" || python == "min"
                            ? "write " +
                                  sema.words.operation(python == "max" ? "maximum" : "minimum")
                            : "write a @jit function of two elements");
    return Combiner([&sema, name = builtin->name](
                        ArrayRef<Value> lhs, ArrayRef<Value> rhs) -> FailureOr<SmallVector<Value>> {
      SmallVector<Operand> operands(lhs.begin(), lhs.end());
      operands.append(rhs.begin(), rhs.end());
      FailureOr<Operand> result = callBuiltin(sema, name, operands, {});
      if (failed(result))
        return failure();
      SmallVector<Value> values;
      if (auto *value = result->value())
        values.push_back(*value);
      else if (auto *items = result->items())
        for (const Operand &item : *items)
          if (auto *value = item.value())
            values.push_back(*value);
      return values;
    });
  }
  return args.error("`combine_fn` should be a function of two elements, not " +
                    args[index].kindName());
}

FailureOr<Operand> asOperand(FailureOr<Value> result) {
  if (failed(result))
    return failure();
  return Operand(*result);
}

FailureOr<Operand> asOperand(ArrayRef<Value> results, bool isTuple) {
  if (!isTuple)
    return Operand(results.front());
  std::vector<Operand> items(results.begin(), results.end());
  return Operand::tuple(std::move(items));
}

/// Reduces along `axis`, or along every axis from the last when there is none.
FailureOr<SmallVector<Value>> reduceAlong(Arguments &args, ArrayRef<Value> sources,
                                          std::optional<int64_t> axis, bool keepDims,
                                          const Combiner &combine) {
  Semantics &sema = args.sema;
  size_t rank = sources.front().type.shape.size();
  SmallVector<int64_t> axes;
  if (axis)
    axes.push_back(*axis);
  else
    llvm::append_range(axes, llvm::seq<int64_t>(0, rank));
  SmallVector<Value> results(sources);
  for (int64_t dim : llvm::reverse(axes)) {
    auto reduced = buildReduce(args, results, dim, combine);
    if (failed(reduced))
      return failure();
    results = *reduced;
  }
  if (!keepDims)
    return results;
  for (Value &result : results) {
    for (int64_t dim : axes) {
      FailureOr<Value> expanded = expandDims(sema, result, dim);
      if (failed(expanded))
        return failure();
      result = *expanded;
    }
  }
  return results;
}

FailureOr<std::optional<int64_t>> optionalAxis(Arguments &args, size_t index, size_t rank) {
  if (args.isNone(index))
    return std::optional<int64_t>();
  FailureOr<int64_t> axis = args.axis(index, rank);
  if (failed(axis))
    return failure();
  return std::optional<int64_t>(*axis);
}

/// Reduces one tile to one result.
FailureOr<Operand> reduceTile(Arguments &args, Value input, std::optional<int64_t> axis,
                              bool keepDims, const Combiner &combine) {
  auto results = reduceAlong(args, input, axis, keepDims, combine);
  if (failed(results))
    return failure();
  return Operand(results->front());
}

FailureOr<Operand> reduceOp(Arguments &args) {
  auto sources = sourceTiles(args, 0);
  if (failed(sources))
    return failure();
  auto axis = optionalAxis(args, 1, sources->front().type.shape.size());
  if (failed(axis))
    return failure();
  FailureOr<Combiner> combine = combiner(args, 2);
  if (failed(combine))
    return failure();
  FailureOr<bool> keepDims = args.flag(3);
  if (failed(keepDims))
    return failure();
  auto results = reduceAlong(args, *sources, *axis, *keepDims, *combine);
  if (failed(results))
    return failure();
  return asOperand(*results, args[0].items());
}

//===-- named reductions ----------------------------------------------------------------------===//

Combiner operatorCombiner(Semantics &sema, BinaryOperator op) {
  return [&sema, op](ArrayRef<Value> lhs, ArrayRef<Value> rhs) -> FailureOr<SmallVector<Value>> {
    FailureOr<Value> result = sema.arithmetic(op, lhs[0], rhs[0]);
    if (failed(result))
      return failure();
    return SmallVector<Value>{*result};
  };
}

Combiner extremumCombiner(Semantics &sema, Extremum which) {
  return [&sema, which](ArrayRef<Value> lhs, ArrayRef<Value> rhs) -> FailureOr<SmallVector<Value>> {
    return SmallVector<Value>{buildExtremum(sema, which, lhs[0], rhs[0], /*propagateNan=*/false)};
  };
}

/// (value, index) pairs: the more extreme value wins, and any number over NaN; among equals, NaN
/// among them, the smaller index, or any.
Combiner indexedCombiner(Semantics &sema, Extremum which, bool tieBreakLeft) {
  return [&sema, which, tieBreakLeft](ArrayRef<Value> lhs,
                                      ArrayRef<Value> rhs) -> FailureOr<SmallVector<Value>> {
    OpBuilder &b = sema.builder;
    Location at = sema.location();
    auto both = [&](mlir::Value x, mlir::Value y) {
      return arith::AndIOp::create(b, at, x, y).getResult();
    };
    auto either = [&](mlir::Value x, mlir::Value y) {
      return arith::OrIOp::create(b, at, x, y).getResult();
    };
    const bool isMaximum = which == Extremum::Maximum, isFloat = lhs[0].type.dtype.isFloat();
    auto compare = [&](BinaryOperator one, const Value &left, const Value &right) {
      return sema.compare(one, left, right).ir;
    };
    mlir::Value wins =
        compare(isMaximum ? BinaryOperator::Greater : BinaryOperator::Less, lhs[0], rhs[0]);
    mlir::Value otherIsNan;
    if (isFloat) {
      otherIsNan = compare(BinaryOperator::NotEqual, rhs[0], rhs[0]);
      wins = either(wins, both(compare(BinaryOperator::Equal, lhs[0], lhs[0]), otherIsNan));
    }
    if (tieBreakLeft) {
      // Where it is known which index is smaller, one of the two questions is all that is asked.
      mlir::Value holds = compare(
          isMaximum ? BinaryOperator::GreaterEqual : BinaryOperator::LessEqual, lhs[0], rhs[0]);
      if (isFloat)
        holds = either(holds, otherIsNan);
      wins = arith::SelectOp::create(b, at, sema.compare(BinaryOperator::Less, lhs[1], rhs[1]).ir,
                                     holds, wins);
    }
    SmallVector<Value> results;
    for (size_t i = 0; i < 2; ++i)
      results.push_back({arith::SelectOp::create(b, at, wins, lhs[i].ir, rhs[i].ir), lhs[i].type});
    return results;
  };
}

/// The dtype sums are taken in: integers below 32 bits are widened, truth values count in u32.
std::optional<DType> sumDType(DType dtype) {
  if (dtype.isInt() && dtype.bits() >= 32)
    return std::nullopt;
  if (dtype.isSignedInt())
    return kInt32;
  if (dtype.isIntOrBool())
    return DType::scalar(ScalarKind::UInt32);
  return std::nullopt;
}

LogicalResult refusePointers(Arguments &args, const Value &input) {
  if (input.type.dtype.isPointer)
    return args.error("numbers expected, found " + args.sema.nameOf(input.type),
                      "load through the pointers first");
  return success();
}

/// The input of a sum or scan, cast to `dtype` if given, else widened.
FailureOr<Value> accumulated(Arguments &args, Value input, size_t dtypeIndex) {
  std::optional<DType> dtype = sumDType(input.type.dtype);
  if (!args.isNone(dtypeIndex)) {
    FailureOr<DType> asked = args.dtype(dtypeIndex);
    if (failed(asked))
      return failure();
    dtype = *asked;
  }
  return dtype ? args.sema.cast(input, *dtype) : FailureOr<Value>(input);
}

/// Narrow floats are added up and multiplied in fp32, and rounded once.
bool isWidenedInSums(DType dtype) {
  return dtype.isFloat() && dtype.bits() < 32;
}

FailureOr<Operand> sum(Arguments &args) {
  FailureOr<Value> input = args.tile(0);
  if (failed(input) || failed(refusePointers(args, *input)))
    return failure();
  auto axis = optionalAxis(args, 1, input->type.shape.size());
  if (failed(axis))
    return failure();
  FailureOr<bool> keepDims = args.flag(2);
  if (failed(keepDims))
    return failure();
  input = accumulated(args, *input, 3);
  if (failed(input))
    return failure();
  DType dtype = input->type.dtype;
  if (isWidenedInSums(dtype))
    input = args.sema.cast(*input, kFloat32);
  if (failed(input))
    return failure();
  auto total =
      reduceAlong(args, *input, *axis, *keepDims, operatorCombiner(args.sema, BinaryOperator::Add));
  if (failed(total))
    return failure();
  return asOperand(args.sema.cast(total->front(), dtype));
}

/// xor_sum and reduce_or.
FailureOr<Operand> bitwiseReduction(Arguments &args, BinaryOperator op) {
  FailureOr<Value> input = args.tile(0);
  if (failed(input))
    return failure();
  if (!input->type.dtype.isIntOrBool())
    return args.error("integers expected, found " + args.sema.nameOf(input->type));
  auto axis = optionalAxis(args, 1, input->type.shape.size());
  if (failed(axis))
    return failure();
  FailureOr<bool> keepDims = args.flag(2);
  if (failed(keepDims))
    return failure();
  return reduceTile(args, *input, *axis, *keepDims, operatorCombiner(args.sema, op));
}

/// The positions along `axis`, in the shape of `like`.
FailureOr<Value> positions(Semantics &sema, const Value &like, int64_t axis) {
  Type type{kInt32, {like.type.shape[axis]}};
  Value index{tile::ArangeOp::create(sema.builder, sema.location(), sema.irType(type), 0,
                                     int32_t(like.type.shape[axis])),
              type};
  for (int64_t dim = 0; dim < int64_t(like.type.shape.size()); ++dim) {
    if (dim == axis)
      continue;
    FailureOr<Value> expanded = expandDims(sema, index, dim);
    if (failed(expanded))
      return failure();
    index = *expanded;
  }
  return sema.broadcastTo(index, like.type.shape);
}

FailureOr<SmallVector<Value>> extremumWithIndex(Arguments &args, Value input, Extremum which,
                                                int64_t axis, bool tieBreakLeft, bool keepDims) {
  FailureOr<Value> index = positions(args.sema, input, axis);
  if (failed(index))
    return failure();
  return reduceAlong(args, {input, *index}, axis, keepDims,
                     indexedCombiner(args.sema, which, tieBreakLeft));
}

FailureOr<Value> extremumInput(Arguments &args) {
  FailureOr<Value> input = args.tile(0);
  if (failed(input) || failed(refusePointers(args, *input)))
    return failure();
  if (input->type.dtype.kind == ScalarKind::BFloat16)
    return args.sema.cast(*input, kFloat32);
  return input;
}

FailureOr<Operand> maxOrMin(Arguments &args, Extremum which) {
  FailureOr<Value> input = extremumInput(args);
  if (failed(input))
    return failure();
  auto axis = optionalAxis(args, 1, input->type.shape.size());
  if (failed(axis))
    return failure();
  FailureOr<bool> returnIndices = args.flag(2);
  FailureOr<bool> tieBreakLeft = args.flag(3);
  FailureOr<bool> keepDims = args.flag(4);
  if (failed(returnIndices) || failed(tieBreakLeft) || failed(keepDims))
    return failure();
  if (*returnIndices) {
    if (!*axis && input->type.shape.size() > 1)
      return args.error("return_indices needs an axis for a tile of " + input->type.shapeName());
    auto results =
        extremumWithIndex(args, *input, which, axis->value_or(0), *tieBreakLeft, *keepDims);
    if (failed(results))
      return failure();
    return asOperand(*results, true);
  }
  DType dtype = input->type.dtype;
  if (dtype.bits() < 32)
    input = args.sema.cast(*input, dtype.isFloat() ? kFloat32 : kInt32);
  if (failed(input))
    return failure();
  return reduceTile(args, *input, *axis, *keepDims, extremumCombiner(args.sema, which));
}

FailureOr<Operand> argExtremum(Arguments &args, Extremum which) {
  FailureOr<Value> input = extremumInput(args);
  if (failed(input))
    return failure();
  FailureOr<int64_t> axis = args.axis(1, input->type.shape.size());
  if (failed(axis))
    return failure();
  FailureOr<bool> tieBreakLeft = args.flag(2);
  FailureOr<bool> keepDims = args.flag(3);
  if (failed(tieBreakLeft) || failed(keepDims))
    return failure();
  auto results = extremumWithIndex(args, *input, which, *axis, *tieBreakLeft, *keepDims);
  if (failed(results))
    return failure();
  return Operand((*results)[1]);
}

/// Over the whole row, stably: subtract the maximum first.
FailureOr<Operand> softmax(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<Value> x = args.tile(0);
  if (failed(x))
    return failure();
  // As Triton's, whose maximum of halves is fp32.
  if (x->type.dtype.isFloat() && x->type.dtype.bits() == 16)
    x = sema.cast(*x, DType::scalar(ScalarKind::Float32));
  if (!x->type.dtype.isFloat() || x->type.dtype.bits() < 32)
    return args.error(
        "floating-point numbers of 16, 32 or 64 bits expected, found " + args.sema.nameOf(x->type),
        "cast first, for example with " + sema.words.cast(DType::scalar(ScalarKind::Float32), "x"));
  FailureOr<int64_t> axis =
      args.isNone(1) ? FailureOr<int64_t>(0) : args.axis(1, x->type.shape.size());
  if (failed(axis))
    return failure();
  FailureOr<bool> isRounded = args.flag(3);
  if (failed(isRounded))
    return failure();
  auto most = reduceAlong(args, *x, *axis, true, extremumCombiner(sema, Extremum::Maximum));
  if (failed(most))
    return failure();
  FailureOr<Value> shifted = sema.arithmetic(BinaryOperator::Subtract, *x, most->front());
  if (failed(shifted))
    return failure();
  FailureOr<Operand> numerator = callBuiltin(sema, "exp", {*shifted}, {});
  if (failed(numerator))
    return failure();
  auto total = reduceAlong(args, *numerator->value(), *axis, true,
                           operatorCombiner(sema, BinaryOperator::Add));
  if (failed(total))
    return failure();
  return callBuiltin(sema, "fdiv", {*numerator, total->front(), Operand(Constant{*isRounded})}, {});
}

//===-- scans ---------------------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> scanAlong(Arguments &args, ArrayRef<Value> sources, int64_t axis,
                                        bool reverse, const Combiner &combine) {
  Semantics &sema = args.sema;
  SmallVector<mlir::Value> operands;
  SmallVector<mlir::Type> types;
  for (const Value &source : sources) {
    operands.push_back(source.ir);
    types.push_back(source.ir.getType());
  }
  auto op =
      tile::ScanOp::create(sema.builder, sema.location(), types, operands, int32_t(axis), reverse);
  if (failed(buildCombiner(args, op.getCombiner(), sources, combine)))
    return failure();
  SmallVector<Value> results;
  for (auto [index, source] : llvm::enumerate(sources))
    results.push_back({op.getResult(index), source.type});
  return results;
}

FailureOr<Operand> associativeScan(Arguments &args) {
  auto sources = sourceTiles(args, 0);
  if (failed(sources))
    return failure();
  FailureOr<int64_t> axis = args.axis(1, sources->front().type.shape.size());
  if (failed(axis))
    return failure();
  FailureOr<Combiner> combine = combiner(args, 2);
  if (failed(combine))
    return failure();
  FailureOr<bool> reverse = args.flag(3);
  if (failed(reverse))
    return failure();
  auto results = scanAlong(args, *sources, *axis, *reverse, *combine);
  if (failed(results))
    return failure();
  return asOperand(*results, args[0].items());
}

FailureOr<Operand> cumulative(Arguments &args, BinaryOperator op, bool isSum) {
  FailureOr<Value> input = extremumInput(args);
  if (failed(input))
    return failure();
  FailureOr<int64_t> axis = args.axis(1, input->type.shape.size());
  if (failed(axis))
    return failure();
  FailureOr<bool> reverse = args.flag(2);
  if (failed(reverse))
    return failure();
  if (isSum)
    input = accumulated(args, *input, 3);
  if (failed(input))
    return failure();
  DType dtype = input->type.dtype;
  if (isWidenedInSums(dtype))
    input = args.sema.cast(*input, kFloat32);
  if (failed(input))
    return failure();
  auto scanned = scanAlong(args, *input, *axis, *reverse, operatorCombiner(args.sema, op));
  if (failed(scanned))
    return failure();
  return asOperand(args.sema.cast(scanned->front(), dtype));
}

} // namespace

void addReduceOps(BuiltinTable &table) {
  table.add("reduce(input, axis, combine_fn, keep_dims=False)", reduceOp, kMethod);
  table.add("sum(input, axis=None, keep_dims=False, dtype=None)", sum, kMethod);
  table.add(
      "xor_sum(input, axis=None, keep_dims=False)",
      [](Arguments &args) { return bitwiseReduction(args, BinaryOperator::BitXor); }, kMethod);
  table.add(
      "reduce_or(input, axis, keep_dims=False)",
      [](Arguments &args) { return bitwiseReduction(args, BinaryOperator::BitOr); }, kMethod);
  table.add(
      "max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, "
      "keep_dims=False)",
      [](Arguments &args) { return maxOrMin(args, Extremum::Maximum); }, kMethod);
  table.add(
      "min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, "
      "keep_dims=False)",
      [](Arguments &args) { return maxOrMin(args, Extremum::Minimum); }, kMethod);
  table.add(
      "argmax(input, axis, tie_break_left=True, keep_dims=False)",
      [](Arguments &args) { return argExtremum(args, Extremum::Maximum); }, kMethod);
  table.add(
      "argmin(input, axis, tie_break_left=True, keep_dims=False)",
      [](Arguments &args) { return argExtremum(args, Extremum::Minimum); }, kMethod);
  table.add("softmax(x, dim=None, keep_dims=False, ieee_rounding=False)", softmax, kMethod);
  table.add("associative_scan(input, axis, combine_fn, reverse=False)", associativeScan, kMethod);
  table.add(
      "cumsum(input, axis=0, reverse=False, dtype=None)",
      [](Arguments &args) { return cumulative(args, BinaryOperator::Add, true); }, kMethod);
  table.add(
      "cumprod(input, axis=0, reverse=False)",
      [](Arguments &args) { return cumulative(args, BinaryOperator::Multiply, false); }, kMethod);
}

} // namespace sectile::lang
