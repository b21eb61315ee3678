#include "optimizer/gpu/ProgramSlice.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

bool ProgramSlice::add(ArrayRef<Value> values) {
  Parts grown = parts;
  for (Value value : values)
    if (value && !addTo(grown, value))
      return false;
  parts = std::move(grown);
  return true;
}

bool ProgramSlice::addPlace(Operation *op) {
  Parts grown = parts;
  if (!addAround(grown, op))
    return false;
  parts = std::move(grown);
  return true;
}

bool ProgramSlice::addTo(Parts &grown, Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *owner = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (!isInside(owner)) {
    grown.outside.insert(value);
    return true;
  }
  if (argument) {
    auto loop = dyn_cast<scf::ForOp>(owner);
    if (!loop)
      return false;
    return argument == loop.getInductionVar()
               ? addTo(grown, owner)
               : addCarried(grown, owner, argument.getArgNumber() - 1);
  }
  if (isa<scf::ForOp, scf::IfOp>(owner))
    return addCarried(grown, owner, cast<OpResult>(value).getResultNumber());
  return addTo(grown, owner);
}

bool ProgramSlice::addTo(Parts &grown, Operation *op) const {
  if (grown.ops.contains(op))
    return true;
  if (!mayRun(op))
    return false;
  grown.ops.insert(op);
  // What a loop carries is added where it is asked for.
  OperandRange operands = op->getOperands();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    operands = operands.take_front(loop.getNumControlOperands());
  return llvm::all_of(operands, [&](Value operand) { return addTo(grown, operand); }) &&
         addAround(grown, op);
}

bool ProgramSlice::addAround(Parts &grown, Operation *op) const {
  return op == outermost || addTo(grown, op->getParentOp());
}

bool ProgramSlice::addCarried(Parts &grown, Operation *op, unsigned number) const {
  if (!grown.carried[op].insert(number))
    return true;
  if (!addTo(grown, op))
    return false;
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && !addTo(grown, loop.getInitArgs()[number]))
    return false;
  return llvm::all_of(op->getRegions(), [&](Region &region) {
    return addTo(grown, region.front().getTerminator()->getOperand(number));
  });
}

bool ProgramSlice::mayRun(Operation *op) const {
  if (isa<scf::ForOp, scf::IfOp>(op))
    return true;
  if (op->getNumRegions() || llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return false;
  // It runs where the program's does: a division may be repeated.
  if (auto load = dyn_cast<LoadOp>(op))
    return !load.getIsVolatile() && mayLoad(load);
  return isMemoryEffectFree(op);
}

SmallVector<LoadOp> ProgramSlice::loads() const {
  SmallVector<LoadOp> loads;
  for (Operation *op : parts.ops)
    if (auto load = dyn_cast<LoadOp>(op))
      loads.push_back(load);
  return loads;
}

class ProgramSlice::Cloner {
public:
  Cloner(OpBuilder &builder, const Parts &parts, const Steps &steps, Operation *outermost)
      : builder(builder), parts(parts), steps(steps) {
    for (const auto &[op, each] : steps)
      for (Operation *around = op; around != outermost;) {
        around = around->getParentOp();
        withSteps.insert(around);
      }
  }

  void cloneOp(Operation *op, IRMapping &values, State &state) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      cloneLoop(loop, values, state);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      cloneBranch(branch, values, state);
    else
      builder.clone(*op, values);
  }

private:
  void cloneBlock(Block &block, IRMapping &values, State &state) {
    for (Operation &op : block) {
      if (auto found = steps.find(&op); found != steps.end())
        for (const Step &step : found->second)
          step(values, state);
      if (parts.ops.contains(&op))
        cloneOp(&op, values, state);
    }
  }

  ArrayRef<unsigned> carriedBy(Operation *op) const {
    auto found = parts.carried.find(op);
    return found == parts.carried.end() ? ArrayRef<unsigned>() : found->second.getArrayRef();
  }

  /// Emits the block's part, and yields what the operation carries and the state.
  void cloneInto(Block &block, Operation *op, IRMapping values, State state) {
    cloneBlock(block, values, state);
    SmallVector<Value> yielded;
    for (unsigned number : carriedBy(op))
      yielded.push_back(values.lookupOrDefault(block.getTerminator()->getOperand(number)));
    if (withSteps.contains(op))
      llvm::append_range(yielded, state);
    scf::YieldOp::create(builder, op->getLoc(), yielded);
  }

  /// Maps what the operation gives, and takes the state.
  void takeResults(Operation *op, Operation *made, IRMapping &values, State &state) {
    ArrayRef<unsigned> carried = carriedBy(op);
    for (auto [place, number] : llvm::enumerate(carried))
      values.map(op->getResult(number), made->getResult(unsigned(place)));
    if (withSteps.contains(op))
      llvm::copy(made->getResults().drop_front(carried.size()), state.begin());
    builder.setInsertionPointAfter(made);
  }

  void cloneLoop(scf::ForOp loop, IRMapping &values, State &state) {
    SmallVector<Value> initial;
    for (unsigned number : carriedBy(loop))
      initial.push_back(values.lookupOrDefault(loop.getInitArgs()[number]));
    const size_t ownCount = initial.size();
    if (withSteps.contains(loop))
      llvm::append_range(initial, state);
    auto made =
        scf::ForOp::create(builder, loop.getLoc(), values.lookupOrDefault(loop.getLowerBound()),
                           values.lookupOrDefault(loop.getUpperBound()),
                           values.lookupOrDefault(loop.getStep()), initial);
    made.setUnsignedCmp(loop.getUnsignedCmp());
    if (initial.empty()) // an implicit yield
      made.getBody()->getTerminator()->erase();
    ValueRange arguments = made.getRegionIterArgs();
    IRMapping inside = values;
    inside.map(loop.getInductionVar(), made.getInductionVar());
    for (auto [number, argument] : llvm::zip(carriedBy(loop), arguments))
      inside.map(loop.getRegionIterArg(number), argument);
    State within = state;
    if (withSteps.contains(loop))
      llvm::copy(arguments.drop_front(ownCount), within.begin());
    builder.setInsertionPointToStart(made.getBody());
    cloneInto(*loop.getBody(), loop, inside, within);
    takeResults(loop, made, values, state);
  }

  void cloneBranch(scf::IfOp branch, IRMapping &values, State &state) {
    SmallVector<Type> types;
    for (unsigned number : carriedBy(branch))
      types.push_back(branch.getResultTypes()[number]);
    if (withSteps.contains(branch))
      llvm::append_range(types, ValueRange(state).getTypes());
    auto made = scf::IfOp::create(builder, branch.getLoc(), types,
                                  values.lookupOrDefault(branch.getCondition()),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
    for (auto [from, to] : {std::pair(&branch.getThenRegion(), made.thenBlock()),
                            std::pair(&branch.getElseRegion(), made.elseBlock())}) {
      builder.setInsertionPointToStart(to);
      if (!from->empty()) {
        cloneInto(from->front(), branch, values, state);
        continue;
      }
      const bool hasSteps = withSteps.contains(branch);
      scf::YieldOp::create(builder, branch.getLoc(), hasSteps ? ValueRange(state) : ValueRange());
    }
    takeResults(branch, made, values, state);
  }

  OpBuilder &builder;
  const Parts &parts;
  const Steps &steps;
  llvm::DenseSet<Operation *> withSteps; // loops and branches with steps inside
};

void ProgramSlice::clone(OpBuilder &builder, IRMapping &values, State &state, const Steps &steps) {
  if (auto found = steps.find(outermost); found != steps.end())
    for (const Step &step : found->second)
      step(values, state);
  Cloner(builder, parts, steps, outermost).cloneOp(outermost, values, state);
}

} // namespace sectile::optimizer
