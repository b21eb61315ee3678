#include "optimizer/gpu/Producer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

Producer::Producer(scf::ForOp loop, std::function<bool(LoadOp)> mayLoad)
    : around(loop), mayLoad(std::move(mayLoad)) {
  while (!isa<func::FuncOp>(around->getParentOp()))
    around = around->getParentOp();
  slice.emplace(around, this->mayLoad);
  if (producerOf(around->getParentOp()))
    reason = "another loop has one";
  else if (!slice->addPlace(loop))
    reason = "what the loops and branches around it do depends on more than arithmetic";
}

bool Producer::add(ArrayRef<Value> values, Operation *place) {
  const ProgramSlice before = *slice;
  if (slice->addPlace(place) && slice->add(values) &&
      llvm::all_of(slice->outside(), [&](Value value) { return mayRepeat(value); }))
    return true;
  slice.emplace(before);
  return false;
}

bool Producer::mayRepeat(Value value) const {
  Operation *maker = value.getDefiningOp();
  if (!maker)
    return isa<func::FuncOp>(cast<BlockArgument>(value).getOwner()->getParentOp());
  if (isa<TensorMapOp>(maker))
    return true;
  auto load = dyn_cast<LoadOp>(maker);
  // The program computes it in any case, too: a division may be repeated.
  return (load ? !load.getIsVolatile() && mayLoad(load) : isMemoryEffectFree(maker)) &&
         isa<func::FuncOp>(maker->getParentOp()) && !maker->getNumRegions() &&
         llvm::none_of(maker->getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
         llvm::all_of(maker->getOperands(), [&](Value operand) { return mayRepeat(operand); });
}

Value Producer::repeat(OpBuilder &builder, Value value, IRMapping &repeated) const {
  Operation *maker = value.getDefiningOp();
  if (!maker || isa<TensorMapOp>(maker) || repeated.contains(value))
    return repeated.lookupOrDefault(value);
  for (Value operand : maker->getOperands())
    repeat(builder, operand, repeated);
  builder.clone(*maker, repeated);
  return repeated.lookup(value);
}

void Producer::make(OpBuilder &builder, int64_t words,
                    llvm::function_ref<ProgramSlice::State()> begin,
                    const ProgramSlice::Steps &steps,
                    llvm::function_ref<void(const ProgramSlice::State &)> end) {
  auto producer = ProducerOp::create(builder, around->getLoc(), uint32_t(words));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&producer.getBody());
  IRMapping values;
  for (Value value : slice->outside())
    repeat(builder, value, values);
  ProgramSlice::State state = begin();
  slice->clone(builder, values, state, steps);
  end(state);
}

} // namespace sectile::optimizer
