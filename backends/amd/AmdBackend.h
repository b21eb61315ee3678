//===-- AmdBackend.h - tile IR to AMDGPU code objects -----------------------------------------===//
// The back end "hip". Pipeline.cpp lists its steps. Compiling needs neither ROCm nor a GPU.
#pragma once

#include "backends/Backend.h"

namespace sectile::amd {

class AmdBackend final : public backends::Backend {
public:
  llvm::StringRef name() const override { return "hip"; }
  /// "amdgcn:gfx942".
  std::string targetName(const backends::CompileOptions &options) const override;
  backends::TargetFacts facts(const backends::CompileOptions &options) const override;
  mlir::FailureOr<backends::KernelImage> compile(mlir::ModuleOp module,
                                                 const backends::CompileContext &context) override;
};

} // namespace sectile::amd
