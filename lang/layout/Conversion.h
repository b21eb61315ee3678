//===-- Conversion.h - how a tile goes from one layout to another -------------------------===//
// planConversion says which of three ways is enough, and gives every instruction of it as data:
//
//   Same           every thread has its new elements already: registers are renamed
//   WithinWarp     every warp has them: lane shuffles, with selects before and after
//   ThroughShared  stores, a barrier, loads, free of bank conflicts
//
//   ConversionPlan plan = planConversion(source, destination, /*elementBits=*/16);
//
// The two layouts may differ in block and padding: both are seen as repetitions of the larger
// block. What only padding would read is register -1: any value will do.
#pragma once

#include "lang/layout/SharedLayout.h"

namespace sectile::layout {

enum class ConversionKind : uint8_t {
  Same,
  WithinWarp,
  ThroughShared,
  BetweenBlocks // elements would cross thread blocks, or warp or lane counts differ: no plan
};

/// value[s] = bit `bit` of the lane (warp, block) number ? value[s xor slotXor] : value[s], for all
/// slots at once.
struct ConditionalSwap {
  Dim dim;
  unsigned bit;
  int64_t slotXor;
  bool operator==(const ConditionalSwap &) const = default;
};

/// moved[to[i]] = the value[from[i]] of the lane `sourceLane` says, for all i: small elements can
/// be packed into one 32-bit shuffle.
struct ShuffleStep {
  int64_t laneXor = 0;
  llvm::SmallVector<int, 8> from, to;
};

/// Source slots s and s xor `from` go the same way, to destination slots t and t xor `to`. Each is
/// a power of two, of which no other pair and no swap has any.
struct SlotPairs {
  int64_t from, to;
};

/// slots <- source registers; `before`; `steps`; `after`; destination registers <- slots.
struct ShufflePlan {
  llvm::SmallVector<int, 16> sourceRegisters; // of each slot; -1: undefined
  llvm::SmallVector<ConditionalSwap, 4> before, after;
  /// The lane that lane l of warp w reads in a step: the xor of laneXor and the bases of the bits
  /// of l, w, block.
  llvm::SmallVector<int64_t, 6> laneBases, warpBases, blockBases;
  llvm::SmallVector<ShuffleStep, 8> steps;
  llvm::SmallVector<int, 16> destinationSlots; // of each destination register; -1: undefined
  llvm::SmallVector<SlotPairs, 2> together;

  /// True when `step` moves nothing between lanes.
  bool staysInLane(const ShuffleStep &step) const;
  /// True when every lane reads lane xor laneXor (a butterfly shuffle).
  bool isButterfly() const;
  int64_t sourceLane(const ShuffleStep &step, int64_t lane, int64_t warp, int64_t block = 0) const;
  /// Shuffle instructions of 32 bits, and selects.
  int64_t shuffleCount(unsigned elementBits) const;
  int64_t selectCount() const;
};

/// A plan whose slots are words of several small elements that go the same way: a select or a
/// shuffle is for all of them.
struct PackedShuffles {
  ShufflePlan plan;
  int64_t perWord = 1;
  /// The source register of each element of each word in turn; -1: undefined.
  llvm::SmallVector<int, 16> sources;
  /// The element of the moved words that each destination register has; -1: undefined.
  llvm::SmallVector<int, 16> destinations;
};

/// Packs as many bytes as 32 bits hold and the plan's `together` allows. Larger elements stay
/// alone: if theirs were as cheap, loads of products would be converted by shuffles that way, where
/// copies to shared memory can run ahead.
PackedShuffles packShuffles(const ShufflePlan &plan, unsigned elementBits);

/// Rounds share the same bytes: store, barrier, load, barrier, store ...
struct SharedRound {
  llvm::SmallVector<int, 8> stores, loads; // groups of `write` and `read`
};

struct SharedPlan {
  SharedAccess write, read; // only threads without copies need to write
  /// The reads transpose (accessSharedTransposed).
  bool isReadTransposed = false;
  llvm::SmallVector<SharedRound, 4> rounds;
  int64_t bytes = 0;
};

struct ConversionPlan {
  ConversionKind kind = ConversionKind::BetweenBlocks;
  llvm::SmallVector<int, 16> registerMap; // Same: source register of each destination register
  ShufflePlan shuffles;                   // WithinWarp
  SharedPlan shared;                      // ThroughShared
};

struct ConversionSettings {
  /// Larger conversions go in rounds, as far as the layouts allow.
  int64_t maxSharedBytes = 32 * 1024;
  SharedBanks banks = {};
  /// Set to plan through shared memory, or by shuffles at any price, as tests and measurements do.
  enum class Way : uint8_t { Cheapest, Shuffles, Shared } way = Way::Cheapest;
};

ConversionPlan planConversion(const TileLayout &source, const TileLayout &destination,
                              unsigned elementBits, const ConversionSettings &settings = {});

/// Where the elements lie in shared memory, all at once, between threads that write them from one
/// layout and read them in the other: accesses are as wide as both layouts allow, or where reads
/// transpose as wide as each does, and free of bank conflicts.
SharedLayout sharedBetween(const TileLayout &source, const TileLayout &destination,
                           unsigned elementBits, const SharedBanks &banks = {});

/// Only which case holds, by the settings' defaults: what a pass that removes conversions asks
/// often, and no promise of what is planned where banks differ. Within a warp, `perWord` becomes
/// the number of elements that move in a word.
ConversionKind classifyConversion(const TileLayout &source, const TileLayout &destination,
                                  unsigned elementBits, int64_t *perWord = nullptr);

} // namespace sectile::layout
