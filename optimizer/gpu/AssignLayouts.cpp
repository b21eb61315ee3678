#include "optimizer/gpu/AssignLayouts.h"

#include "optimizer/gpu/ChooseLayouts.h"
#include "optimizer/gpu/RewriteLayouts.h"
#include "optimizer/gpu/VerifyLayouts.h"

using namespace mlir;

namespace sectile::optimizer {

static LogicalResult assignLayouts(func::FuncOp function, const GpuShape &shape) {
  if (function.isExternal())
    return success();
  CheapValues cheap(function);
  IndexAnalysis analysis(function);
  LayoutGraph graph(function, cheap, analysis, shape);
  rewriteLayouts(function, cheap, graph, chooseLayouts(graph, shape), shape);
  return verifyLayouts(function, shape);
}

namespace {

struct AssignLayouts : GpuPass<AssignLayouts> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignLayouts)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "assign-layouts"; }
  StringRef getDescription() const override {
    return "give every tile a layout (warps=4,lanes=32,bytes=16,registers=65536,each=255,"
           "async=false,matrix=false,wgmma=false,fixed=false)";
  }
  void runOnOperation() override {
    if (failed(assignLayouts(getOperation(), shape())))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createAssignLayouts(const GpuPipelineOptions &options) {
  return std::make_unique<AssignLayouts>(options);
}

} // namespace sectile::optimizer
