#include "optimizer/gpu/LayoutCost.h"

#include "lang/layout/Conversion.h"
#include "optimizer/gpu/DotLayouts.h"

#include "llvm/Support/MathExtras.h"

namespace sectile::optimizer {

using layout::Dim;
using layout::TileLayout;

namespace {

constexpr double kPerRegister = 0.25, kPerShuffle = 2, kShuffles = 20, kPerSector = 1.5,
                 kSectorsPerCycle = 4, kRoundTrip = 100, kSharedBytesPerCycle = 128;
constexpr int64_t kSectorBytes = 32, kLineBytes = 128;

/// Registers of all warps together.
double warpRegisters(const TileLayout &layout) {
  return double(layout.registersPerThread()) * layout.warpCount();
}

//===-- memory --------------------------------------------------------------------------------===//

double accessCost(const MemoryAccess &access, const TileLayout &layout) {
  int axis = 0;
  int64_t width = 1;
  for (int candidate = layout.rank(); candidate-- > 0;) {
    int64_t held = access.axes[candidate].width;
    if (held > 1)
      held = std::min(held, layout.contiguousRegisters(candidate));
    bool isWider = held > width || (candidate == layout.rank() - 1);
    if (held == width && access.axes[candidate].neighbours > access.axes[axis].neighbours)
      isWider = true;
    if (isWider) {
      axis = candidate;
      width = held;
    }
  }

  // Lanes that go on where the others end make one stretch of memory; other lanes start their own.
  int64_t stretch = width, stretches = 1, lines = 1;
  for (unsigned bit = 0; bit < layout.block().inBits(Dim::Lane); ++bit) {
    layout::Coordinates basis = layout.laneBasis(bit);
    bool moves = false, movesOnlyAlong = true;
    for (auto [index, step] : llvm::enumerate(basis)) {
      moves |= step != 0 && !access.axes[index].isConstant;
      movesOnlyAlong &= step == 0 || int(index) == axis;
    }
    if (!moves)
      continue;
    const int64_t reach = 2 * basis[axis];
    const bool staysNear = movesOnlyAlong && reach <= access.axes[axis].neighbours;
    if (!staysNear || reach * access.bytes > kLineBytes)
      lines *= 2;
    if (staysNear && basis[axis] == stretch)
      stretch *= 2;
    else
      stretches *= 2;
  }

  double instructions = warpRegisters(layout) / width;
  // A stretch that is longer than one access may begin within a sector.
  int64_t bytes = stretch * access.bytes;
  if (stretch > width)
    bytes += kSectorBytes - std::min(kSectorBytes, access.axes[axis].alignment);
  double sectors = double(stretches) * llvm::divideCeil(uint64_t(bytes), uint64_t(kSectorBytes));
  double copies = int64_t(1) << llvm::popcount(layout.copyMask(Dim::Warp));
  double touching = std::max(1.0, sectors / kSectorsPerCycle);
  if (access.cyclesPerLine > 0) // of copies only one is written
    touching = access.cyclesPerLine * double(lines) / (access.isWrite ? copies : 1);
  double issue = instructions * (1 + touching);
  // What is left of a loaded sector mostly waits in the cache for the thread's next access.
  double touched = instructions * sectors / copies;
  double needed = std::min(touched, warpRegisters(layout) * layout.lanesPerWarp() *
                                        double(access.bytes) / double(kSectorBytes) / copies);
  double excess = (touched - needed) * (access.isWrite ? 1 : 0.5);
  return access.trips * (issue + kPerSector * (needed + excess));
}

//===-- combinations --------------------------------------------------------------------------===//

double combinationCost(const Combination &combination, const TileLayout &layout) {
  int axis = combination.axis;
  auto steps = [&](Dim dim) { return llvm::popcount(layout.contributionMask(dim, axis)); };
  double words = std::max(1.0, combination.bits / 32.0);
  double registers = warpRegisters(layout), perShuffle = words * kPerShuffle;
  double cost = registers * words * kPerRegister;
  // What is left when a thread has combined its own. A scan may only combine neighbours.
  double rest;
  if (combination.isScan) {
    rest = registers / layout.contiguousRegisters(axis);
  } else {
    rest = registers / (int64_t(1) << steps(Dim::Register));
    rest /= layout.repetitions()[axis];
  }
  cost += rest * perShuffle * steps(Dim::Lane);
  if (steps(Dim::Warp) > 0)
    cost += kRoundTrip + rest * words * (2 + steps(Dim::Warp));
  return cost * combination.trips;
}

//===-- products ------------------------------------------------------------------------------===//

/// Multiply-adds a cycle of a multiprocessor, by matrix instructions, and by those of several
/// warps.
constexpr double kMultiplyAdds = 128, kMatrixMultiplyAdds = 1024, kBufferMultiplyAdds = 2048;

/// Returns the cost of instructions that read operands out of shared memory: they wait for that
/// where they are narrow.
double bufferProductCost(const LayoutNode &node, const TileLayout &layout, double products) {
  auto spread = instructionOf(node.instructions, layout);
  if (!spread)
    return 0;
  const layout::MatrixInstruction &one = *spread->instruction;
  double instructions = products / double(one.m * one.n * one.k);
  double bytes = double((node.isInBuffer(layout::MatrixSide::Lhs) ? one.m : 0) + one.n) * one.k *
                 bitsOf(one.elements.lhs) / 8;
  double computes = products / kBufferMultiplyAdds,
         reads = instructions * bytes / kSharedBytesPerCycle;
  // Of equals the one that reads less, which costs energy.
  return std::max(computes, reads) + reads / 8;
}

double dotCost(const LayoutNode &node, const TileLayout &layout) {
  double depth = node.dotDepth;
  double products = warpRegisters(layout) * layout.lanesPerWarp() * depth;
  if (!node.instructions.empty() && node.instructions.front()->isOfBuffers())
    return node.dotTrips * bufferProductCost(node, layout, products);
  if (!node.instructions.empty())
    return node.dotTrips * products / kMatrixMultiplyAdds;
  // Every row and every column of the thread's elements is read once for each step along the depth.
  int rank = layout.rank();
  auto extentPerThread = [&](int axis) {
    int bits = llvm::popcount(layout.contributionMask(Dim::Register, axis));
    return double(int64_t(1) << bits) * layout.repetitions()[axis];
  };
  double reads =
      depth * layout.warpCount() * (extentPerThread(rank - 2) + extentPerThread(rank - 1));
  return node.dotTrips * (products / kMultiplyAdds + reads);
}

} // namespace

double nodeCost(const LayoutNode &node, const TileLayout &layout) {
  double cost = node.elementwiseOps * warpRegisters(layout) * kPerRegister;
  for (const MemoryAccess &access : node.accesses)
    cost += accessCost(access, layout);
  for (const Combination &combination : node.combinations)
    cost += combinationCost(combination, layout);
  if (node.dot)
    cost += dotCost(node, layout);
  return cost;
}

//===-- conversions ---------------------------------------------------------------------------===//

double sharedReadCost(const TileLayout &layout, unsigned bits) {
  return warpRegisters(layout) * layout.lanesPerWarp() * bits / 8 / kSharedBytesPerCycle;
}

double repackCost(const TileLayout &from, const TileLayout &to, unsigned bits) {
  unsigned wordBits = bits < 32 ? llvm::Log2_32(32 / bits) : 0;
  for (unsigned bit = 0; bit < std::min(wordBits, to.block().inBits(Dim::Register)); ++bit) {
    layout::Coordinates neighbour = to.block().basis(Dim::Register, bit);
    bool isHeld = false;
    for (unsigned held = 0; held < from.block().inBits(Dim::Register); ++held)
      isHeld |= from.block().basis(Dim::Register, held) == neighbour;
    if (!isHeld)
      return warpRegisters(to) * bits / 32 * kPerRegister;
  }
  return 0;
}

double storedForProductCost(const TileLayout &layout, unsigned bits) {
  return kRoundTrip + sharedReadCost(layout, bits);
}

double roundTripCost(const TileLayout &layout, unsigned bits) {
  return kRoundTrip + 2 * sharedReadCost(layout, bits);
}

double conversionCost(const TileLayout &from, const TileLayout &to, unsigned bits) {
  int64_t perWord = 1;
  switch (layout::classifyConversion(from, to, bits, &perWord)) {
  case layout::ConversionKind::Same:
    return 0;
  case layout::ConversionKind::WithinWarp: {
    double words = std::max(1.0, bits / 32.0);
    return kShuffles + kPerShuffle * words * warpRegisters(to) / double(perWord);
  }
  default: {
    // Only one of several copies is written.
    int64_t copies = int64_t(1) << (llvm::popcount(from.copyMask(Dim::Warp)) +
                                    llvm::popcount(from.copyMask(Dim::Lane)));
    return kRoundTrip + sharedReadCost(from, bits) / copies + sharedReadCost(to, bits);
  }
  }
}

} // namespace sectile::optimizer
