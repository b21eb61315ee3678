#include "backends/plain/CompileOptions.h"

#include <charconv>

namespace sectile::backends {
namespace {

std::string textOf(int32_t number) {
  return std::to_string(number);
}
std::string textOf(bool flag) {
  return flag ? "1" : "0";
}
std::string textOf(const std::string &text) {
  return text;
}

bool read(std::string_view text, int32_t &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}
bool read(std::string_view text, bool &flag) {
  flag = text == "1";
  return flag || text == "0";
}
bool read(std::string_view text, std::string &field) {
  field = text;
  return true;
}

/// A field that is asked for by a word.
struct Check {
  const char *word;
  bool &isOn;
};
bool read(std::string_view text, Check check) {
  check.isOn = text == check.word;
  return check.isOn || text == "none";
}
struct ConstCheck {
  const char *word;
  const bool &isOn;
};
std::string textOf(ConstCheck check) {
  return check.isOn ? check.word : "none";
}

template <class Enum>
bool readChoice(std::string_view text, Enum &field) {
  auto words = wordsOf(field);
  for (size_t number = 0; number < words.size(); ++number)
    if (text == words[number]) {
      field = Enum(number);
      return true;
    }
  return false;
}
template <class Enum>
std::string textOfChoice(Enum field) {
  return std::string(wordsOf(field)[size_t(field)]);
}
/// The words of a choice where a description can point at them.
template <class Enum>
constexpr auto kWords = wordsOf(Enum());

constexpr OptionDescription kOptions[] = {
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  {#keyword,                                                                                       \
   OptionDescription::Kind::Count,                                                                 \
   OptionDescription::Rule::rule,                                                                  \
   initial,                                                                                        \
   least,                                                                                          \
   most,                                                                                           \
   help,                                                                                           \
   {}},
#define SECTILE_FLAG(field, keyword, initial, help)                                                \
  {#keyword, OptionDescription::Kind::Flag, OptionDescription::Rule::Any, initial, 0, 1, help, {}},
#define SECTILE_CHECK(field, keyword, word, help)                                                  \
  {#keyword, OptionDescription::Kind::Check, OptionDescription::Rule::Any, 0, 0, 0, help, {}},
#define SECTILE_CHOICE(type, field, keyword, help)                                                 \
  {#keyword,    OptionDescription::Kind::Choice, OptionDescription::Rule::Any, 0, 0, 0, help,      \
   kWords<type>},
#define SECTILE_KEYWORD(option, keyword, help)                                                     \
  {#keyword, OptionDescription::Kind::Keyword, OptionDescription::Rule::Any, 0, 0, 0, help, {}},
#include "backends/plain/CompileOptions.def"
};

} // namespace

std::span<const OptionDescription> optionTable() {
  return kOptions;
}

static bool isPowerOfTwo(OptionDescription::Rule rule) {
  return rule == OptionDescription::Rule::PowerOfTwo ||
         rule == OptionDescription::Rule::NoneOrPowerOfTwo;
}

bool OptionDescription::allows(int64_t number) const {
  if (allowsNone(rule) && number == 0)
    return true;
  return number >= least && number <= most && (!isPowerOfTwo(rule) || (number & (number - 1)) == 0);
}

std::string OptionDescription::range() const {
  if (kind == Kind::Choice) {
    std::string list;
    for (size_t number = 0; number < words.size(); ++number)
      list += (number == 0                  ? ""
               : number + 1 == words.size() ? " or "
                                            : ", ") +
              std::string(words[number]);
    return list;
  }
  return (isPowerOfTwo(rule) ? "a power of two from " : "an int from ") + std::to_string(least) +
         " to " + std::to_string(most);
}

std::string KernelOptions::problem() const {
  for (const OptionDescription &option : kOptions) {
    std::string_view name = option.keyword;
    int32_t value = option.initial;
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  if (name == #keyword)                                                                            \
    value = field;
#define SECTILE_CHOICE(type, field, keyword, help)                                                 \
  if (name == #keyword && size_t(field) >= wordsOf(field).size())                                  \
    return std::string(name) + " is " + std::to_string(int(field)) + ", not " + option.range();
#include "backends/plain/CompileOptions.def"
    if (option.kind == OptionDescription::Kind::Count && !option.allows(value))
      return std::string(name) + " is " + std::to_string(value) + ", not " + option.range();
  }
  return {};
}

std::vector<std::pair<const char *, std::string>> CompileOptions::fields() const {
  return {
      {"backend", backend},
      {"arch", arch},
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help) {#keyword, textOf(field)},
#define SECTILE_FLAG(field, keyword, initial, help) {#keyword, textOf(field)},
#define SECTILE_CHECK(field, keyword, word, help) {#keyword, textOf(ConstCheck{#word, field})},
#define SECTILE_CHOICE(type, field, keyword, help) {#keyword, textOfChoice(field)},
#define SECTILE_INTERNAL(type, field, name, initial) {#name, textOf(field)},
#include "backends/plain/CompileOptions.def"
  };
}

bool CompileOptions::setField(std::string_view name, std::string_view text) {
  if (name == "backend")
    return read(text, backend);
  if (name == "arch")
    return read(text, arch);
#define SECTILE_COUNT(field, keyword, initial, least, most, rule, help)                            \
  if (name == #keyword)                                                                            \
    return read(text, field) && OptionDescription{#keyword,                                        \
                                                  OptionDescription::Kind::Count,                  \
                                                  OptionDescription::Rule::rule,                   \
                                                  initial,                                         \
                                                  least,                                           \
                                                  most,                                            \
                                                  help,                                            \
                                                  {}}                                              \
                                    .allows(field);
#define SECTILE_FLAG(field, keyword, initial, help)                                                \
  if (name == #keyword)                                                                            \
    return read(text, field);
#define SECTILE_CHECK(field, keyword, word, help)                                                  \
  if (name == #keyword)                                                                            \
    return read(text, Check{#word, field});
#define SECTILE_CHOICE(type, field, keyword, help)                                                 \
  if (name == #keyword)                                                                            \
    return readChoice(text, field);
#define SECTILE_INTERNAL(type, field, optionName, initial)                                         \
  if (name == #optionName)                                                                         \
    return read(text, field);
#include "backends/plain/CompileOptions.def"
  return false;
}

std::string CompileOptions::fingerprint() const {
  std::string text;
  // With their lengths: no content can be taken for another field.
  for (const auto &[name, value] : fields())
    text += std::string(name) + "=" + std::to_string(value.size()) + ":" + value + ";";
  return text;
}

} // namespace sectile::backends
