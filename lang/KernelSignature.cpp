#include "lang/KernelSignature.h"

namespace sectile::lang {

std::string itemName(const std::string &tuple, const TupleClassRef &tupleClass, size_t index) {
  if (tupleClass && index < tupleClass->fields.size())
    return tuple + "." + tupleClass->fields[index];
  return tuple + "[" + std::to_string(index) + "]";
}

} // namespace sectile::lang
