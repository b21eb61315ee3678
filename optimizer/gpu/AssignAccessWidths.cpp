#include "optimizer/gpu/AssignAccessWidths.h"

#include "optimizer/gpu/AccessWidth.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

void assignAccessWidths(func::FuncOp function, const GpuShape &shape) {
  IndexAnalysis analysis(function);
  function.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op).Case<LoadOp, StoreOp, AtomicRmwOp>([&](auto access) {
      const layout::TileLayout *layout = layoutOf(access.getPtr().getType());
      if (!layout) // a scalar
        return;
      const AccessWidth decided = widestAccess(
          memoryOperandsOf(op), mostElements(op, shape), *layout, analysis,
          /*mayBePartial=*/isa<StoreOp>(op) && mayStorePartly(cast<StoreOp>(op), shape));
      access.setAccessAttr(
          AccessAttr::get(op->getContext(), decided.axis, decided.width, decided.isPartial));
    });
  });
}

namespace {

struct AssignAccessWidths : GpuPass<AssignAccessWidths> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignAccessWidths)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "assign-access-widths"; }
  StringRef getDescription() const override {
    return "say how many neighbours a thread loads and stores at once (bytes=16)";
  }
  void runOnOperation() override { assignAccessWidths(getOperation(), shape()); }
};

} // namespace

std::unique_ptr<Pass> createAssignAccessWidths(const GpuPipelineOptions &options) {
  return std::make_unique<AssignAccessWidths>(options);
}

} // namespace sectile::optimizer
