#include "optimizer/gpu/ConstantArguments.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

/// Whether a store may come before the load in some round of a loop around it.
static bool followsStores(LoadOp load) {
  bool stores = false;
  for (Operation *outer = load->getParentOp(); outer && !stores; outer = outer->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(outer))
      outer->walk([&](Operation *op) { stores |= isa<StoreOp, AtomicRmwOp>(op); });
  return stores;
}

SmallVector<unsigned> constantArguments(func::FuncOp function, bool argumentsOverlap,
                                        SmallVectorImpl<ApartArguments> &apart) {
  SmallVector<LoadOp> loads;
  function.walk([&](LoadOp load) {
    if (!isa<RankedTensorType>(load.getType()) && followsStores(load))
      loads.push_back(load);
  });
  if (loads.empty())
    return {};
  PointerProvenance provenance(function);
  LoopWrites writes(function, provenance, argumentsOverlap);
  SmallVector<unsigned> constants;
  for (LoadOp load : loads)
    if (writes.mayBePassedBy(load, apart))
      if (unsigned argument = *provenance.argumentOf(load.getPtr());
          !llvm::is_contained(constants, argument))
        constants.push_back(argument);
  return constants;
}

} // namespace sectile::optimizer
