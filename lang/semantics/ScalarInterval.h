//===-- ScalarInterval.h - between which numbers an integer of a kernel lies ------------------===//
// What a front end knows while it builds the IR, from how a scalar is made: program_id(0) is not
// negative, and num_programs(0) * 64 in 64 bits is positive. Where arithmetic may wrap, nothing is
// known but the type, so the interval holds in every run. (The optimizer's IndexAnalysis knows much
// more, of a whole kernel.)
#pragma once

#include "lang/semantics/Value.h"

namespace sectile::lang {

struct Interval {
  Int low = 0, high = 0;

  /// All numbers of an integer type, or of truth values.
  static Interval of(DType dtype);
  bool contains(const Interval &other) const { return low <= other.low && other.high <= high; }
  friend bool operator==(const Interval &, const Interval &) = default;
};

/// Returns the numbers that a scalar integer or truth value may take.
Interval intervalOf(const Value &scalar);

} // namespace sectile::lang
