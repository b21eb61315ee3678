// Buffers first, at the lowest offsets where they overlap no other that is alive with them. Then
// two questions about scratch, answered in one walk over the kernel in the order it runs:
//
// Where?    First fit among what no buffer holds: the lowest offset that no thread may still be
//           reading, so that a barrier is saved, unless that would make the kernel larger than it
//           must be and kFreeBytes.
// Barriers? A forward data flow. Its state is what may still be read or written since the last
//           barrier; branches join by union, loops go round until nothing is added. The state only
//           grows from round to round, so a barrier once found necessary stays necessary.
#include "backends/gpu/SharedMemoryPlan.h"

#include "backends/gpu/ScratchBytes.h"
#include "lang/layout/BufferOperand.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {
namespace {

/// Shared memory that costs no occupancy on any GPU at hand.
constexpr int64_t kFreeBytes = 8 << 10;
constexpr int64_t kAlignment = 16;
/// Aligns buffers to one full row of banks, so that bank conflicts depend on their layout only.
constexpr int64_t kBufferAlignment = 128;

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
  /// Returns the lowest aligned offset with room for `size`.
  int64_t firstFit(int64_t size, int64_t alignment = kAlignment) const {
    int64_t offset = 0;
    for (auto [begin, end] : ranges)
      if (offset + size > begin)
        offset = std::max(offset, int64_t(llvm::alignTo(end, alignment)));
    return offset;
  }
  int64_t end() const { return ranges.empty() ? 0 : ranges.back().second; }
  bool operator==(const Bytes &) const = default;

private:
  SmallVector<std::pair<int64_t, int64_t>, 4> ranges;
};

/// Calls `visit` with the users of a buffer and of its views.
template <class Visit>
void forEachUse(Operation *buffer, Visit visit) {
  for (Operation *user : buffer->getUsers())
    if (isa<BufferViewOp>(user))
      forEachUse(user, visit);
    else
      visit(user);
}

/// The ops between which a buffer's bytes are its own: in the innermost block that holds all its
/// uses, from the first, which must fill it, to the last, or to the wait for all copies behind that
/// where copies fill or read it. Uses are those of its views, too, and the waits for products that
/// read it, which may be under way through loops. What it holds does not outlive one run through
/// the block. Where that cannot be seen, the bytes are its own throughout the program.
class BufferLife {
public:
  explicit BufferLife(Operation *alloc) {
    SmallVector<Operation *> uses;
    bool isReadOn = false; // a product reads it to an end that is not seen
    forEachUse(alloc, [&](Operation *user) {
      uses.push_back(user);
      if (isa<BufferStoreOp>(user))
        stores.push_back(user);
      // The loaded tile may stay there until a product of single warps reads it
      // (GpuEmitter::isReadByProduct).
      if (isa<BufferLoadOp>(user))
        llvm::append_range(uses, user->getUsers());
      if (auto product = dyn_cast<DotAsyncOp>(user)) {
        readByProducts = true;
        Operation *wait = waitFor(product.getResult());
        if (wait)
          uses.push_back(wait);
        isReadOn |= !wait;
      }
    });
    if (uses.empty())
      return;
    Block *common = uses.front()->getBlock();
    for (Operation *use : uses)
      while (!common->findAncestorOpInBlock(*use))
        common = common->getParentOp()->getBlock();
    first = last = common->findAncestorOpInBlock(*uses.front());
    for (Operation *use : uses) {
      Operation *here = common->findAncestorOpInBlock(*use);
      first = here->isBeforeInBlock(first) ? here : first;
      last = last->isBeforeInBlock(here) ? here : last;
    }
    auto waitsForAll = [](Operation *op) {
      auto wait = dyn_cast<AsyncWaitOp>(op);
      return wait && wait.getPending() == 0;
    };
    auto isWaitForAllStores = [](Operation *op) {
      auto wait = dyn_cast<TensorStoreWaitOp>(op);
      return wait && !wait.getPending();
    };
    Operation *copied = nullptr;
    for (Operation *use : uses)
      if (Operation *here = common->findAncestorOpInBlock(*use);
          isa<AsyncCopyOp>(use) && (!copied || copied->isBeforeInBlock(here)))
        copied = here;
    if (copied) {
      while (copied && !waitsForAll(copied))
        copied = copied->getNextNode();
      last = copied && copied->isBeforeInBlock(last) ? last : copied;
    }
    // The engine reads it until then.
    if (llvm::any_of(uses, llvm::IsaPred<TensorStoreOp>))
      while (last && !isWaitForAllStores(last))
        last = last->getNextNode();
    if (isReadOn)
      last = nullptr;
    // What stands first fills it, or does nothing else to it in all its branches.
    const bool isFilled = llvm::all_of(uses, [&](Operation *use) {
      return common->findAncestorOpInBlock(*use) != first ||
             isa<AsyncCopyOp, BufferStoreOp, TensorCopyOp, MBarrierInitOp>(use);
    });
    if (isFilled && last)
      block = common;
  }

  bool isAliveAt(Operation *op) const {
    if (!block)
      return true;
    Operation *here = block->findAncestorOpInBlock(*op);
    return here && !here->isBeforeInBlock(first) && !last->isBeforeInBlock(here);
  }
  bool meets(const BufferLife &other) const {
    return !block || !other.block || isAliveAt(other.first) || other.isAliveAt(first);
  }
  bool beginsAt(Operation *op) const { return block && op == first; }
  /// Whether `op` fills the buffer, perhaps anew, and it is not known when products that read it
  /// are done.
  bool mayStillBeReadAt(Operation *op) const {
    return !block && readByProducts && isa<BufferStoreOp>(op) && llvm::is_contained(stores, op);
  }
  bool endsAt(Operation *op) const { return block && op == last; }

private:
  /// Returns the wait that gives the product's sums on, behind the loops that carry it, if any;
  /// null: none is found.
  static Operation *waitFor(Value product) {
    for (;;) {
      OpOperand *yielded = nullptr;
      for (OpOperand &use : product.getUses()) {
        if (isa<DotWaitOp>(use.getOwner()))
          return use.getOwner();
        if (isa<scf::YieldOp>(use.getOwner()))
          yielded = &use;
      }
      auto loop = yielded ? dyn_cast<scf::ForOp>(yielded->getOwner()->getParentOp()) : nullptr;
      if (!loop)
        return nullptr;
      product = loop.getResult(yielded->getOperandNumber());
    }
  }

  Block *block = nullptr;
  Operation *first = nullptr, *last = nullptr;
  bool readByProducts = false;
  SmallVector<Operation *, 1> stores;
};

struct PlacedBuffer {
  BufferLife life;
  int64_t begin, end;
};

/// Of a buffer, or of memory barriers.
bool isAllocation(Operation *op) {
  return isa<BufferAllocOp, MBarrierAllocOp>(op);
}

/// Whether the program's threads meet between what an operation writes to its scratch and what it
/// reads there: all do but one whose scratch is one warp's.
bool meetsWithin(Operation *op) {
  return !isa<EditedMapOp>(op);
}

int64_t alignmentOf(Operation *op) {
  return isa<EditedMapOp>(op) ? TensorCopies::kEditBytes : kAlignment;
}

int64_t bufferBytes(Operation *alloc, int64_t mostStages = INT64_MAX) {
  if (auto barriers = dyn_cast<MBarrierAllocOp>(alloc))
    return std::min(barriers.getType().getStages(), mostStages) * int64_t(sizeof(int64_t));
  BufferType type = cast<BufferAllocOp>(alloc).getType();
  return std::min(type.getStages(), mostStages) * type.getStageBytes();
}

/// Scratch is written, then behind a barrier of the op's own read: at the end of any op all that
/// is pending are reads.
class Planner {
public:
  /// Plans as if no buffer had more than `mostStages`.
  Planner(func::FuncOp function, const GpuTarget &target, int64_t mostStages = INT64_MAX)
      : maxBytes(target.maxSharedBytes) {
    // What is there once comes first. Barriers last, where buffers leave room.
    for (bool isOfBlock : {true, false}) {
      function.walk([&](BufferAllocOp alloc) {
        if (alloc.getOfBlock() == isOfBlock)
          placeBuffer(alloc, bufferBytes(alloc, mostStages));
      });
      function.walk([&](MBarrierAllocOp alloc) {
        if (alloc.getOfBlock() == isOfBlock)
          place(alloc, BufferLife(alloc), bufferBytes(alloc, mostStages), sizeof(int64_t));
      });
      if (ProducerOp producer = producerOf(function); isOfBlock && producer)
        placeBeside(producer, target);
      if (isOfBlock && (teamsOf(function) > 1 || producerOf(function)))
        keepForBlock();
    }
    needed = plan.bytes;
    function.walk([&](Operation *op) {
      if (plan.scratch.contains(op))
        return;
      if (int64_t bytes = scratchBytes(op, target)) {
        sizes[op] = bytes;
        needed = std::max(needed, heldAt(op).firstFit(bytes, alignmentOf(op)) + bytes);
      }
    });
    if (!function.getBody().empty())
      walk(function.getBody().front(), {});
    if (const int64_t teams = teamsOf(function); teams > 1) {
      plan.teamBytes = llvm::alignTo(plan.bytes - plan.firstOfTeam, plan.alignment);
      plan.bytes = plan.firstOfTeam + teams * plan.teamBytes;
    }
  }

  SharedMemoryPlan plan;

private:
  /// The scratch of what a producer does, while the program does anything.
  void placeBeside(ProducerOp producer, const GpuTarget &target) {
    producer.getBody().walk([&](Operation *op) {
      if (int64_t bytes = scratchBytes(op, target)) {
        const auto begin = int64_t(llvm::alignTo(plan.bytes, alignmentOf(op)));
        plan.scratch[op] = begin;
        plan.bytes = begin + bytes;
      }
    });
  }

  /// What has been placed keeps its bytes, and what follows has others.
  void keepForBlock() { plan.firstOfTeam = plan.bytes = llvm::alignTo(plan.bytes, plan.alignment); }

  void placeBuffer(BufferAllocOp alloc, int64_t size) {
    int64_t alignment = kBufferAlignment;
    auto type = cast<BufferType>(alloc.getType());
    forEachUse(alloc, [&](Operation *user) {
      if (!isa<DotAsyncOp, TensorCopyOp, TensorStoreOp>(user))
        return;
      // Which of the axes is the depth is of no account here.
      if (auto operand = layout::bufferOperandOf(type.getLayout().getLayout(), /*depthAxis=*/0,
                                                 type.getElement().getIntOrFloatBitWidth()))
        alignment = std::max(alignment, operand->alignment());
    });
    plan.alignment = std::max(plan.alignment, alignment);
    place(alloc, BufferLife(alloc), size, alignment);
  }

  void place(Operation *alloc, BufferLife life, int64_t size, int64_t alignment) {
    Bytes held = heldForBlock();
    for (const PlacedBuffer &other : buffers)
      if (life.meets(other.life))
        held.add(other.begin, other.end);
    int64_t begin = held.firstFit(size, alignment);
    buffers.push_back({std::move(life), begin, begin + size});
    plan.scratch[alloc] = begin;
    plan.bytes = std::max(plan.bytes, begin + size);
  }

  Bytes heldForBlock() const {
    Bytes held;
    if (plan.firstOfTeam)
      held.add(0, plan.firstOfTeam);
    return held;
  }

  /// Returns the bytes that buffers hold while `op` runs.
  Bytes heldAt(Operation *op) const {
    Bytes held = heldForBlock();
    for (const PlacedBuffer &buffer : buffers)
      if (buffer.life.isAliveAt(op))
        held.add(buffer.begin, buffer.end);
    return held;
  }

  /// Returns what may still be read after the block when `pending` may be before it.
  Bytes walk(Block &block, Bytes pending) {
    for (Operation &op : block) {
      if (isa<ProducerOp>(op)) // all meet
        pending.clear();
      for (const PlacedBuffer &buffer : buffers)
        if (buffer.life.mayStillBeReadAt(&op) ||
            (buffer.life.beginsAt(&op) && pending.overlaps(buffer.begin, buffer.end))) {
          plan.barriersBefore.insert(&op);
          pending.clear();
        }
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
        const bool waits = pending.overlaps(begin, end);
        if (waits)
          plan.barriersBefore.insert(&op);
        if (waits || meetsWithin(&op))
          pending.clear();
        pending.add(begin, end);
      }
      for (const PlacedBuffer &buffer : buffers)
        if (buffer.life.endsAt(&op))
          pending.add(buffer.begin, buffer.end);
    }
    return pending;
  }

  /// Returns what may still be read after `body` has run any number of times, none included.
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
    Bytes held = heldAt(op), unfree = pending;
    unfree.add(held);
    const int64_t alignment = alignmentOf(op);
    int64_t offset = unfree.firstFit(size, alignment);
    int64_t budget = std::max(needed, std::min(held.end() + kFreeBytes, maxBytes));
    if (offset + size > budget)
      offset = held.firstFit(size, alignment);
    plan.scratch[op] = offset;
    plan.bytes = std::max(plan.bytes, offset + size);
    return offset;
  }

  SmallVector<PlacedBuffer, 4> buffers;
  llvm::DenseMap<Operation *, int64_t> sizes;
  /// Bytes that no order of the rest makes fewer, as scratch shares all that it may.
  int64_t needed = 0;
  const int64_t maxBytes;
};

void printShape(llvm::raw_ostream &stream, ArrayRef<int64_t> shape, Type element) {
  for (int64_t extent : shape)
    stream << extent << "x";
  stream << element;
}

/// "scan of 64x128xf32", "3 stages of 128x64xf16"
std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto barriers = dyn_cast<MBarrierAllocOp>(op)) {
    stream << barriers.getType().getStages() << " memory barriers";
    return text;
  }
  if (auto alloc = dyn_cast<BufferAllocOp>(op)) {
    BufferType type = alloc.getType();
    stream << type.getStages() << " stages of ";
    printShape(stream, type.getShape(), type.getElement());
    return text;
  }
  if (isa<ConvertLayoutOp>(op))
    stream << "exchange between threads";
  else
    stream << op->getName().stripDialect();
  Value value = op->getNumOperands()  ? op->getOperand(0)
                : op->getNumResults() ? Value(op->getResult(0))
                                      : Value(); // a print of words only
  auto tile = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  if (tile) {
    stream << " of ";
    printShape(stream, tile.getShape(), tile.getElementType());
  }
  return text;
}

SharedMemoryPlan withVotes(SharedMemoryPlan plan, int64_t voteBytes) {
  plan.bytes = llvm::alignTo(plan.bytes, kAlignment);
  if (voteBytes) {
    plan.voteOffset = plan.bytes;
    plan.bytes = plan.voteOffset + voteBytes;
  }
  return plan;
}

/// What the user can change so that the kernel fits.
std::string remedyFor(func::FuncOp function, const GpuTarget &target,
                      const SharedMemoryPlan &plan) {
  int64_t voteBytes = plan.voteOffset < 0 ? 0 : plan.bytes - plan.voteOffset;
  int64_t most = 0, available = target.maxSharedBytes;
  function.walk([&](BufferAllocOp alloc) { most = std::max(most, alloc.getType().getStages()); });
  // Programs that share a block have the stages that each asks for.
  const int64_t teams = teamsOf(function);
  for (int64_t stages = most - 1; stages >= 2 * teams; --stages) {
    int64_t bytes = withVotes(Planner(function, target, stages).plan, voteBytes).bytes;
    if (bytes <= available)
      return "num_stages=" + std::to_string(stages / teams) + " fits" +
             (teams > 1 ? ", or persistent=False" : "") + "; or use smaller tiles";
  }
  if (teams > 1)
    return "use persistent=False, which gives each program a block of its own, or smaller tiles";
  int64_t times = 1;
  while (plan.bytes > available * times)
    times *= 2;
  return "use tiles with " + std::to_string(times) + " times fewer elements";
}

} // namespace

SharedMemoryPlan planSharedMemory(func::FuncOp function, const GpuTarget &target,
                                  int64_t voteBytes) {
  return withVotes(Planner(function, target).plan, voteBytes);
}

void noteSharedMemory(func::FuncOp function, const SharedMemoryPlan &plan, const GpuTarget &target,
                      lang::Remarks &remarks) {
  if (plan.scratch.empty())
    return;
  function.walk([&](Operation *op) {
    int64_t offset = plan.scratchOf(op);
    if (offset < 0)
      return;
    if (auto alloc = dyn_cast<BufferAllocOp>(op))
      addRemark(remarks, op->getLoc(), "shared-buffer", describe(op),
                {{"bytes", bufferBytes(alloc)},
                 {"offset", offset},
                 {"stages", alloc.getType().getStages()}});
    else if (isa<MBarrierAllocOp>(op))
      addRemark(remarks, op->getLoc(), "shared-scratch", describe(op),
                {{"bytes", bufferBytes(op)}, {"offset", offset}});
    else if (int64_t bytes = scratchBytes(op, target))
      addRemark(remarks, op->getLoc(), "shared-scratch", describe(op),
                {{"bytes", bytes}, {"offset", offset}});
  });
}

LogicalResult checkSharedMemory(func::FuncOp function, const SharedMemoryPlan &plan,
                                const GpuTarget &target) {
  if (plan.bytes <= target.maxSharedBytes)
    return success();
  // All buffers; of the scratch, what reaches too far.
  SmallVector<std::pair<int64_t, Operation *>> users;
  function.walk([&](Operation *op) {
    int64_t offset = plan.scratchOf(op);
    if (isAllocation(op)) {
      users.push_back({bufferBytes(op), op});
    } else if (int64_t bytes = offset < 0 ? 0 : scratchBytes(op, target);
               offset + bytes > target.maxSharedBytes) {
      users.push_back({bytes, op});
    }
  });
  {
    InFlightDiagnostic error = function.emitError()
                               << "shared memory: this kernel needs " << plan.bytes
                               << " bytes, and a program on " << target.name() << " has "
                               << target.maxSharedBytes;
    error.attachNote() << remedyFor(function, target, plan);
  }
  // The largest first; of equals, the earlier in the kernel.
  std::map<std::pair<int64_t, size_t>, Operation *> inOrder;
  for (auto [bytes, op] : users)
    inOrder[{-bytes, inOrder.size()}] = op;
  constexpr size_t kMostListed = 8;
  size_t listed = 0;
  for (auto [key, op] : inOrder)
    if (listed++ < kMostListed)
      emitRemark(op->getLoc()) << -key.first << " bytes: " << describe(op);
  return failure();
}

} // namespace sectile::gpu
