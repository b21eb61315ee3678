#include "optimizer/Pipeline.h"

#include "optimizer/AddToProducts.h"
#include "optimizer/CountByIndex.h"
#include "optimizer/CountWhiles.h"
#include "optimizer/DescribeBlocks.h"
#include "optimizer/DropUnitAxes.h"
#include "optimizer/ExactMath.h"
#include "optimizer/ExpandBlocks.h"
#include "optimizer/ExpandReductions.h"
#include "optimizer/FlattenMaps.h"
#include "optimizer/HoistInvariants.h"
#include "optimizer/HoistUniformOffsets.h"
#include "optimizer/NestLoops.h"
#include "optimizer/PassTimer.h"
#include "optimizer/ReorderBroadcast.h"
#include "optimizer/SpreadHints.h"
#include "optimizer/UnorderedSums.h"
#include "optimizer/UnrollLoops.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

using namespace mlir;

namespace sectile::optimizer {

void buildPipeline(OpPassManager &passes, const Options &options) {
  // First, because hints that nobody takes are dead code to all other passes.
  passes.addNestedPass<func::FuncOp>(createSpreadHints());
  // While they are blocks: matrices of batches and heads are matrices.
  passes.addNestedPass<func::FuncOp>(createDropUnitAxes());
  // Early: to all that follows, blocks of arrays are loads and stores like any other.
  passes.addNestedPass<func::FuncOp>(createExpandBlocks(options.keepsBlocks));
  // Before anything moves, the IR says how its numbers are made.
  if (options.exactMath)
    passes.addNestedPass<func::FuncOp>(createExactMath());
  if (options.fixedOrders)
    passes.addNestedPass<func::FuncOp>(createRefuseUnorderedSums());
  // Early, too: nothing else then meets a combining function with effects.
  passes.addNestedPass<func::FuncOp>(createExpandReductions(options.fixedOrders));
  // Functions of elements become operations on tiles where that computes the same.
  passes.addNestedPass<func::FuncOp>(createFlattenMaps());
  // Before the passes that look at for loops.
  passes.addNestedPass<func::FuncOp>(createCountWhiles());
  passes.addNestedPass<func::FuncOp>(createCountByIndex());
  // Before loops are unrolled, and while branches are as the kernel says them.
  passes.addNestedPass<func::FuncOp>(createNestLoops());
  // Early, so that copies of bodies are simplified with the rest.
  passes.addNestedPass<func::FuncOp>(createUnrollLoops());
  // Folds constants and simplifies control flow, so that what follows sees few forms. Control flow
  // of kernels is structured already: no block merging.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  passes.addPass(createCanonicalizerPass(config));
  // While addresses are as the kernel says them.
  if (options.keepsBlocks)
    passes.addNestedPass<func::FuncOp>(createDescribeBlocks());
  // Before CSE: tiles that were equal become scalars that are equal, of which there are fewer
  // kinds.
  passes.addNestedPass<func::FuncOp>(createReorderBroadcast());
  // Before LICM, which would move both of two equal operations.
  passes.addPass(createCSEPass());
  // After CSE, since equal products are one, which has two uses.
  passes.addNestedPass<func::FuncOp>(
      createAddToProducts(/*exactOnly=*/options.exactMath || options.fixedOrders));
  // Before offsets are hoisted: the start of what a loop carries must be known outside it.
  passes.addNestedPass<func::FuncOp>(createHoistInvariants());
  passes.addNestedPass<func::FuncOp>(createHoistUniformOffsets());
  // Pointers that advance alike now carry equal offsets, and additions to tiles that moved are
  // dead.
  passes.addPass(createCSEPass());
}

LogicalResult optimize(ModuleOp module, const Options &options,
                       llvm::function_ref<void(llvm::StringRef, double)> time) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.enableVerifier(options.verifyEachPass);
  buildPipeline(passes, options);
  if (time)
    passes.addInstrumentation(createPassTimer(time));
  return passes.run(module);
}

void registerPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerCanonicalizerPass();
    registerCSEPass();
    registerPass([] { return createAddToProducts(); });
    registerPass([] { return createCountByIndex(); });
    registerPass([] { return createCountWhiles(); });
    registerPass([] { return createDescribeBlocks(); });
    registerPass([] { return createDropUnitAxes(); });
    registerPass([] { return createExpandBlocks(); });
    registerPass([] { return createExpandReductions(); });
    registerPass([] { return createFlattenMaps(); });
    registerPass([] { return createExactMath(); });
    registerPass([] { return createRefuseUnorderedSums(); });
    registerPass([] { return createReorderBroadcast(); });
    registerPass([] { return createSpreadHints(); });
    registerPass([] { return createHoistInvariants(); });
    registerPass([] { return createHoistUniformOffsets(); });
    registerPass([] { return createNestLoops(); });
    registerPass([] { return createUnrollLoops(); });
    registerPassPipeline(
        "optimize", "the passes for every target, in the order compiles use",
        [](OpPassManager &passes, StringRef, function_ref<LogicalResult(const Twine &)>) {
          buildPipeline(passes);
          return success();
        },
        [](function_ref<void(const detail::PassOptions &)>) {});
  });
}

} // namespace sectile::optimizer
