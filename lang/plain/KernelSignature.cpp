#include "lang/plain/KernelSignature.h"

#include "lang/plain/DescriptorKind.h"

#include <algorithm>

namespace sectile::lang {

static const std::string kKindForms = "write '*fp32' for a pointer to fp32, '*fp32:16' for one "
                                      "whose address is a multiple of 16, 'i32' "
                                      "for a number, 'i32:16' for a multiple of 16, 'i32:1' for 1";

std::string itemName(const std::string &tuple, const TupleClassRef &tupleClass, size_t index) {
  if (tupleClass && index < tupleClass->fields.size())
    return tuple + "." + tupleClass->fields[index];
  return tuple + "[" + std::to_string(index) + "]";
}

std::string kindText(const KernelParameter &parameter) {
  if (parameter.constant)
    return parameter.constant->repr();
  if (std::optional<std::string> text = descriptorKindText(parameter))
    return *text;
  if (parameter.items) {
    std::vector<std::string> items;
    for (const KernelParameter &item : *parameter.items)
      items.push_back(kindText(item));
    return tupleText(items, parameter.tupleClass);
  }
  return parameter.dtype.name() + (parameter.divisibleBy16 ? ":16" : "");
}

static std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  return text;
}

std::optional<KernelParameter> parseKind(std::string_view text, std::string &problem) {
  size_t colon = std::min(text.find(':'), text.size());
  std::string_view name = trimmed(text.substr(0, colon));
  std::string_view hint = trimmed(text.substr(std::min(colon + 1, text.size())));
  std::optional<DType> dtype = DType::parse(name);
  if (!dtype || dtype->isVoid()) {
    std::string_view element = name;
    if (element.starts_with("*"))
      element.remove_prefix(element.starts_with("*k") ? 2 : 1);
    problem = "unknown dtype '" + std::string(element) + "' in '" + std::string(text) +
              "'\n  help: " + kKindForms + "; the dtypes are " + DType::knownNames();
    return std::nullopt;
  }
  KernelParameter parameter;
  parameter.dtype = *dtype;
  if (hint == "16") {
    parameter.divisibleBy16 = true;
  } else if (hint == "1" && dtype->isInt()) {
    parameter.constant = Constant::integer(1);
  } else if (!hint.empty()) {
    problem = "unknown hint '" + std::string(hint) + "' in '" + std::string(text) +
              "'\n  help: " + kKindForms;
    return std::nullopt;
  }
  return parameter;
}

} // namespace sectile::lang
