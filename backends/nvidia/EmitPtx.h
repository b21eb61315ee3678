//===-- EmitPtx.h - LLVM IR to PTX ------------------------------------------------------------===//
// A short pass pipeline and LLVM's NVPTX code generator, guarded: a failure comes back as text.
#pragma once

#include "backends/nvidia/NvidiaTarget.h"

#include <memory>

namespace llvm {
class TargetMachine;
}

namespace sectile::nvidia {

class PtxEmitter {
public:
  explicit PtxEmitter(const NvidiaArch &arch);
  ~PtxEmitter();
  bool optimize(llvm::Module &module, std::string &error);
  /// Consumes the module's code.
  bool emit(llvm::Module &module, std::string &ptx, std::string &error);

private:
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace sectile::nvidia
