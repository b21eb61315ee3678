#include "lang/layout/WarpCopies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace sectile::layout {
namespace {

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
  unsigned still = llvm::Log2_64(std::max<int64_t>(1, inRowOfBanks / inRow)) + skipped,
           exchanged = 0;
  llvm::SmallVector<LinearLayout::NamedBases, 4> all;
  for (const DimBits &in : block.inDims()) {
    llvm::SmallVector<Coordinates, 8> bases;
    for (unsigned bit = 0; bit < in.bits; ++bit) {
      Coordinates basis = block.basis(in.dim, bit);
      const bool isOfRows = (in.dim == Dim::Lane || in.dim == Dim::Warp) &&
                            stepAlong(basis, axisNumber) == 0 &&
                            llvm::any_of(basis, [](int32_t step) { return step != 0; });
      if (isOfRows && still > 0) {
        --still;
      } else if (isOfRows && exchanged < pieceBits) {
        const unsigned piece =
            order == PieceOrder::LowestFirst ? exchanged : pieceBits - 1 - exchanged;
        basis[axisNumber] ^= int32_t(width << piece);
        ++exchanged;
      }
      bases.push_back(std::move(basis));
    }
    all.push_back({in.dim, std::move(bases)});
  }
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
  const SharedAccess read = accessShared(reader, *filled, elementBits);
  if (read.width * elementBytes < 4 ||
      !isFreeOfConflicts(read, reader.lanesPerWarp(), elementBytes, banks, SharedDirection::Read))
    return std::nullopt;
  return filled;
}

} // namespace sectile::layout
