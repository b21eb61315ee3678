// How the threads of a tile reach their elements in a buffer.
//
// On each axis an element has the coordinate (t ^ r) + o: t from the thread, r and o constants of
// the register (o a multiple of the tile's block extent BT). The buffer wants it split by its own
// block extent BS:
//
//   BS >= BT: o only adds bits above t ^ r, so modulo BS all is xor, and o / BS is a constant;
//   BS <  BT: (t ^ r) / BS depends on the thread: a SharedStride.
//
// A quotient beyond the buffer's repetitions is of padding. The last one is taken instead.
#include "lang/layout/SharedLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <map>
#include <set>

namespace sectile::layout {

namespace {

int64_t xorOver(llvm::ArrayRef<int64_t> bases, int64_t index) {
  int64_t sum = 0;
  for (auto [bit, basis] : llvm::enumerate(bases))
    if (index >> bit & 1)
      sum ^= basis;
  return sum;
}

/// The offset, in the buffer's block, of the coordinates modulo its extents.
int64_t inBlockOffset(const SharedLayout &shared, llvm::ArrayRef<int32_t> coordinates) {
  Word packed = 0;
  for (auto [index, coordinate] : llvm::enumerate(coordinates))
    packed |= shared.offsets().packIn({{axis(index), coordinate}});
  return shared.offsets().apply(packed);
}

llvm::SmallVector<int64_t, 8> offsetsOfBits(const TileLayout &tile, const SharedLayout &shared,
                                            Dim dim) {
  llvm::SmallVector<int64_t, 8> offsets;
  for (unsigned bit = 0; bit < tile.block().inBits(dim); ++bit)
    offsets.push_back(inBlockOffset(shared, tile.block().basis(dim, bit)));
  return offsets;
}

/// Everything but the grouping of registers.
class Addressing {
public:
  Addressing(const TileLayout &tile, const SharedLayout &shared)
      : tile(tile), shared(shared), registerOffsets(offsetsOfBits(tile, shared, Dim::Register)) {
    access.laneBases = offsetsOfBits(tile, shared, Dim::Lane);
    access.warpBases = offsetsOfBits(tile, shared, Dim::Warp);
    access.padding = shared.padding();
    for (int index = 0; index < tile.rank(); ++index) {
      SharedStride stride;
      stride.laneBases = quotients(Dim::Lane, index);
      stride.warpBases = quotients(Dim::Warp, index);
      stride.stride = shared.padded(shared.repetitionStride(index));
      auto isZero = [](int64_t basis) { return basis == 0; };
      if (llvm::all_of(stride.laneBases, isZero) && llvm::all_of(stride.warpBases, isZero))
        continue;
      access.strides.push_back(std::move(stride));
      strideAxes.push_back(index);
    }
  }

  /// Adds the group whose first element is in registers.front().
  void addGroup(RegisterGroup registers) {
    RegisterPart part = tile.coordinateOf(registers.front());
    SharedAccessGroup group;
    int64_t constant = 0;
    Coordinates inBlock = part.inBlock;
    Extents quotientsOfAxes;
    for (int index = 0; index < tile.rank(); ++index) {
      int64_t extent = shared.blockExtent(index);
      int64_t quotient = part.offset[index] / extent;
      if (!llvm::is_contained(strideAxes, index))
        quotient += inBlock[index] / extent;
      inBlock[index] = (inBlock[index] ^ part.offset[index]) % extent;
      quotient = std::min(quotient, shared.repetitions()[index] - 1);
      constant += quotient * shared.repetitionStride(index);
      quotientsOfAxes.push_back(quotient);
    }
    group.xorPart = inBlockOffset(shared, inBlock);
    for (auto [stride, index] : llvm::zip_equal(access.strides, strideAxes)) {
      stride.groupBases.push_back(part.inBlock[index] / shared.blockExtent(index));
      if (isPaddedFurther(index))
        stride.groupLimits.push_back(shared.repetitions()[index] - 1 - quotientsOfAxes[index]);
    }
    group.addPart = shared.padded(constant);
    group.registers = std::move(registers);
    access.groups.push_back(std::move(group));
  }

  /// Moves what no thread bit touches from the xor to the immediate: without carries both are one.
  SharedAccess finish() {
    int64_t touched = 0;
    for (const auto *bases : {&access.laneBases, &access.warpBases})
      for (int64_t basis : *bases)
        touched |= basis;
    for (SharedAccessGroup &group : access.groups) {
      group.addPart += shared.padded(group.xorPart & ~touched);
      group.xorPart &= touched;
    }
    return std::move(access);
  }

  const TileLayout &tile;
  const SharedLayout &shared;
  llvm::SmallVector<int64_t, 8> registerOffsets;
  SharedAccess access;

private:
  bool isPaddedFurther(int index) const {
    return tile.paddedExtent(index) > shared.blockExtent(index) * shared.repetitions()[index];
  }

  llvm::SmallVector<int64_t, 8> quotients(Dim dim, int index) const {
    llvm::SmallVector<int64_t, 8> bases;
    bool isOneBlock = shared.repetitions()[index] == 1;
    for (unsigned bit = 0; bit < tile.block().inBits(dim); ++bit)
      bases.push_back(
          isOneBlock ? 0 : tile.block().basis(dim, bit, axis(index)) / shared.blockExtent(index));
    return bases;
  }

  llvm::SmallVector<int, 4> strideAxes;
};

/// Returns the offset bits that all in-block columns of the tile except the taken register and
/// lane bits touch, and its repetitions. Accesses of 2^k elements are aligned when the low k are
/// clear.
int64_t touchedBits(const Addressing &addressing, Word takenRegisters, Word takenLanes) {
  int64_t touched = 0;
  for (auto [bit, offset] : llvm::enumerate(addressing.registerOffsets))
    if (!(takenRegisters >> bit & 1))
      touched |= offset;
  for (auto [bit, offset] : llvm::enumerate(addressing.access.laneBases))
    if (!(takenLanes >> bit & 1))
      touched |= offset;
  for (int64_t offset : addressing.access.warpBases)
    touched |= offset;
  const TileLayout &tile = addressing.tile;
  for (int64_t repetition = 1; repetition < tile.repetitionCount(); ++repetition)
    touched |= inBlockOffset(addressing.shared,
                             tile.coordinateOf(repetition * tile.registersPerBlock()).offset);
  if (const RowPadding &padding = addressing.shared.padding(); padding.interval)
    touched |= padding.interval | padding.amount;
  return touched;
}

/// True when the basis stays inside the buffer's block, where offsets are linear in it.
bool isInsideBlock(const SharedLayout &shared, llvm::ArrayRef<int32_t> basis) {
  for (auto [index, coordinate] : llvm::enumerate(basis))
    if (coordinate >= shared.blockExtent(index))
      return false;
  return true;
}

/// The bit of `dim` whose basis lies at exactly `offset`.
std::optional<unsigned> bitAt(const Addressing &addressing, Dim dim, int64_t offset) {
  for (unsigned bit = 0; bit < addressing.tile.block().inBits(dim); ++bit) {
    Coordinates basis = addressing.tile.block().basis(dim, bit);
    if (isInsideBlock(addressing.shared, basis) &&
        inBlockOffset(addressing.shared, basis) == offset)
      return bit;
  }
  return std::nullopt;
}

/// Registers whose bits in `mask` are clear; every one begins a group.
template <class Visit>
void forEachGroup(const TileLayout &tile, Word mask, Visit visit) {
  for (int number = 0, count = tile.registersPerThread(); number < count; ++number)
    if (!(Word(number % tile.registersPerBlock()) & mask))
      visit(number);
}

RegisterGroup groupFrom(int first, llvm::ArrayRef<unsigned> bits) {
  RegisterGroup group;
  for (unsigned element = 0; element < 1u << bits.size(); ++element) {
    int member = first;
    for (auto [place, bit] : llvm::enumerate(bits))
      if (element >> place & 1)
        member += 1 << bit;
    group.push_back(member);
  }
  return group;
}

Word maskOf(llvm::ArrayRef<unsigned> bits) {
  Word mask = 0;
  for (unsigned bit : bits)
    mask |= Word(1) << bit;
  return mask;
}

} // namespace

int64_t SharedStride::stepsOf(int group, int64_t lane, int64_t warp) const {
  int64_t steps = xorOver(laneBases, lane) ^ xorOver(warpBases, warp) ^ groupBases[group];
  return groupLimits.empty() ? steps : std::min(steps, groupLimits[group]);
}

int64_t SharedAccess::offsetOf(int group, int64_t lane, int64_t warp) const {
  int64_t offset = xorOver(laneBases, lane) ^ xorOver(warpBases, warp) ^ groups[group].xorPart;
  if (padding.interval)
    offset += offset / padding.interval * padding.amount;
  for (const SharedStride &stride : strides)
    offset += stride.stride * stride.stepsOf(group, lane, warp);
  return offset + groups[group].addPart;
}

SharedAccess accessShared(const TileLayout &tile, const SharedLayout &shared, unsigned elementBits,
                          int64_t maxBytes) {
  assert(tile.shape() == shared.shape());
  Addressing addressing(tile, shared);
  llvm::SmallVector<unsigned, 4> bits;
  int64_t elementBytes = (elementBits + 7) / 8;
  while ((elementBytes << (bits.size() + 1)) <= maxBytes) {
    std::optional<unsigned> next = bitAt(addressing, Dim::Register, int64_t(1) << bits.size());
    if (!next || llvm::is_contained(bits, *next))
      break;
    bits.push_back(*next);
    int64_t low = (int64_t(1) << bits.size()) - 1;
    if (touchedBits(addressing, maskOf(bits), 0) & low) {
      bits.pop_back();
      break;
    }
  }
  addressing.access.width = int64_t(1) << bits.size();
  forEachGroup(tile, maskOf(bits),
               [&](int number) { addressing.addGroup(groupFrom(number, bits)); });
  return addressing.finish();
}

//===-- ldmatrix ------------------------------------------------------------------------------===//
// In the fragment of one 8x8 matrix, lane bits 2-4 number the row and lane bits 0-1 with the place
// in the 32-bit word the column; a row is 16 contiguous bytes. `.trans` exchanges the two for
// 16-bit elements.

std::optional<MatrixAccess> accessSharedMatrices(const TileLayout &tile, const SharedLayout &shared,
                                                 unsigned elementBits, bool transposed) {
  if (tile.lanesPerWarp() != 32 || elementBits < 8 || elementBits > 32 ||
      (transposed && elementBits != 16))
    return std::nullopt;
  Addressing addressing(tile, shared);
  unsigned wordBits = llvm::Log2_32(32 / elementBits); // register bits within the 32-bit word

  // The register bits of the word, and the offsets that the lanes' address bits contribute, those
  // of the three bits of a row first.
  llvm::SmallVector<unsigned, 4> word;
  llvm::SmallVector<int64_t, 8> rowBases;
  Word laneMask;
  auto laneAt = [&](unsigned lane, int64_t offset) {
    return isInsideBlock(shared, tile.laneBasis(lane)) &&
           addressing.access.laneBases[lane] == offset;
  };
  if (transposed) {
    for (unsigned bit = 0; bit < 3; ++bit)
      if (!laneAt(2 + bit, int64_t(1) << bit))
        return std::nullopt;
    // Any register bit could be the word's; the layouts of operands have it lowest.
    if (addressing.registerOffsets.empty() ||
        !isInsideBlock(shared, tile.block().basis(Dim::Register, 0)))
      return std::nullopt;
    word.push_back(0);
    rowBases = {addressing.registerOffsets[0], addressing.access.laneBases[0],
                addressing.access.laneBases[1]};
    laneMask = 0b11100;
  } else {
    for (unsigned bit = 0; bit < wordBits; ++bit) {
      std::optional<unsigned> found = bitAt(addressing, Dim::Register, int64_t(1) << bit);
      if (!found)
        return std::nullopt;
      word.push_back(*found);
    }
    if (!laneAt(0, int64_t(1) << wordBits) || !laneAt(1, int64_t(2) << wordBits))
      return std::nullopt;
    rowBases = {addressing.access.laneBases[2], addressing.access.laneBases[3],
                addressing.access.laneBases[4]};
    laneMask = 0b00011;
  }
  int64_t rowElements = 16 * 8 / elementBits;
  Word taken = transposed ? 0 : maskOf(word);
  if (touchedBits(addressing, taken, laneMask) & (rowElements - 1))
    return std::nullopt;
  // A stride moves with the lanes that hold data, not with those that supply rows.
  if (!addressing.access.strides.empty())
    return std::nullopt;

  // Matrices of one instruction: the lowest other register bits, which must be linear in the
  // buffer.
  llvm::SmallVector<unsigned, 2> matrixBits;
  for (unsigned bit = 0; bit < addressing.registerOffsets.size() && matrixBits.size() < 2; ++bit)
    if (!llvm::is_contained(word, bit) &&
        isInsideBlock(shared, tile.block().basis(Dim::Register, bit)))
      matrixBits.push_back(bit);
  for (unsigned bit : matrixBits)
    rowBases.push_back(addressing.registerOffsets[bit]);
  rowBases.resize(5, 0);

  llvm::SmallVector<unsigned, 4> groupBits(word.begin(), word.end());
  llvm::append_range(groupBits, matrixBits);
  MatrixAccess result;
  result.words = 1 << matrixBits.size();
  result.isTransposed = transposed;
  addressing.access.width = rowElements;
  addressing.access.laneBases = rowBases;
  forEachGroup(tile, maskOf(groupBits),
               [&](int number) { addressing.addGroup(groupFrom(number, groupBits)); });
  result.rows = addressing.finish();
  return result;
}

std::optional<MatrixAccess> accessSharedMatrices(const TileLayout &tile, const SharedLayout &shared,
                                                 unsigned elementBits) {
  for (bool transposed : {false, true})
    if (auto access = accessSharedMatrices(tile, shared, elementBits, transposed))
      return access;
  return std::nullopt;
}

//===-- reads that transpose ------------------------------------------------------------------===//
// A lane receives as many rows as 8 bytes have elements: the lowest register bits number them, lane
// bits 0-3 the sixteen columns. Of those the lowest, which number the columns of one address, must
// be neighbours in the buffer; where the others and the rows lie is free.

std::optional<MatrixAccess>
accessSharedTransposed(const TileLayout &tile, const SharedLayout &shared, unsigned elementBits) {
  constexpr unsigned kColumnBits = 4;
  if (elementBits != 8 && elementBits != 16)
    return std::nullopt;
  Addressing addressing(tile, shared);
  const unsigned rowBits = elementBits == 16 ? 2 : 3, width = 1u << rowBits;
  llvm::ArrayRef<int64_t> lanes = addressing.access.laneBases;
  // A stride moves with the lanes that hold data, not with those that supply rows.
  if (lanes.size() < kColumnBits || addressing.registerOffsets.size() < rowBits ||
      !addressing.access.strides.empty())
    return std::nullopt;
  for (unsigned bit = 0; bit < rowBits; ++bit)
    if (lanes[bit] != int64_t(1) << bit ||
        !isInsideBlock(shared, tile.block().basis(Dim::Register, bit)))
      return std::nullopt;
  if (touchedBits(addressing, /*takenRegisters=*/0, /*takenLanes=*/width - 1) & (width - 1))
    return std::nullopt;

  llvm::SmallVector<unsigned, 4> groupBits;
  llvm::SmallVector<int64_t, 8> rowBases(lanes.slice(rowBits, kColumnBits - rowBits));
  for (unsigned bit = 0; bit < rowBits; ++bit) {
    groupBits.push_back(bit);
    rowBases.push_back(addressing.registerOffsets[bit]);
  }
  llvm::append_range(rowBases, lanes.drop_front(kColumnBits));
  MatrixAccess result;
  result.words = 2;
  result.isTransposed = true;
  addressing.access.width = width;
  addressing.access.laneBases = rowBases;
  forEachGroup(tile, maskOf(groupBits),
               [&](int number) { addressing.addGroup(groupFrom(number, groupBits)); });
  result.rows = addressing.finish();
  return result;
}

SharedAccess readShared(const TileLayout &tile, const SharedLayout &shared, unsigned elementBits,
                        const SharedBanks &banks) {
  if (banks.transposes)
    if (auto transposed = accessSharedTransposed(tile, shared, elementBits))
      return std::move(transposed->rows);
  return accessShared(tile, shared, elementBits);
}

//===-- bank conflicts ------------------------------------------------------------------------===//

Words SharedBanks::lanesAtOnce(int64_t lanes, int64_t bytes, SharedDirection direction) const {
  if (bytes == 16 && direction == SharedDirection::Read && !wideReads.empty())
    return wideReads;
  Words inOrder;
  int64_t atOnce = std::min(lanes, rowBytes() / std::max<int64_t>(bytes, 4));
  for (int64_t lane = 1; lane < atOnce; lane *= 2)
    inOrder.push_back(Word(lane));
  return inOrder;
}

int64_t bankConflicts(const SharedAccess &access, int64_t lanes, unsigned elementBits,
                      const SharedBanks &banks, SharedDirection direction) {
  int64_t elementBytes = (elementBits + 7) / 8, accessBytes = access.width * elementBytes;
  Words atOnce = banks.lanesAtOnce(lanes, accessBytes, direction);
  BitSpan span(atOnce);
  int64_t worst = 0;
  for (int group = 0, count = access.groups.size(); group < count; ++group) {
    // By coset, then bank.
    std::map<Word, std::map<int64_t, std::set<int64_t>>> words;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t first = access.offsetOf(group, lane, 0) * elementBytes;
      auto &ofPart = words[span.smallest(Word(lane))];
      for (int64_t byte = first; byte < first + accessBytes;
           byte += std::min<int64_t>(accessBytes, 4))
        ofPart[byte / 4 % banks.count].insert(byte / 4);
    }
    for (const auto &[part, byBank] : words)
      for (const auto &[bank, different] : byBank)
        worst = std::max<int64_t>(worst, different.size() - 1);
  }
  return worst;
}

} // namespace sectile::layout
