// Two questions, answered in one walk over the kernel in the order it runs:
//
// Where?    First fit: the lowest offset that no thread may still be reading, so that a barrier is
//           saved, unless that would make the kernel larger than its largest op and kFreeBytes.
// Barriers? A forward data flow. Its state is what may still be read or written since the last
//           barrier; branches join by union, loops go round until nothing is added. The state only
//           grows from round to round, so a barrier once found necessary stays necessary.
#include "backends/gpu/SharedMemoryPlan.h"

#include "backends/gpu/EmitConvert.h"
#include "backends/gpu/EmitDot.h"
#include "backends/gpu/EmitRearrange.h"
#include "backends/gpu/EmitReduce.h"
#include "backends/gpu/EmitScan.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {
namespace {

/// Shared memory that costs no occupancy on any GPU at hand.
constexpr int64_t kFreeBytes = 8 << 10;
constexpr int64_t kAlignment = 16;

/// Bytes of shared memory, as disjoint ranges in order.
class Bytes {
public:
  bool overlaps(int64_t begin, int64_t end) const {
    return llvm::any_of(ranges,
                        [&](auto range) { return range.first < end && begin < range.second; });
  }
  void add(int64_t begin, int64_t end) {
    SmallVector<std::pair<int64_t, int64_t>, 4> merged;
    for (auto range : ranges) {
      if (range.second < begin || end < range.first) {
        merged.push_back(range);
      } else {
        begin = std::min(begin, range.first);
        end = std::max(end, range.second);
      }
    }
    merged.push_back({begin, end});
    llvm::sort(merged);
    ranges = std::move(merged);
  }
  void add(const Bytes &other) {
    for (auto [begin, end] : other.ranges)
      add(begin, end);
  }
  void clear() { ranges.clear(); }
  /// The lowest aligned offset with room for `size`.
  int64_t firstFit(int64_t size) const {
    int64_t offset = 0;
    for (auto [begin, end] : ranges)
      if (offset + size > begin)
        offset = std::max(offset, int64_t(llvm::alignTo(end, kAlignment)));
    return offset;
  }
  bool operator==(const Bytes &) const = default;

private:
  SmallVector<std::pair<int64_t, int64_t>, 4> ranges;
};

/// Scratch is written, then behind a barrier of the op's own read: at the end of any op all that
/// is pending are reads.
class Planner {
public:
  Planner(func::FuncOp function, const GpuTarget &target) {
    int64_t largest = 0;
    function.walk([&](Operation *op) {
      if (int64_t bytes = scratchBytes(op, target)) {
        sizes[op] = bytes;
        largest = std::max(largest, bytes);
      }
    });
    budget = std::max(largest, kFreeBytes);
    budget = std::min(budget, std::max(largest, target.maxSharedBytes));
    if (!function.getBody().empty())
      walk(function.getBody().front(), {});
  }

  SharedMemoryPlan plan;

private:
  /// What may still be read after the block when `pending` may be before it.
  Bytes walk(Block &block, Bytes pending) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        pending = walkLoop(pending, [&](Bytes state) { return walk(*loop.getBody(), state); });
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        Bytes left;
        walkLoop(pending, [&](Bytes state) {
          left = walk(*loop.getBeforeBody(), state);
          return walk(*loop.getAfterBody(), left);
        });
        pending = left;
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        Bytes after = walk(branch.getThenRegion().front(), pending);
        after.add(branch.getElseRegion().empty() ? pending
                                                 : walk(branch.getElseRegion().front(), pending));
        pending = after;
      } else if (isa<BarrierOp>(op)) {
        pending.clear();
      } else if (auto found = sizes.find(&op); found != sizes.end()) {
        int64_t begin = place(&op, found->second, pending), end = begin + found->second;
        if (pending.overlaps(begin, end))
          plan.barriersBefore.insert(&op);
        pending.clear();
        pending.add(begin, end);
      }
    }
    return pending;
  }

  /// `body` any number of times, none included.
  template <class Body>
  Bytes walkLoop(Bytes before, Body body) {
    for (Bytes state = before;;) {
      Bytes next = state;
      next.add(body(state));
      if (next == state)
        return state;
      state = next;
    }
  }

  int64_t place(Operation *op, int64_t size, const Bytes &pending) {
    auto known = plan.scratch.find(op);
    if (known != plan.scratch.end())
      return known->second;
    int64_t offset = pending.firstFit(size);
    if (offset + size > budget)
      offset = 0;
    plan.scratch[op] = offset;
    plan.bytes = std::max(plan.bytes, offset + size);
    return offset;
  }

  llvm::DenseMap<Operation *, int64_t> sizes;
  int64_t budget = 0;
};

/// "scan of 64x128xf32 at line 12"
std::string describe(Operation *op) {
  std::string text = op->getName().stripDialect().str();
  Value value = op->getNumOperands() ? op->getOperand(0) : op->getResult(0);
  if (auto tile = dyn_cast<RankedTensorType>(value.getType())) {
    llvm::raw_string_ostream stream(text);
    stream << " of ";
    for (int64_t extent : tile.getShape())
      stream << extent << "x";
    stream << tile.getElementType();
  }
  Location place = op->getLoc();
  while (auto call = dyn_cast<CallSiteLoc>(place))
    place = call.getCallee();
  if (auto named = dyn_cast<NameLoc>(place))
    place = named.getChildLoc();
  if (auto line = dyn_cast<FileLineColLoc>(place))
    text += " at line " + std::to_string(line.getLine());
  return text;
}

} // namespace

int64_t scratchBytes(Operation *op, const GpuTarget &target) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](ConvertLayoutOp convert) { return convertScratchBytes(convert, target); })
      .Case([&](ReduceOp reduce) { return reduceScratchBytes(reduce, target); })
      .Case([&](ScanOp scan) { return scanScratchBytes(scan, target); })
      .Case([&](DotOp dot) { return dotScratchBytes(dot, target); })
      .Case<AtomicRmwOp, AtomicCasOp>([&](Operation *atomic) { return atomicScratchBytes(atomic); })
      .Case([&](PrintOp print) { return printScratchBytes(print); })
      .Default([&](Operation *other) -> int64_t {
        return isRearrangement(other) ? rearrangeScratchBytes(other, target) : 0;
      });
}

SharedMemoryPlan planSharedMemory(func::FuncOp function, const GpuTarget &target) {
  SharedMemoryPlan plan = Planner(function, target).plan;
  // Buffers live as long as the program: they come first, scratch behind them.
  int64_t buffers = 0;
  SmallVector<std::pair<Operation *, int64_t>> places;
  function.walk([&](BufferAllocOp alloc) {
    places.push_back({alloc, buffers});
    BufferType type = alloc.getType();
    buffers += type.getStages() * type.getStageBytes();
  });
  for (auto &entry : plan.scratch)
    entry.second += buffers;
  for (auto [alloc, offset] : places)
    plan.scratch[alloc] = offset;
  plan.bytes += buffers;
  return plan;
}

LogicalResult checkSharedMemory(func::FuncOp function, const SharedMemoryPlan &plan,
                                const GpuTarget &target, StringRef targetName) {
  if (plan.bytes <= target.maxSharedBytes)
    return success();
  SmallVector<std::pair<int64_t, Operation *>> users;
  function.walk([&](Operation *op) {
    if (plan.scratchOf(op) >= 0)
      if (int64_t bytes = scratchBytes(op, target); bytes > target.maxSharedBytes)
        users.push_back({bytes, op});
  });
  auto diagnostic = function.emitError()
                    << "shared memory: this kernel needs " << plan.bytes << " bytes, a block of "
                    << targetName << " has " << target.maxSharedBytes << ": ";
  llvm::interleaveComma(users, diagnostic, [&](auto user) {
    diagnostic << describe(user.second) << " needs " << user.first;
  });
  auto &note = diagnostic.attachNote();
  int64_t times = 0;
  for (int64_t bytes = plan.bytes; bytes > target.maxSharedBytes; bytes = (bytes + 1) / 2)
    ++times;
  note << "use tiles with " << (int64_t(1) << times) << " times fewer elements";
  return diagnostic;
}

} // namespace sectile::gpu
