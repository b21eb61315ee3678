//===-- Pipeline.h - the target-neutral passes, in order --------------------------------------===//
// Tile IR as the front end made it -> tile IR every backend starts from. Pipeline.cpp gives the
// reasons for the order.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/LLVM.h"

namespace sectile::optimizer {

struct Options {
  /// The IR is verified after every pass (SECTILE_VERIFY).
  bool verifyEachPass = false;
  /// Loads of blocks say which blocks they read: --expand-blocks=keep-blocks.
  bool keepsBlocks = false;
  /// Nothing is approximated: --exact-math.
  bool exactMath = false;
  /// Numbers are combined in an order that no layout decides: --expand-reductions=fix-orders.
  bool fixedOrders = false;
};

/// Adds the passes to a pass manager on builtin.module.
void buildPipeline(mlir::OpPassManager &passes, const Options &options = {});

/// Runs them. On failure the module's context has the diagnostics. `time` (may be null) is called
/// with the name and seconds of every pass.
mlir::LogicalResult optimize(mlir::ModuleOp module, const Options &options = {},
                             llvm::function_ref<void(llvm::StringRef, double)> time = {});

/// Makes the passes known to `sectile opt` and to textual pipelines. May be called more than once.
void registerPasses();

} // namespace sectile::optimizer
