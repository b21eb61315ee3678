#include "optimizer/gpu/BlockedLayouts.h"

#include "lang/layout/Builders.h"
#include "lang/layout/PowersOfTwo.h"
#include "optimizer/gpu/LayoutCost.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

namespace sectile::optimizer {

namespace {

using Counts = llvm::SmallVector<int64_t, 4>;

struct Blocking {
  int fastAxis = 0;
  int64_t width = 1;             // elements of one thread along the fast axis
  int64_t warpReach = INT64_MAX; // elements of one warp along the fast axis
  bool warpsAlongFastAxis = true;
  /// Threads spread over the factor of two of an extent only, so that a tile of 96 has no padding.
  bool withoutPadding = false;
  /// Neighbours of one thread along another axis.
  int runAxis = -1;
  int64_t run = 1;
};

class Blocker {
public:
  Blocker(llvm::ArrayRef<int64_t> extents, const GpuShape &shape, const Blocking &blocking)
      : extents(extents), shape(shape), blocking(blocking), covered(extents.size(), 1) {
    order.push_back(blocking.fastAxis);
    for (int axis = extents.size(); axis-- > 0;)
      if (axis != blocking.fastAxis)
        order.push_back(axis);
  }

  layout::TileLayout make() {
    Counts perThread(extents.size(), 1);
    perThread[blocking.fastAxis] = covered[blocking.fastAxis] =
        std::min(blocking.width, limit(blocking.fastAxis));
    if (blocking.runAxis >= 0)
      perThread[blocking.runAxis] = covered[blocking.runAxis] =
          std::min(blocking.run, limit(blocking.runAxis));
    Counts lanes = spread(shape.laneCount, order, blocking.warpReach);
    llvm::SmallVector<int, 4> warpOrder(order);
    if (!blocking.warpsAlongFastAxis)
      std::reverse(warpOrder.begin(), warpOrder.end());
    Counts warps = spread(shape.warpCount, warpOrder, INT64_MAX);
    return layout::blocked(extents, perThread, lanes, warps, order);
  }

private:
  int64_t limit(int axis) const {
    int64_t extent = extents[axis];
    return blocking.withoutPadding ? layout::lowestBit(extent)
                                   : llvm::PowerOf2Ceil(uint64_t(extent));
  }

  /// `count` threads over the axes in turn, as far as there are elements; those left over hold
  /// copies.
  Counts spread(int64_t count, llvm::ArrayRef<int> axes, int64_t reach) {
    Counts counts(extents.size(), 1);
    auto give = [&](int axis, int64_t end) {
      while (count > 1 && covered[axis] * 2 <= end) {
        counts[axis] *= 2;
        covered[axis] *= 2;
        count /= 2;
      }
    };
    for (int axis : axes)
      give(axis, axis == blocking.fastAxis ? std::min(reach, limit(axis)) : limit(axis));
    for (int axis : axes)
      give(axis, llvm::PowerOf2Ceil(uint64_t(extents[axis])));
    counts[axes.front()] *= count;
    return counts;
  }

  llvm::ArrayRef<int64_t> extents;
  const GpuShape &shape;
  const Blocking &blocking;
  llvm::SmallVector<int, 4> order;
  Counts covered;
};

/// The widest vector of which every thread gets at least one.
int64_t widestFor(llvm::ArrayRef<int64_t> extents, const GpuShape &shape) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  return llvm::bit_floor(uint64_t(std::max<int64_t>(1, count / shape.threadCount())));
}

/// The axis along which memory is contiguous; -1: none.
int fastAxisOf(const MemoryAccess &access) {
  int fast = -1;
  int64_t longest = 1;
  for (int axis = access.axes.size(); axis-- > 0;)
    if (access.axes[axis].neighbours > longest) {
      fast = axis;
      longest = access.axes[axis].neighbours;
    }
  return fast;
}

/// Whether widths below the widest are worth a look: threads of narrow vectors fit odd extents
/// better.
enum class Narrower { No, Too };

struct AxisWishes {
  llvm::SmallSet<int64_t, 8> widths;
  int64_t bytes = 4; // of the smallest element accessed
};

AxisWishes wishesFor(int axis, llvm::ArrayRef<const LayoutNode *> nodes, int64_t widest,
                     Narrower tries) {
  AxisWishes wishes;
  bool combines = false;
  int64_t top = 1;
  for (const LayoutNode *node : nodes) {
    for (const MemoryAccess &access : node->accesses)
      if (fastAxisOf(access) == axis) {
        int64_t width = std::min(widest, access.axes[axis].width);
        wishes.widths.insert(width);
        wishes.bytes = std::min(wishes.bytes, access.bytes);
        top = std::max(top, width);
      }
    for (const Combination &combination : node->combinations) {
      combines = true;
      // A scan likes threads with long stretches.
      if (combination.isScan && combination.axis == axis)
        wishes.widths.insert(std::min<int64_t>(widest, 32));
    }
  }
  if (wishes.widths.empty())
    wishes.widths.insert(top = std::min<int64_t>(widest, 4));
  if (combines || tries == Narrower::Too)
    for (int64_t width = top; width >= 1; width /= 2)
      wishes.widths.insert(width);
  return wishes;
}

} // namespace

layout::TileLayout defaultLayout(llvm::ArrayRef<int64_t> extents, const GpuShape &shape) {
  Blocking blocking;
  blocking.fastAxis = extents.size() - 1;
  blocking.width = std::min<int64_t>(4, widestFor(extents, shape));
  return Blocker(extents, shape, blocking).make();
}

LayoutList blockedCandidates(llvm::ArrayRef<const LayoutNode *> nodes, const GpuShape &shape,
                             unsigned kept, int runAxis) {
  llvm::ArrayRef<int64_t> extents = nodes.front()->shape;
  int rank = extents.size();
  int64_t widest = widestFor(extents, shape);
  bool isPower = llvm::all_of(extents, [](int64_t extent) { return llvm::isPowerOf2_64(extent); });

  llvm::SmallVector<int, 4> fastAxes;
  for (const LayoutNode *node : nodes)
    for (const MemoryAccess &access : node->accesses)
      if (int axis = fastAxisOf(access); axis >= 0 && !llvm::is_contained(fastAxes, axis))
        fastAxes.push_back(axis);
  if (fastAxes.empty())
    fastAxes.push_back(rank - 1);

  LayoutList candidates;
  for (int axis : fastAxes) {
    struct Rated {
      double cost;
      size_t number;
      layout::TileLayout layout;
      Blocking blocking;
    };
    std::vector<Rated> rated;
    auto consider = [&](const Blocking &blocking) {
      layout::TileLayout layout = Blocker(extents, shape, blocking).make();
      if (llvm::any_of(rated, [&](const Rated &other) { return other.layout == layout; }))
        return;
      double cost = 0;
      for (const LayoutNode *node : nodes)
        cost += nodeCost(*node, layout);
      rated.push_back({cost, rated.size(), std::move(layout), blocking});
    };
    AxisWishes wishes = wishesFor(axis, nodes, widest, isPower ? Narrower::No : Narrower::Too);
    llvm::SmallVector<int64_t, 8> widths(wishes.widths.begin(), wishes.widths.end());
    llvm::sort(widths, std::greater<>());
    for (int64_t width : widths)
      for (int64_t reach : {INT64_MAX, std::max(width, 128 / wishes.bytes)})
        for (bool warpsAlongFastAxis : {true, false})
          for (bool withoutPadding : {false, true})
            if ((rank > 1 || (warpsAlongFastAxis && reach == INT64_MAX)) &&
                !(withoutPadding && isPower))
              consider({axis, width, reach, warpsAlongFastAxis, withoutPadding});
    llvm::sort(rated, [](const Rated &a, const Rated &b) {
      return std::tie(a.cost, a.number) < std::tie(b.cost, b.number);
    });
    for (Rated &entry : llvm::MutableArrayRef(rated).take_front(kept)) {
      candidates.push_back(std::move(entry.layout));
      if (runAxis < 0 || runAxis == axis)
        continue;
      constexpr int64_t kRunBytes = 8;
      Blocking blocking = entry.blocking;
      const auto run = [&] {
        return std::min(kRunBytes / wishes.bytes, widest / std::max<int64_t>(1, blocking.width));
      };
      while (run() * wishes.bytes < kRunBytes && blocking.width * wishes.bytes > kRunBytes)
        blocking.width /= 2;
      blocking.run = run();
      if (blocking.run < 2)
        continue;
      blocking.runAxis = runAxis;
      candidates.push_back(Blocker(extents, shape, blocking).make());
    }
  }
  return candidates;
}

} // namespace sectile::optimizer
