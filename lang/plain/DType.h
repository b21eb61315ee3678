//===-- DType.h - element types of the language -----------------------------------------------===//
// What a user means by `tl.float16` or `Ptr<const f32>`. Plain C++: shared by front ends, runtime
// and bindings. Unlike MLIR's integers, these know signedness, and pointers know whether they are
// const.
//
//   DType::scalar(ScalarKind::Float16).name()            == "fp16"
//   DType::pointer(ScalarKind::Float32, true).name()     == "*kfp32"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sectile::lang {

enum class ScalarKind : uint8_t {
  Void,
  Int1, // a truth value; one byte in memory
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float8E4NV,  // OCP e4m3fn
  Float8E4B8,  // e4m3fnuz
  Float8E5,    // OCP e5m2
  Float8E5B16, // e5m2fnuz
  Float8E4B15, // Triton's own: four bits of exponent, bias 15, all patterns are numbers
  Float16,
  BFloat16,
  Float32,
  Float64,
};

struct DType {
  ScalarKind kind = ScalarKind::Void;
  bool isPointer = false;
  /// The memory that the pointer points to may not be written; only pointers have this.
  bool isConst = false;

  static constexpr DType scalar(ScalarKind kind) { return {kind, false, false}; }
  static constexpr DType pointer(ScalarKind pointee, bool isConst = false) {
    return {pointee, true, isConst};
  }
  constexpr DType pointee() const { return scalar(kind); }
  friend constexpr bool operator==(const DType &, const DType &) = default;

  bool isVoid() const { return kind == ScalarKind::Void && !isPointer; }
  bool isBool() const { return kind == ScalarKind::Int1 && !isPointer; }
  /// Integers without the truth value.
  bool isSignedInt() const;
  bool isUnsignedInt() const;
  bool isInt() const { return isSignedInt() || isUnsignedInt(); }
  bool isIntOrBool() const { return isInt() || isBool(); }
  bool isFloat() const;
  bool isFp8() const;
  /// Bits of the value in a register: 1 for int1, 64 for pointers.
  unsigned bits() const;
  /// Bytes of one element in memory.
  unsigned bytes() const { return isBool() ? 1 : bits() / 8; }

  /// The name in signatures and messages: "i1" "i32" "u8" "fp16" "bf16" "fp8e4nv" "*fp32" "*kfp32".
  std::string name() const;
  /// The name of the scalar kind, or of what a pointer points to, in Python: "float16", "int32",
  /// "float8e4nv"; and in C++: "f16", "i32", "f8e4m3".
  std::string longName() const;
  std::string cppName() const;
  /// The reverse of name(), longName() and cppName(); also takes names of NumPy, torch and C:
  /// "float8_e4m3fn", "half", "double", "bool".
  static std::optional<DType> parse(std::string_view name);
  /// "i1, i8, ... fp64": name() of all numbers.
  static std::string knownNames();
};

} // namespace sectile::lang
