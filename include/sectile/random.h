//===-- random.h - counter-based random numbers -------------------------------------------===//
// Philox: the number at (seed, offset) depends on nothing else, so it can be made again anywhere.
//
//   auto keep = rand(seed, index) > p;
#pragma once

#include <sectile/operators.h>
#include <tuple>

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

#define SECTILE_RANDOM4(name)                                                                      \
  inline std::tuple<Value, Value, Value, Value> name(const Operand &seed, const Operand &offset,   \
                                                     Operand::Where where =                        \
                                                         Operand::Where::current()) {              \
    cpp::Argument arguments[] = {seed.argument, offset.argument};                                  \
    auto results = detail::callAll(where, #name, arguments);                                       \
    return {detail::valueOf(results.at(0)), detail::valueOf(results.at(1)),                        \
            detail::valueOf(results.at(2)), detail::valueOf(results.at(3))};                       \
  }
// Four for the price of one.
SECTILE_RANDOM4(rand4x)
SECTILE_RANDOM4(randn4x)
SECTILE_RANDOM4(randint4x)
#undef SECTILE_RANDOM4

} // namespace sectile
