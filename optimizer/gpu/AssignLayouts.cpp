#include "optimizer/gpu/AssignLayouts.h"

#include "optimizer/gpu/ChooseLayouts.h"
#include "optimizer/gpu/RewriteLayouts.h"
#include "optimizer/gpu/VerifyLayouts.h"

using namespace mlir;

namespace sectile::optimizer {

LogicalResult assignLayouts(func::FuncOp function, const GpuShape &shape) {
  if (function.isExternal())
    return success();
  CheapValues cheap(function);
  IndexAnalysis analysis(function);
  LayoutGraph graph(function, cheap, analysis, shape);
  rewriteLayouts(function, cheap, graph, chooseLayouts(graph, shape), shape);
  return verifyLayouts(function, shape);
}

namespace {

/// Products that some instruction of current GPUs can do.
bool hasCommonMatrixProduct(tile::DotOp dot) {
  Type lhs = dot.getLhs().getType().getElementType(), rhs = dot.getRhs().getType().getElementType(),
       acc = dot.getType().getElementType();
  if (lhs.isInteger(8))
    return rhs.isInteger(8) && acc.isInteger(32);
  return lhs == rhs && isa<FloatType>(lhs) && lhs.getIntOrFloatBitWidth() <= 32 &&
         dot.getPrecision() != tile::InputPrecision::Ieee && !acc.isF64();
}

struct AssignLayouts : PassWrapper<AssignLayouts, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignLayouts)

  AssignLayouts() = default;
  AssignLayouts(const AssignLayouts &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "assign-layouts"; }
  StringRef getDescription() const override {
    return "give every tile a layout (warps=4,lanes=32,bytes=16,matrix=false)";
  }

  void runOnOperation() override {
    GpuShape shape;
    shape.warpCount = warps;
    shape.laneCount = lanes;
    shape.maxAccessBytes = bytes;
    if (matrix)
      shape.hasMatrixProduct = hasCommonMatrixProduct;
    if (failed(assignLayouts(getOperation(), shape)))
      signalPassFailure();
  }

  Option<int> warps{*this, "warps", llvm::cl::desc("warps of a block"), llvm::cl::init(4)};
  Option<int> lanes{*this, "lanes", llvm::cl::desc("lanes of a warp"), llvm::cl::init(32)};
  Option<int> bytes{*this, "bytes", llvm::cl::desc("most bytes of one access"), llvm::cl::init(16)};
  Option<bool> matrix{*this, "matrix", llvm::cl::desc("matrix instructions"),
                      llvm::cl::init(false)};
};

} // namespace

std::unique_ptr<Pass> createAssignLayouts() {
  return std::make_unique<AssignLayouts>();
}

} // namespace sectile::optimizer
