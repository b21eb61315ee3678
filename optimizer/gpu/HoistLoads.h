//===-- HoistLoads.h - loads start before the work that does not wait for them ----------------===//
//   x = load p                     x = load p
//   m = reduce x            =>     w = load q
//   w = load q                     m = reduce x
//   y = x - m + w                  y = x - m + w
//
// In loops: a thread waits once per round for all of them, not for each in turn. Outside, a thread
// waits but once, and other programs fill the wait better with the registers saved (measured on
// layer norm: 2 to 4 percent). Within a block and between two operations with effects; what a
// load's address needs goes along. Each register that is filled early is one fewer for the work in
// between, so only a few are.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

/// Moves loads of a laid-out kernel. Neither values nor the order of effects change.
void hoistLoads(mlir::func::FuncOp function);

/// --hoist-loads
std::unique_ptr<mlir::Pass> createHoistLoads();

} // namespace sectile::optimizer
