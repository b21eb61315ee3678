//===-- EmitCodeObject.h - LLVM IR to AMDGPU code objects -------------------------------------===//
//   AmdCodegen codegen(arch);
//   if (!codegen.optimize(module, error) || !codegen.emit(module, image, observe, error)) ...
#pragma once

#include "backends/KeptMachine.h"
#include "backends/amd/AmdArch.h"
#include "backends/gpu/CompileGpuKernel.h"

namespace sectile::amd {

class AmdCodegen final : public gpu::GpuCodegen {
public:
  explicit AmdCodegen(const AmdArch &arch);
  ~AmdCodegen() override;
  llvm::StringRef codeName() const override { return "amdgcn"; }
  std::string symbolOf(llvm::StringRef kernelName) const override { return kernelName.str(); }
  void tune(llvm::Function &kernel, mlir::func::FuncOp function, int64_t programs) const override;
  bool optimize(llvm::Module &module, std::string &error) override;
  /// Also fills in the registers, the local memory and the LDS that the code object's notes state.
  bool emit(llvm::Module &module, backends::KernelImage &image, CodeObserver observe,
            std::string &error) override;

private:
  std::string archName;
  backends::KeptMachine machine;
};

} // namespace sectile::amd
