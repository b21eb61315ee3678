#include "lang/plain/LanguageClasses.h"

namespace sectile::lang {

static TupleClassRef classOf(std::string name, std::vector<std::string> fields) {
  auto made = std::make_shared<TupleClass>();
  made->name = std::move(name);
  made->fields = std::move(fields);
  made->constantsFrom = *made->indexOf("block_shape");
  return made;
}

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

} // namespace sectile::lang
