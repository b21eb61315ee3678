//===-- NvidiaBackend.h - tile IR to PTX ------------------------------------------------------===//
// The back end "cuda". Pipeline.cpp lists its steps. Compiling needs no GPU; what becomes of the
// PTX is the driver's business.
#pragma once

#include "backends/Backend.h"

namespace sectile::nvidia {

class NvidiaBackend final : public backends::Backend {
public:
  llvm::StringRef name() const override { return "cuda"; }
  /// "nvptx64:sm_90a".
  std::string targetName(const backends::CompileOptions &options) const override;
  backends::TargetFacts facts(const backends::CompileOptions &options) const override;
  mlir::FailureOr<backends::KernelImage> compile(mlir::ModuleOp module,
                                                 const backends::CompileContext &context) override;
};

} // namespace sectile::nvidia
