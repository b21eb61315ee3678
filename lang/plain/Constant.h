//===-- Constant.h - what is known at compile time --------------------------------------------===//
// The value of a literal, a `constexpr` parameter, a global, or anything computed from them while a
// kernel is evaluated. Plain C++. Objects of the host language that have no counterpart here are
// kept as opaque references, which only the host's `Environment` can look into.
#pragma once

#include "lang/plain/DType.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// A class of the host language whose instances are tuples with names for their items: Python's
/// NamedTuple. `id` means something to the Environment that made it.
struct TupleClass {
  std::string name;
  std::vector<std::string> fields;
  uint64_t id = 0;
  /// The fields from this one on stay constants where loops and branches make values of numbers.
  size_t constantsFrom = SIZE_MAX;
  /// The position of a field; nullopt when there is none of that name.
  std::optional<size_t> indexOf(std::string_view field) const;
  friend bool operator==(const TupleClass &a, const TupleClass &b) {
    return a.name == b.name && a.fields == b.fields;
  }
};
using TupleClassRef = std::shared_ptr<const TupleClass>; // null: a plain tuple
bool isSameClass(const TupleClassRef &a, const TupleClassRef &b);
/// "(1, x)", "(1,)", "Point(x=1, y=2)", of the texts of the items.
std::string tupleText(const std::vector<std::string> &items, const TupleClassRef &tupleClass);

/// The items of a tuple, and its class where that has names for them.
template <class T>
struct Tuple : std::vector<T> {
  TupleClassRef tupleClass;
  Tuple(std::vector<T> items, TupleClassRef tupleClass)
      : std::vector<T>(std::move(items)), tupleClass(std::move(tupleClass)) {}
};

struct Constant;
using ConstantTuple = std::shared_ptr<const Tuple<Constant>>;

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
  static Constant tuple(std::vector<Constant> items, TupleClassRef tupleClass = nullptr) {
    return {std::make_shared<const Tuple<Constant>>(std::move(items), std::move(tupleClass))};
  }
};

} // namespace sectile::lang
