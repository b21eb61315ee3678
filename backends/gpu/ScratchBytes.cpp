#include "backends/gpu/ScratchBytes.h"

#include "backends/gpu/ConvertPlan.h"
#include "backends/gpu/DotPlan.h"
#include "backends/gpu/RearrangePlan.h"
#include "backends/gpu/ReduceSteps.h"
#include "backends/gpu/ScanSteps.h"
#include "backends/gpu/SortSteps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

static int64_t convertScratchBytes(ConvertLayoutOp op, const GpuTarget &target) {
  return conversionBytes(*layoutOf(op.getSrc().getType()), *layoutOf(op.getType()),
                         scratchBits(elementTypeOf(op.getType())), target);
}

/// What was there goes to threads with copies.
static int64_t atomicScratchBytes(Operation *op) {
  Value result = op->getResult(0);
  if (result.use_empty())
    return 0;
  Type element = elementTypeOf(result.getType());
  int64_t bytes = isa<PtrType>(element) ? 8 : std::max(1u, element.getIntOrFloatBitWidth() / 8);
  auto tile = dyn_cast<RankedTensorType>(result.getType());
  if (!tile)
    return bytes;
  const layout::TileLayout *layout = tile::layoutOf(tile);
  return layout && layout->threadsHoldCopies() ? bytes * tile.getNumElements() : 0;
}

/// Where the record lies.
static int64_t histogramScratchBytes(HistogramOp op) {
  return op.getType().getDimSize(0) * int64_t(sizeof(int32_t));
}

static int64_t printScratchBytes(PrintOp) {
  return sizeof(uint64_t);
}

bool isVotedOn(Operation *op, const backends::CompileOptions &options) {
  if (isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp, GatherOp>(op))
    return options.checkBounds;
  return isa<AssertOp>(op) && options.reportsAssertions();
}

int64_t voteBytes(func::FuncOp function, const GpuTarget &target,
                  const backends::CompileOptions &options) {
  WalkResult walk = function.walk([&](Operation *op) {
    return isVotedOn(op, options) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted() ? target.voteBytes(options.warpCount) : 0;
}

int64_t scratchBytes(Operation *op, const GpuTarget &target) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](ConvertLayoutOp convert) { return convertScratchBytes(convert, target); })
      .Case(
          [&](ReduceOp reduce) { return ReduceSteps(reduce, target).scratchBytes(reduce, target); })
      .Case([&](ScanOp scan) { return ScanSteps(scan, target).scratchBytes(scan, target); })
      .Case([&](SortOp sort) { return SortSteps(sort, target).scratchBytes(sort, target); })
      .Case([&](HistogramOp histogram) { return histogramScratchBytes(histogram); })
      .Case([&](DotOp dot) { return dotScratchBytes(dot); })
      .Case<AtomicRmwOp, AtomicCasOp>([&](Operation *atomic) { return atomicScratchBytes(atomic); })
      .Case([](ClockOp) -> int64_t { return sizeof(uint64_t); })
      .Case([](EditedMapOp) { return TensorCopies::kEditBytes; })
      .Case([&](PrintOp print) { return printScratchBytes(print); })
      .Default([&](Operation *other) -> int64_t {
        return isRearrangement(other) ? rearrangeScratchBytes(other, target) : 0;
      });
}

} // namespace sectile::gpu
