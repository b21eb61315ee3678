//===-- random.h - counter-based random numbers -------------------------------------------===//
// Philox: the number at (seed, offset) depends on nothing else, so it can be made again anywhere.
//
//   auto keep = rand(seed, index) > p;
#pragma once

#include <sectile/operators.h>

namespace sectile {

#define SECTILE_RANDOM(name)                                                                       \
  inline Value name(const Operand &seed, const Operand &offset,                                    \
                    Operand::Where where = Operand::Where::current()) {                            \
    return detail::call(where, #name, {seed.argument, offset.argument});                           \
  }
SECTILE_RANDOM(rand)    // f32 in [0, 1)
SECTILE_RANDOM(randn)   // f32, normal distribution
SECTILE_RANDOM(randint) // i32, all bits random
#undef SECTILE_RANDOM

} // namespace sectile
