//===-- DiscardableAttributes.h - attributes of the dialect on operations of others -----------===//
// What a kernel records besides its operations, and the kind of operation that may carry each. The
// dialect's verifier rejects other `tile.` attributes, and AttributeReadersTest requires that some
// pass or back end reads each of these, and each attribute of an operation of the dialect.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

// clang-format off
#define SECTILE_DISCARDABLE_ATTRIBUTES(ATTRIBUTE)                                                  \
  /* The function is a kernel. */                                                                  \
  ATTRIBUTE(kKernelAttr, "tile.kernel", Function)                                                  \
  /* How many programs share a block of threads (tile.team_id). */                                 \
  ATTRIBUTE(kTeamsAttr, "tile.teams", Function)                                                    \
  /* What divides an integer, or the address in bytes of a pointer. */                             \
  ATTRIBUTE(kDivisibilityAttr, "tile.divisibility", Argument)                                      \
  ATTRIBUTE(kArgumentNameAttr, "tile.name", Argument)                                              \
  /* What a kernel wishes of one loop: lang/semantics/LoopHints.h. */                              \
  ATTRIBUTE(kStagesAttr, "tile.num_stages", Loop)                                                  \
  ATTRIBUTE(kUnrollAttr, "tile.loop_unroll_factor", Loop)                                          \
  ATTRIBUTE(kOneAccumulatorAttr, "tile.disallow_acc_multi_buffer", Loop)                           \
  ATTRIBUTE(kFlattenAttr, "tile.flatten", Loop)                                                    \
  ATTRIBUTE(kWarpSpecializeAttr, "tile.warp_specialize", Loop)                                     \
  ATTRIBUTE(kKeepInvariantsAttr, "tile.disable_licm", Loop)                                        \
  /* The rounds of the loop end with a wait for what the copy engine stores, where what reads it    \
     may be ahead (optimizer/gpu/StoredRounds.h). */                                               \
  ATTRIBUTE(kAwaitsStoresAttr, "tile.awaits_stores", Loop)
// clang-format on

namespace sectile::tile {

#define SECTILE_CONSTANT(constant, text, place)                                                    \
  inline constexpr llvm::StringLiteral constant = text;
SECTILE_DISCARDABLE_ATTRIBUTES(SECTILE_CONSTANT)
#undef SECTILE_CONSTANT

struct DiscardableAttribute {
  enum class Place { Function, Argument, Loop };
  llvm::StringLiteral name;
  /// How C++ code calls it.
  llvm::StringLiteral constant;
  Place place;
};
llvm::ArrayRef<DiscardableAttribute> discardableAttributes();

} // namespace sectile::tile
