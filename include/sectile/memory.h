//===-- memory.h - loads, stores, atomics -------------------------------------------------===//
//   auto x = load(in + index, index < count, 0.0f);
//   store(out + index, x, index < count);
//   atomic_add(counter, 1);
//
// Where the mask is false memory is not touched. The element of a load is then `other`, or
// zero without one. Names of modifiers are Triton's, without the dot or with it.
#pragma once

#include <sectile/operators.h>
#include <string>

namespace sectile {

/// Hints for a load or store; none changes the result.
struct MemoryOptions {
  const char *cache_modifier = "";  // loads: "ca" "cg" "cs" "cv"; stores: "wb" "cg" "cs" "wt"
  const char *eviction_policy = ""; // "evict_first" "evict_last"
  bool is_volatile = false;         // loads only
};

namespace detail {
inline void addOptions(std::vector<cpp::Argument> &arguments, const MemoryOptions &options) {
  std::string cache = options.cache_modifier;
  if (!cache.empty() && cache[0] != '.')
    cache.insert(0, ".");
  if (!cache.empty())
    arguments.push_back(named("cache_modifier", cache.c_str()));
  if (*options.eviction_policy)
    arguments.push_back(named("eviction_policy", options.eviction_policy));
  if (options.is_volatile)
    arguments.push_back(named("volatile", true));
}
} // namespace detail

inline Value load(const Operand &pointer, const Operand &mask = none, const Operand &other = none,
                  MemoryOptions options = {}, Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {pointer.argument, mask.argument, other.argument};
  detail::addOptions(arguments, options);
  return detail::call(where, "load", arguments);
}

inline void store(const Operand &pointer, const Operand &value, const Operand &mask = none,
                  MemoryOptions options = {}, Operand::Where where = Operand::Where::current()) {
  std::vector<cpp::Argument> arguments = {pointer.argument, value.argument, mask.argument};
  detail::addOptions(arguments, options);
  detail::call(where, "store", arguments);
}

//===-- atomics: each returns what was there before -------------------------------------------===//

struct AtomicOptions {
  const char *sem = nullptr;   // "acq_rel" (the default) "acquire" "release" "relaxed"
  const char *scope = nullptr; // "gpu" (the default) "cta" "sys"
};

namespace detail {
inline Value atomic(const Operand::Where &where, const char *builtin,
                    std::vector<cpp::Argument> arguments, const AtomicOptions &options) {
  if (options.sem)
    arguments.push_back(named("sem", options.sem));
  if (options.scope)
    arguments.push_back(named("scope", options.scope));
  return call(where, builtin, arguments);
}
} // namespace detail

#define SECTILE_ATOMIC(name)                                                                       \
  inline Value name(const Operand &pointer, const Operand &value, const Operand &mask = none,      \
                    AtomicOptions options = {},                                                    \
                    Operand::Where where = Operand::Where::current()) {                            \
    return detail::atomic(where, #name, {pointer.argument, value.argument, mask.argument},         \
                          options);                                                                \
  }
SECTILE_ATOMIC(atomic_add)
SECTILE_ATOMIC(atomic_max)
SECTILE_ATOMIC(atomic_min)
SECTILE_ATOMIC(atomic_and)
SECTILE_ATOMIC(atomic_or)
SECTILE_ATOMIC(atomic_xor)
SECTILE_ATOMIC(atomic_xchg)
#undef SECTILE_ATOMIC

/// Writes `desired` where memory holds `expected`.
inline Value atomic_cas(const Operand &pointer, const Operand &expected, const Operand &desired,
                        AtomicOptions options = {},
                        Operand::Where where = Operand::Where::current()) {
  return detail::atomic(where, "atomic_cas",
                        {pointer.argument, expected.argument, desired.argument}, options);
}

} // namespace sectile
