//===-- RandomExpression.h - random code of work-items in LLVM IR -----------------------------===//
// For comparison of what LLVM makes of it for an AMD GPU, in the interpreter, with what it makes of
// it for this machine. Only operations whose results LLVM's language reference pins to the bit are
// used; NaN is stored as one pattern.
#pragma once

#include <cstdint>
#include <string>

namespace sectile::amdisa {

struct RandomExpression {
  /// The lines of a function that has %i0 to %i3, of i64, and the number of results %r0, %r1, ...
  /// of i64.
  std::string body, declarations;
  std::string lastBlock; // the label of the block that ends the body
  unsigned results = 0;
};

RandomExpression randomExpression(uint64_t seed, unsigned operations);

/// A kernel (ptr in, ptr out) for work-groups of 64: four i64 in, `results` out for each work-item.
std::string expressionKernel(const RandomExpression &expression);
/// void sectile_kernel(ptr in, ptr out, i64 count) for the host.
std::string expressionFunction(const RandomExpression &expression);

} // namespace sectile::amdisa
