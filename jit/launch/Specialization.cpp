#include "jit/launch/Specialization.h"

#include "backends/plain/FloatFormat.h"
#include "jit/cache/CacheKey.h"
#include "lang/plain/LanguageClasses.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace sectile::jit {
namespace {

using lang::DType;
using lang::ScalarKind;
using Kind = ArgumentValue::Kind;
using Bits = ArgumentValue::Bits;

// One byte holds all that the code of a variant depends on for an argument passed at launch:
//
//   bit 7           6          5           4..0
//   divisible by 16 const      pointer     ScalarKind
//
// Kind 31 is none of ScalarKind's; with it, bits 7..5 select a constant. Constants other than None
// and the folded 1, and tuples, are followed by eight bytes. (The first byte of each parameter
// determines how many follow, so different arguments never give equal keys.)
constexpr uint8_t kConstantKind = 31;
enum ConstantCode : uint8_t {
  kNone = kConstantKind,
  kFoldedOne = kConstantKind | 1 << 5,
  kConstantInteger = kConstantKind | 2 << 5,
  kConstantBool = kConstantKind | 3 << 5,
  kConstantFloat = kConstantKind | 4 << 5,
  kConstantId = kConstantKind | 5 << 5,
  kTuple = kConstantKind | 6 << 5, // and its size and class; then come its items
};
static_assert(static_cast<uint8_t>(ScalarKind::Float64) < kConstantKind);

/// Small enough for two registers.
struct Classified {
  /// What is passed, the value of the constant, or the address of the text of a problem.
  uint64_t bits = 0;
  uint8_t code = kNone;
  /// The argument cannot be passed.
  bool isProblem = false;

  bool isConstant() const { return (code & kConstantKind) == kConstantKind; }
  bool hasConstantBits() const { return code != kNone && code != kFoldedOne; }
  const char *problem() const { return reinterpret_cast<const char *>(bits); }
  /// Of what is passed at launch.
  ScalarKind kind() const { return static_cast<ScalarKind>(code & kConstantKind); }
  DType dtype() const { return {kind(), (code >> 5 & 1) != 0, (code >> 6 & 1) != 0}; }
  bool isDivisible() const { return code >> 7; }
};
static_assert(sizeof(Classified) == 16);

Classified constant(ConstantCode code, uint64_t bits) {
  return {bits, code, false};
}
[[gnu::cold, gnu::noinline]] Classified problem(const char *text) {
  return {reinterpret_cast<uintptr_t>(text), kNone, true};
}
Classified passed(DType dtype, uint64_t bits, bool divisible) {
  auto code = static_cast<uint8_t>(static_cast<uint8_t>(dtype.kind) | dtype.isPointer << 5 |
                                   dtype.isConst << 6 | divisible << 7);
  return {bits, code, false};
}

[[gnu::noinline]] Classified classifyConstant(const ArgumentValue &value) {
  switch (value.kind) {
  case Kind::None:
    return constant(kNone, 0);
  case Kind::Bool:
    return constant(kConstantBool, value.bits);
  case Kind::Float:
    return constant(kConstantFloat, value.bits);
  case Kind::Integer:
    if (value.content == Bits::Unsigned)
      return problem("is beyond 64-bit signed integers");
    return constant(kConstantInteger, value.bits);
  case Kind::Pointer:
    return problem("is constexpr, and an array has no value at compile time");
  case Kind::Tuple:
    return problem("is constexpr, and holds values of run time");
  case Kind::Default:
    return problem("is missing");
  case Kind::Constant:
    break;
  }
  switch (value.content) {
  case Bits::ConstantBool:
    return constant(kConstantBool, value.bits);
  case Bits::ConstantFloat:
    return constant(kConstantFloat, value.bits);
  case Bits::ConstantId:
    return constant(kConstantId, value.bits);
  case Bits::ConstantBeyond:
    return problem("got a number beyond its type");
  default:
    return constant(kConstantInteger, value.bits);
  }
}

/// Whether the integer is one of `kind`'s values.
bool fits(const ArgumentValue &value, ScalarKind kind) {
  auto number = static_cast<int64_t>(value.bits);
  bool isHuge = value.content == Bits::Unsigned;
  switch (kind) {
  case ScalarKind::Int8:
    return !isHuge && number == static_cast<int8_t>(number);
  case ScalarKind::Int16:
    return !isHuge && number == static_cast<int16_t>(number);
  case ScalarKind::Int32:
    return !isHuge && number == static_cast<int32_t>(number);
  case ScalarKind::Int64:
    return !isHuge;
  case ScalarKind::UInt8:
    return value.bits == static_cast<uint8_t>(number);
  case ScalarKind::UInt16:
    return value.bits == static_cast<uint16_t>(number);
  case ScalarKind::UInt32:
    return value.bits == static_cast<uint32_t>(number);
  case ScalarKind::UInt64:
    return isHuge || number >= 0;
  default:
    return true;
  }
}

double asDouble(const ArgumentValue &value) {
  if (value.kind == Kind::Float)
    return std::bit_cast<double>(value.bits);
  return value.content == Bits::Unsigned ? static_cast<double>(value.bits)
                                         : static_cast<double>(static_cast<int64_t>(value.bits));
}

/// Of a type that follows neither from the value nor from Python's rules.
[[gnu::noinline]] Classified classifyTyped(const ArgumentValue &value, DType dtype,
                                           bool divisible) {
  if (dtype.isPointer)
    return problem("is annotated as a pointer and got an integer");
  if (dtype.isFloat())
    return passed(dtype, backends::encodeFloat(asDouble(value), dtype.kind), false);
  if (dtype.isBool())
    return passed(dtype, value.bits != 0, false);
  if (!fits(value, dtype.kind))
    return problem("got an integer beyond its type");
  return passed(dtype, value.bits, divisible);
}

inline Classified classifyInteger(const ArgumentValue &value, const ParameterRule &rule) {
  const bool isAnnotated = !rule.annotation.isVoid(),
             divisible = rule.looksAtAlignment && value.bits % 16 == 0;
  DType dtype = isAnnotated ? rule.annotation : value.dtype;
  const bool isTyped = !dtype.isVoid();
  if (!isTyped)
    dtype = DType::scalar(value.content == Bits::Unsigned              ? ScalarKind::UInt64
                          : int64_t(value.bits) == int32_t(value.bits) ? ScalarKind::Int32
                                                                       : ScalarKind::Int64);
  // Typed i64 from C++ stays: a constant 1 would be an i32 in the kernel's arithmetic.
  if (value.bits == 1 && rule.specialize && !isAnnotated &&
      dtype == DType::scalar(ScalarKind::Int32))
    return constant(kFoldedOne, 1);
  return isTyped ? classifyTyped(value, dtype, divisible) : passed(dtype, value.bits, divisible);
}

/// What is neither a pointer nor an integer.
[[gnu::noinline]] Classified classifyOther(const ArgumentValue &value, const ParameterRule &rule) {
  const DType annotation = rule.annotation;
  switch (value.kind) {
  case Kind::Float: {
    DType dtype = !annotation.isVoid()    ? annotation
                  : !value.dtype.isVoid() ? value.dtype
                                          : DType::scalar(ScalarKind::Float32);
    if (!dtype.isFloat())
      return problem(dtype.isPointer ? "is annotated as a pointer and got a float"
                                     : "is annotated as an integer and got a float");
    return passed(dtype, backends::encodeFloat(asDouble(value), dtype.kind), false);
  }
  case Kind::Bool:
    if (annotation.isPointer)
      return problem("is annotated as a pointer and got a bool");
    if (annotation.isFloat())
      return passed(annotation, backends::encodeFloat(value.bits ? 1 : 0, annotation.kind), false);
    return passed(annotation.isVoid() ? DType::scalar(ScalarKind::Int1) : annotation, value.bits,
                  false);
  case Kind::None:
    return constant(kNone, 0);
  case Kind::Tuple:
    return annotation.isVoid() ? constant(kTuple, value.bits)
                               : problem("is annotated with a type and got a tuple");
  case Kind::Default:
    return problem("is missing");
  default:
    return classifyConstant(value);
  }
}

/// The code of pointers and integers is short, and in the way of every launch.
[[gnu::always_inline]] inline Classified classify(const ArgumentValue &value,
                                                  const ParameterRule &rule) {
  if (rule.isConstexpr) [[unlikely]]
    return classifyConstant(value);
  if (value.kind == Kind::Integer)
    return classifyInteger(value, rule);
  if (value.kind != Kind::Pointer)
    return classifyOther(value, rule);
  const DType annotation = rule.annotation;
  if (!annotation.isVoid() && !annotation.isPointer) [[unlikely]]
    return problem("is annotated as a number and got an array");
  const bool divisible = rule.looksAtAlignment && value.bits % 16 == 0;
  DType dtype = annotation.isPointer ? annotation : value.dtype;
  dtype.isConst |= rule.isConst;
  return passed(dtype, value.bits, divisible);
}

} // namespace

struct ConstantTable::State {
  ForkSafeMutex mutex;
  std::unordered_map<std::string, Entry> entries;
  std::vector<std::unique_ptr<lang::Constant>> constants;
};

ConstantTable::ConstantTable() : state(std::make_unique<State>()) {}
ConstantTable::~ConstantTable() = default;

ConstantTable::Entry ConstantTable::intern(const lang::Constant &constant) {
  std::string encoded = encodeConstant(constant, References::ById);
  std::lock_guard lock(state->mutex);
  auto [found, isNew] = state->entries.try_emplace(std::move(encoded));
  if (isNew) {
    state->constants.push_back(std::make_unique<lang::Constant>(constant));
    found->second = {state->constants.size(), state->constants.back().get()};
  }
  return found->second;
}

ConstantTable::Entry ConstantTable::find(const lang::Constant &constant) const {
  const std::string encoded = encodeConstant(constant, References::ById);
  std::lock_guard lock(state->mutex);
  auto found = state->entries.find(encoded);
  return found == state->entries.end() ? Entry{0, nullptr} : found->second;
}

ConstantTable &ConstantTable::ofProcess() {
  static ConstantTable &table = *new ConstantTable;
  return table;
}

ConstantTable::OfDescriptor ConstantTable::ofDescriptor(std::span<const int64_t> blockShape,
                                                        std::string padding) {
  ConstantTable &table = ofProcess();
  std::vector<lang::Constant> extents;
  for (int64_t extent : blockShape)
    extents.push_back(lang::Constant::integer(extent));
  return {table.intern(lang::Constant::tuple({}, lang::tensorDescriptorClass())),
          table.intern(lang::Constant::tuple(std::move(extents))),
          table.intern(lang::Constant{std::move(padding)})};
}

Specializer::Specializer(std::string kernelName, std::vector<ParameterPolicy> parameters)
    : kernelName(std::move(kernelName)), policies(std::move(parameters)) {
  for (const ParameterPolicy &policy : policies)
    rules.push_back({policy.annotation, policy.isConstexpr, policy.isConst, policy.specialize,
                     policy.specialize && policy.specializeOnAlignment});
}

namespace {

/// The bytes of every array of a launch, compared with those of all before it.
class OverlapFinder {
public:
  explicit OverlapFinder(BoundArguments &result) : result(result) {}

  [[gnu::always_inline]] void add(uint16_t slot, const ArgumentValue &value, ScalarKind kind) {
    // Only the address of a bare pointer is known, not its end.
    bool isBounded = value.rangeEnd != ~uint64_t{0};
    uint64_t begin = isBounded ? value.rangeBegin : value.bits;
    uint64_t end = isBounded ? value.rangeEnd : value.bits + 1;
    if (!value.bits || begin == end)
      return;
    for (size_t i = 0; i < arrays.size(); ++i) {
      const Array &other = arrays.data()[i];
      if (begin < other.end && other.begin < end) [[unlikely]]
        note({other.slot, slot, value.bits == other.address && kind == other.kind});
    }
    arrays.push({begin, end, value.bits, slot, kind});
  }

  /// Self-delimiting, like the parameters' bytes before it.
  void appendToKey() {
    if (result.overlaps.size() != 0) [[unlikely]]
      appendOverlaps();
    result.key.push(0);
  }

private:
  [[gnu::noinline]] void note(backends::ArgumentOverlap overlap) { result.overlaps.push(overlap); }
  [[gnu::noinline]] void appendOverlaps() {
    for (size_t i = 0; i < result.overlaps.size(); ++i) {
      backends::ArgumentOverlap overlap = result.overlaps[i];
      result.key.push(uint8_t(1 + overlap.isSame));
      result.key.append(&overlap.first, sizeof overlap.first);
      result.key.append(&overlap.second, sizeof overlap.second);
    }
  }

  struct Array {
    uint64_t begin, end, address;
    uint16_t slot;
    ScalarKind kind;
  };
  BoundArguments &result;
  ArgumentBuffer<Array, 16> arrays;
};

} // namespace

[[gnu::cold]] static Status wrongCount(const std::string &kernelName, size_t wanted, size_t given) {
  return Status::fail(Error::Kind::Call, kernelName + ": takes " + std::to_string(wanted) +
                                             " arguments, got " + std::to_string(given));
}

Status Specializer::bind(std::span<const ArgumentValue> values, BoundArguments &result) const {
  result.key.clear();
  result.slots.clear();
  result.ranges.clear();
  result.readOnly.clear();
  result.anyReadOnly = false;
  result.overlaps.clear();
  result.isOfDevice = result.isUnmappable = result.isLarge = false;
  OverlapFinder overlaps(result);
  // All room is made before the loop, which then only writes: every launch passes here.
  constexpr size_t kMostOfKey = sizeof(uint8_t) + sizeof(uint64_t);
  const size_t count = values.size();
  uint8_t *key = result.key.room(kMostOfKey * count);
  uint64_t *const slots = result.slots.room(count), *slot = slots;
  uint64_t *range = result.ranges.room(2 * count);
  const ParameterRule *rule = rules.data(), *const end = rule + rules.size();
  size_t itemsLeft = 0; // of the parameter that the value belongs to
  for (const ArgumentValue &value : values) {
    if (rule == end) [[unlikely]]
      return wrongCount(kernelName, rules.size(), count);
    const Classified argument = classify(value, *rule);
    if (argument.isProblem) [[unlikely]]
      return argumentError(values, static_cast<size_t>(&value - values.data()), argument.problem());
    const bool isTuple = value.kind == Kind::Tuple;
    if (itemsLeft || isTuple) [[unlikely]]
      itemsLeft += (isTuple ? value.itemCount() : 0) - (itemsLeft != 0);
    rule += itemsLeft == 0;
    *key++ = argument.code;
    if (argument.isConstant()) {
      if (argument.hasConstantBits()) {
        std::memcpy(key, &argument.bits, sizeof argument.bits);
        key += sizeof argument.bits;
      }
      continue;
    }
    *slot = argument.bits;
    range[0] = range[1] = 0;
    if (value.kind == Kind::Pointer) {
      range[0] = value.rangeBegin;
      range[1] = value.rangeEnd;
      const auto number = static_cast<uint16_t>(slot - slots);
      overlaps.add(number, value, argument.kind());
      if (value.isReadOnly) [[unlikely]]
        result.noteReadOnly(number, count);
    }
    ++slot;
    range += 2;
  }
  if (rule != end) [[unlikely]]
    return wrongCount(kernelName, rules.size(), count);
  result.key.extendTo(key);
  result.slots.extendTo(slot);
  result.ranges.extendTo(range);
  overlaps.appendToKey();
  return {};
}

std::string Specializer::argumentName(std::span<const ArgumentValue> values, size_t index) const {
  std::string found;
  const lang::KernelSignature read = signature(values);
  lang::forEachArgument(read, [&](const lang::KernelParameter &parameter, auto place) {
    if (place.number == index)
      found = parameter.name;
  });
  return found;
}

Error Specializer::argumentError(std::span<const ArgumentValue> values, size_t index,
                                 const std::string &problem, const std::string &help) const {
  std::string name = argumentName(values, index);
  std::string ofParameter = name.substr(0, name.find_first_of(".["));
  auto policy = std::find_if(policies.begin(), policies.end(),
                             [&](const ParameterPolicy &p) { return p.name == ofParameter; });
  return {Error::Kind::Call,
          kernelName + ": argument '" + name + "' " + problem,
          help,
          {},
          {},
          static_cast<int32_t>(policy - policies.begin())};
}

Status Specializer::commonDevice(std::span<const ArgumentValue> values, int32_t &device,
                                 size_t *first, std::string (*gpuBackend)()) const {
  auto place = [&](int device) {
    return device < 0 ? std::string("the CPU")
                      : (gpuBackend ? gpuBackend() : "cuda") + ":" + std::to_string(device);
  };
  device = ArgumentValue::kAnywhere;
  size_t from = values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind != Kind::Pointer || values[i].device == ArgumentValue::kAnywhere ||
        values[i].device == device)
      continue;
    if (from < values.size()) [[unlikely]]
      return argumentError(values, i,
                           "is on " + place(values[i].device) + ", and '" +
                               argumentName(values, from) + "' on " + place(device),
                           "move all arrays to one device");
    device = values[i].device;
    from = i;
  }
  if (first)
    *first = from;
  return {};
}

lang::KernelSignature Specializer::signature(std::span<const ArgumentValue> values) const {
  lang::KernelSignature result{kernelName, {}};
  size_t next = 0;
  auto describe = [&](auto &self, std::string name,
                      const ParameterRule &rule) -> lang::KernelParameter {
    const ArgumentValue &value = values[next++];
    Classified argument = classify(value, rule);
    lang::KernelParameter parameter;
    parameter.name = std::move(name);
    switch (argument.code) {
    case kNone:
      parameter.constant = lang::Constant{lang::None{}};
      break;
    case kFoldedOne:
    case kConstantInteger:
      parameter.constant = lang::Constant::integer(static_cast<int64_t>(argument.bits));
      break;
    case kConstantBool:
      parameter.constant = lang::Constant{argument.bits != 0};
      break;
    case kConstantFloat:
      parameter.constant = lang::Constant{std::bit_cast<double>(argument.bits)};
      break;
    case kConstantId:
      parameter.constant = *value.constant;
      break;
    case kTuple:
      parameter.tupleClass = value.tupleClass();
      parameter.items.emplace();
      for (size_t item = 0; item < value.itemCount() && next < values.size(); ++item)
        parameter.items->push_back(
            self(self, lang::itemName(parameter.name, parameter.tupleClass, item), rule));
      break;
    default:
      parameter.dtype = argument.dtype();
      parameter.divisibleBy16 = argument.isDivisible();
    }
    return parameter;
  };
  for (size_t i = 0; i < policies.size() && next < values.size(); ++i)
    result.parameters.push_back(describe(describe, policies[i].name, rules[i]));
  return result;
}

} // namespace sectile::jit
