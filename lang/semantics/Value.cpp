#include "lang/semantics/Value.h"

namespace sectile::lang {

int64_t Type::elementCount() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string Type::shapeName() const {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    text += (dim ? "x" : "") + std::to_string(shape[dim]);
  return text;
}

std::string Type::name() const {
  return shape.empty() ? dtype.name() : dtype.name() + "[" + shapeName() + "]";
}

std::string Operand::kindName() const {
  if (isNone())
    return "None";
  if (auto *held = constant())
    return held->kindName();
  if (auto *held = value())
    return held->type.name();
  if (auto *tuple = items())
    return tuple->tupleClass ? tuple->tupleClass->name : "tuple";
  return "function";
}

Operand makeTuple(std::vector<Operand> items, TupleClassRef tupleClass) {
  std::vector<Constant> constants;
  for (const Operand &item : items) {
    if (!item.constant())
      return Operand::tuple(std::move(items), std::move(tupleClass));
    constants.push_back(*item.constant());
  }
  return Constant::tuple(std::move(constants), std::move(tupleClass));
}

} // namespace sectile::lang
