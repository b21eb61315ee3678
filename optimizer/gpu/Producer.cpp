#include "optimizer/gpu/Producer.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

Producer::Producer(scf::ForOp outer, scf::ForOp loop, LoopSlice &slice)
    : outer(outer), loop(loop), slice(slice), reason(find()) {}

static SmallVector<Value> boundsOf(scf::ForOp loop) {
  return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
}

SmallVector<Value> Producer::outside() const {
  scf::ForOp outer = this->outer;
  SmallVector<Value> values = boundsOf(outer ? outer : loop), ofInner = slice.initial();
  llvm::append_range(values, ofAround);
  llvm::append_range(ofInner, slice.outside());
  llvm::append_range(ofInner, boundsOf(loop));
  if (outerSlice) {
    llvm::append_range(values, outerSlice->initial());
    llvm::append_range(values, outerSlice->outside());
  }
  for (Value value : ofInner)
    if (!outer || outer.isDefinedOutsideOfLoop(value))
      values.push_back(value);
  return values;
}

std::string Producer::find() {
  Operation *outermost = outer ? outer : loop;
  auto function = dyn_cast<func::FuncOp>(outermost->getParentOp());
  if (!function)
    return "the loop stands within another one, or in a branch";
  if (producerOf(function))
    return "another loop has one";
  if (outer) {
    SmallVector<Value> made;
    auto add = [&](ValueRange values) {
      for (Value value : values)
        if (!outer.isDefinedOutsideOfLoop(value))
          made.push_back(value);
    };
    add(slice.initial());
    add(ValueRange(slice.outside()));
    add(boundsOf(loop));
    outerSlice.emplace(outer, LoopSlice::Runs::WhereItsIterationDoes);
    if (!outerSlice->add(made))
      return "its addresses depend on more than arithmetic in the loop around it";
  }
  if (!llvm::all_of(outside(), [&](Value value) { return mayRepeat(value); }))
    return "its addresses depend on more than arithmetic: on what the program loads, say";
  return {};
}

bool Producer::addAround(ArrayRef<Value> values) {
  const LoopSlice sliceBefore = *outerSlice;
  const SmallVector<Value> before = ofAround;
  SmallVector<Value> made;
  for (Value value : values)
    (outer.isDefinedOutsideOfLoop(value) ? ofAround : made).push_back(value);
  if (outerSlice->add(made) &&
      llvm::all_of(outside(), [&](Value value) { return mayRepeat(value); }))
    return true;
  outerSlice.emplace(sliceBefore);
  ofAround = before;
  return false;
}

bool Producer::mayRepeat(Value value) const {
  Operation *maker = value.getDefiningOp();
  if (!maker)
    return isa<func::FuncOp>(cast<BlockArgument>(value).getOwner()->getParentOp());
  if (isa<TensorMapOp>(maker))
    return true;
  // The program computes it in any case, too: a division may be repeated.
  return isMemoryEffectFree(maker) && isa<func::FuncOp>(maker->getParentOp()) &&
         !maker->getNumRegions() &&
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

/// The same rounds, at the builder's place, of a loop that carries `initial`.
static scf::ForOp loopLike(OpBuilder &builder, scf::ForOp loop, const IRMapping &values,
                           ValueRange initial) {
  auto made =
      scf::ForOp::create(builder, loop.getLoc(), values.lookupOrDefault(loop.getLowerBound()),
                         values.lookupOrDefault(loop.getUpperBound()),
                         values.lookupOrDefault(loop.getStep()), initial);
  made.setUnsignedCmp(loop.getUnsignedCmp());
  builder.setInsertionPointToStart(made.getBody());
  return made;
}

static SmallVector<Value> lookupAll(const IRMapping &values, ArrayRef<Value> originals) {
  return llvm::map_to_vector(originals, [&](Value value) { return values.lookupOrDefault(value); });
}

SmallVector<Value> Producer::makeRounds(OpBuilder &builder, IRMapping values, ValueRange state,
                                        Round round) {
  SmallVector<Value> initial = lookupAll(values, slice.initial());
  const size_t ownCount = initial.size();
  llvm::append_range(initial, state);
  scf::ForOp made = loopLike(builder, loop, values, initial);
  ValueRange carried = made.getRegionIterArgs();
  IRMapping there =
      slice.clone(builder, made.getInductionVar(), carried.take_front(ownCount), values);
  SmallVector<Value> yielded = slice.next(there);
  llvm::append_range(yielded, round(there, carried.drop_front(ownCount)));
  scf::YieldOp::create(builder, loop.getLoc(), yielded);
  builder.setInsertionPointAfter(made);
  return SmallVector<Value>(made.getResults().drop_front(ownCount));
}

void Producer::make(OpBuilder &builder, llvm::function_ref<SmallVector<Value>()> begin, Round round,
                    AroundRound aroundRound) {
  auto producer = ProducerOp::create(builder, loop.getLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&producer.getBody());
  IRMapping values;
  for (Value value : outside())
    repeat(builder, value, values);
  SmallVector<Value> state = begin();
  if (!outer) {
    makeRounds(builder, values, state, round);
    return;
  }
  SmallVector<Value> initial = lookupAll(values, outerSlice->initial());
  const size_t ownCount = initial.size();
  llvm::append_range(initial, state);
  Value one = arith::ConstantOp::create(builder, outer.getLoc(), builder.getI32IntegerAttr(1));
  initial.push_back(
      arith::ConstantOp::create(builder, outer.getLoc(), builder.getI32IntegerAttr(0)));
  scf::ForOp made = loopLike(builder, outer, values, initial);
  ValueRange carried = made.getRegionIterArgs();
  Value parity = carried.back();
  IRMapping there =
      outerSlice->clone(builder, made.getInductionVar(), carried.take_front(ownCount), values);
  aroundRound(there, parity);
  SmallVector<Value> yielded = outerSlice->next(there);
  llvm::append_range(yielded,
                     makeRounds(builder, there, carried.drop_front(ownCount).drop_back(), round));
  yielded.push_back(arith::XOrIOp::create(builder, outer.getLoc(), parity, one));
  scf::YieldOp::create(builder, outer.getLoc(), yielded);
}

} // namespace sectile::optimizer
