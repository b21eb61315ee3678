#include "python/bindings/ConstantText.h"

#include <charconv>
#include <cstring>

namespace sectile::bindings {

using lang::Constant;

namespace {

std::string counted(std::string_view text) {
  return std::to_string(text.size()) + ":" + std::string(text);
}

/// `numberOf` empty: as part of an answer.
struct Writer {
  const std::function<uint64_t(uint64_t)> &numberOf;

  std::string operator()(lang::None) const { return "N"; }
  std::string operator()(bool truth) const { return truth ? "b1" : "b0"; }
  std::string operator()(lang::Int number) const { return "i" + Constant{number}.repr() + ";"; }
  std::string operator()(double number) const { // by its bits: -0.0 is not 0.0
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return "f" + std::to_string(bits) + ":";
  }
  std::string operator()(const std::string &text) const { return "s" + counted(text); }
  std::string operator()(const lang::DType &dtype) const { return "d" + counted(dtype.name()); }
  std::string operator()(const lang::BuiltinRef &builtin) const {
    return "B" + counted(builtin.name);
  }
  std::string operator()(const lang::FunctionRef &function) const {
    return "j" + reference(function.id, function.name);
  }
  std::string operator()(const lang::ObjectRef &object) const {
    return "o" + reference(object.id, object.kind);
  }
  std::string operator()(const lang::ConstantTuple &items) const {
    const lang::TupleClassRef &tupleClass = items->tupleClass;
    std::string text = (tupleClass ? "T" : "t") + std::to_string(items->size()) + ":";
    for (const Constant &item : *items)
      text += std::visit(*this, item.value);
    if (!tupleClass)
      return text;
    text += reference(tupleClass->id, tupleClass->name);
    if (!numberOf)
      for (const std::string &field : tupleClass->fields)
        text += counted(field);
    return text;
  }
  std::string reference(uint64_t id, const std::string &name) const {
    return numberOf ? std::to_string(numberOf(id)) + ":" : counted(name);
  }
};

} // namespace

void forEachReference(const Constant &constant, const std::function<void(uint64_t)> &visit) {
  if (auto *function = constant.as<lang::FunctionRef>())
    visit(function->id);
  else if (auto *object = constant.as<lang::ObjectRef>())
    visit(object->id);
  else if (auto *items = constant.as<lang::ConstantTuple>()) {
    for (const Constant &item : **items)
      forEachReference(item, visit);
    if ((*items)->tupleClass)
      visit((*items)->tupleClass->id);
  }
}

std::string answerText(const Constant &constant) {
  return std::visit(Writer{{}}, constant.value);
}
std::string questionText(const Constant &constant,
                         const std::function<uint64_t(uint64_t)> &numberOf) {
  return std::visit(Writer{numberOf}, constant.value);
}
std::string questionText(std::string_view text) {
  return counted(text);
}
std::string questionText(uint64_t number) {
  return std::to_string(number) + ":";
}

std::optional<char> QuestionReader::letter() {
  if (rest.empty())
    return std::nullopt;
  char first = rest.front();
  rest.remove_prefix(1);
  return first;
}

std::optional<uint64_t> QuestionReader::number() {
  uint64_t value = 0;
  auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (problem != std::errc() || end == rest.data() + rest.size() || *end != ':')
    return std::nullopt;
  rest.remove_prefix(size_t(end - rest.data()) + 1);
  return value;
}

std::optional<std::string> QuestionReader::text() {
  std::optional<uint64_t> size = number();
  if (!size || *size > rest.size())
    return std::nullopt;
  std::string taken(rest.substr(0, *size));
  rest.remove_prefix(*size);
  return taken;
}

static std::optional<Constant> integerFrom(std::string_view digits) {
  bool isNegative = digits.starts_with('-');
  digits.remove_prefix(isNegative);
  unsigned __int128 magnitude = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9')
      return std::nullopt;
    magnitude = magnitude * 10 + static_cast<unsigned>(digit - '0');
  }
  return Constant::integer(static_cast<lang::Int>(isNegative ? -magnitude : magnitude));
}

std::optional<Constant> QuestionReader::tuple(bool isNamed) {
  std::optional<uint64_t> count = number();
  std::vector<Constant> items;
  for (uint64_t i = 0; count && i < *count; ++i) {
    std::optional<Constant> item = constant();
    if (!item)
      return std::nullopt;
    items.push_back(std::move(*item));
  }
  if (!count || !isNamed)
    return count ? std::optional(Constant::tuple(std::move(items))) : std::nullopt;
  std::optional<uint64_t> place = number();
  std::optional<uint64_t> id = place ? idOf(*place) : std::nullopt;
  if (!id)
    return std::nullopt;
  auto tupleClass = std::make_shared<lang::TupleClass>();
  tupleClass->id = *id;
  return Constant::tuple(std::move(items), std::move(tupleClass));
}

std::optional<Constant> QuestionReader::constant() {
  std::optional<char> kind = letter();
  if (!kind)
    return std::nullopt;
  switch (*kind) {
  case 'N':
    return Constant{};
  case 'b': {
    std::optional<char> truth = letter();
    return truth ? std::optional(Constant{*truth == '1'}) : std::nullopt;
  }
  case 'i': {
    size_t end = rest.find(';');
    if (end == std::string_view::npos)
      return std::nullopt;
    std::optional<Constant> value = integerFrom(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    return value;
  }
  case 'f': {
    std::optional<uint64_t> bits = number();
    double value = 0;
    if (bits)
      std::memcpy(&value, &*bits, sizeof value);
    return bits ? std::optional(Constant{value}) : std::nullopt;
  }
  case 's': {
    std::optional<std::string> value = text();
    return value ? std::optional(Constant{std::move(*value)}) : std::nullopt;
  }
  case 'd': {
    std::optional<std::string> name = text();
    std::optional<lang::DType> dtype = name ? lang::DType::parse(*name) : std::nullopt;
    return dtype ? std::optional(Constant{*dtype}) : std::nullopt;
  }
  case 'B': {
    std::optional<std::string> name = text();
    return name ? std::optional(Constant{lang::BuiltinRef{std::move(*name)}}) : std::nullopt;
  }
  case 't':
  case 'T':
    return tuple(*kind == 'T');
  case 'j':
  case 'o': {
    std::optional<uint64_t> place = number();
    std::optional<uint64_t> id = place ? idOf(*place) : std::nullopt;
    if (!id)
      return std::nullopt;
    return *kind == 'j' ? Constant{lang::FunctionRef{*id, ""}} : Constant{lang::ObjectRef{*id, ""}};
  }
  default:
    return std::nullopt;
  }
}

} // namespace sectile::bindings
