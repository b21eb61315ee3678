//===-- PowersOfTwo.h - the powers of two in a number -----------------------------------------===//
#pragma once

#include <cstdint>

namespace sectile::layout {

/// The largest power of two that divides the number: lowestBit(24) is 8. That of 0 is 0.
constexpr int64_t lowestBit(int64_t number) {
  return int64_t(uint64_t(number) & -uint64_t(number));
}

} // namespace sectile::layout
