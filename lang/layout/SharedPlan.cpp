// A conversion through shared memory: the layout of the scratch buffer, and what each round moves.
//
// All vectors here are sets of coordinate bits of the common block. The buffer's offset bits are,
// from the lowest:
//
//   V  elements that one access takes: register bits of both layouts, or of the reader alone where
//      that makes fewer accesses; then W to G are of the space without them
//   W  which access of a word of 4 bytes, if accesses are narrower
//   K  which bank (in units of one access, or of a word)
//   H  which row of banks: elements that differ by a vector of H lie in the same bank
//   G  which round (not part of the offset)
//
// Lanes that act at once conflict when two of them differ by a vector of H (and perhaps W). A is
// the span of W and the source's lanes, B that of W and the destination's, so H may share no vector
// but 0 with either: it is made of vectors outside A + B and of sums a + b of a vector only in A
// with one only in B. There are enough, because A and B are no larger than a row of banks. (Not so
// A where V is the reader's alone, and more lanes write at once than read: such plans are checked.)
#include "lang/layout/ConversionView.h"
#include "lang/layout/WarpCopies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace sectile::layout {

namespace {

/// The register bits that the tile itself has: those that only the view adds do not always exist.
llvm::ArrayRef<Word> ownRegisters(const ConversionView &view) {
  return view.block.columns(Dim::Register).take_front(view.tile->block().inBits(Dim::Register));
}

/// Register bits that both layouts have and nothing else touches, in the source's order.
Words commonVector(const ConversionViews &views, unsigned elementBytes) {
  const LinearLayout &source = views.source.block, &destination = views.destination.block;
  Words vector;
  auto isFree = [&](Word candidate) {
    BitSpan others;
    for (const LinearLayout *layout : {&source, &destination})
      for (Word column : layout->columns())
        if (column != candidate && !llvm::is_contained(vector, column))
          others.insert(column);
    for (Word taken : vector)
      others.insert(taken);
    return !others.contains(candidate);
  };
  for (Word column : ownRegisters(views.source)) {
    if (elementBytes << (vector.size() + 1) > 16)
      break;
    if (column && llvm::is_contained(ownRegisters(views.destination), column) &&
        !llvm::is_contained(vector, column) && llvm::count(source.columns(), column) == 1 &&
        llvm::count(destination.columns(), column) == 1 && isFree(column))
      vector.push_back(column);
  }
  return vector;
}

/// Register bits of the destination alone.
Words readersVector(const ConversionViews &views, unsigned elementBytes) {
  Words vector;
  const LinearLayout &destination = views.destination.block;
  for (Word column : ownRegisters(views.destination)) {
    if (elementBytes << (vector.size() + 1) > 16)
      break;
    BitSpan others(vector);
    for (Word other : destination.columns())
      if (other != column && !llvm::is_contained(vector, other))
        others.insert(other);
    if (column && llvm::count(destination.columns(), column) == 1 && !others.contains(column))
      vector.push_back(column);
  }
  return vector;
}

Words independent(llvm::ArrayRef<Word> vectors) {
  BitSpan span;
  return extend(span, vectors);
}

/// Vectors of `space` beyond `part`.
Words beyond(llvm::ArrayRef<Word> space, llvm::ArrayRef<Word> part) {
  BitSpan span(part);
  return extend(span, space);
}

struct Scratch {
  LinearLayout offsets; // axes -> Offset
  LinearLayout rounds;  // axes -> Offset, meaning the round
};

/// What lanes of these numbers contribute.
Words contributionsOf(llvm::ArrayRef<Word> lanes, const LinearLayout &layout) {
  Words contributions;
  for (Word lane : lanes)
    contributions.push_back(
        combine(layout.columns(Dim::Lane), lane & Word(layout.inSize(Dim::Lane) - 1)));
  return contributions;
}

/// `vector` is V, and `isReaders` says that it is the reader's alone; then there are no rounds.
Scratch designScratch(const ConversionViews &views, unsigned elementBytes, Words vector,
                      bool isReaders, unsigned maxOffsetBits, const SharedBanks &banks) {
  const LinearLayout &source = views.source.block, &destination = views.destination.block;
  unsigned total = source.totalOutBits();
  auto isVector = [&](Word column) { return llvm::is_contained(vector, column); };
  // Nothing else touches a vector of both.
  const BitSpan touched = isReaders ? BitSpan(vector) : BitSpan();
  auto besideVector = [&](Words columns) {
    for (Word &column : columns)
      column = touched.smallest(column);
    return columns;
  };

  // Threads of both sides, and the rest of the space.
  Words threads, all;
  for (const LinearLayout *layout : {&source, &destination}) {
    for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Block})
      llvm::append_range(threads, layout->columns(dim));
    llvm::copy_if(layout->columns(), std::back_inserter(all),
                  [&](Word column) { return !isVector(column); });
  }
  threads = besideVector(std::move(threads));
  all = besideVector(std::move(all));
  Words rest = beyond(all, threads), rounds;
  // Narrower accesses, too, are better than too much memory.
  while (!(rest.empty() && vector.empty()) && total - rounds.size() > maxOffsetBits)
    rounds.push_back((rest.empty() ? vector : rest).pop_back_val());
  Words space = independent(threads);
  llvm::append_range(space, rest);

  // Lanes that act at once, and what shares a word with them: elements of one word never conflict.
  unsigned accessBytes = elementBytes << vector.size();
  unsigned bankBits = llvm::Log2_64(banks.rowBytes() / std::max(accessBytes, 4u));
  unsigned wordBits = accessBytes < 4 ? llvm::Log2_32(4 / accessBytes) : 0;
  auto acting = [&](const LinearLayout &layout, SharedDirection direction) {
    const bool isNarrow = isReaders && direction == SharedDirection::Write;
    Words lanes = banks.lanesAtOnce(layout.inSize(Dim::Lane), isNarrow ? elementBytes : accessBytes,
                                    direction);
    return independent(besideVector(contributionsOf(lanes, layout)));
  };
  Words writing = acting(source, SharedDirection::Write);
  Words reading = acting(destination, SharedDirection::Read);
  Words word = intersect(writing, reading);
  for (llvm::ArrayRef<Word> more : {writing, reading, space})
    llvm::append_range(word, beyond(more, word));
  word.truncate(std::min<size_t>(word.size(), wordBits));
  llvm::append_range(writing, beyond(word, writing));
  llvm::append_range(reading, beyond(word, reading));

  Words both = intersect(writing, reading);
  Words onlyWriting = beyond(writing, both), onlyReading = beyond(reading, both);
  Words lanes(writing);
  llvm::append_range(lanes, reading);
  // What a thread reads lies in the order of its registers, so that one instruction of two
  // addresses reads neighbours.
  Words spread;
  if (rounds.empty())
    llvm::copy_if(ownRegisters(views.destination), std::back_inserter(spread),
                  [&](Word column) { return !isVector(column); });
  spread = besideVector(std::move(spread));
  llvm::append_range(spread, space);
  Words rows = beyond(spread, lanes);
  for (auto [write, read] : llvm::zip(onlyWriting, onlyReading))
    rows.push_back(write ^ read);
  size_t inRow = word.size() + bankBits;
  rows.truncate(std::min(rows.size(), space.size() > inRow ? space.size() - inRow : 0));

  // Banks in the order of the writing lanes: the simplest addresses.
  Words candidates(lanes), wordAndRows(word);
  llvm::append_range(candidates, space);
  llvm::append_range(wordAndRows, rows);
  Words basis(vector);
  llvm::append_range(basis, word);
  llvm::append_range(basis, beyond(candidates, wordAndRows));
  llvm::append_range(basis, rows);
  unsigned offsetBits = basis.size();
  llvm::append_range(basis, rounds);
  assert(basis.size() == total);

  std::optional<Words> inverse = invertColumns(basis);
  assert(inverse);
  Words offsets, roundNumbers;
  for (Word image : *inverse) {
    offsets.push_back(image & ((Word(1) << offsetBits) - 1));
    roundNumbers.push_back(image >> offsetBits);
  }
  DimList axes(source.outDims().begin(), source.outDims().end());
  return {LinearLayout::fromColumns(axes, {{Dim::Offset, offsetBits}}, std::move(offsets)),
          LinearLayout::fromColumns(axes, {{Dim::Offset, unsigned(rounds.size())}},
                                    std::move(roundNumbers))};
}

} // namespace

SharedLayout sharedBetween(const TileLayout &source, const TileLayout &destination,
                           unsigned elementBits, const SharedBanks &banks) {
  if (auto buffer = transposedBetween(source, destination, elementBits, banks))
    return *buffer;
  ConversionViews views = alignBlocks(source, destination);
  unsigned allBits = views.source.block.totalOutBits(), elementBytes = (elementBits + 7) / 8;
  Scratch scratch = designScratch(views, elementBytes, commonVector(views, elementBytes),
                                  /*isReaders=*/false, allBits, banks);
  return {scratch.offsets, source.shape()};
}

static SharedPlan inOneRound(SharedAccess write, SharedAccess read, const SharedLayout &buffer,
                             unsigned elementBits) {
  SharedPlan plan;
  plan.write = std::move(write);
  plan.read = std::move(read);
  plan.bytes = buffer.bytes(elementBits);
  SharedRound &round = plan.rounds.emplace_back();
  llvm::append_range(round.stores, llvm::seq<int>(0, plan.write.groups.size()));
  llvm::append_range(round.loads, llvm::seq<int>(0, plan.read.groups.size()));
  return plan;
}

std::optional<SharedPlan> planForReader(const ConversionViews &views, unsigned elementBits,
                                        const ConversionSettings &settings) {
  const SharedBanks &banks = settings.banks;
  const TileLayout &source = *views.source.tile, &destination = *views.destination.tile;
  const unsigned elementBytes = (elementBits + 7) / 8;
  Words vector = readersVector(views, elementBytes);
  const size_t common = commonVector(views, elementBytes).size();
  if (vector.size() <= common)
    return std::nullopt;
  const unsigned total = views.source.block.totalOutBits();
  SharedLayout buffer(
      designScratch(views, elementBytes, vector, /*isReaders=*/true, total, banks).offsets,
      source.shape());
  SharedPlan plan = inOneRound(accessShared(source, buffer, elementBits),
                               accessShared(destination, buffer, elementBits), buffer, elementBits);
  // The writer's accesses may have become narrower.
  const auto accesses = int64_t(plan.write.groups.size() + plan.read.groups.size());
  if (accesses >= (source.registersPerThread() + destination.registersPerThread()) >> common)
    return std::nullopt;
  auto conflicts = [&](SharedAccess access, SharedDirection direction) {
    // Accesses of other registers are moved as a whole.
    if (access.strides.empty())
      access.groups.truncate(1);
    return bankConflicts(access, source.lanesPerWarp(), elementBits, banks, direction);
  };
  if (plan.bytes > settings.maxSharedBytes || conflicts(plan.write, SharedDirection::Write) ||
      conflicts(plan.read, SharedDirection::Read))
    return std::nullopt;
  return plan;
}

SharedPlan planShared(const ConversionViews &views, unsigned elementBits,
                      const ConversionSettings &settings) {
  const SharedBanks &banks = settings.banks;
  const int64_t maxBytes = settings.maxSharedBytes;
  const TileLayout &source = *views.source.tile, &destination = *views.destination.tile;
  unsigned elementBytes = (elementBits + 7) / 8;
  if (auto buffer = transposedBetween(source, destination, elementBits, banks);
      buffer && buffer->bytes(elementBits) <= maxBytes) {
    SharedPlan plan = inOneRound(accessShared(source, *buffer, elementBits),
                                 accessSharedTransposed(destination, *buffer, elementBits)->rows,
                                 *buffer, elementBits);
    plan.isReadTransposed = true;
    return plan;
  }
  if (auto plan = planForReader(views, elementBits, settings))
    return std::move(*plan);
  unsigned total = views.source.block.totalOutBits();
  int64_t repetitions = views.source.repetitionCount();
  bool allAtOnce = (repetitions << total) * elementBytes <= maxBytes;
  unsigned maxBits =
      allAtOnce ? total : llvm::Log2_64(std::max<int64_t>(1, maxBytes / elementBytes));
  Scratch scratch = designScratch(views, elementBytes, commonVector(views, elementBytes),
                                  /*isReaders=*/false, maxBits, banks);
  SharedLayout buffer(scratch.offsets, source.shape());

  SharedPlan plan;
  plan.write = accessShared(source, buffer, elementBits);
  plan.read = accessShared(destination, buffer, elementBits);
  int64_t blockElements = buffer.blockElements();
  int64_t roundsPerBlock = int64_t(1) << scratch.rounds.totalOutBits();
  plan.rounds.resize(allAtOnce ? 1 : repetitions * roundsPerBlock);
  plan.bytes = (allAtOnce ? repetitions : 1) * blockElements * elementBytes;
  if (!allAtOnce)
    for (auto [tile, access, isWrite] :
         {std::tuple(&source, &plan.write, true), std::tuple(&destination, &plan.read, false)})
      for (auto [number, group] : llvm::enumerate(access->groups)) {
        // Threads do not influence the round: only the register's constant does.
        Coordinates constant = tile->constantOf(group.registers.front());
        for (auto [index, coordinate] : llvm::enumerate(constant))
          coordinate %= buffer.blockExtent(index);
        Word packed = 0;
        for (auto [index, coordinate] : llvm::enumerate(constant))
          packed |= scratch.rounds.packIn({{axis(index), coordinate}});
        int64_t round =
            group.addPart / blockElements * roundsPerBlock + int64_t(scratch.rounds.apply(packed));
        group.addPart %= blockElements;
        (isWrite ? plan.rounds[round].stores : plan.rounds[round].loads).push_back(number);
      }
  else {
    llvm::append_range(plan.rounds[0].stores, llvm::seq<int>(0, plan.write.groups.size()));
    llvm::append_range(plan.rounds[0].loads, llvm::seq<int>(0, plan.read.groups.size()));
  }
  return plan;
}

} // namespace sectile::layout
