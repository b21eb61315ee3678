#include "optimizer/gpu/LoopWrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

void assumeApart(SmallVectorImpl<ApartArguments> &apart, ApartArguments pair) {
  auto *known = llvm::find_if(apart, [&](const ApartArguments &one) {
    return one.written == pair.written && one.other == pair.other;
  });
  if (known == apart.end())
    apart.push_back(pair);
  else
    known->evenIfSame |= pair.evenIfSame;
}

LoopWrites::LoopWrites(scf::ForOp loop, const PointerProvenance &provenance, bool argumentsOverlap)
    : LoopWrites(*loop.getBody(), "loop", provenance, argumentsOverlap) {}
LoopWrites::LoopWrites(func::FuncOp function, const PointerProvenance &provenance,
                       bool argumentsOverlap)
    : LoopWrites(function.front(), "kernel", provenance, argumentsOverlap) {}

LoopWrites::LoopWrites(Block &body, const char *scope, const PointerProvenance &provenance,
                       bool argumentsOverlap)
    : scope(scope), provenance(provenance), argumentsOverlap(argumentsOverlap) {
  auto write = [&](Value pointer) {
    if (auto argument = provenance.argumentOf(pointer))
      written.push_back(*argument);
    else
      writesAnywhere = true;
  };
  body.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](StoreOp store) { write(store.getPtr()); })
        .Case([&](AtomicRmwOp atomic) {
          write(atomic.getPtr());
          // A kernel that uses the result may be waiting for another program's data.
          ordersMemory |= !atomic->use_empty();
        })
        .Case([&](LoadOp load) { ordersMemory |= load.getIsVolatile(); })
        .Case<PrintOp, AssertOp, AssumeOp>([](Operation *) {})
        .Default([&](Operation *op) {
          ordersMemory |= !touchesOnlySharedMemory(op) && !isMemoryEffectFree(op) &&
                          !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
        });
  });
}

bool LoopWrites::mayBePassedBy(LoadOp load, SmallVectorImpl<ApartArguments> &apart) const {
  if (ordersMemory || writesAnywhere)
    return false;
  auto read = provenance.argumentOf(load.getPtr());
  if (!written.empty() && (!read || argumentsOverlap || llvm::is_contained(written, *read)))
    return false;
  for (unsigned argument : written)
    assumeApart(apart, {argument, *read});
  return true;
}

std::string LoopWrites::whyNotPassedBy(LoadOp load) const {
  const std::string the = std::string("the ") + scope;
  if (ordersMemory || writesAnywhere)
    return the + " orders memory (by a barrier, an atomic whose result is used or a volatile "
                 "load), or writes through a pointer whose argument is not known";
  if (argumentsOverlap)
    return "arguments of the launch share memory, and " + the + " writes";
  if (!provenance.argumentOf(load.getPtr()))
    return the + " writes, and which argument this reads is not known";
  return the + " writes to the argument that this reads";
}

} // namespace sectile::optimizer
