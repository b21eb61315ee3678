#include "lang/plain/Vocabulary.h"

namespace sectile::lang {

std::string Vocabulary::operation(std::string_view name) const {
  return (language == Language::Python ? "tl." : "") + std::string(name);
}

std::string Vocabulary::dtype(DType dtype) const {
  return language == Language::Python ? "tl." + dtype.longName() : dtype.cppName();
}

std::string Vocabulary::found(DType dtype) const {
  if (language == Language::Python)
    return dtype.name();
  std::string element = dtype.cppName();
  return dtype.isPointer ? (dtype.isConst ? "Ptr<const " : "Ptr<") + element + ">" : element;
}

std::string Vocabulary::cast(DType to) const {
  return language == Language::Python ? ".to(" + dtype(to) + ")" : cast(to, "...");
}

std::string Vocabulary::cast(DType to, std::string_view operand) const {
  return language == Language::Python ? std::string(operand) + cast(to)
                                      : "to<" + dtype(to) + ">(" + std::string(operand) + ")";
}

std::string Vocabulary::bitcast() const {
  return language == Language::Python ? "with bitcast=True" : "with bitcast<T>(x)";
}

std::string Vocabulary::zeros(const std::vector<int64_t> &shape, DType dtype) const {
  std::string extents;
  for (int64_t extent : shape)
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return language == Language::Python ? "tl.zeros((" + extents + "), " + this->dtype(dtype) + ")"
                                      : "zeros<" + this->dtype(dtype) + ">({" + extents + "})";
}

std::string Vocabulary::asColumn(std::string_view vector) const {
  return std::string(vector) + (language == Language::Python ? "[:, None]" : "[{all, none}]");
}

std::string Vocabulary::asRow(std::string_view vector) const {
  return std::string(vector) + (language == Language::Python ? "[None, :]" : "[{none, all}]");
}

std::string Vocabulary::wholeDimension() const {
  return language == Language::Python ? "':'" : "all";
}

std::string Vocabulary::newDimension() const {
  return language == Language::Python ? "None" : "none";
}

std::string Vocabulary::constantParameter(std::string_view name) const {
  return language == Language::Python ? std::string(name) + ": tl.constexpr"
                                      : "Const<int> " + std::string(name);
}

std::string Vocabulary::power() const {
  return language == Language::Python
             ? "libdevice.pow(x, y) (from sectile.language.extra import libdevice)"
             : "pow(x, y)";
}

std::string Vocabulary::arrayOf(std::string_view list, bool areIntegers) const {
  if (language != Language::Python)
    return "";
  return "np.array(" + std::string(list) + ", np." + (areIntegers ? "int32" : "float32") + ")";
}

} // namespace sectile::lang
