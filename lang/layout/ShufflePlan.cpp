// A conversion within a warp as selects, shuffles, selects.
//
// Register r of lane l wants register Rr r ^ Rl l of lane Lr r ^ Ll l (warp and block add
// constants). A shuffle gives every lane one value of one other lane, and the lane that gives
// chooses which of its registers. So the order in which lanes fill their registers is twisted, lane
// l filling r = r' ^ T l in step r', until lanes that read from one lane in the same step want the
// same register there:
//
//   source lane      S = Lr r' ^ M l           M = Ll ^ Lr T
//   source register  R = P r' ^ U S            U M = Rl ^ Rr T,   P = Rr ^ U Lr
//
// U exists when every l with M l = 0 has (Rl ^ Rr T) l = 0. T need only act on lanes with Ll l = 0.
#include "lang/layout/ConversionView.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>

namespace sectile::layout {

namespace {

int64_t xorOver(llvm::ArrayRef<int64_t> bases, int64_t index) {
  int64_t sum = 0;
  for (auto [bit, basis] : llvm::enumerate(bases))
    if (index >> bit & 1)
      sum ^= basis;
  return sum;
}

/// The columns of a linear map that takes each vector of a basis to its image.
Words mapFromBasis(llvm::ArrayRef<Word> basis, llvm::ArrayRef<Word> images, unsigned dimension) {
  BitSpan span(basis);
  Words columns;
  for (unsigned bit = 0; bit < dimension; ++bit)
    columns.push_back(combine(images, *span.express(Word(1) << bit)));
  return columns;
}

/// `basis` and unit vectors that complete it to all of `dimension` bits.
Words completeBasis(llvm::ArrayRef<Word> basis, unsigned dimension) {
  BitSpan span(basis);
  Words complete(basis.begin(), basis.end());
  for (unsigned bit = 0; bit < dimension; ++bit)
    if (span.insert(Word(1) << bit))
      complete.push_back(Word(1) << bit);
  return complete;
}

/// The twist T (lane -> register), or nullopt. Where registers do not reach enough lanes but the
/// source holds copies in several, the map is changed to read those copies.
std::optional<Words> findTwist(const LinearLayout &source, WarpMap &map, unsigned laneBits) {
  BitSpan lanes(map.laneOfLane);
  Words kernel(lanes.kernel().begin(), lanes.kernel().end());
  // Lanes of the kernel that want different registers of one lane, and those that want the same.
  BitSpan wanted;
  Words twisted, same;
  for (Word lane : kernel) {
    Word wish = combine(map.registerOfLane, lane);
    // Its wish may be a sum of earlier wishes: those lanes and this one together want register 0.
    if (std::optional<Word> earlier = wanted.express(wish))
      same.push_back(lane ^ combine(kernel, *earlier));
    else
      twisted.push_back(lane);
    wanted.insert(wish);
  }
  // One source lane beyond what lanes reach for each twisted lane: by a register of its own, or by
  // a copy.
  BitSpan reached(map.laneOfLane);
  Words twists, copyRegisters, copyLanes;
  for (unsigned bit = 0; bit < map.laneOfRegister.size() && twists.size() < twisted.size(); ++bit)
    if (reached.insert(map.laneOfRegister[bit])) {
      twists.push_back(Word(1) << bit);
      copyRegisters.push_back(0);
      copyLanes.push_back(0);
    }
  llvm::ArrayRef<Word> registers = source.columns(Dim::Register);
  BitSpan held(registers);
  for (Word lane : source.columns(Dim::Lane))
    held.insert(lane);
  for (Word copy : held.kernel())
    if (twists.size() < twisted.size() && reached.insert(copy >> registers.size())) {
      twists.push_back(0);
      copyRegisters.push_back(copy & ((Word(1) << registers.size()) - 1));
      copyLanes.push_back(copy >> registers.size());
    }
  if (twists.size() < twisted.size())
    return std::nullopt;
  // On `same` and on a complement of the kernel nothing changes.
  Words basis(twisted);
  llvm::append_range(basis, same);
  basis = completeBasis(basis, laneBits);
  for (Words *images : {&twists, &copyRegisters, &copyLanes}) {
    images->resize(basis.size(), 0);
    *images = mapFromBasis(basis, *images, laneBits);
  }
  for (unsigned bit = 0; bit < laneBits; ++bit) {
    map.registerOfLane[bit] ^= copyRegisters[bit];
    map.laneOfLane[bit] ^= copyLanes[bit];
  }
  return twists;
}

llvm::SmallVector<int64_t, 6> signedWords(llvm::ArrayRef<Word> words) {
  return llvm::SmallVector<int64_t, 6>(words.begin(), words.end());
}

} // namespace

std::optional<ShufflePlan> planShuffles(const ConversionViews &views, WarpMap map) {
  unsigned laneBits = views.destination.block.inBits(Dim::Lane);
  std::optional<Words> twist = findTwist(views.source.block, map, laneBits);
  if (!twist)
    return std::nullopt;

  Words lanes, registers; // M, and U M
  for (unsigned bit = 0; bit < laneBits; ++bit) {
    lanes.push_back(map.laneOfLane[bit] ^ combine(map.laneOfRegister, (*twist)[bit]));
    registers.push_back(map.registerOfLane[bit] ^ combine(map.registerOfRegister, (*twist)[bit]));
  }
  // U on the image of M; zero on a complement.
  BitSpan image;
  Words basis, images;
  for (unsigned bit = 0; bit < laneBits; ++bit) {
    if (image.insert(lanes[bit])) {
      basis.push_back(lanes[bit]);
      images.push_back(registers[bit]);
    } else if (combine(registers, *image.express(lanes[bit])) != registers[bit]) {
      return std::nullopt;
    }
  }
  basis = completeBasis(basis, laneBits);
  images.resize(basis.size(), 0);
  Words choice = mapFromBasis(basis, images, laneBits);

  ShufflePlan plan;
  plan.laneBases = signedWords(lanes);
  plan.warpBases = signedWords(map.laneOfWarp);
  plan.blockBases = signedWords(map.laneOfBlock);
  auto addSwap = [](auto &swaps, Dim dim, unsigned bit, Word slotXor) {
    if (slotXor)
      swaps.push_back({dim, bit, int64_t(slotXor)});
  };
  for (unsigned bit = 0; bit < laneBits; ++bit) {
    addSwap(plan.before, Dim::Lane, bit, choice[bit]);
    addSwap(plan.after, Dim::Lane, bit, (*twist)[bit]);
  }
  for (unsigned bit = 0; bit < map.registerOfWarp.size(); ++bit)
    addSwap(plan.before, Dim::Warp, bit,
            map.registerOfWarp[bit] ^ combine(choice, map.laneOfWarp[bit]));
  for (unsigned bit = 0; bit < map.registerOfBlock.size(); ++bit)
    addSwap(plan.before, Dim::Block, bit,
            map.registerOfBlock[bit] ^ combine(choice, map.laneOfBlock[bit]));

  // Elements whose slots differ in a bit that nothing else depends on.
  auto isSwapped = [](const auto &swaps, int64_t bit) {
    return llvm::any_of(swaps, [&](const ConditionalSwap &swap) { return swap.slotXor & bit; });
  };
  for (unsigned bit = 0; bit < map.registerOfRegister.size(); ++bit) {
    const Word from = map.registerOfRegister[bit];
    int64_t takers = 0; // slots, by their bits, that come from such a slot
    for (auto [number, lane] : llvm::zip(map.registerOfRegister, map.laneOfRegister))
      takers += ((number ^ combine(choice, lane)) & from) != 0;
    if (llvm::isPowerOf2_64(uint64_t(from)) && map.laneOfRegister[bit] == 0 && takers == 1 &&
        !isSwapped(plan.before, int64_t(from)) && !isSwapped(plan.after, int64_t(1) << bit))
      plan.together.push_back({int64_t(from), int64_t(1) << bit});
  }

  int64_t sourceCount = views.source.registersPerBlock();
  int64_t destinationCount = views.destination.registersPerBlock();
  int64_t repetitions = views.source.repetitionCount();
  plan.destinationSlots.assign(views.destination.tile->registersPerThread(), -1);
  for (int64_t repetition = 0; repetition < repetitions; ++repetition) {
    for (int64_t slot = 0; slot < sourceCount; ++slot)
      plan.sourceRegisters.push_back(views.source.registerOf(repetition, slot));
    for (int64_t slot = 0; slot < destinationCount; ++slot)
      if (int target = views.destination.registerOf(repetition, slot); target >= 0)
        plan.destinationSlots[target] = repetition * destinationCount + slot;
  }
  const TileLayout &tile = *views.destination.tile;
  for (auto [number, slot] : llvm::enumerate(plan.destinationSlots))
    if (slot < 0)
      if (std::optional<int> first = tile.registerHolding(tile.constantOf(number)))
        slot = plan.destinationSlots[*first];

  // One step per lane constant; all registers that move alike are in it.
  std::map<int64_t, ShuffleStep> steps;
  for (int64_t repetition = 0; repetition < repetitions; ++repetition)
    for (int64_t slot = 0; slot < destinationCount; ++slot) {
      Word lane = combine(map.laneOfRegister, slot);
      Word number = combine(map.registerOfRegister, slot) ^ combine(choice, lane);
      ShuffleStep &step = steps[lane];
      step.laneXor = lane;
      step.from.push_back(repetition * sourceCount + number);
      step.to.push_back(repetition * destinationCount + slot);
    }
  for (auto &[lane, step] : steps)
    plan.steps.push_back(std::move(step));
  return plan;
}

PackedShuffles packShuffles(const ShufflePlan &plan, unsigned elementBits) {
  PackedShuffles packed;
  packed.plan = plan;
  packed.sources = plan.sourceRegisters;
  packed.destinations = plan.destinationSlots;
  for (const SlotPairs &pairs : plan.together) {
    if (elementBits > 8 || packed.perWord == 4)
      break;
    // Bits below are gone by now.
    auto withoutBit = [](int64_t slot, int64_t bit) {
      return (slot & (bit - 1)) | (slot >> 1 & ~(bit - 1));
    };
    int64_t from = pairs.from, to = pairs.to;
    for (const SlotPairs &before : plan.together) {
      if (&before == &pairs)
        break;
      from >>= before.from < pairs.from;
      to >>= before.to < pairs.to;
    }
    llvm::SmallVector<int, 16> sources;
    const int64_t slots = int64_t(packed.sources.size()) / packed.perWord;
    for (int64_t slot = 0; slot < slots; ++slot)
      if (!(slot & from))
        for (int64_t half : {slot, slot | from})
          for (int64_t element = 0; element < packed.perWord; ++element)
            sources.push_back(packed.sources[half * packed.perWord + element]);
    packed.sources = std::move(sources);
    for (int &place : packed.destinations)
      if (place >= 0) {
        const int64_t slot = place / packed.perWord, element = place % packed.perWord;
        place = int(2 * packed.perWord * withoutBit(slot, to) + (slot & to ? packed.perWord : 0) +
                    element);
      }
    for (ConditionalSwap &swap : packed.plan.before)
      swap.slotXor = withoutBit(swap.slotXor, from);
    for (ConditionalSwap &swap : packed.plan.after)
      swap.slotXor = withoutBit(swap.slotXor, to);
    for (ShuffleStep &step : packed.plan.steps) {
      ShuffleStep words{step.laneXor, {}, {}};
      for (auto [source, target] : llvm::zip(step.from, step.to))
        if (!(target & to)) {
          words.from.push_back(int(withoutBit(source, from)));
          words.to.push_back(int(withoutBit(target, to)));
        }
      step = std::move(words);
    }
    packed.perWord *= 2;
  }
  auto count = [](llvm::SmallVectorImpl<int> &slots, int64_t size) {
    slots.resize(size_t(size));
    std::iota(slots.begin(), slots.end(), 0);
  };
  count(packed.plan.sourceRegisters, int64_t(packed.sources.size()) / packed.perWord);
  int64_t moved = 0;
  for (const ShuffleStep &step : packed.plan.steps)
    moved += int64_t(step.to.size());
  count(packed.plan.destinationSlots, moved);
  packed.plan.together.clear();
  return packed;
}

//===-- questions -----------------------------------------------------------------------------===//

bool ShufflePlan::isButterfly() const {
  for (auto [bit, basis] : llvm::enumerate(laneBases))
    if (basis != int64_t(1) << bit)
      return false;
  return llvm::all_of(warpBases, [](int64_t basis) { return basis == 0; }) &&
         llvm::all_of(blockBases, [](int64_t basis) { return basis == 0; });
}

bool ShufflePlan::staysInLane(const ShuffleStep &step) const {
  return step.laneXor == 0 && isButterfly();
}

int64_t ShufflePlan::sourceLane(const ShuffleStep &step, int64_t lane, int64_t warp,
                                int64_t block) const {
  return step.laneXor ^ xorOver(laneBases, lane) ^ xorOver(warpBases, warp) ^
         xorOver(blockBases, block);
}

int64_t ShufflePlan::shuffleCount(unsigned elementBits) const {
  int64_t count = 0;
  for (const ShuffleStep &step : steps)
    if (!staysInLane(step))
      count += llvm::divideCeil(uint64_t(step.from.size() * elementBits), 32u);
  return count;
}

int64_t ShufflePlan::selectCount() const {
  return before.size() * sourceRegisters.size() + after.size() * destinationSlots.size();
}

} // namespace sectile::layout
