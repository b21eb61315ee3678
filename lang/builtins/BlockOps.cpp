// Block pointers and tensor descriptors: blocks of an array of memory.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/LoadedAddress.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sectile::lang {
namespace {

const DType kInt32 = DType::scalar(ScalarKind::Int32), kInt64 = DType::scalar(ScalarKind::Int64);

FailureOr<Value> base(Arguments &args) {
  FailureOr<Value> pointer = args.value(0);
  if (failed(pointer))
    return failure();
  if (!pointer->type.dtype.isPointer)
    return notAPointer(args, *pointer);
  if (!pointer->type.isScalar())
    return args.error("`base` is a tile of pointers, " + args.sema.nameOf(pointer->type),
                      "give the pointer to the first element of the array");
  return pointer;
}

/// The integers of a tuple, one for each of `rank` dimensions unless that is 0; as `dtype`, or as
/// they are where that is wider.
FailureOr<SmallVector<Value, 4>> integers(Arguments &args, const Operand &given, StringRef name,
                                          size_t rank, DType dtype) {
  Semantics &sema = args.sema;
  std::vector<Operand> items;
  if (auto *tuple = given.items())
    items = *tuple;
  else if (auto *constant = given.constant(); constant && constant->is<ConstantTuple>())
    items.assign((*constant->as<ConstantTuple>())->begin(),
                 (*constant->as<ConstantTuple>())->end());
  else
    return args.error("`" + name + "` should be a tuple of integers, one for each dimension, not " +
                      given.kindName());
  if (rank && items.size() != rank)
    return args.error("`" + name + "` has " + Twine(items.size()) + " entries, the array has " +
                          Twine(rank) + " dimensions",
                      "shape, strides, offsets and block_shape have one entry for each dimension");
  SmallVector<Value, 4> values;
  for (const Operand &item : items) {
    FailureOr<Value> value = sema.toValue(item, (args.operation + ": `" + name + "`").str());
    if (failed(value))
      return failure();
    if (!value->type.dtype.isInt() || !value->type.isScalar())
      return args.error("`" + name + "` should hold integers, not " + sema.nameOf(value->type));
    unsigned bits = value->type.dtype.bits();
    bool isWide = bits == 64 || (bits == 32 && value->type.dtype.isUnsignedInt());
    value = sema.cast(*value, isWide ? kInt64 : dtype);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return values;
}

FailureOr<SmallVector<int64_t, 4>> blockShape(Arguments &args, size_t index, size_t rank) {
  FailureOr<SmallVector<int64_t, 4>> extents = args.integers(index);
  if (failed(extents) || failed(args.sema.checkShape(*extents, args.operation)))
    return failure();
  if (extents->size() != rank)
    return args.error("`block_shape` has " + Twine(extents->size()) + " entries, the array has " +
                          Twine(rank) + " dimensions",
                      "shape, strides, offsets and block_shape have one entry for each dimension");
  return extents;
}

FailureOr<Operand> makeBlockPtr(Arguments &args) {
  ArrayOfBlocks array;
  FailureOr<Value> pointer = base(args);
  if (failed(pointer))
    return failure();
  array.base = *pointer;
  auto shape = integers(args, args[1], "shape", 0, kInt64);
  if (failed(shape))
    return failure();
  auto strides = integers(args, args[2], "strides", shape->size(), kInt64);
  if (failed(strides))
    return failure();
  auto offsets = integers(args, args[3], "offsets", shape->size(), kInt64);
  if (failed(offsets))
    return failure();
  auto extents = blockShape(args, 4, shape->size());
  if (failed(extents))
    return failure();
  FailureOr<SmallVector<int64_t, 4>> order = args.integers(5);
  if (failed(order))
    return failure();
  SmallVector<int64_t, 4> sorted(*order);
  llvm::sort(sorted);
  for (size_t dim = 0; dim < std::max(sorted.size(), shape->size()); ++dim)
    if (sorted.size() != shape->size() || sorted[dim] != static_cast<int64_t>(dim))
      return args.error("`order` should name each of the " + Twine(shape->size()) +
                            " dimensions once",
                        "from the fastest varying on: (1, 0) for a matrix in row-major order");
  array.shape = *shape;
  array.strides = *strides;
  array.offsets = *offsets;
  array.blockShape = *extents;
  array.last = *args.sema.asConstant(args[5]);
  return makeBlockPointer(array);
}

FailureOr<Operand> advance(Arguments &args) {
  Semantics &sema = args.sema;
  auto array = blockPointerIn(args[0]);
  if (!array)
    return args.error("`base` should be a block pointer, not " + args[0].kindName(),
                      "add the offsets to a tile of pointers: pointers += BLOCK");
  auto steps = integers(args, args[1], "offsets", array->offsets.size(), kInt64);
  if (failed(steps))
    return failure();
  for (auto [offset, step] : llvm::zip(array->offsets, *steps))
    offset.ir = arith::AddIOp::create(sema.builder, sema.location(), offset.ir, step.ir);
  return makeBlockPointer(*array);
}

FailureOr<Operand> blockAt(Arguments &args) {
  auto array = blockPointerIn(args[0]);
  if (!array)
    return args.error("`base` should be a block pointer, not " + args[0].kindName());
  auto offsets = integers(args, args[1], "offsets", array->offsets.size(), kInt64);
  if (failed(offsets))
    return failure();
  array->offsets = *offsets;
  return makeBlockPointer(*array);
}

//-- descriptors -----------------------------------------------------------------------------------

/// What divides the address of an array and the bytes from one row to the next.
constexpr int64_t kDescriptorBytes = 16;

mlir::Value multipleOf(Semantics &sema, mlir::Value number, int64_t divisor) {
  if (divisor <= 1)
    return number;
  auto divisors = DenseI64ArrayAttr::get(sema.builder.getContext(), {divisor});
  return tile::HintOp::create(sema.builder, sema.location(), number.getType(), number, divisors,
                              DenseI64ArrayAttr(), DenseI64ArrayAttr(), /*described=*/true);
}

FailureOr<Operand> makeDescriptor(Arguments &args) {
  Semantics &sema = args.sema;
  ArrayOfBlocks array;
  FailureOr<Value> pointer = base(args);
  if (failed(pointer))
    return failure();
  array.base = *pointer;
  DType element = pointer->type.dtype.pointee();
  auto shape = integers(args, args[1], "shape", 0, kInt32);
  if (failed(shape))
    return failure();
  size_t rank = shape->size();
  if (rank < 1 || rank > 5)
    return args.error("a descriptor has 1 to 5 dimensions, not " + Twine(rank));
  auto strides = integers(args, args[2], "strides", rank, kInt64);
  if (failed(strides))
    return failure();
  auto extents = blockShape(args, 3, rank);
  if (failed(extents))
    return failure();
  if (extents->back() * int64_t(element.bytes()) < 16)
    return args.error(
        "a row of the block has " + Twine(extents->back() * int64_t(element.bytes())) +
            " bytes, and needs at least 16",
        "make the last extent of `block_shape` at least " + std::to_string(16 / element.bytes()));
  auto last = sema.asConstant(strides->back());
  if (!last || !last->equals(Constant::integer(1)))
    return args.error("the last stride should be 1, known at compile time, not " +
                          (last ? last->repr() : sema.nameOf(strides->back().type)),
                      "describe the array with the contiguous dimension last");
  FailureOr<std::string> padding = args.text(4);
  if (failed(padding))
    return failure();
  if (*padding != "zero" && *padding != "nan")
    return args.error("no padding '" + *padding + "'", "known are zero and nan");
  if (*padding == "nan" && (!element.isFloat() || element.kind == ScalarKind::Float8E4B15))
    return args.error("padding 'nan' is for floating-point numbers, not for " +
                          sema.nameOf(element),
                      element.isFloat() ? "no pattern of it is NaN" : "");
  array.shape = *shape;
  array.strides = *strides;
  array.blockShape = *extents;
  array.last = {*padding};
  if (sema.cudaCapability > 0 && tile::isLoadedAddress(array.base.ir)) {
    array.base.ir = multipleOf(sema, array.base.ir, kDescriptorBytes);
    for (Value &stride : llvm::MutableArrayRef(array.strides).drop_back())
      stride.ir = multipleOf(sema, stride.ir, kDescriptorBytes / element.bytes());
  }
  return makeTensorDescriptor(array);
}

FailureOr<ArrayOfBlocks> descriptor(Arguments &args) {
  auto array = tensorDescriptorIn(args[0]);
  if (!array)
    return args.error("`desc` should be a tensor descriptor, not " + args[0].kindName(),
                      "make one with make_tensor_descriptor");
  return *array;
}

/// The operands that all operations on blocks have, in 64 bits.
struct BlockOperands {
  SmallVector<mlir::Value, 4> offsets, shape, strides;
  SmallVector<bool, 4> checked;
};

FailureOr<BlockOperands> operandsOf(Arguments &args, const ArrayOfBlocks &array,
                                    ArrayRef<Value> offsets) {
  BlockOperands operands;
  operands.checked.assign(array.shape.size(), true);
  auto widen = [&](ArrayRef<Value> from, SmallVectorImpl<mlir::Value> &to) -> LogicalResult {
    for (const Value &value : from) {
      FailureOr<Value> wide = args.sema.cast(value, kInt64);
      if (failed(wide))
        return failure();
      to.push_back(wide->ir);
    }
    return success();
  };
  if (failed(widen(offsets, operands.offsets)) || failed(widen(array.shape, operands.shape)) ||
      failed(widen(array.strides, operands.strides)))
    return failure();
  return operands;
}

/// int1 lives in memory as a byte.
DType storedDType(const ArrayOfBlocks &array) {
  DType element = array.base.type.dtype.pointee();
  return element.isBool() ? DType::scalar(ScalarKind::UInt8) : element;
}

FailureOr<Operand> asLoaded(Arguments &args, const ArrayOfBlocks &array, mlir::Value loaded,
                            Type type) {
  Value value{loaded, type};
  if (!array.base.type.dtype.pointee().isBool())
    return Operand(value);
  FailureOr<Value> truth = args.sema.isNonZero(value);
  if (failed(truth))
    return failure();
  return Operand(*truth);
}

/// What is stored to, or combined with, a block of extents `shape`.
FailureOr<Value> stored(Arguments &args, size_t index, const ArrayOfBlocks &array,
                        ArrayRef<int64_t> shape) {
  Semantics &sema = args.sema;
  if (array.base.type.dtype.isConst)
    return args.error("the array holds constant data: " + sema.nameOf(array.base.type),
                      "store through a parameter that is not const");
  FailureOr<Value> value = args.value(index);
  if (failed(value))
    return failure();
  if (value->type.dtype.isPointer)
    return args.error("`value` is a pointer",
                      "cast it with " + sema.words.cast(kInt64) + " to store the address");
  bool fits = value->type.isScalar() || value->type.shape.size() == shape.size();
  for (size_t dim = 0; fits && dim < value->type.shape.size(); ++dim)
    fits = value->type.shape[dim] == shape[dim] || value->type.shape[dim] == 1;
  if (!fits)
    return args.error("`value` is " + value->type.shapeName() + ", but the block is " +
                          shapeText(shape),
                      "the value has the shape of the block, or is a scalar");
  if (array.base.type.dtype.pointee().isBool())
    value = sema.cast(*value, DType::scalar(ScalarKind::Int1));
  if (succeeded(value))
    value = sema.broadcastTo(*value, shape);
  if (succeeded(value))
    value = sema.cast(*value, storedDType(array));
  return value;
}

tile::Padding paddingOf(StringRef text) {
  return text == "nan" ? tile::Padding::NaN : tile::Padding::Zero;
}

} // namespace

FailureOr<Operand> loadBlock(Arguments &args, const BlockAccess &access) {
  Semantics &sema = args.sema;
  const ArrayOfBlocks &array = access.array;
  auto operands = operandsOf(args, array, access.offsets);
  if (failed(operands))
    return failure();
  if (access.checked)
    operands->checked = *access.checked;
  Type type{storedDType(array), array.blockShape};
  auto op = tile::BlockLoadOp::create(sema.builder, sema.location(), sema.irType(type),
                                      array.base.ir, operands->offsets, operands->shape,
                                      operands->strides, operands->checked,
                                      paddingOf(access.padding), access.cache, access.eviction);
  return asLoaded(args, array, op, type);
}

FailureOr<Operand> storeBlock(Arguments &args, size_t value, const BlockAccess &access) {
  Semantics &sema = args.sema;
  const ArrayOfBlocks &array = access.array;
  FailureOr<Value> given = stored(args, value, array, array.blockShape);
  if (failed(given))
    return failure();
  auto operands = operandsOf(args, array, access.offsets);
  if (failed(operands))
    return failure();
  if (access.checked)
    operands->checked = *access.checked;
  tile::BlockStoreOp::create(sema.builder, sema.location(), given->ir, array.base.ir,
                             operands->offsets, operands->shape, operands->strides,
                             operands->checked, access.cache, access.eviction);
  return Operand();
}

namespace {

FailureOr<BlockAccess> descriptorAccess(Arguments &args, size_t offsets) {
  FailureOr<ArrayOfBlocks> array = descriptor(args);
  if (failed(array))
    return failure();
  auto given = integers(args, args[offsets], "offsets", array->shape.size(), kInt32);
  if (failed(given))
    return failure();
  BlockAccess access{*array, *given};
  access.padding = *array->last.as<std::string>();
  return access;
}

FailureOr<Operand> loadDescriptor(Arguments &args) {
  FailureOr<BlockAccess> access = descriptorAccess(args, 1);
  return failed(access) ? FailureOr<Operand>(failure()) : loadBlock(args, *access);
}

FailureOr<Operand> storeDescriptor(Arguments &args) {
  FailureOr<BlockAccess> access = descriptorAccess(args, 1);
  return failed(access) ? FailureOr<Operand>(failure()) : storeBlock(args, 2, *access);
}

FailureOr<Operand> updateDescriptor(Arguments &args, AtomicUpdate update) {
  Semantics &sema = args.sema;
  FailureOr<BlockAccess> access = descriptorAccess(args, 1);
  if (failed(access))
    return failure();
  const ArrayOfBlocks &array = access->array;
  auto kind = atomicKind(args, update, array.base.type.dtype.pointee());
  if (failed(kind))
    return failure();
  FailureOr<Value> value = stored(args, 2, array, array.blockShape);
  if (failed(value))
    return failure();
  auto operands = operandsOf(args, array, access->offsets);
  if (failed(operands))
    return failure();
  tile::BlockReduceOp::create(sema.builder, sema.location(), *kind, value->ir, array.base.ir,
                              operands->offsets, operands->shape, operands->strides,
                              operands->checked);
  return Operand();
}

/// The arguments of gather and scatter: a descriptor of rows, their numbers, the first column.
struct RowAccess {
  ArrayOfBlocks array;
  Value rows;
  BlockOperands operands;
  SmallVector<int64_t, 4> shape;
};

FailureOr<RowAccess> rowAccess(Arguments &args, size_t rows, size_t column) {
  FailureOr<ArrayOfBlocks> array = descriptor(args);
  if (failed(array))
    return failure();
  if (array->shape.size() != 2 || array->blockShape[0] != 1)
    return args.error("the descriptor's blocks are " + shapeText(array->blockShape) +
                          ", and should be single rows of a matrix",
                      "make it with block_shape=[1, COLUMNS]");
  FailureOr<Value> numbers = args.tile(rows);
  if (failed(numbers))
    return failure();
  if (!numbers->type.dtype.isInt() || numbers->type.dtype.bits() > 32 ||
      numbers->type.shape.size() != 1)
    return args.error("`x_offsets` should be a row of 32-bit integers, not " +
                      args.sema.nameOf(numbers->type));
  numbers = args.sema.cast(*numbers, kInt32);
  if (failed(numbers))
    return failure();
  FailureOr<Value> first = args.value(column);
  if (failed(first))
    return failure();
  if (!first->type.dtype.isInt() || !first->type.isScalar())
    return args.error("`y_offset` should be an integer, not " + args.sema.nameOf(first->type));
  auto operands = operandsOf(args, *array, *first);
  if (failed(operands))
    return failure();
  SmallVector<int64_t, 4> shape{numbers->type.shape[0], array->blockShape[1]};
  return RowAccess{*array, *numbers, *operands, shape};
}

FailureOr<Operand> gatherRows(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<RowAccess> access = rowAccess(args, 1, 2);
  if (failed(access))
    return failure();
  const BlockOperands &operands = access->operands;
  Type type{storedDType(access->array), access->shape};
  auto op = tile::BlockGatherOp::create(sema.builder, sema.location(), sema.irType(type),
                                        access->rows.ir, access->array.base.ir, operands.offsets,
                                        operands.shape, operands.strides, operands.checked);
  return asLoaded(args, access->array, op, type);
}

FailureOr<Operand> scatterRows(Arguments &args) {
  Semantics &sema = args.sema;
  FailureOr<RowAccess> access = rowAccess(args, 2, 3);
  if (failed(access))
    return failure();
  FailureOr<Value> value = stored(args, 1, access->array, access->shape);
  if (failed(value))
    return failure();
  const BlockOperands &operands = access->operands;
  tile::BlockScatterOp::create(sema.builder, sema.location(), value->ir, access->rows.ir,
                               access->array.base.ir, operands.offsets, operands.shape,
                               operands.strides, operands.checked);
  return Operand();
}

} // namespace

void addBlockOps(BuiltinTable &table) {
  table.add("make_block_ptr(base, shape, strides, offsets, block_shape, order)", makeBlockPtr);
  table.add("advance(base, offsets)", advance);
  table.add("block_pointer.advance(base, offsets)", advance);
  table.add("block_pointer.at(base, offsets)", blockAt);
  table.add("make_tensor_descriptor(base, shape, strides, block_shape, padding_option='zero')",
            makeDescriptor);
  // As functions, and as methods of descriptors ("tensor_descriptor.load").
  table.add("load_tensor_descriptor(desc, offsets)", loadDescriptor);
  table.add("store_tensor_descriptor(desc, offsets, value)", storeDescriptor);
  table.add("tensor_descriptor.load(desc, offsets)", loadDescriptor);
  table.add("tensor_descriptor.store(desc, offsets, value)", storeDescriptor);
  table.add("tensor_descriptor.gather(desc, x_offsets, y_offset)", gatherRows);
  table.add("tensor_descriptor.scatter(desc, value, x_offsets, y_offset)", scatterRows);
  for (auto [name, update] : {std::pair{"add", AtomicUpdate::Add},
                              {"max", AtomicUpdate::Maximum},
                              {"min", AtomicUpdate::Minimum},
                              {"and", AtomicUpdate::And},
                              {"or", AtomicUpdate::Or},
                              {"xor", AtomicUpdate::Xor}})
    table.add(std::string("tensor_descriptor.atomic_") + name + "(desc, offsets, value)",
              [update = update](Arguments &args) { return updateDescriptor(args, update); });
}

} // namespace sectile::lang
