//===-- EmitPtx.h - LLVM IR to PTX ------------------------------------------------------------===//
// A short pass pipeline and LLVM's NVPTX code generator, guarded: a failure comes back as text.
#pragma once

#include "backends/nvidia/NvidiaTarget.h"

#include <memory>

namespace llvm {
class TargetMachine;
}

namespace sectile::nvidia {

/// `name` as PTX may spell it: letters, digits, `_` and `$`, and no word of PTX's own.
std::string ptxIdentifier(llvm::StringRef name);

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
