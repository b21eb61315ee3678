//===-- CpuBackend.h - tile IR to host code ---------------------------------------------------===//
// The back end for the machine at hand (or another x86-64 one by name). Pipeline.cpp lists its
// steps.
#pragma once

#include "backends/Backend.h"

namespace sectile::cpu {

class CpuBackend final : public backends::Backend {
public:
  llvm::StringRef name() const override { return "cpu"; }
  std::string targetName(const backends::CompileOptions &options) const override;
  backends::TargetFacts facts(const backends::CompileOptions &options) const override {
    return {.warpCount = options.warpCount, .cudaCapability = 0, .hasTensorCopies = false};
  }
  mlir::FailureOr<backends::KernelImage> compile(mlir::ModuleOp module,
                                                 const backends::CompileContext &context) override;
};

} // namespace sectile::cpu
