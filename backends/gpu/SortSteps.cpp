#include "backends/gpu/SortSteps.h"

#include "backends/gpu/ConvertPlan.h"
#include "lang/layout/Builders.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using namespace layout;

namespace {

/// Comparators of one register, in instructions: within a thread, by a shuffle, by way of shared
/// memory; and what two conversions around the network cost.
constexpr double kWithinThread = 1, kBetweenLanes = 4, kBetweenWarps = 16, kConversions = 80;

double networkCost(const TileLayout &layout, const SortSteps::Holders &holders, bool isMerge) {
  double cost = 0;
  for (auto [bit, holder] : llvm::enumerate(holders)) {
    double once = holder.dim == Dim::Register ? kWithinThread
                  : holder.dim == Dim::Lane   ? kBetweenLanes
                                              : kBetweenWarps;
    cost += once * (isMerge ? 1 : holders.size() - bit);
  }
  return cost * layout.registersPerThread();
}

/// Threads hold runs of the axis, as long as there are elements for each; lanes go on where a
/// thread's run ends, then warps. What is left of them goes to the other axes.
TileLayout sortable(llvm::ArrayRef<int64_t> shape, int axisNumber, int64_t lanes, int64_t warps) {
  int64_t length = llvm::PowerOf2Ceil(uint64_t(shape[axisNumber])), others = 1;
  SmallVector<int, 4> order = {axisNumber};
  for (int index = shape.size(); index-- > 0;)
    if (index != axisNumber) {
      order.push_back(index);
      others *= int64_t(llvm::PowerOf2Ceil(uint64_t(shape[index])));
    }
  int64_t perThread = std::max<int64_t>(1, length * others / (lanes * warps));
  SmallVector<int64_t, 4> registers(shape.size(), 1), laneCounts(shape.size(), 1),
      warpCounts(shape.size(), 1), covered(shape.size(), 1);
  registers[axisNumber] = covered[axisNumber] = std::min(length, perThread);
  auto spread = [&](int64_t count, SmallVectorImpl<int64_t> &counts) {
    for (int index : order)
      while (count > 1 && covered[index] < int64_t(llvm::PowerOf2Ceil(uint64_t(shape[index])))) {
        counts[index] *= 2;
        covered[index] *= 2;
        count /= 2;
      }
    counts[axisNumber] *= count; // copies
  };
  spread(lanes, laneCounts);
  spread(warps, warpCounts);
  return blocked(shape, registers, laneCounts, warpCounts, order);
}

/// The layout with the warps' bits of the axis exchanged for bits of registers, or of lanes where a
/// thread has too few.
TileLayout withoutWarps(const TileLayout &layout, const SortSteps::Holders &holders) {
  SmallVector<LinearLayout::NamedBases, 4> bases;
  for (const DimBits &in : layout.block().inDims()) {
    SmallVector<Coordinates, 8> all;
    for (unsigned bit = 0; bit < in.bits; ++bit)
      all.push_back(layout.block().basis(in.dim, bit));
    bases.push_back({in.dim, std::move(all)});
  }
  auto basesOf = [&](Dim dim) -> SmallVector<Coordinates, 8> * {
    auto *found = llvm::find_if(bases, [&](auto &named) { return named.first == dim; });
    return found == bases.end() ? nullptr : &found->second;
  };
  SmallVector<Coordinates *, 16> free; // the best last
  for (Dim dim : {Dim::Lane, Dim::Register})
    if (auto *held = basesOf(dim))
      for (Coordinates &basis : *held)
        free.push_back(&basis);
  for (const SortSteps::Holder &holder : holders)
    if (holder.dim == Dim::Warp && !free.empty())
      std::swap((*basesOf(Dim::Warp))[holder.bit], *free.pop_back_val());
  return TileLayout(LinearLayout::fromBases(layout.block().outExtents(), bases), layout.shape());
}

} // namespace

std::optional<SortSteps::Holders> holdersAlong(const TileLayout &layout, int axisNumber) {
  const LinearLayout &block = layout.block();
  if (layout.repetitions()[axisNumber] != 1)
    return std::nullopt;
  std::vector<std::optional<SortSteps::Holder>> found(block.outBits(axis(axisNumber)));
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
    for (unsigned bit = 0; bit < block.inBits(dim); ++bit) {
      Coordinates basis = block.basis(dim, bit);
      int32_t step = std::exchange(basis[axisNumber], 0);
      if (step == 0)
        continue;
      bool isAlone = llvm::all_of(basis, [](int32_t other) { return other == 0; });
      if (!isAlone || !llvm::isPowerOf2_32(step) || found[llvm::Log2_32(step)])
        return std::nullopt;
      found[llvm::Log2_32(step)] = SortSteps::Holder{dim, bit};
    }
  SortSteps::Holders holders;
  for (const auto &holder : found) {
    if (!holder)
      return std::nullopt;
    holders.push_back(*holder);
  }
  return holders;
}

unsigned sortedBits(SortOp op) {
  return std::max(32u, op.getType().getElementTypeBitWidth());
}

SortSteps::SortSteps(SortOp op, const GpuTarget &target) {
  source = *layoutOf(op.getSrc().getType());
  int axis = op.getAxis();
  auto shape = op.getType().getShape();
  isMerge = op.getBitonic() && llvm::isPowerOf2_64(shape[axis]);
  sorted = sortable(shape, axis, source.lanesPerWarp(), source.warpCount());
  holders = *holdersAlong(sorted, axis);
  if (std::optional<Holders> there = holdersAlong(source, axis);
      there && networkCost(source, *there, isMerge) <=
                   networkCost(sorted, holders, isMerge) + kConversions) {
    sorted = source;
    holders = *there;
  }
  far = withoutWarps(sorted, holders);
  farHolders = *holdersAlong(far, axis);
}

int64_t SortSteps::scratchBytes(SortOp op, const GpuTarget &target) const {
  unsigned bits = op.getType().getElementTypeBitWidth(), wide = sortedBits(op);
  const TileLayout &result = *layoutOf(op.getType());
  return std::max(
      {conversionBytes(source, sorted, bits, target), conversionBytes(sorted, far, wide, target),
       conversionBytes(far, sorted, wide, target), conversionBytes(sorted, result, bits, target)});
}

} // namespace sectile::gpu
