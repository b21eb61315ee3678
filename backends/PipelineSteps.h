//===-- PipelineSteps.h - what every back end's Pipeline.cpp is written with ------------------===//
#pragma once

#include "backends/Backend.h"
#include "lang/tile/TileDialect.h"

#include <chrono>

namespace sectile::backends {

/// Reports the seconds of a scope as one step.
class StepClock {
public:
  StepClock(const StepTimer &report, llvm::StringRef step) : report(report), step(step) {}
  ~StepClock() {
    if (report)
      report(step, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

private:
  const StepTimer &report;
  llvm::StringRef step;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

template <typename Module>
std::string printed(Module &module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// The function with the attribute tile.kernel; null without one.
inline mlir::func::FuncOp kernelOf(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function->hasAttr(tile::kKernelAttr))
      return function;
  return {};
}

} // namespace sectile::backends
