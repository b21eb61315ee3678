// load and store.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sectile::lang {
LogicalResult notAPointer(Arguments &args, const Value &pointer) {
  std::vector<std::string> names = args.sema.parametersBehind(pointer);
  std::string help = "add the offsets to a pointer parameter, as in x_ptr + offsets";
  if (names.size() == 1)
    help = "'" + names.front() + "' is a number here: it was given a number, not an array";
  else if (!names.empty())
    help = llvm::join(names, ", ") + " are numbers here: none of them was given an array";
  return args.error("`pointer` should be a pointer or a tile of pointers, not " +
                        args.sema.nameOf(pointer.type),
                    help);
}

namespace {

constexpr StringRef kLoadModifiers[] = {".ca", ".cg", ".cs", ".cv"};
constexpr StringRef kStoreModifiers[] = {".wb", ".cg", ".cs", ".wt"};

/// ".cg" -> CacheModifier::CG, if the access allows it.
FailureOr<tile::CacheModifier> cacheModifier(Arguments &args, size_t index,
                                             ArrayRef<StringRef> allowed) {
  FailureOr<std::string> text = args.text(index);
  if (failed(text))
    return failure();
  if (text->empty())
    return tile::CacheModifier::None;
  if (!llvm::is_contained(allowed, *text))
    return args.error("no cache modifier '" + *text + "'",
                      "known are " + llvm::join(allowed, ", "));
  return *tile::symbolizeCacheModifier(StringRef(*text).drop_front());
}

FailureOr<tile::EvictionPolicy> evictionPolicy(Arguments &args, size_t index) {
  FailureOr<std::string> text = args.text(index);
  if (failed(text))
    return failure();
  if (text->empty())
    return tile::EvictionPolicy::Normal;
  auto policy = tile::symbolizeEvictionPolicy(*text);
  if (!policy || *policy == tile::EvictionPolicy::Normal)
    return args.error("no eviction policy '" + *text + "'", "known are evict_first, evict_last");
  return *policy;
}

FailureOr<Value> pointer(Arguments &args) {
  FailureOr<Value> value = args.value(0);
  if (succeeded(value) && !value->type.dtype.isPointer)
    return notAPointer(args, *value);
  return value;
}

/// The mask as truth values; null when there is none.
FailureOr<std::optional<Value>> mask(Arguments &args, size_t index, const Value &ptr) {
  if (args.isNone(index))
    return std::optional<Value>();
  FailureOr<Value> value = args.value(index);
  if (failed(value))
    return failure();
  if (!value->type.dtype.isBool())
    return args.error("`mask` should hold truth values, not " + args.sema.nameOf(value->type),
                      "compare it, as in mask != 0");
  if (ptr.type.isScalar() && !value->type.isScalar())
    return args.error("`mask` is a tile of " + value->type.shapeName() +
                          ", but the pointer is a scalar",
                      "add offsets to the pointer, or use a scalar mask");
  return std::optional<Value>(*value);
}

/// What load and store say of the block of a block pointer. `forPointers`: the arguments that only
/// tiles of pointers take.
FailureOr<BlockAccess> blockAccess(Arguments &args, const ArrayOfBlocks &array, size_t boundary,
                                   ArrayRef<size_t> forPointers) {
  for (size_t index : forPointers)
    if (!args.isNone(index))
      return args.error("mask and other are for tiles of pointers",
                        "a block pointer guards the dimensions that boundary_check names");
  BlockAccess access{array, array.offsets};
  FailureOr<SmallVector<int64_t, 4>> dimensions = args.integers(boundary);
  if (failed(dimensions))
    return failure();
  access.checked.emplace(array.shape.size(), false);
  for (int64_t dim : *dimensions) {
    if (dim < 0 || dim >= int64_t(array.shape.size()))
      return args.error("`boundary_check` names dimension " + Twine(dim) +
                            ", but the block pointer has " + Twine(array.shape.size()),
                        "dimensions count from 0");
    (*access.checked)[size_t(dim)] = true;
  }
  return access;
}

LogicalResult refuseBlockPointerArguments(Arguments &args, size_t boundaryCheck,
                                          std::optional<size_t> padding) {
  auto boundary = args.sema.asConstant(args[boundaryCheck]);
  bool isEmpty = boundary && (boundary->isNone() || boundary->equals(Constant::tuple({})));
  bool isUnpadded = true;
  if (padding) {
    FailureOr<std::string> text = args.text(*padding);
    if (failed(text))
      return failure();
    isUnpadded = text->empty();
  }
  if (isEmpty && isUnpadded)
    return success();
  return args.error("boundary_check and padding_option are for block pointers",
                    "with plain pointers use mask and other");
}

/// int1 lives in memory as a byte.
bool pointsToBool(const Value &ptr) {
  return ptr.type.dtype.kind == ScalarKind::Int1;
}
DType storedDType(const Value &ptr) {
  return pointsToBool(ptr) ? DType::scalar(ScalarKind::UInt8) : ptr.type.dtype.pointee();
}

bool doBroadcast(const Value &lhs, const Value &rhs) {
  for (auto [left, right] : llvm::zip(llvm::reverse(lhs.type.shape), llvm::reverse(rhs.type.shape)))
    if (left != right && left != 1 && right != 1)
      return false;
  return true;
}

FailureOr<Operand> loadBehindBlockPointer(Arguments &args, const ArrayOfBlocks &array) {
  FailureOr<BlockAccess> access = blockAccess(args, array, 3, {1, 2});
  if (failed(access))
    return failure();
  FailureOr<std::string> padding = args.text(4);
  if (failed(padding))
    return failure();
  if (!padding->empty() && *padding != "zero" && *padding != "nan")
    return args.error("no padding '" + *padding + "'", "known are zero and nan");
  DType element = array.base.type.dtype.pointee();
  if (*padding == "nan" && (!element.isFloat() || element.kind == ScalarKind::Float8E4B15))
    return args.error("padding 'nan' is for floating-point numbers, not for " +
                          args.sema.nameOf(element),
                      element.isFloat() ? "no pattern of it is NaN" : "");
  auto cache = cacheModifier(args, 5, kLoadModifiers);
  if (failed(cache))
    return failure();
  auto eviction = evictionPolicy(args, 6);
  if (failed(eviction))
    return failure();
  access->padding = *padding;
  access->cache = *cache;
  access->eviction = *eviction;
  return loadBlock(args, *access);
}

FailureOr<Operand> storeBehindBlockPointer(Arguments &args, const ArrayOfBlocks &array) {
  FailureOr<BlockAccess> access = blockAccess(args, array, 3, {2});
  if (failed(access))
    return failure();
  auto cache = cacheModifier(args, 4, kStoreModifiers);
  if (failed(cache))
    return failure();
  auto eviction = evictionPolicy(args, 5);
  if (failed(eviction))
    return failure();
  access->cache = *cache;
  access->eviction = *eviction;
  return storeBlock(args, 1, *access);
}

FailureOr<Operand> load(Arguments &args) {
  Semantics &sema = args.sema;
  if (auto array = blockPointerIn(args[0]))
    return loadBehindBlockPointer(args, *array);
  FailureOr<Value> ptr = pointer(args);
  if (failed(ptr))
    return failure();
  auto masked = mask(args, 1, *ptr);
  if (failed(masked))
    return failure();
  if (!*masked && !args.isNone(2))
    return args.error("`other` is given without `mask`",
                      "`other` is the value where the mask is false: add a mask");
  if (failed(refuseBlockPointerArguments(args, 3, 4)))
    return failure();
  auto cache = cacheModifier(args, 5, kLoadModifiers);
  if (failed(cache))
    return failure();
  auto eviction = evictionPolicy(args, 6);
  if (failed(eviction))
    return failure();
  FailureOr<bool> isVolatile = args.flag(7);
  if (failed(isVolatile))
    return failure();

  DType stored = storedDType(*ptr);
  std::optional<Value> other;
  if (!args.isNone(2)) {
    FailureOr<Value> value = failure();
    // A literal becomes the element type at once; otherwise an ordinary cast.
    auto *literal = args[2].constant();
    if (literal && !pointsToBool(*ptr) && fitsDType(*literal, stored)) {
      value = sema.splatConstant(*literal, {stored, ptr->type.shape});
    } else {
      value = args.value(2);
      if (failed(value))
        return failure();
      if (pointsToBool(*ptr))
        value = sema.cast(*value, DType::scalar(ScalarKind::Int1));
      if (succeeded(value))
        value = sema.cast(*value, stored);
    }
    if (failed(value))
      return failure();
    if (ptr->type.isScalar() && !value->type.isScalar())
      return args.error("`other` is a tile of " + value->type.shapeName() +
                        ", but the pointer is a scalar");
    other = *value;
  }
  // Pointer, mask and other are broadcast to one shape; the pointer may be repeated too.
  Value where = *ptr;
  for (std::optional<Value> *side : {&*masked, &other}) {
    if (!*side)
      continue;
    if (!doBroadcast(where, **side))
      return args.error("`" + Twine(side == &other ? "other" : "mask") + "` is " +
                            (*side)->type.shapeName() + ", but `pointer` is " +
                            where.type.shapeName(),
                        "extents broadcast only if they are equal or one");
    auto both = sema.broadcast(where, **side, args.operation);
    if (failed(both))
      return failure();
    where = both->first;
    *side = both->second;
  }
  if (*masked) {
    FailureOr<Value> again = sema.broadcastTo(**masked, where.type.shape);
    if (failed(again))
      return failure();
    *masked = *again;
  }
  Type type{stored, where.type.shape};
  // What is fetched anew each time is waited for in loops.
  const bool isFresh = *isVolatile || *cache == tile::CacheModifier::CV;
  auto op = tile::LoadOp::create(sema.builder, sema.location(), sema.irType(type), where.ir,
                                 *masked ? (*masked)->ir : mlir::Value(),
                                 other ? other->ir : mlir::Value(), *cache, *eviction, isFresh);
  Value result{op, type};
  if (!pointsToBool(*ptr))
    return Operand(result);
  FailureOr<Value> truth = sema.isNonZero(result);
  if (failed(truth))
    return failure();
  return Operand(*truth);
}

/// A side that must take the shape of the pointer, not the other way round.
LogicalResult fitsPointer(Arguments &args, StringRef name, const Value &side, const Value &ptr) {
  ArrayRef<int64_t> from = side.type.shape, to = ptr.type.shape;
  bool fits = from.size() <= to.size();
  for (size_t fromEnd = 1; fits && fromEnd <= from.size(); ++fromEnd) {
    int64_t extent = from[from.size() - fromEnd];
    fits = extent == 1 || extent == to[to.size() - fromEnd];
  }
  if (fits)
    return success();
  if (to.empty())
    return args.error("`" + name + "` is a tile of " + side.type.shapeName() +
                          ", but the pointer is a scalar",
                      "add offsets to the pointer, or reduce the value first");
  return args.error("`" + name + "` is " + side.type.shapeName() + ", but `pointer` is " +
                        ptr.type.shapeName(),
                    "the value and the mask broadcast to the shape of the pointer");
}

FailureOr<Operand> store(Arguments &args) {
  Semantics &sema = args.sema;
  if (auto array = blockPointerIn(args[0]))
    return storeBehindBlockPointer(args, *array);
  FailureOr<Value> ptr = pointer(args);
  if (failed(ptr))
    return failure();
  if (ptr->type.dtype.isConst)
    return args.error("the pointer is to constant data: " + args.sema.nameOf(ptr->type),
                      "store through a parameter that is not const");
  auto masked = mask(args, 2, *ptr);
  if (failed(masked))
    return failure();
  if (failed(refuseBlockPointerArguments(args, 3, std::nullopt)))
    return failure();
  auto cache = cacheModifier(args, 4, kStoreModifiers);
  if (failed(cache))
    return failure();
  auto eviction = evictionPolicy(args, 5);
  if (failed(eviction))
    return failure();

  DType stored = storedDType(*ptr);
  FailureOr<Value> value = failure();
  auto *literal = args[1].constant();
  if (literal && !pointsToBool(*ptr) && fitsDType(*literal, stored)) {
    value = sema.splatConstant(*literal, {stored, ptr->type.shape});
  } else {
    value = args.value(1);
    if (failed(value))
      return failure();
    if (value->type.dtype.isPointer && stored.bits() != 64)
      return args.error("`value` is a pointer",
                        "cast it with " + sema.words.cast(DType::scalar(ScalarKind::Int64)) +
                            " to store the address");
    if (pointsToBool(*ptr))
      value = sema.cast(*value, DType::scalar(ScalarKind::Int1));
  }
  if (failed(value))
    return failure();
  if (failed(fitsPointer(args, "value", *value, *ptr)))
    return failure();
  if (*masked && failed(fitsPointer(args, "mask", **masked, *ptr)))
    return failure();
  // Broadcasting before the cast keeps the IR of `store(p, x)` and `store(p, x.to(...))` alike.
  value = sema.broadcastTo(*value, ptr->type.shape);
  if (failed(value))
    return failure();
  if (*masked) {
    FailureOr<Value> whole = sema.broadcastTo(**masked, ptr->type.shape);
    if (failed(whole))
      return failure();
    *masked = *whole;
  }
  value = sema.cast(*value, stored);
  if (failed(value))
    return failure();
  tile::StoreOp::create(sema.builder, sema.location(), ptr->ir, value->ir,
                        *masked ? (*masked)->ir : mlir::Value(), *cache, *eviction);
  return Operand();
}

} // namespace

void addMemoryOps(BuiltinTable &table) {
  table.add("load(pointer, mask=None, other=None, boundary_check=(), padding_option='', "
            "cache_modifier='', eviction_policy='', volatile=False)",
            load);
  table.add("store(pointer, value, mask=None, boundary_check=(), cache_modifier='', "
            "eviction_policy='')",
            store, kMethod);
}

} // namespace sectile::lang
