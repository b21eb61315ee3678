#include "optimizer/gpu/GivenLoads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

LoadOp emitLoadAhead(OpBuilder &builder, LoadOp load, IRMapping &there, Value exists) {
  Location place = load.getLoc();
  Value mask = load.getMask() ? there.lookupOrDefault(load.getMask()) : Value();
  if (exists && isa<RankedTensorType>(load.getPtr().getType()))
    exists = SplatOp::create(builder, place, maskOf(load.getPtr().getType()), exists);
  if (exists)
    mask = mask ? arith::AndIOp::create(builder, place, mask, exists).getResult() : exists;
  auto ahead = cast<LoadOp>(builder.clone(*load, there));
  if (mask)
    ahead.getMaskMutable().assign(mask);
  // The block is of the round that the load stands in, and a masked load reads none.
  ahead.getBlockMutable().clear();
  return ahead;
}

bool GivenLoads::add(LoadOp load) {
  if (llvm::is_contained(loads, load))
    return true;
  if (!slice.add({load.getPtr(), load.getMask(), load.getOther()}))
    return false;
  loads.push_back(load);
  return true;
}

void GivenLoads::keep(ArrayRef<LoadOp> used) {
  loads.assign(used.begin(), used.end());
}

SmallVector<Value> GivenLoads::State::all() const {
  SmallVector<Value> values(carried);
  llvm::append_range(values, loaded);
  return values;
}

void GivenLoads::State::setAll(ValueRange values) {
  carried.assign(values.begin(), values.begin() + carried.size());
  loaded.assign(values.begin() + carried.size(), values.end());
}

void GivenLoads::load(OpBuilder &builder, Value index, Value exists, State &state) {
  IRMapping there = slice.clone(builder, index, state.carried);
  state.loaded = llvm::map_to_vector(
      loads, [&](LoadOp load) -> Value { return emitLoadAhead(builder, load, there, exists); });
  state.carried = slice.next(there);
}

IRMapping GivenLoads::results(const State &state) const {
  IRMapping mapping;
  for (auto [load, value] : llvm::zip(loads, state.loaded))
    mapping.map(LoadOp(load).getResult(), value);
  return mapping;
}

} // namespace sectile::optimizer
