//===-- PassTimer.h - the time of every pass of a pass manager --------------------------------===//
//   passes.addInstrumentation(createPassTimer(time));
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>

namespace sectile::optimizer {

/// Reports the name and seconds of every pass to `time`, which must outlive the run; nested passes
/// are reported, their managers are not.
std::unique_ptr<mlir::PassInstrumentation>
createPassTimer(llvm::function_ref<void(llvm::StringRef, double)> time);

} // namespace sectile::optimizer
