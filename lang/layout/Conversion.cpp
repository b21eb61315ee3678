#include "lang/layout/Conversion.h"

#include "lang/layout/ConversionView.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace sectile::layout {

int64_t ConversionView::repetitionCount() const {
  int64_t count = 1;
  for (int64_t repeat : repetitions)
    count *= repeat;
  return count;
}

int ConversionView::registerOf(int64_t repetition, Word blockRegister) const {
  Coordinates constant =
      block.unpackAxes(block.apply(block.packIn({{Dim::Register, int64_t(blockRegister)}})));
  for (int index = tile->rank(); index-- > 0;) {
    constant[index] += repetition % repetitions[index] * block.getOutDimSize(index);
    repetition /= repetitions[index];
  }
  return tile->registerHolding(constant).value_or(-1);
}

ConversionViews alignBlocks(const TileLayout &source, const TileLayout &destination) {
  ConversionViews views{{&source, source.block(), {}}, {&destination, destination.block(), {}}};
  for (int index = 0; index < source.rank(); ++index) {
    int64_t extent = std::max(source.blockExtent(index), destination.blockExtent(index));
    for (ConversionView *view : {&views.source, &views.destination}) {
      view->block =
          view->block * LinearLayout::identity1D(extent / view->block.getOutDimSize(index),
                                                 Dim::Register, axis(index));
      view->repetitions.push_back(
          llvm::divideCeil(uint64_t(source.shape()[index]), uint64_t(extent)));
    }
  }
  return views;
}

//===-- within a warp -------------------------------------------------------------------------===//

namespace {

bool allZero(llvm::ArrayRef<Word> words) {
  return llvm::all_of(words, [](Word word) { return word == 0; });
}

} // namespace

bool WarpMap::staysInThread() const {
  for (auto [bit, lane] : llvm::enumerate(laneOfLane))
    if (lane != Word(1) << bit)
      return false;
  return allZero(laneOfRegister) && allZero(registerOfLane) && allZero(laneOfWarp) &&
         allZero(registerOfWarp) && allZero(laneOfBlock) && allZero(registerOfBlock);
}

std::optional<WarpMap> mapWithinWarp(const ConversionViews &views) {
  const LinearLayout &source = views.source.block, &destination = views.destination.block;
  llvm::ArrayRef<Word> registers = source.columns(Dim::Register), lanes = source.columns(Dim::Lane);
  BitSpan registerSpan(registers), threadSpan(registers);
  for (Word lane : lanes)
    threadSpan.insert(lane);
  Word registerMask = (Word(1) << registers.size()) - 1;

  // The element `wanted`, preferably in registers of lane `stay`, else of lane 0, else anywhere in
  // the warp.
  auto locate = [&](Word wanted, Word stay, Words &registerWords, Words &laneWords) {
    for (Word lane : {stay, Word(0)})
      if (auto found = registerSpan.express(wanted ^ combine(lanes, lane))) {
        registerWords.push_back(*found);
        laneWords.push_back(lane);
        return true;
      }
    auto found = threadSpan.express(wanted);
    if (!found)
      return false;
    registerWords.push_back(*found & registerMask);
    laneWords.push_back(*found >> registers.size());
    return true;
  };

  WarpMap map;
  for (Word wanted : destination.columns(Dim::Register))
    if (!locate(wanted, 0, map.registerOfRegister, map.laneOfRegister))
      return std::nullopt;
  for (auto [bit, wanted] : llvm::enumerate(destination.columns(Dim::Lane)))
    if (!locate(wanted, Word(1) << bit, map.registerOfLane, map.laneOfLane))
      return std::nullopt;
  for (auto [bit, wanted] : llvm::enumerate(destination.columns(Dim::Warp)))
    if (!locate(wanted ^ source.columns(Dim::Warp)[bit], 0, map.registerOfWarp, map.laneOfWarp))
      return std::nullopt;
  for (auto [bit, wanted] : llvm::enumerate(destination.columns(Dim::Block)))
    if (!locate(wanted ^ source.columns(Dim::Block)[bit], 0, map.registerOfBlock, map.laneOfBlock))
      return std::nullopt;
  return map;
}

//===-- the choice ----------------------------------------------------------------------------===//

namespace {

llvm::SmallVector<int, 16> planRenaming(const ConversionViews &views, const WarpMap &map) {
  llvm::SmallVector<int, 16> registerMap(views.destination.tile->registersPerThread(), -1);
  for (int64_t repetition = 0; repetition < views.destination.repetitionCount(); ++repetition)
    for (Word number = 0; number < Word(views.destination.registersPerBlock()); ++number)
      if (int target = views.destination.registerOf(repetition, number); target >= 0)
        registerMap[target] =
            views.source.registerOf(repetition, combine(map.registerOfRegister, number));
  // A register that holds what a lower one holds was not found by registerOf.
  const TileLayout &tile = *views.destination.tile;
  for (auto [number, source] : llvm::enumerate(registerMap))
    if (source < 0)
      if (std::optional<int> first = tile.registerHolding(tile.constantOf(number)))
        source = registerMap[*first];
  return registerMap;
}

bool areComparable(const TileLayout &source, const TileLayout &destination) {
  assert(source.shape() == destination.shape() && "conversion changes the shape");
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Block})
    if (source.block().inSize(dim) != destination.block().inSize(dim))
      return false;
  return source.block().columns(Dim::Block) == destination.block().columns(Dim::Block);
}

/// Shuffles cost one issue each, selects about half; a round trip a store and a load per 32 bits,
/// and a barrier. What lanes read at once costs an issue each where most of it is the same: sums of
/// rows that each lane wants for all rows.
bool areShufflesCheaper(const PackedShuffles &packed, const ConversionViews &views,
                        unsigned elementBits, const ConversionSettings &settings) {
  const int64_t shuffles = packed.plan.shuffleCount(elementBits * unsigned(packed.perWord)) +
                           packed.plan.selectCount() / 2;
  int64_t registers =
      views.source.tile->registersPerThread() + views.destination.tile->registersPerThread();
  int64_t accesses = llvm::divideCeil(uint64_t(registers * elementBits), 32u);
  constexpr int64_t kMuchMore = 4;
  const bool isMostlySame = views.destination.tile->registersPerThread() >=
                            kMuchMore * views.source.tile->registersPerThread();
  if (isMostlySame)
    if (std::optional<SharedPlan> plan = planForReader(views, elementBits, settings))
      accesses = int64_t(plan->write.groups.size() + plan->read.groups.size());
  return shuffles <= accesses + 20;
}

struct Choice {
  ConversionKind kind;
  std::optional<WarpMap> map;
  std::optional<ShufflePlan> shuffles;
  int64_t perWord = 1; // elements that these move together
};

Choice choose(const ConversionViews &views, unsigned elementBits,
              const ConversionSettings &settings) {
  using Way = ConversionSettings::Way;
  Choice choice{ConversionKind::ThroughShared, mapWithinWarp(views), {}};
  if (settings.way == Way::Shared || !choice.map)
    return choice;
  if (choice.map->staysInThread()) {
    choice.kind = ConversionKind::Same;
    return choice;
  }
  choice.shuffles = planShuffles(views, *choice.map);
  if (!choice.shuffles)
    return choice;
  const PackedShuffles packed = packShuffles(*choice.shuffles, elementBits);
  choice.perWord = packed.perWord;
  if (settings.way == Way::Shuffles || areShufflesCheaper(packed, views, elementBits, settings))
    choice.kind = ConversionKind::WithinWarp;
  return choice;
}

} // namespace

ConversionPlan planConversion(const TileLayout &source, const TileLayout &destination,
                              unsigned elementBits, const ConversionSettings &settings) {
  ConversionPlan plan;
  if (!areComparable(source, destination))
    return plan;
  ConversionViews views = alignBlocks(source, destination);
  Choice choice = choose(views, elementBits, settings);
  plan.kind = choice.kind;
  if (plan.kind == ConversionKind::Same)
    plan.registerMap = planRenaming(views, *choice.map);
  else if (plan.kind == ConversionKind::WithinWarp)
    plan.shuffles = std::move(*choice.shuffles);
  else
    plan.shared = planShared(views, elementBits, settings);
  return plan;
}

ConversionKind classifyConversion(const TileLayout &source, const TileLayout &destination,
                                  unsigned elementBits, int64_t *perWord) {
  if (source == destination)
    return ConversionKind::Same;
  if (!areComparable(source, destination))
    return ConversionKind::BetweenBlocks;
  const ConversionViews views = alignBlocks(source, destination);
  const Choice choice = choose(views, elementBits, {});
  if (perWord)
    *perWord = choice.perWord;
  return choice.kind;
}

} // namespace sectile::layout
