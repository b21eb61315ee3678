#include "optimizer/UnorderedSums.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

struct RefuseUnorderedSums : PassWrapper<RefuseUnorderedSums, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseUnorderedSums)

  StringRef getArgument() const override { return "refuse-unordered-sums"; }
  StringRef getDescription() const override {
    return "atomic additions of floats, whose order nobody knows, are errors";
  }

  void runOnOperation() override {
    getOperation().walk([&](tile::AtomicRmwOp op) {
      if (op.getKind() != tile::RmwKind::FAdd)
        return;
      InFlightDiagnostic error = op.emitError()
                                 << "atomic_add of floats: programs add in the order in which they "
                                    "arrive, and the numerics of this kernel are reproducible";
      error.attachNote() << "store each program's sum, and add them up in a second launch; or "
                            "compile this kernel with default numerics (the option, and "
                            "SECTILE_NUMERICS)";
      signalPassFailure();
    });
  }
};

} // namespace

std::unique_ptr<Pass> createRefuseUnorderedSums() {
  return std::make_unique<RefuseUnorderedSums>();
}

} // namespace sectile::optimizer
