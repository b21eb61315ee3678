#include "lang/semantics/BlockValues.h"

namespace sectile::lang {
namespace {

TupleClassRef classOf(std::string name, std::vector<std::string> fields) {
  auto made = std::make_shared<TupleClass>();
  made->name = std::move(name);
  made->fields = std::move(fields);
  made->constantsFrom = *made->indexOf("block_shape");
  return made;
}

/// The items of an instance of `tupleClass`.
const Tuple<Operand> *itemsOf(const Operand &operand, const TupleClassRef &tupleClass) {
  auto *items = operand.items(); // never a constant: the base is a value
  return items && items->tupleClass == tupleClass ? items : nullptr;
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

const TupleClassRef &blockPointerClass() {
  static const TupleClassRef made =
      classOf("block_pointer", {"base", "shape", "strides", "offsets", "block_shape", "order"});
  return made;
}

const TupleClassRef &tensorDescriptorClass() {
  static const TupleClassRef made =
      classOf("tensor_descriptor", {"base", "shape", "strides", "block_shape", "padding"});
  return made;
}

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

std::optional<Operand> attributeOfBlocks(const Operand &operand, llvm::StringRef name) {
  if (name != "dtype")
    return std::nullopt;
  if (auto array = blockPointerIn(operand))
    return Operand(Constant{array->base.type.dtype});
  if (auto array = tensorDescriptorIn(operand))
    return Operand(Constant{array->base.type.dtype.pointee()});
  return std::nullopt;
}

} // namespace sectile::lang
