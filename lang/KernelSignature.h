//===-- KernelSignature.h - what a kernel is specialised on -----------------------------------===//
// One entry per parameter of the kernel, in order. Constant parameters (constexpr, None, integers
// equal to 1) are folded into the code; the others become arguments of the compiled kernel, in this
// order.
#pragma once

#include "lang/Constant.h"
#include "lang/DType.h"

#include <optional>
#include <string>
#include <vector>

namespace sectile::lang {

struct KernelParameter {
  std::string name;
  /// Set: the parameter is this constant. Unset: it is passed at launch with `dtype`.
  std::optional<Constant> constant;
  DType dtype;
  /// The integer, or the address in bytes, is a multiple of 16.
  bool divisibleBy16 = false;
};

struct KernelSignature {
  std::string kernelName;
  std::vector<KernelParameter> parameters;
  /// Sums, differences and products of integers below 64 bits are asserted not to overflow.
  bool sanitizeOverflow = false;
};

} // namespace sectile::lang
