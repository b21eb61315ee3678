// map_elementwise and inline_asm_elementwise: what a function, or text for the assembler, does to
// each element.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sectile::lang {
namespace {

/// The tiles and scalars, as tiles of the shape that they all broadcast to.
FailureOr<SmallVector<Value>> broadcastAll(Arguments &args, ArrayRef<Operand> items) {
  Semantics &sema = args.sema;
  SmallVector<Value> values;
  for (const Operand &item : items) {
    FailureOr<Value> value = sema.toValue(item, (args.operation + ": an argument").str());
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  // The first takes the common shape, then all others take its.
  for (size_t i = 1; i < values.size(); ++i) {
    auto both = sema.broadcast(values[0], values[i], args.operation);
    if (failed(both))
      return failure();
    values[0] = both->first;
  }
  for (Value &value : values) {
    FailureOr<Value> same = sema.broadcastTo(value, values[0].type.shape);
    if (failed(same))
      return failure();
    value = *same;
  }
  return values;
}

/// The items of a tuple, or the one operand.
void collectItems(const Operand &operand, SmallVectorImpl<Operand> &held) {
  if (auto *items = operand.items()) {
    held.assign(items->begin(), items->end());
  } else if (auto *constant = operand.constant()) {
    if (auto *tuple = constant->as<ConstantTuple>())
      held.assign((*tuple)->begin(), (*tuple)->end());
    else
      held.push_back(operand);
  } else {
    held.push_back(operand);
  }
}

FailureOr<Operand> single(const SmallVector<Value> &values) {
  if (values.size() == 1)
    return Operand(values.front());
  std::vector<Operand> items(values.begin(), values.end());
  return Operand::tuple(std::move(items));
}

//===-- several elements for one call ---------------------------------------------------------===//

/// Elements i, i + pack, i + 2 pack ... of the last dimension for i = 0 ... pack - 1.
FailureOr<SmallVector<Value>> deinterleave(Semantics &sema, const Value &tile, int64_t pack) {
  if (pack == 1)
    return SmallVector<Value>{tile};
  SmallVector<int64_t, 4> shape = tile.type.shape;
  shape.back() /= 2;
  shape.push_back(2);
  FailureOr<Value> pairs = reshape(sema, tile, shape, "map_elementwise");
  if (failed(pairs))
    return failure();
  FailureOr<Operand> halves = callBuiltin(sema, "split", {*pairs}, {});
  if (failed(halves))
    return failure();
  SmallVector<Value> parts(pack);
  for (size_t half = 0; half < 2; ++half) {
    auto inner = deinterleave(sema, *(*halves->items())[half].value(), pack / 2);
    if (failed(inner))
      return failure();
    for (auto [index, part] : llvm::enumerate(*inner))
      parts[2 * index + half] = part;
  }
  return parts;
}

/// The reverse of `deinterleave`.
FailureOr<Value> interleave(Semantics &sema, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<Value> even, odd;
  for (auto [index, part] : llvm::enumerate(parts))
    (index % 2 ? odd : even).push_back(part);
  FailureOr<Value> lhs = interleave(sema, even), rhs = interleave(sema, odd);
  if (failed(lhs) || failed(rhs))
    return failure();
  FailureOr<Operand> both = callBuiltin(sema, "interleave", {*lhs, *rhs}, {});
  if (failed(both))
    return failure();
  return *both->value();
}

//===-- functions -----------------------------------------------------------------------------===//

/// The function's results, as scalars of the region that it is inlined into.
FailureOr<SmallVector<Value>> buildFunction(Arguments &args, Region &region,
                                            ArrayRef<Value> sources, const Combiner &function) {
  Semantics &sema = args.sema;
  SmallVector<mlir::Type> elements;
  for (const Value &source : sources)
    elements.push_back(sema.irType(source.type.dtype));
  OpBuilder::InsertionGuard guard(sema.builder);
  SmallVector<Location> locations(elements.size(), sema.location());
  Block *block = sema.builder.createBlock(&region, {}, elements, locations);
  SmallVector<Value> scalars;
  for (auto [argument, source] : llvm::zip(block->getArguments(), sources))
    scalars.push_back({argument, {source.type.dtype, {}}});
  SourceRange here = sema.range();
  FailureOr<SmallVector<Value>> results = function(scalars, {});
  if (failed(results))
    return failure();
  sema.at(here);
  if (results->empty())
    return args.error("the function returns nothing", "return one value, or a tuple of values");
  SmallVector<mlir::Value> yielded;
  for (const Value &result : *results) {
    if (!result.type.isScalar())
      return args.error("the function returns " + sema.nameOf(result.type) + ", not a scalar");
    yielded.push_back(result.ir);
  }
  tile::YieldOp::create(sema.builder, sema.location(), yielded);

  Operation *effect = nullptr;
  bool capturesOuter = false, hasTile = false;
  region.walk([&](Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      hasTile |= isa<RankedTensorType>(type);
    for (mlir::Value operand : op->getOperands())
      capturesOuter |= !region.isAncestor(operand.getParentRegion());
    if (op->getNumRegions() == 0 && !isMemoryEffectFree(op))
      effect = op;
  });
  if (capturesOuter)
    return args.error("the function uses a value from outside", "pass it in as one more argument");
  if (hasTile)
    return args.error("the function makes a tile, and it is for single elements",
                      "compute the tile before, and give it as one more argument");
  if (effect)
    return args.error("the function has side effects, or reads memory",
                      "load before and store behind the call; only arithmetic and control flow on "
                      "its arguments are possible in it");
  return results;
}

FailureOr<Operand> mapElementwise(Arguments &args) {
  Semantics &sema = args.sema;
  SmallVector<Operand> items;
  collectItems(args[1], items);
  auto *function = args[0].combiner();
  if (!function)
    return args.error("`scalar_fn` should be a function of elements, not " + args[0].kindName());
  FailureOr<int64_t> pack = args.integer(2);
  if (failed(pack))
    return failure();
  if (items.empty())
    return args.error("there is no tile to map over");
  if (*pack < 1 || !llvm::isPowerOf2_64(uint64_t(*pack)))
    return args.error("`pack` is " + Twine(*pack), "ask for a power of two");
  auto tiles = broadcastAll(args, items);
  if (failed(tiles))
    return failure();
  SmallVector<int64_t, 4> shape = tiles->front().type.shape;
  if (shape.empty())
    return args.error("all arguments are scalars", "call the function");
  if (shape.back() % *pack != 0)
    return args.error("`pack` is " + Twine(*pack) + ", the last dimension has " +
                          Twine(shape.back()) + " elements",
                      "the pack should divide them");
  SmallVector<Value> sources;
  for (const Value &tile : *tiles) {
    auto parts = deinterleave(sema, tile, *pack);
    if (failed(parts))
      return failure();
    sources.append(*parts);
  }

  SmallVector<mlir::Value> operands;
  for (const Value &source : sources)
    operands.push_back(source.ir);
  // The types of the results are known when the function has been inlined: into an operation
  // without results, which another replaces.
  auto unfinished =
      tile::MapOp::create(sema.builder, sema.location(), TypeRange(), ValueRange(operands));
  auto results = buildFunction(args, unfinished.getFunction(), sources, *function);
  if (failed(results))
    return failure();
  if (results->size() % *pack != 0)
    return args.error("the function returns " + Twine(results->size()) + " values for a pack of " +
                          Twine(*pack),
                      "return one value of each result for each element");
  const Type &part = sources.front().type;
  SmallVector<mlir::Type> types;
  for (const Value &result : *results)
    types.push_back(sema.irType(part.withDType(result.type.dtype)));
  auto op = tile::MapOp::create(sema.builder, sema.location(), types, operands);
  op.getFunction().takeBody(unfinished.getFunction());
  unfinished.erase();

  SmallVector<Value> mapped;
  for (size_t first = 0; first < results->size(); first += *pack) {
    SmallVector<Value> parts;
    for (int64_t i = 0; i < *pack; ++i) {
      DType dtype = (*results)[first + i].type.dtype;
      if (dtype != (*results)[first].type.dtype)
        return args.error("the function returns " + sema.nameOf((*results)[first].type) + " and " +
                              sema.nameOf(dtype) + " for elements of one result",
                          "cast them to one type");
      parts.push_back({op.getResult(first + i), part.withDType(dtype)});
    }
    FailureOr<Value> whole = interleave(sema, parts);
    if (failed(whole))
      return failure();
    mapped.push_back(*whole);
  }
  return single(mapped);
}

//===-- text for the assembler ----------------------------------------------------------------===//

FailureOr<Operand> inlineAsm(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<std::string> text = args.text(0), constraints = args.text(1);
  FailureOr<bool> isPure = args.flag(4);
  FailureOr<int64_t> pack = args.integer(5);
  if (failed(text) || failed(constraints) || failed(isPure) || failed(pack))
    return failure();
  if (*pack < 1 || *pack > 64 || !llvm::isPowerOf2_64(uint64_t(*pack)))
    return args.error("`pack` is " + Twine(*pack), "ask for a power of two up to 64");
  SmallVector<Operand> items, asked;
  collectItems(args[2], items);
  collectItems(args[3], asked);
  SmallVector<DType> dtypes;
  for (const Operand &item : asked) {
    auto *constant = item.constant();
    auto *dtype = constant ? constant->as<DType>() : nullptr;
    if (!dtype)
      return args.error("`dtype` should be a dtype or a tuple of dtypes, not " + item.kindName());
    dtypes.push_back(*dtype);
  }
  if (dtypes.empty())
    return args.error("`dtype` names no result", "return a value that nobody uses");
  auto sources = broadcastAll(args, items);
  if (failed(sources))
    return failure();
  Type shape = sources->empty() ? Type{} : sources->front().type;
  SmallVector<mlir::Value> operands;
  for (const Value &source : *sources)
    operands.push_back(source.ir);
  SmallVector<mlir::Type> types;
  for (DType dtype : dtypes)
    types.push_back(sema.irType(shape.withDType(dtype)));
  auto op = tile::InlineAsmOp::create(sema.builder, sema.location(), types, *text, *constraints,
                                      *isPure, int32_t(*pack), operands);
  std::vector<Operand> results;
  for (auto [dtype, result] : llvm::zip(dtypes, op.getResults()))
    results.push_back(Value{result, shape.withDType(dtype)});
  bool isOne = args[3].constant() && args[3].constant()->is<DType>();
  return isOne ? results.front() : Operand::tuple(std::move(results));
}

} // namespace

void addMapOps(BuiltinTable &table) {
  table.add("map_elementwise(scalar_fn, *args, pack=1)", mapElementwise);
  table.add("inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack)", inlineAsm);
}

} // namespace sectile::lang
