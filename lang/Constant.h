//===-- Constant.h - what is known at compile time --------------------------------------------===//
// The value of a literal, a `constexpr` parameter, a global, or anything computed from them while a
// kernel is evaluated. Plain C++. Objects of the host language that have no counterpart here are
// kept as opaque references, which only the host's `Environment` can look into.
#pragma once

#include "lang/DType.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace sectile::lang {

/// Python integers are unbounded; 128 bits hold every i64 and u64 and what their sums and products
/// need. Constant arithmetic that leaves this range is a diagnostic.
using Int = __int128;

struct None {
  friend bool operator==(None, None) = default;
};
/// An operation of the language, by its one name: `tl.load` is {"load"}.
struct BuiltinRef {
  std::string name;
  friend bool operator==(const BuiltinRef &, const BuiltinRef &) = default;
};
/// Another kernel-language function; `id` means something to the Environment that made it.
struct FunctionRef {
  uint64_t id = 0;
  std::string name;
  friend bool operator==(const FunctionRef &a, const FunctionRef &b) { return a.id == b.id; }
};
/// An object of the host language. `kind` is its type's name, for messages.
struct ObjectRef {
  uint64_t id = 0;
  std::string kind;
  friend bool operator==(const ObjectRef &a, const ObjectRef &b) { return a.id == b.id; }
};

struct Constant;
using ConstantTuple = std::shared_ptr<const std::vector<Constant>>;

struct Constant {
  std::variant<None, bool, Int, double, std::string, DType, ConstantTuple, BuiltinRef, FunctionRef,
               ObjectRef>
      value;

  template <class T>
  const T *as() const {
    return std::get_if<T>(&value);
  }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value);
  }
  bool isNone() const { return is<None>(); }
  /// Deep equality, as Python's `==` for numbers: 1 == 1.0 == true.
  bool equals(const Constant &other) const;
  /// As Python's repr() would print it; opaque objects as "<kind>". Used in messages and keys.
  std::string repr() const;
  /// As Python's type(x).__name__ would say it: "int", "str", "tuple", "dtype" ...
  std::string kindName() const;

  static Constant integer(Int value) { return {value}; }
  static Constant tuple(std::vector<Constant> items) {
    return {std::make_shared<const std::vector<Constant>>(std::move(items))};
  }
};

} // namespace sectile::lang
