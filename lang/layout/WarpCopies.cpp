#include "lang/layout/WarpCopies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace sectile::layout {
namespace {

/// Sixteen lanes read the columns of a row together.
constexpr int64_t kTransposedColumns = 16;
/// What a lane holds of a matrix instruction's operand, at most.
constexpr int64_t kMatrixLaneBytes = 16;

/// The step along the axis if `basis` moves along no other; 0: it does.
int32_t stepAlong(llvm::ArrayRef<int32_t> basis, int axisNumber) {
  for (auto [index, step] : llvm::enumerate(basis))
    if (int(index) != axisNumber && step != 0)
      return 0;
  return basis[axisNumber];
}

} // namespace

std::optional<SharedLayout> filledByWarps(const TileLayout &tile, int axisNumber, int64_t width) {
  const LinearLayout &block = tile.block();
  if (tile.isPadded() || !block.isInvertible())
    return std::nullopt;
  Words order, others;
  llvm::SmallVector<bool, 16> isInPiece(block.inBits(Dim::Register));
  for (int64_t step = 1; step < width; step *= 2) {
    unsigned bit = 0;
    while (bit < isInPiece.size() &&
           stepAlong(block.basis(Dim::Register, bit), axisNumber) != int32_t(step))
      ++bit;
    if (bit == isInPiece.size())
      return std::nullopt;
    isInPiece[bit] = true;
    order.push_back(block.columns(Dim::Register)[bit]);
  }
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Block})
    llvm::append_range(order, block.columns(dim));
  for (auto [column, isTaken] : llvm::zip(block.columns(Dim::Register), isInPiece))
    if (!isTaken)
      order.push_back(column);
  std::optional<Words> offsets = invertColumns(order);
  assert(offsets && "the block is invertible");
  DimList axes(block.outDims().begin(), block.outDims().end());
  return SharedLayout(
      LinearLayout::fromColumns(axes, {{Dim::Offset, unsigned(order.size())}}, std::move(*offsets)),
      tile.shape());
}

TileLayout exchangePieces(const TileLayout &tile, int axisNumber, int64_t width,
                          unsigned elementBits, const SharedBanks &banks, unsigned skipped,
                          PieceOrder order) {
  const LinearLayout &block = tile.block();
  const int64_t inRowOfBanks = banks.rowBytes() / (width * ((elementBits + 7) / 8)),
                inRow = block.getOutDimSize(axisNumber) / width;
  if (inRow < 2 || inRowOfBanks < 2)
    return tile;
  const unsigned pieceBits = llvm::Log2_64(std::min(inRow, inRowOfBanks));
  std::map<Dim, llvm::SmallVector<Coordinates, 8>> bases;
  for (const DimBits &in : block.inDims())
    for (unsigned bit = 0; bit < in.bits; ++bit)
      bases[in.dim].push_back(block.basis(in.dim, bit));

  // What moves from row to row.
  llvm::SmallVector<Coordinates *, 12> rows;
  for (Dim dim : {Dim::Lane, Dim::Warp, Dim::Register})
    for (Coordinates &basis : bases[dim])
      if ((dim != Dim::Register || order == PieceOrder::Sixteens) &&
          stepAlong(basis, axisNumber) == 0 &&
          llvm::any_of(basis, [](int32_t step) { return step != 0; }))
        rows.push_back(&basis);
  const unsigned still = llvm::Log2_64(std::max<int64_t>(1, inRowOfBanks / inRow)) + skipped;
  rows.erase(rows.begin(), rows.begin() + std::min<size_t>(still, rows.size()));
  unsigned least = 0, exchanging = pieceBits;
  if (order == PieceOrder::Sixteens) {
    least = llvm::Log2_64(std::max<int64_t>(1, kTransposedColumns / width));
    // Lanes that act at once read the rows of two lanes.
    llvm::erase_if(rows, [&](Coordinates *row) {
      return *llvm::max_element(*row) > kMatrixLaneBytes * 8 / elementBits;
    });
    llvm::sort(rows, [](Coordinates *one, Coordinates *other) { return *one < *other; });
    exchanging = pieceBits > least ? rows.size() : 0;
  }
  for (auto [number, row] : llvm::enumerate(llvm::ArrayRef(rows).take_front(exchanging))) {
    const auto place = unsigned(number);
    const unsigned piece = order == PieceOrder::LowestFirst
                               ? place
                               : std::max(least, pieceBits - 1 - std::min(place, pieceBits - 1));
    (*row)[axisNumber] ^= int32_t(width << piece);
  }
  llvm::SmallVector<LinearLayout::NamedBases, 4> all;
  for (const DimBits &in : block.inDims())
    all.push_back({in.dim, std::move(bases[in.dim])});
  return TileLayout(LinearLayout::fromBases(block.outExtents(), all), tile.shape());
}

/// Whether lanes that act at once never want different words of one bank. (`bankConflicts` counts
/// how many do, lane by lane.)
static bool isFreeOfConflicts(const SharedAccess &access, int64_t lanes, int64_t elementBytes,
                              const SharedBanks &banks, SharedDirection direction) {
  if (!access.strides.empty() || access.padding.interval)
    return false;
  BitSpan places, placesInRow;
  for (Word lane : banks.lanesAtOnce(lanes, access.width * elementBytes, direction)) {
    int64_t offset = 0;
    for (auto [bit, basis] : llvm::enumerate(access.laneBases))
      if (lane >> bit & 1)
        offset ^= basis;
    offset *= elementBytes;
    places.insert(Word(offset));
    placesInRow.insert(Word(offset & (banks.rowBytes() - 1)));
  }
  return places.size() == placesInRow.size();
}

std::optional<SharedLayout> filledByWarpsFor(const TileLayout &source, const TileLayout &reader,
                                             unsigned elementBits, int64_t pieceBytes,
                                             const SharedBanks &banks) {
  const int64_t elementBytes = (elementBits + 7) / 8, width = pieceBytes / elementBytes;
  int axisNumber = source.rank() - 1;
  while (axisNumber >= 0 && source.contiguousRegisters(axisNumber) < width)
    --axisNumber;
  if (axisNumber < 0 || width < 1)
    return std::nullopt;
  std::optional<SharedLayout> filled = filledByWarps(source, axisNumber, width);
  if (!filled)
    return std::nullopt;
  const SharedAccess read = readShared(reader, *filled, elementBits, banks);
  if (read.width * elementBytes < 4 ||
      !isFreeOfConflicts(read, reader.lanesPerWarp(), elementBytes, banks, SharedDirection::Read))
    return std::nullopt;
  return filled;
}

std::optional<SharedLayout> transposedBetween(const TileLayout &source, const TileLayout &reader,
                                              unsigned elementBits, const SharedBanks &banks) {
  constexpr int64_t kPieceBytes = 16;
  if (!banks.transposes || (elementBits != 8 && elementBits != 16))
    return std::nullopt;
  const int64_t width = kPieceBytes * 8 / elementBits;
  for (int axisNumber = source.rank(); axisNumber-- > 0;) {
    if (source.contiguousRegisters(axisNumber) < width)
      continue;
    for (const TileLayout &filling :
         {source, exchangePieces(source, axisNumber, width, elementBits, banks, /*skipped=*/0,
                                 PieceOrder::Sixteens)})
      if (auto buffer = filledByWarpsFor(filling, reader, elementBits, kPieceBytes, banks);
          buffer && accessSharedTransposed(reader, *buffer, elementBits))
        return buffer;
  }
  return std::nullopt;
}

} // namespace sectile::layout
