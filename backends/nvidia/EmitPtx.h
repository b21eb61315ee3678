//===-- EmitPtx.h - LLVM IR to PTX ------------------------------------------------------------===//
// A short pass pipeline and LLVM's NVPTX code generator, guarded: a failure comes back as text.
#pragma once

#include "backends/KeptMachine.h"
#include "backends/gpu/CompileGpuKernel.h"
#include "backends/nvidia/NvidiaArch.h"

namespace sectile::nvidia {

class PtxCodegen final : public gpu::GpuCodegen {
public:
  explicit PtxCodegen(const NvidiaArch &arch);
  ~PtxCodegen() override;

  llvm::StringRef codeName() const override { return "ptx"; }
  /// Letters, digits, `_` and `$`, and no word of PTX's own.
  std::string symbolOf(llvm::StringRef kernelName) const override;
  void tune(llvm::Function &kernel, mlir::func::FuncOp function, int64_t programs) const override;
  bool optimize(llvm::Module &module, std::string &error) override;
  bool emit(llvm::Module &module, backends::KernelImage &image, CodeObserver observe,
            std::string &error) override;

private:
  backends::KeptMachine machine;
};

} // namespace sectile::nvidia
