#include "lang/layout/LinearLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace sectile::layout {

namespace {

/// Place in the canonical order: hardware dimensions, then the axes from the last to the first.
int orderOf(Dim dim) {
  return isAxis(dim) ? 255 - axisIndex(dim) : int(dim);
}

Word lowMask(unsigned bits) {
  return bits >= 64 ? ~Word(0) : (Word(1) << bits) - 1;
}

unsigned totalBits(llvm::ArrayRef<DimBits> dims) {
  unsigned total = 0;
  for (const DimBits &dim : dims)
    total += dim.bits;
  return total;
}

[[maybe_unused]] bool contains(llvm::ArrayRef<DimBits> dims, Dim dim) {
  return llvm::any_of(dims, [&](const DimBits &entry) { return entry.dim == dim; });
}

/// Adds the bits of dimensions present in both.
DimList unite(llvm::ArrayRef<DimBits> left, llvm::ArrayRef<DimBits> right) {
  DimList both(left.begin(), left.end());
  for (const DimBits &added : right) {
    auto found = llvm::find_if(both, [&](const DimBits &entry) { return entry.dim == added.dim; });
    if (found == both.end())
      both.push_back(added);
    else
      found->bits += added.bits;
  }
  return both;
}

} // namespace

llvm::StringRef nameOf(Dim dim) {
  static constexpr llvm::StringLiteral names[] = {
      "register", "lane",   "warp",   "block",  "offset", "axis0",  "axis1",
      "axis2",    "axis3",  "axis4",  "axis5",  "axis6",  "axis7",  "axis8",
      "axis9",    "axis10", "axis11", "axis12", "axis13", "axis14", "axis15"};
  return names[int(dim)];
}

//===-- packing -------------------------------------------------------------------------------===//

unsigned LinearLayout::bitsOf(llvm::ArrayRef<DimBits> dims, Dim dim) {
  for (const DimBits &entry : dims)
    if (entry.dim == dim)
      return entry.bits;
  return 0;
}

unsigned LinearLayout::shiftOf(llvm::ArrayRef<DimBits> dims, Dim dim) {
  unsigned shift = 0;
  for (const DimBits &entry : dims) {
    if (entry.dim == dim)
      break;
    shift += entry.bits;
  }
  return shift;
}

DimList LinearLayout::normalize(DimList dims) {
  llvm::erase_if(dims, [](const DimBits &entry) { return !isAxis(entry.dim) && entry.bits == 0; });
  llvm::sort(dims, [](const DimBits &left, const DimBits &right) {
    return orderOf(left.dim) < orderOf(right.dim);
  });
  return dims;
}

Word LinearLayout::repack(Word word, llvm::ArrayRef<DimBits> from, llvm::ArrayRef<DimBits> to,
                          llvm::ArrayRef<DimBits> lifts) {
  Word result = 0;
  unsigned shift = 0;
  for (const DimBits &entry : from) {
    if (Word part = (word >> shift) & lowMask(entry.bits))
      result |= part << (shiftOf(to, entry.dim) + bitsOf(lifts, entry.dim));
    shift += entry.bits;
    if (shift >= 64)
      break;
  }
  return result;
}

//===-- construction --------------------------------------------------------------------------===//

LinearLayout LinearLayout::fromColumns(DimList ins, DimList outs, Words columns) {
  LinearLayout result;
  result.ins = normalize(std::move(ins));
  result.outs = normalize(std::move(outs));
  result.columnWords = std::move(columns);
  assert(totalBits(result.ins) == result.columnWords.size() && totalBits(result.outs) <= 64 &&
         result.columnWords.size() <= 64);
  return result;
}

LinearLayout LinearLayout::identity1D(int64_t size, Dim in, Dim out) {
  assert(llvm::isPowerOf2_64(size));
  unsigned bits = llvm::Log2_64(size);
  Words columns;
  for (unsigned bit = 0; bit < bits; ++bit)
    columns.push_back(Word(1) << bit);
  return fromColumns({{in, bits}}, {{out, bits}}, std::move(columns));
}

LinearLayout LinearLayout::zeros1D(int64_t size, Dim in, Dim out, int64_t outSize) {
  assert(llvm::isPowerOf2_64(size) && llvm::isPowerOf2_64(outSize));
  unsigned bits = llvm::Log2_64(size);
  return fromColumns({{in, bits}}, {{out, llvm::Log2_64(outSize)}}, Words(bits, 0));
}

LinearLayout LinearLayout::fromBases(llvm::ArrayRef<int64_t> extents,
                                     llvm::ArrayRef<NamedBases> bases) {
  DimList ins, outs;
  for (auto [index, extent] : llvm::enumerate(extents)) {
    assert(llvm::isPowerOf2_64(extent));
    outs.push_back({axis(index), llvm::Log2_64(extent)});
  }
  LinearLayout result = fromColumns({}, std::move(outs), {});
  for (const NamedBases &entry : bases)
    ins.push_back({entry.first, unsigned(entry.second.size())});
  ins = normalize(std::move(ins));
  for (const DimBits &in : ins)
    for (const NamedBases &entry : bases)
      if (entry.first == in.dim)
        for (const Coordinates &basis : entry.second)
          result.columnWords.push_back(result.packAxes(basis));
  result.ins = std::move(ins);
  return result;
}

//===-- shape and bases -----------------------------------------------------------------------===//

unsigned LinearLayout::totalOutBits() const {
  return totalBits(outs);
}

int LinearLayout::outRank() const {
  return llvm::count_if(outs, [](const DimBits &entry) { return isAxis(entry.dim); });
}

llvm::SmallVector<int64_t, 4> LinearLayout::outExtents() const {
  llvm::SmallVector<int64_t, 4> extents;
  for (int index = 0, rank = outRank(); index < rank; ++index)
    extents.push_back(getOutDimSize(index));
  return extents;
}

llvm::ArrayRef<Word> LinearLayout::columns(Dim in) const {
  unsigned bits = inBits(in);
  return bits ? llvm::ArrayRef<Word>(columnWords).slice(shiftOf(ins, in), bits)
              : llvm::ArrayRef<Word>();
}

int32_t LinearLayout::basis(Dim in, unsigned bit, Dim out) const {
  return unpackOut(columns(in)[bit], out);
}

Coordinates LinearLayout::basis(Dim in, unsigned bit) const {
  return unpackAxes(columns(in)[bit]);
}

Word LinearLayout::packIn(llvm::ArrayRef<NamedIndex> indices) const {
  Word packed = 0;
  for (auto [dim, index] : indices)
    if (unsigned bits = inBits(dim))
      packed |= (Word(index) & lowMask(bits)) << shiftOf(ins, dim);
  return packed;
}

Word LinearLayout::packOut(llvm::ArrayRef<NamedIndex> indices) const {
  Word packed = 0;
  for (auto [dim, index] : indices)
    if (unsigned bits = outBits(dim))
      packed |= (Word(index) & lowMask(bits)) << shiftOf(outs, dim);
  return packed;
}

int64_t LinearLayout::unpackIn(Word packed, Dim dim) const {
  unsigned bits = inBits(dim);
  return bits ? (packed >> shiftOf(ins, dim)) & lowMask(bits) : 0;
}

int64_t LinearLayout::unpackOut(Word packed, Dim dim) const {
  unsigned bits = outBits(dim);
  return bits ? (packed >> shiftOf(outs, dim)) & lowMask(bits) : 0;
}

Coordinates LinearLayout::unpackAxes(Word packedOut) const {
  Coordinates coordinates;
  for (int index = 0, rank = outRank(); index < rank; ++index)
    coordinates.push_back(unpackOut(packedOut, axis(index)));
  return coordinates;
}

Word LinearLayout::packAxes(llvm::ArrayRef<int32_t> coordinates) const {
  Word packed = 0;
  for (auto [index, coordinate] : llvm::enumerate(coordinates))
    packed |= packOut({{axis(index), coordinate}});
  return packed;
}

Coordinates LinearLayout::apply(std::initializer_list<NamedIndex> indices) const {
  return unpackAxes(apply(packIn(llvm::ArrayRef<NamedIndex>(indices.begin(), indices.size()))));
}

//===-- algebra -------------------------------------------------------------------------------===//

LinearLayout LinearLayout::compose(const LinearLayout &outer) const {
  assert(outs == outer.ins && "compose: dimensions differ");
  Words columns;
  for (Word column : columnWords)
    columns.push_back(outer.apply(column));
  return fromColumns(ins, outer.outs, std::move(columns));
}

std::optional<LinearLayout> LinearLayout::invert() const {
  if (!isInjective())
    return std::nullopt;
  return pseudoInvert();
}

std::optional<LinearLayout> LinearLayout::pseudoInvert() const {
  BitSpan span(columnWords);
  Words columns;
  for (unsigned bit = 0, bits = totalOutBits(); bit < bits; ++bit) {
    std::optional<Word> input = span.express(Word(1) << bit);
    if (!input)
      return std::nullopt;
    columns.push_back(*input);
  }
  return fromColumns(outs, ins, std::move(columns));
}

std::optional<LinearLayout> LinearLayout::invertAndCompose(const LinearLayout &other) const {
  assert(outs == other.outs && "invertAndCompose: different tensors");
  BitSpan span(other.columnWords);
  Words columns;
  for (Word column : columnWords) {
    std::optional<Word> input = span.express(column);
    if (!input)
      return std::nullopt;
    columns.push_back(*input);
  }
  return fromColumns(ins, other.ins, std::move(columns));
}

LinearLayout LinearLayout::operator*(const LinearLayout &outer) const {
  DimList newIns = normalize(unite(ins, outer.ins)), newOuts = normalize(unite(outs, outer.outs));
  Words columns;
  for (const DimBits &in : newIns) {
    for (Word column : this->columns(in.dim))
      columns.push_back(repack(column, outs, newOuts));
    for (Word column : outer.columns(in.dim))
      columns.push_back(repack(column, outer.outs, newOuts, outs));
  }
  return fromColumns(std::move(newIns), std::move(newOuts), std::move(columns));
}

namespace {

/// The dimensions left when `part` is taken from `whole`; false when it does not fit in.
bool subtract(llvm::ArrayRef<DimBits> whole, llvm::ArrayRef<DimBits> part, DimList &rest) {
  rest.assign(whole.begin(), whole.end());
  for (const DimBits &taken : part) {
    auto found = llvm::find_if(rest, [&](const DimBits &entry) { return entry.dim == taken.dim; });
    if (found == rest.end() || found->bits < taken.bits)
      return false;
    found->bits -= taken.bits;
  }
  return true;
}

} // namespace

std::optional<LinearLayout> LinearLayout::divideLeft(const LinearLayout &inner) const {
  DimList restIns, restOuts;
  if (!subtract(ins, inner.ins, restIns) || !subtract(outs, inner.outs, restOuts))
    return std::nullopt;
  Words columns;
  for (const DimBits &in : ins)
    for (Word column : this->columns(in.dim).drop_front(inner.inBits(in.dim))) {
      Word packed = 0;
      for (const DimBits &out : outs)
        packed |= (Word(unpackOut(column, out.dim)) >> inner.outBits(out.dim))
                  << shiftOf(normalize(restOuts), out.dim);
      columns.push_back(packed);
    }
  LinearLayout quotient = fromColumns(restIns, restOuts, std::move(columns));
  if (inner * quotient != *this)
    return std::nullopt;
  return quotient;
}

std::optional<LinearLayout> LinearLayout::divideRight(const LinearLayout &outer) const {
  DimList restIns, restOuts;
  if (!subtract(ins, outer.ins, restIns) || !subtract(outs, outer.outs, restOuts))
    return std::nullopt;
  DimList packedOuts = normalize(restOuts);
  Words columns;
  for (const DimBits &in : ins)
    for (Word column : this->columns(in.dim).drop_back(outer.inBits(in.dim))) {
      Word packed = 0;
      for (const DimBits &out : packedOuts)
        packed |= (Word(unpackOut(column, out.dim)) & lowMask(out.bits))
                  << shiftOf(packedOuts, out.dim);
      columns.push_back(packed);
    }
  LinearLayout quotient = fromColumns(restIns, restOuts, std::move(columns));
  if (quotient * outer != *this)
    return std::nullopt;
  return quotient;
}

LinearLayout LinearLayout::sublayout(llvm::ArrayRef<Dim> keptIns,
                                     llvm::ArrayRef<Dim> keptOuts) const {
  DimList newIns, newOuts;
  for (const DimBits &out : outs)
    if (llvm::is_contained(keptOuts, out.dim))
      newOuts.push_back(out);
  Words columns;
  for (const DimBits &in : ins) {
    if (!llvm::is_contained(keptIns, in.dim))
      continue;
    newIns.push_back(in);
    for (Word column : this->columns(in.dim)) {
      Word packed = 0;
      for (const DimBits &out : newOuts)
        packed |= Word(unpackOut(column, out.dim)) << shiftOf(newOuts, out.dim);
      columns.push_back(packed);
    }
  }
  return fromColumns(std::move(newIns), std::move(newOuts), std::move(columns));
}

LinearLayout LinearLayout::sublayoutOfIns(llvm::ArrayRef<Dim> keptIns) const {
  llvm::SmallVector<Dim, 8> all;
  for (const DimBits &out : outs)
    all.push_back(out.dim);
  return sublayout(keptIns, all);
}

LinearLayout LinearLayout::reshapeOuts(llvm::ArrayRef<int64_t> extents) const {
  DimList newOuts;
  for (auto [index, extent] : llvm::enumerate(extents)) {
    assert(llvm::isPowerOf2_64(extent));
    newOuts.push_back({axis(index), llvm::Log2_64(extent)});
  }
  assert(totalBits(newOuts) == totalOutBits() && "reshapeOuts: another number of elements");
  return fromColumns(ins, std::move(newOuts), columnWords);
}

LinearLayout LinearLayout::transposeOuts(llvm::ArrayRef<int> order) const {
  assert(int(order.size()) == outRank());
  DimList renamed,
      newOuts; // `renamed`: where each dimension of a column is now, under its new name
  for (const DimBits &out : outs) {
    Dim dim = out.dim;
    if (isAxis(dim))
      dim = axis(llvm::find(order, axisIndex(dim)) - order.begin());
    renamed.push_back({dim, out.bits});
  }
  newOuts = normalize(renamed);
  // `renamed` is not in canonical order, and dimensions are looked up by name in `newOuts`.
  Words columns;
  for (Word column : columnWords)
    columns.push_back(repack(column, renamed, newOuts));
  return fromColumns(ins, std::move(newOuts), std::move(columns));
}

LinearLayout LinearLayout::concatIns(const LinearLayout &other) const {
  assert(outs == other.outs);
  DimList newIns = normalize(unite(ins, other.ins));
  Words columns;
  for (const DimBits &in : newIns) {
    llvm::append_range(columns, this->columns(in.dim));
    llvm::append_range(columns, other.columns(in.dim));
  }
  return fromColumns(std::move(newIns), outs, std::move(columns));
}

LinearLayout LinearLayout::concatOuts(const LinearLayout &other) const {
  assert(ins == other.ins);
  DimList newOuts = normalize(unite(outs, other.outs));
  Words columns;
  for (auto [left, right] : llvm::zip_equal(columnWords, other.columnWords))
    columns.push_back(repack(left, outs, newOuts) | repack(right, other.outs, newOuts));
  return fromColumns(ins, std::move(newOuts), std::move(columns));
}

LinearLayout LinearLayout::renameIn(Dim from, Dim to) const {
  assert(from == to || !contains(ins, to));
  DimList renamed = ins;
  for (DimBits &in : renamed)
    if (in.dim == from)
      in.dim = to;
  DimList newIns = normalize(renamed);
  Words columns(columnWords.size());
  for (const DimBits &in : renamed)
    llvm::copy(this->columns(in.dim == to ? from : in.dim),
               columns.begin() + shiftOf(newIns, in.dim));
  return fromColumns(std::move(newIns), outs, std::move(columns));
}

LinearLayout LinearLayout::renameOut(Dim from, Dim to) const {
  assert(from == to || !contains(outs, to));
  DimList renamed = outs;
  for (DimBits &out : renamed)
    if (out.dim == from)
      out.dim = to;
  DimList newOuts = normalize(renamed);
  Words columns;
  for (Word column : columnWords)
    columns.push_back(repack(column, renamed, newOuts));
  return fromColumns(ins, std::move(newOuts), std::move(columns));
}

LinearLayout LinearLayout::withoutInBits(Dim dim, Word mask) const {
  DimList newIns;
  Words columns;
  for (DimBits in : ins) {
    llvm::ArrayRef<Word> old = this->columns(in.dim);
    unsigned kept = 0;
    for (unsigned bit = 0; bit < in.bits; ++bit)
      if (in.dim != dim || !(mask >> bit & 1)) {
        columns.push_back(old[bit]);
        ++kept;
      }
    newIns.push_back({in.dim, kept});
  }
  return fromColumns(std::move(newIns), outs, std::move(columns));
}

//===-- questions -----------------------------------------------------------------------------===//

Word LinearLayout::freeVariableMask(Dim dim) const {
  BitSpan span;
  Word mask = 0;
  for (const DimBits &in : ins)
    for (auto [bit, column] : llvm::enumerate(columns(in.dim)))
      if (!span.insert(column) && in.dim == dim)
        mask |= Word(1) << bit;
  return mask;
}

Word LinearLayout::contributionMask(Dim in, Dim out) const {
  Word mask = 0;
  for (auto [bit, column] : llvm::enumerate(columns(in)))
    if (unpackOut(column, out))
      mask |= Word(1) << bit;
  return mask;
}

int64_t LinearLayout::numConsecutive(Dim in, Dim out) const {
  unsigned count = 0;
  for (Word column : columns(in)) {
    if (count >= outBits(out) || column != Word(1) << (shiftOf(outs, out) + count))
      break;
    ++count;
  }
  return int64_t(1) << count;
}

llvm::hash_code hash_value(const LinearLayout &layout) {
  llvm::hash_code hash =
      llvm::hash_combine_range(layout.columnWords.begin(), layout.columnWords.end());
  for (const DimList *dims : {&layout.ins, &layout.outs})
    for (const DimBits &entry : *dims)
      hash = llvm::hash_combine(hash, int(entry.dim), entry.bits);
  return hash;
}

std::string LinearLayout::toString() const {
  std::string text;
  for (const DimBits &in : ins)
    for (auto [bit, column] : llvm::enumerate(columns(in.dim))) {
      text += (nameOf(in.dim) + " " + llvm::Twine(bit) + " -> (").str();
      bool first = true;
      for (const DimBits &out : llvm::reverse(outs)) {
        if (!std::exchange(first, false))
          text += ", ";
        if (!isAxis(out.dim))
          text += (nameOf(out.dim) + " ").str();
        text += std::to_string(unpackOut(column, out.dim));
      }
      text += ")\n";
    }
  return text;
}

} // namespace sectile::layout
