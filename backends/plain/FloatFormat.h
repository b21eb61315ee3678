//===-- FloatFormat.h - narrow floating-point numbers on the host -----------------------------===//
// For scalar arguments and printing: one number at a time, exact, by the format's own parameters.
//
//   encodeFloat(0.1, ScalarKind::Float16) == 0x2e66
//   decodeFloat(0x2e66, ScalarKind::Float16) == 0.0999755859375
//   encodeFloat(1e9, ScalarKind::Float8E5) == 0x7b, 57344: fp8 stops at its largest number
#pragma once

#include "lang/plain/DType.h"

#include <cstdint>

namespace sectile::backends {

/// The bits of `number` as a `kind`, rounded to nearest even, in the low bytes. What is too large
/// becomes infinity, or in fp8 the largest finite number, and so does infinity there.
uint64_t encodeFloat(double number, lang::ScalarKind kind);
double decodeFloat(uint64_t bits, lang::ScalarKind kind);

} // namespace sectile::backends
