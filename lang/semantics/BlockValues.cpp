#include "lang/semantics/BlockValues.h"

namespace sectile::lang {
namespace {

/// The items of an instance of `tupleClass`.
const Tuple<Operand> *itemsOf(const Operand &operand, const TupleClassRef &tupleClass) {
  auto *items = operand.items(); // never a constant: the base is a value
  return items && isSameClass(items->tupleClass, tupleClass) ? items : nullptr;
}

llvm::SmallVector<Value, 4> valuesIn(const Operand &tuple) {
  llvm::SmallVector<Value, 4> values;
  for (const Operand &item : *tuple.items())
    values.push_back(*item.value());
  return values;
}

Operand tupleOf(llvm::ArrayRef<Value> values) {
  return Operand::tuple(std::vector<Operand>(values.begin(), values.end()));
}

Operand tupleOf(llvm::ArrayRef<int64_t> numbers) {
  std::vector<Constant> items;
  for (int64_t number : numbers)
    items.push_back(Constant::integer(number));
  return Constant::tuple(std::move(items));
}

ArrayOfBlocks arrayIn(const Tuple<Operand> &items) {
  ArrayOfBlocks array{*items[0].value(), valuesIn(items[1]), valuesIn(items[2]), {}, {}, {}};
  size_t blockShape = items.tupleClass->constantsFrom;
  if (blockShape == 4)
    array.offsets = valuesIn(items[3]);
  for (const Constant &extent : **items[blockShape].constant()->as<ConstantTuple>())
    array.blockShape.push_back(static_cast<int64_t>(*extent.as<Int>()));
  array.last = *items[blockShape + 1].constant();
  return array;
}

} // namespace

std::optional<ArrayOfBlocks> blockPointerIn(const Operand &operand) {
  auto *items = itemsOf(operand, blockPointerClass());
  return items ? std::optional(arrayIn(*items)) : std::nullopt;
}

std::optional<ArrayOfBlocks> tensorDescriptorIn(const Operand &operand) {
  auto *items = itemsOf(operand, tensorDescriptorClass());
  return items ? std::optional(arrayIn(*items)) : std::nullopt;
}

Operand makeBlockPointer(const ArrayOfBlocks &array) {
  return Operand::tuple({array.base, tupleOf(array.shape), tupleOf(array.strides),
                         tupleOf(array.offsets), tupleOf(array.blockShape), array.last},
                        blockPointerClass());
}

Operand makeTensorDescriptor(const ArrayOfBlocks &array) {
  return Operand::tuple({array.base, tupleOf(array.shape), tupleOf(array.strides),
                         tupleOf(array.blockShape), array.last},
                        tensorDescriptorClass());
}

Operand descriptorOfArguments(Semantics &sema, std::vector<Operand> items) {
  auto *extents = items[3].constant() ? items[3].constant()->as<ConstantTuple>() : nullptr;
  auto isExtent = [](const Constant &extent) { return extent.is<Int>(); };
  auto isArray = [&] {
    return items[0].value() && items[0].value()->type.dtype.isPointer && extents &&
           llvm::all_of(**extents, isExtent) && items[4].constant() &&
           items[4].constant()->is<std::string>();
  };
  if (!isArray())
    return lang::makeTuple(std::move(items));
  auto valuesOf = [&](const Operand &tuple, DType dtype) {
    std::vector<Operand> given;
    auto *constant = tuple.constant() ? tuple.constant()->as<ConstantTuple>() : nullptr;
    if (constant)
      given.assign((*constant)->begin(), (*constant)->end());
    else if (tuple.items())
      given = *tuple.items();
    llvm::SmallVector<Value, 4> values;
    for (const Operand &item : given) {
      mlir::FailureOr<Value> value = sema.toValue(item);
      if (mlir::failed(value) || !value->type.dtype.isInt())
        continue; // the lengths differ then
      bool isWide = value->type.dtype.bits() > dtype.bits();
      value = sema.cast(*value, isWide ? value->type.dtype : dtype);
      if (mlir::succeeded(value))
        values.push_back(*value);
    }
    return values;
  };
  ArrayOfBlocks array{*items[0].value(), {}, {}, {}, {}, *items[4].constant()};
  array.shape = valuesOf(items[1], DType::scalar(ScalarKind::Int32));
  array.strides = valuesOf(items[2], DType::scalar(ScalarKind::Int64));
  for (const Constant &extent : **extents)
    array.blockShape.push_back(static_cast<int64_t>(*extent.as<Int>()));
  size_t rank = array.blockShape.size();
  if (array.shape.size() != rank || array.strides.size() != rank)
    return lang::makeTuple(std::move(items));
  return makeTensorDescriptor(array);
}

std::optional<Operand> attributeOfBlocks(const Operand &operand, llvm::StringRef name) {
  // Of a block pointer `type` is what Triton's kernels ask for the type of its elements.
  if (auto array = blockPointerIn(operand); array && (name == "dtype" || name == "type"))
    return Operand(Constant{array->base.type.dtype});
  if (name != "dtype")
    return std::nullopt;
  if (auto array = tensorDescriptorIn(operand))
    return Operand(Constant{array->base.type.dtype.pointee()});
  return std::nullopt;
}

} // namespace sectile::lang
