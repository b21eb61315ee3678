#include "lang/plain/DType.h"

#include <array>

namespace sectile::lang {
namespace {

struct KindRow {
  ScalarKind kind;
  const char *name;     // in signatures and messages
  const char *longName; // of the language in Python, and of NumPy and torch where they have it
  const char *cppName;  // of the language in C++
  unsigned bits;
  enum Class { Nothing, Bool, Signed, Unsigned, Float } group;
};

constexpr std::array<KindRow, 19> kKinds = {{
    {ScalarKind::Void, "void", "void", "void", 0, KindRow::Nothing},
    {ScalarKind::Int1, "i1", "int1", "i1", 1, KindRow::Bool},
    {ScalarKind::Int8, "i8", "int8", "i8", 8, KindRow::Signed},
    {ScalarKind::Int16, "i16", "int16", "i16", 16, KindRow::Signed},
    {ScalarKind::Int32, "i32", "int32", "i32", 32, KindRow::Signed},
    {ScalarKind::Int64, "i64", "int64", "i64", 64, KindRow::Signed},
    {ScalarKind::UInt8, "u8", "uint8", "u8", 8, KindRow::Unsigned},
    {ScalarKind::UInt16, "u16", "uint16", "u16", 16, KindRow::Unsigned},
    {ScalarKind::UInt32, "u32", "uint32", "u32", 32, KindRow::Unsigned},
    {ScalarKind::UInt64, "u64", "uint64", "u64", 64, KindRow::Unsigned},
    {ScalarKind::Float8E4NV, "fp8e4nv", "float8e4nv", "f8e4m3", 8, KindRow::Float},
    {ScalarKind::Float8E4B8, "fp8e4b8", "float8e4b8", "f8e4m3fnuz", 8, KindRow::Float},
    {ScalarKind::Float8E5, "fp8e5", "float8e5", "f8e5m2", 8, KindRow::Float},
    {ScalarKind::Float8E5B16, "fp8e5b16", "float8e5b16", "f8e5m2fnuz", 8, KindRow::Float},
    {ScalarKind::Float8E4B15, "fp8e4b15", "float8e4b15", "f8e4m3b15", 8, KindRow::Float},
    {ScalarKind::Float16, "fp16", "float16", "f16", 16, KindRow::Float},
    {ScalarKind::BFloat16, "bf16", "bfloat16", "bf16", 16, KindRow::Float},
    {ScalarKind::Float32, "fp32", "float32", "f32", 32, KindRow::Float},
    {ScalarKind::Float64, "fp64", "float64", "f64", 64, KindRow::Float},
}};

const KindRow &row(ScalarKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

static_assert([] {
  for (size_t i = 0; i < kKinds.size(); ++i)
    if (static_cast<size_t>(kKinds[i].kind) != i)
      return false;
  return true;
}());

struct Alias {
  std::string_view name;
  ScalarKind kind;
};

/// Further names, of NumPy, torch and C.
constexpr Alias kAliases[] = {
    {"bool", ScalarKind::Int1},
    {"u1", ScalarKind::Int1},
    {"float8_e4m3fn", ScalarKind::Float8E4NV},
    {"float8_e4m3fnuz", ScalarKind::Float8E4B8},
    {"float8_e5m2", ScalarKind::Float8E5},
    {"float8_e5m2fnuz", ScalarKind::Float8E5B16},
    {"half", ScalarKind::Float16},
    {"float", ScalarKind::Float32},
    {"double", ScalarKind::Float64},
};

} // namespace

bool DType::isSignedInt() const {
  return !isPointer && row(kind).group == KindRow::Signed;
}
bool DType::isUnsignedInt() const {
  return !isPointer && row(kind).group == KindRow::Unsigned;
}
bool DType::isFloat() const {
  return !isPointer && row(kind).group == KindRow::Float;
}
bool DType::isFp8() const {
  return isFloat() && row(kind).bits == 8;
}
unsigned DType::bits() const {
  return isPointer ? 64 : row(kind).bits;
}

std::string DType::name() const {
  std::string text = isPointer ? (isConst ? "*k" : "*") : "";
  return text + row(kind).name;
}
std::string DType::longName() const {
  return row(kind).longName;
}
std::string DType::cppName() const {
  return row(kind).cppName;
}

std::optional<DType> DType::parse(std::string_view name) {
  if (name.starts_with("*")) {
    name.remove_prefix(1);
    bool isConst = name.starts_with("k");
    if (isConst)
      name.remove_prefix(1);
    std::optional<DType> pointee = parse(name);
    if (!pointee || pointee->isPointer)
      return std::nullopt;
    return pointer(pointee->kind, isConst);
  }
  for (const KindRow &candidate : kKinds)
    if (name == candidate.name || name == candidate.longName || name == candidate.cppName)
      return scalar(candidate.kind);
  for (const Alias &alias : kAliases)
    if (name == alias.name)
      return scalar(alias.kind);
  return std::nullopt;
}

std::string DType::knownNames() {
  std::string text;
  for (const KindRow &known : kKinds)
    if (known.kind != ScalarKind::Void)
      text += (text.empty() ? "" : ", ") + std::string(known.name);
  return text;
}

} // namespace sectile::lang
