#include "optimizer/gpu/Pipeline.h"

#include "optimizer/UnheededHints.h"
#include "optimizer/gpu/AssignLayouts.h"
#include "optimizer/gpu/HoistLoads.h"
#include "optimizer/gpu/PipelineLoops.h"
#include "optimizer/gpu/PrefetchLoads.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/CSE.h"

#include <chrono>
#include <mutex>

using namespace mlir;

namespace sectile::optimizer {

namespace {

/// One step of the pipeline, timed.
template <class Step>
LogicalResult run(StringRef name, llvm::function_ref<void(StringRef, double)> time, Step step) {
  auto start = std::chrono::steady_clock::now();
  LogicalResult result = step();
  if (time)
    time(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

LogicalResult eliminateCommonSubexpressions(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  mlir::eliminateCommonSubExpressions(rewriter, dominance, function);
  return success();
}

} // namespace

FailureOr<GpuAssumptions> optimizeForGpu(func::FuncOp function, const GpuPipelineOptions &options,
                                         llvm::function_ref<void(StringRef, double)> time) {
  GpuAssumptions assumed;
  noteUnheededHints(function, LoadsAhead::Staged, assumed.remarks);
  if (failed(run("assign-layouts", time, [&] { return assignLayouts(function, options.shape); })))
    return failure();
  // Copies of cheap values and recomputed ones may meet what is there already.
  if (failed(run("cse", time, [&] { return eliminateCommonSubexpressions(function); })))
    return failure();
  if (options.runAhead) {
    // Layouts say which loads go through shared memory anyway.
    if (failed(run("pipeline-loops", time, [&] {
          pipelineLoops(function, options.shape, options.stageCount, options.argumentsOverlap,
                        assumed.apart, assumed.remarks);
          return success();
        })))
      return failure();
    // Of the loops that are left.
    if (failed(run("prefetch-loads", time, [&] {
          assumed.programs = prefetchLoads(function, options.shape, options.argumentsOverlap,
                                           assumed.apart, assumed.remarks);
          return success();
        })))
      return failure();
  } else
    function.walk([&](scf::ForOp loop) {
      for (auto load : loop.getOps<tile::LoadOp>())
        addRemark(assumed.remarks, load.getLoc(), "not-pipelined",
                  "bounds are checked, and what runs ahead would not be");
    });
  // Last, of the loads that are left.
  if (failed(run("hoist-loads", time, [&] {
        hoistLoads(function);
        return success();
      })))
    return failure();
  return assumed;
}

void registerGpuPasses() {
  static std::once_flag once;
  std::call_once(once, [] { registerPass([] { return createAssignLayouts(); }); });
}

} // namespace sectile::optimizer
