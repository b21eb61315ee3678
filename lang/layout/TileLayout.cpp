#include "lang/layout/TileLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace sectile::layout {

TileLayout::TileLayout(LinearLayout block, llvm::ArrayRef<int64_t> shape)
    : tileShape(shape), blockLayout(std::move(block)) {
  assert(blockLayout.outRank() == rank() && blockLayout.isSurjective());
  for (int index = 0; index < rank(); ++index)
    repeats.push_back(llvm::divideCeil(uint64_t(shape[index]), uint64_t(blockExtent(index))));
  // Factors of two become register bits of the block, the last axis first.
  for (int index = rank(); index-- > 0;)
    if (int64_t factor = repeats[index] & -repeats[index]; factor > 1) {
      blockLayout = blockLayout * LinearLayout::identity1D(factor, Dim::Register, axis(index));
      repeats[index] /= factor;
    }
}

int64_t TileLayout::repetitionCount() const {
  int64_t count = 1;
  for (int64_t repeat : repeats)
    count *= repeat;
  return count;
}

Extents TileLayout::paddedShape() const {
  Extents padded;
  for (int index = 0; index < rank(); ++index)
    padded.push_back(paddedExtent(index));
  return padded;
}

bool TileLayout::isPadded() const {
  return llvm::any_of(llvm::seq(rank()), [&](int index) { return isPadded(index); });
}

//===-- elements ------------------------------------------------------------------------------===//

RegisterPart TileLayout::coordinateOf(int registerNumber) const {
  int64_t repetition = registerNumber / registersPerBlock();
  RegisterPart part;
  part.inBlock = blockLayout.apply({{Dim::Register, registerNumber % registersPerBlock()}});
  part.offset.resize(rank());
  for (int index = rank(); index-- > 0;) {
    part.offset[index] = repetition % repeats[index] * blockExtent(index);
    repetition /= repeats[index];
  }
  return part;
}

Coordinates TileLayout::constantOf(int registerNumber) const {
  RegisterPart part = coordinateOf(registerNumber);
  for (int index = 0; index < rank(); ++index)
    part.inBlock[index] += part.offset[index];
  return part.inBlock;
}

std::optional<int> TileLayout::registerHolding(llvm::ArrayRef<int32_t> constant) const {
  int64_t repetition = 0;
  Coordinates inBlock;
  for (int index = 0; index < rank(); ++index) {
    if (constant[index] < 0 || constant[index] >= paddedExtent(index))
      return std::nullopt;
    repetition = repetition * repeats[index] + constant[index] / blockExtent(index);
    inBlock.push_back(constant[index] % blockExtent(index));
  }
  BitSpan span(blockLayout.columns(Dim::Register));
  std::optional<Word> inBlockRegister = span.express(blockLayout.packAxes(inBlock));
  if (!inBlockRegister)
    return std::nullopt;
  return repetition * registersPerBlock() + *inBlockRegister;
}

Coordinates TileLayout::elementOf(int registerNumber, int64_t lane, int64_t warp,
                                  int64_t block) const {
  Coordinates element = coordinateOf(registerNumber).offset;
  Coordinates inBlock = blockLayout.apply({{Dim::Register, registerNumber % registersPerBlock()},
                                           {Dim::Lane, lane},
                                           {Dim::Warp, warp},
                                           {Dim::Block, block}});
  for (int index = 0; index < rank(); ++index)
    element[index] += inBlock[index];
  return element;
}

int32_t TileLayout::threadBits(int axisNumber) const {
  int32_t bits = 0;
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Block})
    for (unsigned bit = 0; bit < blockLayout.inBits(dim); ++bit)
      bits |= blockLayout.basis(dim, bit, axis(axisNumber));
  return bits;
}

bool TileLayout::isInside(llvm::ArrayRef<int32_t> coordinates) const {
  return llvm::all_of(llvm::seq(rank()),
                      [&](int index) { return coordinates[index] < tileShape[index]; });
}

bool TileLayout::isPaddingRegister(int registerNumber) const {
  // The smallest coordinate any thread has on an axis: bits that threads can flip are clear.
  RegisterPart part = coordinateOf(registerNumber);
  for (int index = 0; index < rank(); ++index) {
    if (!isPadded(index))
      continue;
    BitSpan threads;
    for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Block})
      for (unsigned bit = 0; bit < blockLayout.inBits(dim); ++bit)
        threads.insert(blockLayout.basis(dim, bit, axis(index)));
    if (part.offset[index] + int64_t(threads.smallest(part.inBlock[index])) >= tileShape[index])
      return true;
  }
  return false;
}

//===-- copies --------------------------------------------------------------------------------===//

llvm::SmallVector<int, 16> TileLayout::uniqueRegisters() const {
  Word copies = blockLayout.freeVariableMask(Dim::Register);
  llvm::SmallVector<int, 16> unique;
  for (int number = 0, count = registersPerThread(); number < count; ++number)
    if (!(Word(number % registersPerBlock()) & copies))
      unique.push_back(number);
  return unique;
}

TileLayout TileLayout::withoutDuplicateRegisters() const {
  Word copies = blockLayout.freeVariableMask(Dim::Register);
  return TileLayout(blockLayout.withoutInBits(Dim::Register, copies), tileShape);
}

//===-- memory access -------------------------------------------------------------------------===//

namespace {

/// The register bits that step 1, 2, 4, ... along an axis, as far as no other bit of any
/// in-dimension touches the same coordinate bit.
llvm::SmallVector<unsigned, 8> contiguousBits(const LinearLayout &block, int axisNumber) {
  llvm::SmallVector<unsigned, 8> bits;
  llvm::ArrayRef<Word> registers = block.columns(Dim::Register);
  for (unsigned bit = 0; bit < block.outBits(axis(axisNumber)); ++bit) {
    Word step = block.packOut({{axis(axisNumber), int64_t(1) << bit}});
    const Word *found = llvm::find(registers, step);
    int users = llvm::count_if(block.columns(), [&](Word column) { return column & step; });
    if (found == registers.end() || users != 1)
      break;
    bits.push_back(found - registers.begin());
  }
  return bits;
}

} // namespace

int64_t TileLayout::contiguousRegisters(int axisNumber) const {
  return int64_t(1) << contiguousBits(blockLayout, axisNumber).size();
}

llvm::SmallVector<RegisterGroup, 8> TileLayout::accessGroups(int axisNumber, int64_t width) const {
  llvm::SmallVector<unsigned, 8> bits = contiguousBits(blockLayout, axisNumber);
  bits.truncate(llvm::Log2_64(width));
  assert(int64_t(1) << bits.size() == width);
  Word mask = 0;
  for (unsigned bit : bits)
    mask |= Word(1) << bit;
  llvm::SmallVector<RegisterGroup, 8> groups;
  for (int number = 0, count = registersPerThread(); number < count; ++number) {
    if (Word(number % registersPerBlock()) & mask)
      continue;
    RegisterGroup &group = groups.emplace_back();
    for (int64_t element = 0; element < width; ++element) {
      int member = number;
      for (auto [place, bit] : llvm::enumerate(bits))
        if (element >> place & 1)
          member += 1 << bit;
      group.push_back(member);
    }
  }
  return groups;
}

llvm::hash_code hash_value(const TileLayout &layout) {
  return llvm::hash_combine(
      hash_value(layout.blockLayout),
      llvm::hash_combine_range(layout.tileShape.begin(), layout.tileShape.end()));
}

} // namespace sectile::layout
