//===-- KernelSignature.h - what a kernel is specialised on -----------------------------------===//
// One entry per parameter of the kernel, in order. Constant parameters (constexpr, None, integers
// equal to 1) are folded into the code; the others become arguments of the compiled kernel, in this
// order. A tuple is specialised item by item, and its items are arguments of their own:
//
//   (x: "*fp32:16", (n: "i32", 1))   ->   pair[0]: *fp32:16, pair[1][0]: i32, pair[1][1] = 1
#pragma once

#include "lang/plain/Constant.h"
#include "lang/plain/DType.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::lang {

struct KernelParameter {
  std::string name;
  /// Set: the parameter is this constant. Unset: it is passed at launch with `dtype`.
  std::optional<Constant> constant;
  DType dtype;
  /// The integer, or the address in bytes, is a multiple of 16.
  bool divisibleBy16 = false;
  /// Set: a tuple of these, and the rest above says nothing.
  std::optional<std::vector<KernelParameter>> items = {};
  TupleClassRef tupleClass = nullptr;
};

struct KernelSignature {
  /// The function, which has many variants. Messages, the history of variants, lists of the cache
  /// and archives go by it.
  std::string kernelName;
  std::vector<KernelParameter> parameters;
  /// What the code of this variant is called, where profilers, debuggers and launch hooks show it
  /// (@jit's `repr`). Empty: what the function is called.
  std::string variantName = {};
  /// Sums, differences and products of integers below 64 bits are asserted not to overflow.
  bool sanitizeOverflow = false;
  /// The input_precision of a dot that names none: a word of tile::InputPrecision.
  std::string dotPrecision = "tf32";
  /// The warps of a program, and the capability of an NVIDIA GPU (90 for 9.0; 0 elsewhere), which
  /// kernels may read.
  int32_t warpCount = 4, cudaCapability = 0;
  /// static_print shows types as Triton does.
  bool printsAsTriton = false;

  const std::string &nameOfCode() const { return variantName.empty() ? kernelName : variantName; }
};

/// "*fp32:16", "i32", the value of a constant, "(i32, 1)": how what a parameter is specialised on
/// is written, in signatures, reports and messages.
std::string kindText(const KernelParameter &parameter);
/// The reverse, of what is passed at launch: "*fp32", "*fp32:16", "i32:16"; "i32:1" is the constant
/// 1. None, and why in `problem`, for anything else. The name is left empty.
std::optional<KernelParameter> parseKind(std::string_view text, std::string &problem);

/// What an item of a tuple is called: "pair[0]", of a named tuple "pair.x".
std::string itemName(const std::string &tuple, const TupleClassRef &tupleClass, size_t index);

/// Where an argument stands among those of a call.
struct ArgumentPlace {
  /// Counts all: a tuple, then its items.
  size_t number;
  /// The parameter it belongs to.
  size_t parameter;
  bool isItem;
};

/// Visits everything in the order in which a call's arguments are read, a tuple before its items:
/// visit(parameter or item, its place).
template <class Signature, class Visit>
void forEachArgument(Signature &signature, Visit visit) {
  size_t number = 0;
  auto walk = [&](auto &self, auto &parameter, size_t index, bool isItem) -> void {
    visit(parameter, ArgumentPlace{number++, index, isItem});
    if (!parameter.items)
      return;
    for (auto &item : *parameter.items)
      self(self, item, index, true);
  };
  for (size_t i = 0; i < signature.parameters.size(); ++i)
    walk(walk, signature.parameters[i], i, false);
}

/// Visits what is no tuple, from left to right: visit(leaf, index of the parameter it belongs to).
template <class Visit>
void forEachLeaf(const KernelSignature &signature, Visit visit) {
  forEachArgument(signature, [&](const KernelParameter &parameter, ArgumentPlace place) {
    if (!parameter.items)
      visit(parameter, place.parameter);
  });
}

} // namespace sectile::lang
