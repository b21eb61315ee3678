#include "backends/cpu/KernelPlan.h"

#include "backends/cpu/RecomputeCost.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::cpu {
namespace {

/// Rule (Spread).
constexpr int kMostCoordinates = 16;

/// Ops that only rearrange or repeat elements: keeping their operand is never worse than keeping
/// them.
bool isShapeOp(Operation *op) {
  return isa<SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransposeOp, FlipOp, JoinOp, SplitOp,
             CatOp, GatherOp, HintOp>(op);
}

/// The op needs a nest of its own kind or is emitted by itself; its tile results are always in
/// buffers.
bool isStepOp(Operation *op) {
  if (op->getNumRegions() || isa<StoreOp, AtomicRmwOp, AtomicCasOp, DotOp, SortOp, HistogramOp,
                                 InlineAsmOp, PrintOp, AssertOp>(op))
    return true;
  return op->hasTrait<OpTrait::IsTerminator>();
}

bool isScalarOp(Operation *op) {
  return !op->getNumRegions() && llvm::none_of(op->getOperands(), isTile) &&
         llvm::none_of(op->getResults(), isTile);
}

bool writesMemory(Operation *op) {
  bool writes = false;
  op->walk([&](Operation *inner) {
    if (auto load = dyn_cast<LoadOp>(inner))
      writes |= load.getIsVolatile();
    writes |= isa<StoreOp, AtomicRmwOp, AtomicCasOp, BarrierOp, GridWaitOp, GridLaunchDependentsOp,
                  ClockOp>(inner);
  });
  return writes;
}

class BlockPlanner {
public:
  BlockPlanner(func::FuncOp function, Block &block, KernelPlan &plan, bool argumentsOverlap)
      : function(function), block(block), plan(plan), argumentsOverlap(argumentsOverlap) {}

  void run() {
    indexOps();
    formGroups();
    seedUses();
    for (Operation &op : llvm::reverse(block))
      if (!isStepOp(&op) && !isScalarOp(&op))
        decide(&op);
    findDotsInPlace();
    writeSteps();
  }

private:
  struct Group {
    Nest *nest = nullptr;
    Operation *op = nullptr;
    double position = 0;
    /// Orders groups of equal position.
    int64_t sequence = 0;
  };
  struct Use {
    int group;
    /// The group visits each element of the value once, in the value's own shape.
    bool isIdentity;
    /// The use is inside a loop or branch.
    bool isNested;
  };

  bool isLocal(Value value) const { return value.getParentBlock() == &block; }
  int64_t indexOf(Operation *op) const { return index.lookup(op); }

  void indexOps() {
    int64_t next = 0;
    for (Operation &op : block) {
      index[&op] = next;
      if (writesMemory(&op))
        writes.push_back(&op);
      ++next;
    }
  }

  /// Position at which everything `value` is made from exists, in memory as well: what its loads
  /// read has been written. And its last load.
  struct Sources {
    double available = -1;
    int64_t lastLoad = -1;
    llvm::SmallSetVector<Operation *, 4> loads;
  };
  const Sources &sourcesOf(Value value) {
    auto found = sources.find(value);
    if (found != sources.end())
      return *found->second;
    auto made = std::make_unique<Sources>();
    Operation *op = value.getDefiningOp();
    if (op && isLocal(value)) {
      if (isStepOp(op) || isScalarOp(op)) {
        made->available = positionOf(op);
      } else {
        for (Value operand : op->getOperands()) {
          const Sources &inner = sourcesOf(operand);
          made->available = std::max(made->available, inner.available);
          made->lastLoad = std::max(made->lastLoad, inner.lastLoad);
          made->loads.insert(inner.loads.begin(), inner.loads.end());
        }
        if (isa<LoadOp>(op)) {
          made->available = std::max(made->available, lastWriteBefore(indexOf(op)));
          made->lastLoad = std::max(made->lastLoad, indexOf(op));
          made->loads.insert(op);
        }
      }
    }
    return *(sources[value] = std::move(made));
  }

  //-- Roots into groups ---------------------------------------------------------------------------

  void formGroups() {
    for (Operation &op : block) {
      if (isScalarOp(&op) || !isStepOp(&op))
        continue;
      Root root{isa<StoreOp>(op) ? Root::Kind::Store : Root::Kind::Reduce, &op, {}, {}};
      if (!isa<StoreOp, ReduceOp>(op)) {
        addGroup(nullptr, &op, indexOf(&op));
        continue;
      }
      auto reduce = dyn_cast<ReduceOp>(op);
      auto shape = shapeOf(op.getOperand(0).getType());
      int axis = reduce ? int(reduce.getAxis()) : -1;
      int joined = -1;
      for (int group = int(groups.size()) - 1; group >= 0 && joined < 0; --group)
        if (mayJoin(groups[group], &op, shape, axis))
          joined = group;
      if (joined < 0) {
        auto nest = std::make_unique<Nest>();
        nest->shape.assign(shape.begin(), shape.end());
        joined = addGroup(nest.get(), nullptr, indexOf(&op));
        plan.nests.push_back(std::move(nest));
      }
      Nest *nest = groups[joined].nest;
      nest->roots.push_back(root);
      if (axis >= 0)
        nest->reduceAxis = axis;
      groupOf[&op] = joined;
    }
  }

  int addGroup(Nest *nest, Operation *op, double position) {
    groups.push_back({nest, op, position, int64_t(position)});
    if (op)
      groupOf[op] = groups.size() - 1;
    if (nest)
      nest->position = position;
    return groups.size() - 1;
  }

  using Hazards = std::vector<backends::OverlapHazard>;

  /// Are all elements of a tile of pointers known to be different addresses?
  bool isInjective(Value pointers) {
    if (!plan.indexFacts)
      plan.indexFacts = std::make_unique<optimizer::IndexAnalysis>(function);
    return plan.indexFacts->isInjective(pointers);
  }

  /// Rule (Overlap): may the two accesses touch the same address in different iterations?
  /// `isIdentity`: the nest visits the elements of both in the same order.
  bool mayConflict(Value written, Value other, bool isIdentity, Hazards &hazards) {
    if (written == other)
      return !isIdentity || !isInjective(written);
    std::optional<unsigned> writtenBase = plan.provenance->argumentOf(written);
    std::optional<unsigned> otherBase = plan.provenance->argumentOf(other);
    if (argumentsOverlap || !writtenBase || !otherBase || writtenBase == otherBase)
      return true;
    bool meetElsewhere =
        !isIdentity || !optimizer::haveSameOffsets(written, other) || !isInjective(written);
    hazards.push_back({*writtenBase, *otherBase, /*evenIfSame=*/meetElsewhere});
    return false;
  }

  void note(const Hazards &hazards) {
    for (const backends::OverlapHazard &hazard : hazards)
      if (!llvm::is_contained(plan.overlapHazards, hazard))
        plan.overlapHazards.push_back(hazard);
  }

  bool mayJoin(const Group &group, Operation *op, ArrayRef<int64_t> shape, int axis) {
    Nest *nest = group.nest;
    if (!nest || ArrayRef<int64_t>(nest->shape) != shape)
      return false;
    if (axis >= 0 && nest->reduceAxis >= 0 && nest->reduceAxis != axis)
      return false;
    for (Value operand : op->getOperands())
      if (sourcesOf(operand).available >= group.position)
        return false;
    // Rule (Order): nothing that the op has to follow or precede lies between.
    auto isInside = [&](Operation *other) {
      auto found = groupOf.find(other);
      return found != groupOf.end() && groups[found->second].nest == nest;
    };
    for (Operation *write : writes)
      if (indexOf(write) >= group.position && indexOf(write) < indexOf(op) && !isInside(write))
        return false;
    auto store = dyn_cast<StoreOp>(op);
    if (store)
      for (auto it = std::next(block.begin(), int64_t(group.position)); &*it != op; ++it) {
        if (it->getNumRegions() && !hasElementRegion(&*it))
          return false;
        if (isa<LoadOp>(*it))
          return false;
      }
    Hazards hazards;
    auto conflictsWithLoadsOf = [&](StoreOp write, Operation *reader) {
      for (Value operand : reader->getOperands()) {
        const Sources &made = sourcesOf(operand);
        for (Operation *load : made.loads)
          // Whether the load is visited in the nest's order is checked when it is placed.
          if (indexOf(load) > indexOf(write) ||
              mayConflict(write.getPtr(), load->getOperand(0), /*isIdentity=*/true, hazards))
            return true;
      }
      return false;
    };
    for (const Root &other : nest->roots) {
      auto otherStore = dyn_cast_or_null<StoreOp>(other.op);
      if (otherStore && conflictsWithLoadsOf(otherStore, op))
        return false;
      if (store && other.op && conflictsWithLoadsOf(store, other.op))
        return false;
      if (store && otherStore &&
          mayConflict(otherStore.getPtr(), store.getPtr(), /*isIdentity=*/true, hazards))
        return false;
    }
    note(hazards);
    return true;
  }

  //-- Which values are kept -----------------------------------------------------------------------

  void addUse(Value value, Use use) {
    if (!isTile(value) || !isLocal(value))
      return;
    auto &list = uses[value];
    for (Use &other : list)
      if (other.group == use.group) {
        other.isIdentity &= use.isIdentity;
        other.isNested |= use.isNested;
        return;
      }
    list.push_back(use);
  }

  void seedUses() {
    for (auto [number, group] : llvm::enumerate(groups)) {
      if (group.nest) {
        for (const Root &root : group.nest->roots)
          for (Value operand : root.op->getOperands())
            addUse(operand, {int(number), true, false});
        continue;
      }
      for (Value operand : group.op->getOperands())
        addUse(operand, {int(number), true, false});
      for (Region &region : group.op->getRegions())
        region.walk([&](Operation *inner) {
          for (Value operand : inner->getOperands())
            addUse(operand, {int(number), false, true});
        });
    }
  }

  /// That of its group, if it is in one by now.
  double positionOf(Operation *op) {
    auto group = groupOf.find(op);
    return group == groupOf.end() ? double(indexOf(op)) : groups[group->second].position;
  }

  /// The position of the last write that a load at `at` has to follow.
  double lastWriteBefore(int64_t at) {
    double last = -1;
    for (Operation *write : writes)
      if (indexOf(write) < at)
        last = std::max(last, positionOf(write));
    return last;
  }

  /// The position of the first write that a load at `at` has to precede.
  double firstWriteAfter(int64_t at) {
    double first = std::numeric_limits<double>::infinity();
    for (Operation *write : writes)
      if (indexOf(write) > at)
        first = std::min(first, positionOf(write));
    return first;
  }

  /// Rule (Overlap). Through the same pointers only an element's own place may be overwritten.
  bool groupConflicts(const Group &group, LoadOp load, bool isIdentity) {
    if (!group.nest)
      return isa<AtomicRmwOp, AtomicCasOp>(group.op);
    Hazards hazards;
    bool conflicts = llvm::any_of(group.nest->roots, [&](const Root &root) {
      auto store = dyn_cast_or_null<StoreOp>(root.op);
      return store && mayConflict(store.getPtr(), load.getPtr(), isIdentity, hazards);
    });
    if (!conflicts)
      note(hazards);
    return conflicts;
  }

  /// At how many coordinates of a nest `value` would be computed for one of the nest's own. Ops on
  /// elements share a coordinate; every rearrangement, and each part of a join, may add one. Users
  /// come later in the block and are known by now.
  int coordinatesOf(Value value) {
    int shared = 1, added = 0;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != &block || isStepOp(user) || isScalarOp(user))
        continue;
      for (Value result : user->getResults()) {
        int inherited = plan.kept.contains(result) ? 1 : coordinates.lookup(result);
        if (isa<ReshapeOp, TransposeOp, FlipOp, JoinOp, SplitOp, CatOp, GatherOp>(user))
          added += inherited;
        else
          shared = std::max(shared, inherited);
      }
    }
    return std::min(shared + added, 1 << 16);
  }

  bool shouldKeep(Operation *op, Value value, ArrayRef<Use> list, double lastPosition) {
    if (isShapeOp(op) || isa<arith::ConstantOp, ArangeOp>(op))
      return false;
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (load.getIsVolatile())
        return true;
      for (const Use &use : list)
        if (groups[use.group].position > lastPosition ||
            groupConflicts(groups[use.group], load, use.isIdentity))
          return true; // rules (Order) and (Overlap)
    }
    if (coordinates.lookup(value) > kMostCoordinates)
      return true; // rule (Spread)
    const RecomputeCost &cost = costs.of(value);
    if (cost.isDearAcrossRegions() && llvm::any_of(list, [](Use use) { return use.isNested; }))
      return true; // rule (Region)
    if (cost.isCostly && llvm::any_of(list, [](Use use) { return !use.isIdentity; }))
      return true; // rule (Enlarge)
    bool isAtomicOperand = llvm::any_of(list, [&](Use use) {
      return isa_and_nonnull<AtomicRmwOp, AtomicCasOp>(groups[use.group].op);
    });
    return cost.isDear() && (list.size() > 1 || isAtomicOperand);
  }

  void decide(Operation *op) {
    for (Value result : op->getResults())
      if (isTile(result)) {
        coordinates[result] = coordinatesOf(result);
        decideValue(op, result);
      }
  }

  void decideValue(Operation *op, Value value) {
    auto found = uses.find(value);
    if (found == uses.end())
      return;
    SmallVector<Use, 4> list(found->second.begin(), found->second.end());
    auto load = dyn_cast<LoadOp>(op);
    double lastPosition =
        load ? firstWriteAfter(indexOf(op)) : std::numeric_limits<double>::infinity();
    bool mustEnlarge = isa<GatherOp>(op);
    if (!shouldKeep(op, value, list, lastPosition)) {
      for (const Use &use : list)
        for (Value operand : op->getOperands())
          addUse(operand,
                 {use.group, use.isIdentity && !isShapeOp(op) && !mustEnlarge, use.isNested});
      return;
    }
    plan.kept.insert(value);
    int first = list.front().group;
    for (const Use &use : list)
      if (groups[use.group].position < groups[first].position)
        first = use.group;
    const Use &firstUse = *llvm::find_if(list, [&](Use use) { return use.group == first; });
    Group &group = groups[first];
    bool canAttach = group.nest && firstUse.isIdentity &&
                     ArrayRef<int64_t>(group.nest->shape) == shapeOf(value.getType()) &&
                     group.position <= lastPosition &&
                     !(load && groupConflicts(group, load, firstUse.isIdentity));
    int home = first;
    if (!canAttach) {
      auto nest = std::make_unique<Nest>();
      nest->shape.assign(shapeOf(value.getType()).begin(), shapeOf(value.getType()).end());
      // In front of its user, and behind what it is made from: a chain of such nests has any number
      // of them between.
      const double before = std::min(group.position, lastPosition),
                   available = sourcesOf(value).available;
      double at = before - 0.5;
      if (at <= available)
        at = (available + before) / 2;
      if (load && load.getIsVolatile())
        at = indexOf(op);
      home = addGroup(nest.get(), nullptr, at);
      groups[home].sequence = indexOf(op);
      plan.nests.push_back(std::move(nest));
    }
    auto &roots = groups[home].nest->roots;
    roots.insert(roots.begin(), Root{Root::Kind::Keep, nullptr, value, {}});
    for (Value operand : op->getOperands())
      addUse(operand, {home, true, false});
  }

  //-- Products that accumulate in the loop's own buffer -------------------------------------------

  void findDotsInPlace() {
    auto loop = dyn_cast<scf::ForOp>(block.getParentOp());
    if (!loop)
      return;
    Operation *yield = block.getTerminator();
    for (auto [number, value] : llvm::enumerate(yield->getOperands())) {
      auto dot = value.getDefiningOp<DotOp>();
      Value carried = loop.getRegionIterArg(number);
      if (!dot || !isLocal(value) || llvm::count(yield->getOperands(), value) != 1 ||
          dot.getLhs() == carried || dot.getRhs() == carried)
        continue;
      double at = groups[groupOf[dot]].position;
      bool isFree = llvm::all_of(uses[carried], [&](Use use) {
        return groups[use.group].position < at || (groups[use.group].op == dot && use.isIdentity);
      });
      if (isFree)
        plan.dotsInPlace.insert(dot);
    }
  }

  void writeSteps() {
    struct Entry {
      double position;
      int64_t sequence;
      Step step;
    };
    std::vector<Entry> entries;
    for (Operation &op : block)
      if (isScalarOp(&op))
        entries.push_back({double(indexOf(&op)), indexOf(&op), Step{&op, nullptr}});
    for (const Group &group : groups)
      entries.push_back({group.position, group.sequence, Step{group.op, group.nest}});
    llvm::sort(entries, [](const Entry &a, const Entry &b) {
      return std::tie(a.position, a.sequence) < std::tie(b.position, b.sequence);
    });
    auto &steps = plan.steps[&block];
    for (const Entry &entry : entries)
      steps.push_back(entry.step);
  }

  func::FuncOp function;
  Block &block;
  KernelPlan &plan;
  const bool argumentsOverlap;
  llvm::DenseMap<Operation *, int64_t> index;
  SmallVector<Operation *, 8> writes;
  llvm::DenseMap<Value, std::unique_ptr<Sources>> sources;
  std::vector<Group> groups;
  llvm::DenseMap<Operation *, int> groupOf;
  llvm::DenseMap<Value, SmallVector<Use, 2>> uses;
  llvm::DenseMap<Value, int> coordinates;
  RecomputeCosts costs;
};

} // namespace

KernelPlan planKernel(func::FuncOp function, bool argumentsOverlap) {
  KernelPlan plan;
  plan.provenance.emplace(function);
  function.walk([&](Block *block) {
    if (!isa<ReduceOp, ScanOp>(block->getParentOp()))
      BlockPlanner(function, *block, plan, argumentsOverlap).run();
  });
  return plan;
}

} // namespace sectile::cpu
