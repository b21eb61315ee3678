#include "optimizer/gpu/Pipeline.h"

#include "optimizer/PassTimer.h"
#include "optimizer/UnheededHints.h"
#include "optimizer/gpu/AssignAccessWidths.h"
#include "optimizer/gpu/AssignLayouts.h"
#include "optimizer/gpu/BufferAccesses.h"
#include "optimizer/gpu/BufferProducts.h"
#include "optimizer/gpu/CarryPartials.h"
#include "optimizer/gpu/EditMaps.h"
#include "optimizer/gpu/HoistLoads.h"
#include "optimizer/gpu/MakePersistent.h"
#include "optimizer/gpu/MergeReductions.h"
#include "optimizer/gpu/NarrowExchanges.h"
#include "optimizer/gpu/NarrowOperands.h"
#include "optimizer/gpu/OrderProducts.h"
#include "optimizer/gpu/OrderStores.h"
#include "optimizer/gpu/OverlapProducts.h"
#include "optimizer/gpu/PipelineLoops.h"
#include "optimizer/gpu/PrefetchLoads.h"
#include "optimizer/gpu/SkipMasks.h"
#include "optimizer/gpu/SplitOperands.h"
#include "optimizer/gpu/StageStores.h"
#include "optimizer/gpu/TensorCopies.h"
#include "optimizer/gpu/VerifyLayouts.h"
#include "optimizer/gpu/WidenSums.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

using namespace mlir;

namespace sectile::optimizer {

void buildGpuPipeline(OpPassManager &passes, const GpuPipelineOptions &options,
                      GpuAssumptions *assumed) {
  auto add = [&](std::unique_ptr<Pass> pass) {
    passes.addPass(std::move(pass));
    if (options.verifyEachPass)
      passes.addPass(createVerifyLayouts(options));
  };
  // Before layouts, which are of tiles as they are reduced.
  if (!options.shape.fixedOrders)
    passes.addPass(createMergeReductions());
  passes.addPass(createWidenSums());
  if (options.shape.keepsSubnormals)
    passes.addPass(createNarrowOperands());
  // After it, which leaves nothing to split of what was narrow.
  passes.addPass(createSplitOperands(options));
  // Then layouts, because all others look at them.
  add(createAssignLayouts(options));
  // Behind it, which puts conversions where their sources are made.
  add(createNarrowExchanges());
  // Copies of cheap values and recomputed ones may equal values that exist already.
  add(createCSEPass());
  const bool hasBufferProducts = options.shape.bufferInstruction != nullptr;
  if (hasBufferProducts) {
    // Layouts say which products read shared memory.
    add(createStartProducts(options, assumed));
    // Equal operands share a buffer.
    add(createCSEPass());
  }
  if (options.runAhead) {
    // Layouts and products say which loops the copy engine can feed.
    if (options.shape.hasTensorCopy())
      add(createMakePersistent(options, assumed));
    // Layouts say which loads go through shared memory anyway.
    add(createPipelineLoops(options, assumed));
    // After PipelineLoops, which says whose buffers hold their bytes long enough.
    if (hasBufferProducts) {
      add(createOverlapProducts(options, assumed));
      // After it: the loops that it leaves.
      add(createOrderProducts(options, assumed));
    }
    // After PipelineLoops, which looks at them.
    if (options.shape.hasTensorCopy())
      add(createDropBlocks());
    // After PipelineLoops: takes the loops that it leaves.
    add(createPrefetchLoads(options, assumed));
  }
  // After both: stores what is not copied.
  if (hasBufferProducts)
    add(createFillBuffers());
  // After all three: takes the loads that they leave in place.
  add(createHoistLoads());
  // After those that fill shared memory, whose bytes it takes again; what it leaves OrderStores
  // looks at.
  if (options.shape.hasTensorCopy())
    add(createStageStores(options, assumed));
  // After both that leave accesses to the engine.
  if (options.shape.editsTensorMaps)
    add(createEditMaps());
  // After all that moves loads.
  add(createOrderStores(options, assumed));
  // After all that look at what stands between a loop's products.
  add(createSkipMasks(options, assumed));
  add(createCarryPartials(options, assumed));
  // A width depends on what is known of the address at the access's final place.
  add(createAssignAccessWidths(options));
  // Last, because it takes pointers apart, of which the facts that widths need are known.
  if (options.shape.hasBuffers)
    add(createBufferAccesses(options, assumed));
}

/// Explains why the loads of loops wait for their turn in checked kernels.
static void noteNoneAhead(func::FuncOp function, lang::Remarks &remarks) {
  function.walk([&](scf::ForOp loop) {
    for (auto load : loop.getOps<tile::LoadOp>())
      addRemark(remarks, load.getLoc(), "not-pipelined",
                "bounds are checked, and what runs ahead would not be");
  });
}

FailureOr<GpuAssumptions> optimizeForGpu(func::FuncOp function, const GpuPipelineOptions &options,
                                         llvm::function_ref<void(StringRef, double)> time) {
  GpuAssumptions assumed;
  noteUnheededHints(function, LoadsAhead::Staged,
                    options.shape.bufferInstruction ? SumsApart::ByProduct : SumsApart::Never,
                    assumed.remarks);
  PassManager passes(function.getContext(), func::FuncOp::getOperationName());
  passes.enableVerifier(options.verifyEachPass);
  buildGpuPipeline(passes, options, &assumed);
  if (time)
    passes.addInstrumentation(createPassTimer(time));
  if (failed(passes.run(function)))
    return failure();
  if (!options.runAhead)
    noteNoneAhead(function, assumed.remarks);
  return assumed;
}

void registerGpuPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerPass([] { return createMergeReductions(); });
    registerPass([] { return createWidenSums(); });
    registerPass([] { return createNarrowOperands(); });
    registerPass([] { return createSplitOperands(); });
    registerPass([] { return createAssignLayouts(); });
    registerPass([] { return createNarrowExchanges(); });
    registerPass([] { return createStartProducts(); });
    registerPass([] { return createMakePersistent(); });
    registerPass([] { return createPipelineLoops(); });
    registerPass([] { return createOverlapProducts(); });
    registerPass([] { return createOrderProducts(); });
    registerPass([] { return createDropBlocks(); });
    registerPass([] { return createPrefetchLoads(); });
    registerPass([] { return createFillBuffers(); });
    registerPass([] { return createHoistLoads(); });
    registerPass([] { return createCarryPartials(); });
    registerPass([] { return createSkipMasks(); });
    registerPass([] { return createStageStores(); });
    registerPass([] { return createEditMaps(); });
    registerPass([] { return createOrderStores(); });
    registerPass([] { return createAssignAccessWidths(); });
    registerPass([] { return createBufferAccesses(); });
    registerPass([] { return createVerifyLayouts(); });
    registerPassPipeline(
        "optimize-for-gpu",
        "the passes for GPUs, in the order compiles use (ahead=true, and their options)",
        [](OpPassManager &passes, StringRef text,
           function_ref<LogicalResult(const Twine &)> report) {
          GpuPipelineOptions options;
          if (failed(readGpuOptions(text, options, report)))
            return failure();
          buildGpuPipeline(passes.nest<func::FuncOp>(), options, /*assumed=*/nullptr);
          return success();
        },
        [](function_ref<void(const detail::PassOptions &)>) {});
  });
}

} // namespace sectile::optimizer
