//===-- Vocabulary.h - how the user's language writes what a remedy recommends ----------------===//
// The texts of lang/ recommend operations, casts and parameters; each front end has its own way to
// write them. Semantics holds the vocabulary of the front end at work.
//
//   words.operation("where")       Python: "tl.where"                C++: "where"
//   words.cast(dtype, "x")         Python: "x.to(tl.float32)"        C++: "to<f32>(x)"
#pragma once

#include "lang/plain/DType.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::lang {

class Vocabulary {
public:
  enum class Language : uint8_t { Python, Cpp };
  constexpr explicit Vocabulary(Language language) : language(language) {}

  /// "tl.where"; "where".
  std::string operation(std::string_view name) const;
  /// "tl.float32"; "f32".
  std::string dtype(DType dtype) const;
  /// A dtype as what was found, not as what to write: "fp32", "*kfp32"; "f32", "Ptr<const f32>".
  std::string found(DType dtype) const;
  /// The cast of an operand that the text does not name: ".to(tl.float32)"; "to<f32>(...)".
  std::string cast(DType to) const;
  /// "x.to(tl.float32)"; "to<f32>(x)".
  std::string cast(DType to, std::string_view operand) const;
  /// How a cast is asked to keep the bits: "with bitcast=True"; "with bitcast<T>(x)".
  std::string bitcast() const;
  /// "tl.zeros((16, 16), tl.float32)"; "zeros<f32>({16, 16})".
  std::string zeros(const std::vector<int64_t> &shape, DType dtype) const;
  /// A vector as a column and a vector as a row: "x[:, None]"; "x[{all, none}]".
  std::string asColumn(std::string_view vector) const;
  std::string asRow(std::string_view vector) const;
  /// A whole dimension and a new one in an index: "':'", "None"; "all", "none".
  std::string wholeDimension() const;
  std::string newDimension() const;
  /// A parameter whose value is known at compile time: "n: tl.constexpr"; "Const<int> n".
  std::string constantParameter(std::string_view name) const;
  /// x to the power of y, and how to get at it.
  std::string power() const;
  /// How an array is made of a list of numbers; "" where the language has no such lists.
  std::string arrayOf(std::string_view list, bool areIntegers) const;

private:
  Language language;
};

inline constexpr Vocabulary kPythonWords{Vocabulary::Language::Python};
inline constexpr Vocabulary kCppWords{Vocabulary::Language::Cpp};

} // namespace sectile::lang
