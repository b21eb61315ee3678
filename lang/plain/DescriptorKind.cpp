#include "lang/plain/DescriptorKind.h"

#include "lang/plain/LanguageClasses.h"

#include <algorithm>
#include <charconv>

namespace sectile::lang {
namespace {

constexpr std::string_view kBegin = "tensordesc";
constexpr size_t kMostDimensions = 5;
enum Field : size_t { kBase, kShape, kStrides, kBlockShape, kPadding, kFieldCount };

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  return text;
}

/// Takes `token` from the front of the text, where it stands there.
bool take(std::string_view &text, std::string_view token) {
  text = trimmed(text);
  if (!text.starts_with(token))
    return false;
  text.remove_prefix(token.size());
  return true;
}

/// Takes all up to `end`, and `end`, and returns what is between commas; none without `end`.
std::optional<std::vector<std::string_view>> takeList(std::string_view &text, char end) {
  const size_t length = text.find(end);
  if (length == std::string_view::npos)
    return std::nullopt;
  std::string_view list = text.substr(0, length);
  text.remove_prefix(length + 1);
  std::vector<std::string_view> items;
  for (size_t comma; (comma = list.find(',')) != std::string_view::npos;
       list.remove_prefix(comma + 1))
    items.push_back(trimmed(list.substr(0, comma)));
  items.push_back(trimmed(list));
  return items;
}

KernelParameter integerKind(bool divisibleBy16) {
  KernelParameter kind;
  kind.dtype = DType::scalar(ScalarKind::Int32);
  kind.divisibleBy16 = divisibleBy16;
  return kind;
}
KernelParameter constantKind(Constant constant) {
  KernelParameter kind;
  kind.constant = std::move(constant);
  return kind;
}
KernelParameter tupleKind(std::vector<KernelParameter> items) {
  KernelParameter kind;
  kind.items = std::move(items);
  return kind;
}

bool isOne(const KernelParameter &kind) {
  const Int *number = kind.constant ? kind.constant->as<Int>() : nullptr;
  return number && *number == 1;
}

/// The kinds of the strides of an array without gaps.
std::vector<KernelParameter> denseStrides(const std::vector<KernelParameter> &shape) {
  std::vector<KernelParameter> strides(shape.size());
  bool isMultiple = false, isUnit = true, isWide = false;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = isUnit ? constantKind(Constant::integer(1)) : integerKind(isMultiple);
    if (isWide)
      strides[dim].dtype = DType::scalar(ScalarKind::Int64);
    isMultiple |= shape[dim].divisibleBy16;
    isUnit &= isOne(shape[dim]);
    isWide |= !shape[dim].constant && shape[dim].dtype.bits() > 32;
  }
  return strides;
}

std::string listOf(const std::vector<KernelParameter> &kinds) {
  std::string text;
  for (const KernelParameter &kind : kinds)
    text += (text.empty() ? "(" : ", ") + kindText(kind);
  return text + ")";
}

/// The kinds of extents or strides from their texts.
std::optional<std::vector<KernelParameter>> parseNumbers(const std::vector<std::string_view> &texts,
                                                         std::string &problem) {
  std::vector<KernelParameter> kinds;
  for (std::string_view text : texts) {
    if (text == "1") {
      kinds.push_back(constantKind(Constant::integer(1)));
      continue;
    }
    std::optional<KernelParameter> kind = parseKind(text, problem);
    if (!kind)
      return std::nullopt;
    if (!kind->constant && !kind->dtype.isInt()) {
      problem = "'" + std::string(text) + "' is no integer";
      return std::nullopt;
    }
    kinds.push_back(std::move(*kind));
  }
  return kinds;
}

} // namespace

bool isDescriptorKind(std::string_view text) {
  return trimmed(text).starts_with(kBegin);
}

std::optional<KernelParameter> parseDescriptorKind(std::string_view text, std::string &problem) {
  std::string_view rest = text;
  auto fail = [&](const std::string &why) {
    problem = "'" + std::string(text) + "': " + why +
              "\n  help: write tensordesc<fp16[128, 64]>(i32, i32:16) for blocks of 128x64 of an "
              "array whose second extent is a multiple of 16";
    return std::nullopt;
  };
  if (!take(rest, kBegin) || !take(rest, "<"))
    return fail("it does not begin with 'tensordesc<'");
  const size_t bracket = std::min(rest.find('['), rest.size());
  const std::string_view element = trimmed(rest.substr(0, bracket));
  const std::optional<DType> base = DType::parse("*" + std::string(element));
  if (!base || base->isVoid() || base->pointee().isVoid())
    return fail("'" + std::string(element) + "' is no dtype; the dtypes are " +
                DType::knownNames());
  rest.remove_prefix(bracket);
  std::optional<std::vector<std::string_view>> texts;
  if (!take(rest, "[") || !(texts = takeList(rest, ']')) || !take(rest, ">"))
    return fail("the extents of the blocks, in [...]>, are missing");
  std::vector<Constant> blockShape;
  for (std::string_view each : *texts) {
    int64_t extent = 0;
    auto [end, error] = std::from_chars(each.data(), each.data() + each.size(), extent);
    if (error != std::errc() || end != each.data() + each.size() || extent <= 0)
      return fail("'" + std::string(each) + "' is no extent of a block");
    blockShape.push_back(Constant::integer(extent));
  }
  const size_t rank = blockShape.size();
  if (rank > kMostDimensions)
    return fail("an array has at most 5 dimensions");

  std::vector<KernelParameter> shape(rank, integerKind(false));
  std::string why;
  auto readNumbers = [&](const char *what, std::vector<KernelParameter> &kinds) {
    if (!(texts = takeList(rest, ')'))) {
      why = std::string("the ") + what + " end with no ')'";
      return false;
    }
    std::optional<std::vector<KernelParameter>> numbers = parseNumbers(*texts, why);
    if (!numbers)
      return false;
    if (numbers->size() != rank) {
      why = std::to_string(numbers->size()) + " " + what + " are given, and the blocks have " +
            std::to_string(rank);
      return false;
    }
    kinds = std::move(*numbers);
    return true;
  };
  if (take(rest, "(") && !readNumbers("extents", shape))
    return fail(why);
  std::vector<KernelParameter> strides = denseStrides(shape);
  if (take(rest, "strides") && (!take(rest, "(") || !readNumbers("strides", strides)))
    return fail(why.empty() ? "the strides, in (...), are missing" : why);
  if (!isOne(strides.back()))
    return fail("the last stride is not 1");
  const bool padsWithNan = take(rest, "nan");
  if (padsWithNan && !base->pointee().isFloat())
    return fail("'nan' is for floating-point numbers");
  if (!trimmed(rest).empty())
    return fail("'" + std::string(trimmed(rest)) + "' is not understood");

  std::vector<KernelParameter> fields(kFieldCount);
  fields[kBase].dtype = *base;
  fields[kBase].divisibleBy16 = true;
  fields[kShape] = tupleKind(std::move(shape));
  fields[kStrides] = tupleKind(std::move(strides));
  fields[kBlockShape] = constantKind(Constant::tuple(std::move(blockShape)));
  fields[kPadding] = constantKind({std::string(padsWithNan ? "nan" : "zero")});
  KernelParameter parameter = tupleKind(std::move(fields));
  parameter.tupleClass = tensorDescriptorClass();
  return parameter;
}

std::optional<std::string> descriptorKindText(const KernelParameter &parameter) {
  if (!parameter.items || !isSameClass(parameter.tupleClass, tensorDescriptorClass()) ||
      parameter.items->size() != kFieldCount)
    return std::nullopt;
  const std::vector<KernelParameter> &fields = *parameter.items;
  const auto &shape = fields[kShape].items, &strides = fields[kStrides].items;
  const auto *blocks =
      fields[kBlockShape].constant ? fields[kBlockShape].constant->as<ConstantTuple>() : nullptr;
  const auto *padding =
      fields[kPadding].constant ? fields[kPadding].constant->as<std::string>() : nullptr;
  if (fields[kBase].constant || fields[kBase].items || !fields[kBase].divisibleBy16 || !shape ||
      !strides || !blocks || !padding || shape->size() != (*blocks)->size() ||
      strides->size() != shape->size())
    return std::nullopt;
  std::string text = std::string(kBegin) + "<" + fields[kBase].dtype.name().substr(1) + "[";
  for (size_t dim = 0; dim < shape->size(); ++dim)
    text += (dim ? ", " : "") + (**blocks)[dim].repr();
  text += "]>";
  const std::string extents = listOf(*shape), steps = listOf(*strides);
  if (extents != listOf(std::vector(shape->size(), integerKind(false))))
    text += extents;
  if (steps != listOf(denseStrides(*shape)))
    text += " strides " + steps;
  if (*padding == "nan")
    text += " nan";
  return text;
}

} // namespace sectile::lang
