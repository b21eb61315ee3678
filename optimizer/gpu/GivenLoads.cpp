#include "optimizer/gpu/GivenLoads.h"

#include "optimizer/gpu/AsyncLoads.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

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
