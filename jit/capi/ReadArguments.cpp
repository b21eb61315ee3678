#include "jit/capi/ReadArguments.h"

#include "jit/launch/DescriptorArgument.h"

#include <algorithm>
#include <cstring>

namespace sectile::jit::capi {

using lang::ScalarKind;

static_assert(int(ScalarKind::Int1) == SECTILE_BOOL && int(ScalarKind::UInt64) == SECTILE_U64 &&
              int(ScalarKind::Float8E4NV) == SECTILE_F8E4M3 &&
              int(ScalarKind::Float8E4B8) == SECTILE_F8E4M3FNUZ &&
              int(ScalarKind::Float8E5) == SECTILE_F8E5M2 &&
              int(ScalarKind::Float8E5B16) == SECTILE_F8E5M2FNUZ &&
              int(ScalarKind::Float8E4B15) == SECTILE_F8E4B15 &&
              int(ScalarKind::Float16) == SECTILE_F16 &&
              int(ScalarKind::BFloat16) == SECTILE_BF16 && int(ScalarKind::Float64) == SECTILE_F64);

lang::DType scalarOf(sectile_type type) {
  return type == 0 ? lang::DType() : lang::DType::scalar(ScalarKind(type));
}

bool ReadArguments::refuse(const ArchivedKernel &kernel, size_t number, const std::string &why) {
  const auto &parameters = kernel.entry().parameters;
  Rare &wrong = ofRare();
  wrong.problem = kernel.entry().name + ": argument " +
                  (number < parameters.size() ? "'" + parameters[number].policy.name + "'"
                                              : std::to_string(number)) +
                  ": " + why;
  wrong.parameter = static_cast<int32_t>(number);
  return false;
}

ArgumentValue ReadArguments::constantOf(lang::Constant constant) {
  ConstantTable::Entry entry = ConstantTable::ofProcess().find(constant);
  if (!entry.constant)
    entry.constant = ofRare().unknown.emplace_back(new lang::Constant(std::move(constant))).get();
  return ArgumentValue::constantWithId(entry.id, *entry.constant);
}

static inline ArgumentValue pointerTo(const sectile_arg &arg, int16_t device) {
  const bool isBounded =
      arg.bytes != SECTILE_UNKNOWN_BYTES && (arg.bytes != 0 || (arg.flags & SECTILE_ARG_BOUNDED));
  ArgumentValue value =
      ArgumentValue::pointer(lang::DType::pointer(ScalarKind(arg.type)), arg.value.pointer,
                             arg.flags & SECTILE_ARG_READ_ONLY);
  if (isBounded) {
    value.rangeBegin = value.bits;
    // An end of ~0 would mean that it is not known.
    value.rangeEnd = value.bits + std::min(arg.bytes, ~uint64_t{0} - 1 - value.bits);
  }
  value.device = device;
  return value;
}

/// Pushes the argument. Returns what is wrong with it; null when nothing is.
inline const char *ReadArguments::one(const sectile_arg &arg, int16_t device) {
  // Most are numbers and pointers.
  if (arg.kind == SECTILE_ARG_POINTER && isType(arg.type) && arg.value.pointer) {
    buffer.pushMade([&] { return pointerTo(arg, device); });
    return nullptr;
  }
  if (arg.kind == SECTILE_ARG_INTEGER && arg.type == 0) {
    buffer.pushMade([&] { return ArgumentValue::integer(arg.value.integer); });
    return nullptr;
  }
  return other(arg);
}

const char *ReadArguments::other(const sectile_arg &arg) {
  const bool isTyped = isType(arg.type);
  if (arg.type != 0 && !isTyped)
    return "its type is none of sectile_type";
  switch (arg.kind) {
  case SECTILE_ARG_LEFT_OUT:
    buffer.push(ArgumentValue::leftOut());
    return nullptr;
  case SECTILE_ARG_POINTER: // a null pointer, or without a type
    if (!isTyped)
      return "a pointer needs the type of what it points to";
    buffer.push(ArgumentValue::none());
    return nullptr;
  case SECTILE_ARG_INTEGER:
    buffer.push(ArgumentValue::integer(arg.value.integer, scalarOf(arg.type)));
    return nullptr;
  case SECTILE_ARG_UNSIGNED:
    buffer.push(ArgumentValue::unsignedInteger(arg.value.unsigned_integer, scalarOf(arg.type)));
    return nullptr;
  case SECTILE_ARG_FLOAT:
    buffer.push(ArgumentValue::floating(arg.value.number, scalarOf(arg.type)));
    return nullptr;
  case SECTILE_ARG_BOOL:
    buffer.push(ArgumentValue::boolean(arg.value.integer != 0));
    return nullptr;
  case SECTILE_ARG_NONE:
    buffer.push(ArgumentValue::none());
    return nullptr;
  case SECTILE_ARG_TEXT:
    if (!arg.value.text)
      return "its text is null";
    buffer.push(constantOf({std::string(arg.value.text)}));
    return nullptr;
  case SECTILE_ARG_TYPE:
    if (!isTyped)
      return "its type is none of sectile_type";
    buffer.push(constantOf({scalarOf(arg.type)}));
    return nullptr;
  case SECTILE_ARG_TUPLE:
    if (arg.value.integer < 0 || arg.value.integer > 1 << 16)
      return "a tuple has up to 65536 items";
    buffer.push(ArgumentValue::tuple(static_cast<size_t>(arg.value.integer)));
    return nullptr;
  default:
    return "its kind is none of SECTILE_ARG_...";
  }
}

/// "fp16[64, 64], fp16[128, 64] nan": what the archive has.
static std::string textOf(std::span<const DescriptorBlocks> blocks) {
  std::string text;
  for (const DescriptorBlocks &each : blocks) {
    text += (text.empty() ? "" : ", ") + each.element.name() + "[";
    for (size_t dim = 0; dim < each.shape.size(); ++dim)
      text += (dim ? ", " : "") + std::to_string(each.shape[dim]);
    text += each.padsWithNan ? "] nan" : "]";
  }
  return text;
}

bool ReadArguments::descriptor(const ArchivedKernel &kernel, size_t number, const sectile_arg &arg,
                               int16_t device) {
  if (!arg.value.descriptor)
    return refuse(kernel, number, "its descriptor is null");
  const size_t size = arg.value.descriptor->size;
  if (size < sizeof(size_t) || size > (1 << 16))
    return refuse(kernel, number, "its size is not set; it is sizeof(sectile_descriptor)");
  sectile_descriptor given = {}; // a caller may be older
  std::memcpy(&given, arg.value.descriptor, std::min(size, sizeof given));
  if (!isType(given.type))
    return refuse(kernel, number, "its type is none of sectile_type");
  if (given.rank < 1 || given.rank > static_cast<int32_t>(kMostDescriptorDimensions))
    return refuse(kernel, number, "its rank is " + std::to_string(given.rank) + ", not 1 to 5");
  const auto rank = static_cast<size_t>(given.rank);

  const std::span<const DescriptorBlocks> known = kernel.blocksOf(number);
  if (known.empty())
    return refuse(kernel, number,
                  "it is a tensor descriptor, and the archive has no variant for one");
  // Blocks that are not named are the only ones for the type and the rank.
  const lang::DType element = scalarOf(given.type);
  const bool isNamed = std::any_of(given.block_shape, given.block_shape + rank,
                                   [](int64_t extent) { return extent != 0; }),
             wantsNan = given.pads_with_nan != 0;
  auto isWanted = [&](const DescriptorBlocks &each) {
    return each.element == element && each.shape.size() == rank &&
           (isNamed ? each.padsWithNan == wantsNan &&
                          std::equal(each.shape.begin(), each.shape.end(), given.block_shape)
                    : each.padsWithNan || !wantsNan);
  };
  const auto wanted = std::find_if(known.begin(), known.end(), isWanted);
  if (wanted == known.end())
    return refuse(kernel, number,
                  "the archive has no variant for its type, rank, blocks and padding, only for " +
                      textOf(known));
  if (std::find_if(wanted + 1, known.end(), isWanted) != known.end())
    return refuse(kernel, number,
                  "its block_shape is zero, and the archive has several: " + textOf(known));

  const auto elementBytes = static_cast<int64_t>(element.bytes());
  const DescriptorArgument described = {given.base,
                                        elementBytes,
                                        given.bytes
                                            ? given.bytes / static_cast<uint64_t>(elementBytes)
                                            : DescriptorArgument::kUnknown,
                                        {given.shape, rank},
                                        {given.strides, rank},
                                        wanted->shape};
  ArgumentProblem wrong = problemOf(described);
  if (wrong.ok() && wanted->padsWithNan)
    wrong = problemOfNan(element);
  if (!wrong.ok())
    return refuse(kernel, number,
                  wrong.text + (wrong.help.empty() ? "" : "\n  help: " + wrong.help));

  const ConstantTable::OfDescriptor &constants = wanted->constants;
  buffer.push(ArgumentValue::tuple(5, constants.tupleClass.id, constants.tupleClass.constant));
  const DescribedBytes bytes = bytesOf(described);
  ArgumentValue base =
      ArgumentValue::array(lang::DType::pointer(ScalarKind(given.type)), given.base, bytes.begin,
                           bytes.end, arg.flags & SECTILE_ARG_READ_ONLY);
  base.device = device;
  buffer.push(base);
  for (const int64_t *numbers : {given.shape, given.strides}) {
    buffer.push(ArgumentValue::tuple(rank));
    for (size_t dim = 0; dim < rank; ++dim)
      buffer.push(ArgumentValue::integer(numbers[dim]));
  }
  for (const ConstantTable::Entry &entry : {constants.blockShape, constants.padding})
    buffer.push(ArgumentValue::constantWithId(entry.id, *entry.constant));
  return true;
}

bool ReadArguments::isInTuple(const sectile_arg &arg) {
  std::vector<size_t> &left = ofRare().itemsLeft;
  if (!left.empty())
    --left.back();
  if (arg.kind == SECTILE_ARG_TUPLE)
    left.push_back(static_cast<size_t>(arg.value.integer));
  while (!left.empty() && left.back() == 0)
    left.pop_back();
  return !left.empty();
}

bool ReadArguments::all(const ArchivedKernel &kernel, std::span<const sectile_arg> args,
                        int16_t device) {
  size_t number = 0;    // of the parameter
  bool inTuple = false; // whether the next argument is an item of one
  for (const sectile_arg &arg : args) {
    if (arg.kind == SECTILE_ARG_DESCRIPTOR) [[unlikely]] {
      if (inTuple)
        return refuse(kernel, number, "a tensor descriptor cannot be an item of a tuple");
      if (!descriptor(kernel, number, arg, device))
        return false;
    } else if (const char *why = one(arg, device)) [[unlikely]]
      return refuse(kernel, number, why);
    if (inTuple || arg.kind == SECTILE_ARG_TUPLE) [[unlikely]] {
      inTuple = isInTuple(arg);
      if (inTuple && rare->itemsLeft.size() > kMostTupleLevels)
        return refuse(kernel, number,
                      "its tuples lie in each other more than " + std::to_string(kMostTupleLevels) +
                          " deep");
    }
    number += !inTuple;
  }
  if (inTuple) [[unlikely]]
    return refuse(kernel, number,
                  "of the items of its tuple " + std::to_string(rare->itemsLeft.back()) +
                      " more should follow it, and there are no more arguments");
  return true;
}

} // namespace sectile::jit::capi
