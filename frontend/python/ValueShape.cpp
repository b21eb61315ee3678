#include "frontend/python/ValueShape.h"

#include "lang/tile/TileDialect.h"

using namespace sectile::lang;

namespace sectile::python {

Operand ValueShape::rebuild(mlir::ValueRange values, size_t &next) const {
  switch (kind) {
  case Kind::Slot:
    return Value{values[next++], type};
  case Kind::Constant:
    return constant;
  case Kind::Tuple:
    break;
  }
  std::vector<Operand> operands;
  for (const ValueShape &item : items)
    operands.push_back(item.rebuild(values, next));
  return makeTuple(std::move(operands), tupleClass);
}

std::string ValueShape::describe() const {
  if (kind == Kind::Slot)
    return type.name();
  if (kind == Kind::Constant)
    return describeOperand(constant);
  std::vector<std::string> texts;
  for (const ValueShape &item : items)
    texts.push_back(item.describe());
  return tupleText(texts, tupleClass);
}

std::string describeOperand(const Operand &operand) {
  if (auto *constant = operand.constant())
    return constant->repr();
  if (auto *value = operand.value())
    return value->type.name();
  if (!operand.items())
    return operand.kindName();
  std::vector<std::string> texts;
  for (const Operand &item : *operand.items())
    texts.push_back(describeOperand(item));
  return tupleText(texts, operand.items()->tupleClass);
}

std::optional<std::vector<Operand>> tupleItems(const Operand &operand) {
  if (auto *items = operand.items())
    return *items;
  auto *constant = operand.constant();
  auto *tuple = constant ? constant->as<ConstantTuple>() : nullptr;
  if (!tuple)
    return std::nullopt;
  return std::vector<Operand>((*tuple)->begin(), (*tuple)->end());
}

TupleClassRef tupleClassOf(const Operand &operand) {
  if (auto *items = operand.items())
    return items->tupleClass;
  auto *constant = operand.constant();
  auto *tuple = constant ? constant->as<ConstantTuple>() : nullptr;
  return tuple ? (*tuple)->tupleClass : nullptr;
}

bool isNumberConstant(const Operand &operand) {
  auto *constant = operand.constant();
  return constant && (constant->is<bool>() || constant->is<Int>() || constant->is<double>());
}

bool isSameOperand(const Operand &a, const Operand &b) {
  if (a.value() && b.value())
    return a.value()->ir == b.value()->ir && a.value()->type == b.value()->type;
  auto itemsOfA = tupleItems(a), itemsOfB = tupleItems(b);
  if (!itemsOfA && !itemsOfB && a.constant() && b.constant())
    return a.constant()->value.index() == b.constant()->value.index() &&
           a.constant()->equals(*b.constant());
  if (!itemsOfA || !itemsOfB || itemsOfA->size() != itemsOfB->size() ||
      !isSameClass(tupleClassOf(a), tupleClassOf(b)))
    return false;
  for (size_t i = 0; i < itemsOfA->size(); ++i)
    if (!isSameOperand((*itemsOfA)[i], (*itemsOfB)[i]))
      return false;
  return true;
}

static ValueShape constantShape(const Operand &operand) {
  ValueShape shape;
  shape.constant = operand;
  return shape;
}

static ValueShape slot(const Type &type) {
  ValueShape shape;
  shape.kind = ValueShape::Kind::Slot;
  shape.type = type;
  return shape;
}

/// Whether a field of a class is known at compile time, whatever loops and branches carry.
static bool staysConstant(const TupleClassRef &tupleClass, size_t field) {
  return tupleClass && field >= tupleClass->constantsFrom;
}

static ValueShape tupleShape(TupleClassRef tupleClass) {
  ValueShape shape;
  shape.kind = ValueShape::Kind::Tuple;
  shape.tupleClass = std::move(tupleClass);
  return shape;
}

mlir::FailureOr<ValueShape> shapeForLoop(Semantics &sema, const Operand &operand,
                                         llvm::SmallVectorImpl<mlir::Value> &values) {
  if (operand.value() || isNumberConstant(operand)) {
    mlir::FailureOr<Value> value = sema.toValue(operand);
    if (mlir::failed(value))
      return mlir::failure();
    values.push_back(value->ir);
    return slot(value->type);
  }
  auto items = tupleItems(operand);
  if (!items)
    return constantShape(operand);
  ValueShape shape = tupleShape(tupleClassOf(operand));
  for (size_t i = 0; i < items->size(); ++i) {
    if (staysConstant(shape.tupleClass, i)) {
      shape.items.push_back(constantShape((*items)[i]));
      continue;
    }
    auto itemShape = shapeForLoop(sema, (*items)[i], values);
    if (mlir::failed(itemShape))
      return mlir::failure();
    shape.items.push_back(std::move(*itemShape));
  }
  return shape;
}

bool flattenAs(Semantics &sema, const ValueShape &shape, const Operand &operand,
               llvm::SmallVectorImpl<mlir::Value> &values) {
  if (shape.kind == ValueShape::Kind::Constant)
    return isSameOperand(shape.constant, operand);
  if (shape.kind == ValueShape::Kind::Tuple) {
    auto items = tupleItems(operand);
    if (!items || items->size() != shape.items.size() ||
        !isSameClass(tupleClassOf(operand), shape.tupleClass))
      return false;
    for (size_t i = 0; i < items->size(); ++i)
      if (!flattenAs(sema, shape.items[i], (*items)[i], values))
        return false;
    return true;
  }
  if (!operand.value() && !isNumberConstant(operand))
    return false;
  mlir::FailureOr<Value> value = sema.toValue(operand);
  if (mlir::failed(value) || value->type != shape.type)
    return false;
  values.push_back(value->ir);
  return true;
}

std::optional<ValueShape> mergeOperands(Semantics &sema, const Operand &a, const Operand &b,
                                        BranchEnd &endOfA, BranchEnd &endOfB) {
  if (isSameOperand(a, b))
    return constantShape(a);
  auto itemsOfA = tupleItems(a), itemsOfB = tupleItems(b);
  if (itemsOfA && itemsOfB) {
    if (itemsOfA->size() != itemsOfB->size() || !isSameClass(tupleClassOf(a), tupleClassOf(b)))
      return std::nullopt;
    ValueShape shape = tupleShape(tupleClassOf(a));
    for (size_t i = 0; i < itemsOfA->size(); ++i) {
      if (staysConstant(shape.tupleClass, i) && !isSameOperand((*itemsOfA)[i], (*itemsOfB)[i]))
        return std::nullopt;
      auto item = mergeOperands(sema, (*itemsOfA)[i], (*itemsOfB)[i], endOfA, endOfB);
      if (!item)
        return std::nullopt;
      shape.items.push_back(std::move(*item));
    }
    return shape;
  }
  for (const Operand *operand : {&a, &b})
    if (!operand->value() && !isNumberConstant(*operand))
      return std::nullopt;
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  sema.builder.setInsertionPointToEnd(endOfA.block);
  mlir::FailureOr<Value> valueOfA = sema.toValue(a);
  sema.builder.setInsertionPointToEnd(endOfB.block);
  mlir::FailureOr<Value> valueOfB = sema.toValue(b);
  if (mlir::failed(valueOfA) || mlir::failed(valueOfB) || valueOfA->type != valueOfB->type)
    return std::nullopt;
  endOfA.values.push_back(valueOfA->ir);
  endOfB.values.push_back(valueOfB->ir);
  return slot(valueOfA->type);
}

mlir::Value zeroOf(Semantics &sema, mlir::Type type) {
  mlir::OpBuilder &builder = sema.builder;
  mlir::Location loc = sema.location();
  auto pointer = mlir::dyn_cast<tile::PtrType>(tile::elementTypeOf(type));
  mlir::Type number = pointer ? tile::withElementType(type, builder.getI64Type()) : type;
  mlir::Value zero = mlir::arith::ConstantOp::create(
      builder, loc, mlir::cast<mlir::TypedAttr>(builder.getZeroAttr(number)));
  return pointer ? mlir::Value(tile::IntToPtrOp::create(builder, loc, type, zero)) : zero;
}

ValueShape shapeOf(const Operand &operand, llvm::SmallVectorImpl<mlir::Value> &values) {
  if (auto *value = operand.value()) {
    values.push_back(value->ir);
    return slot(value->type);
  }
  auto items = tupleItems(operand);
  if (!items || operand.constant())
    return constantShape(operand);
  ValueShape shape = tupleShape(tupleClassOf(operand));
  for (const Operand &item : *items)
    shape.items.push_back(shapeOf(item, values));
  return shape;
}

ValueShape mergeWithNothing(Semantics &sema, const Operand &operand, BranchEnd &end,
                            BranchEnd &other) {
  size_t first = end.values.size();
  ValueShape shape = shapeOf(operand, end.values);
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  sema.builder.setInsertionPointToEnd(other.block);
  for (mlir::Value value : llvm::ArrayRef(end.values).drop_front(first))
    other.values.push_back(zeroOf(sema, value.getType()));
  return shape;
}

} // namespace sectile::python
