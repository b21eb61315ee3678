//===-- EmitObject.h - LLVM IR to an object in memory -----------------------------------------===//
// A short pass pipeline and LLVM's code generator. Neither can end the process: both run with a
// fatal- error handler and under CrashRecoveryContext, and a failure comes back as text.
#pragma once

#include "backends/KeptMachine.h"
#include "backends/cpu/HostFeatures.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"

#include <string>

namespace sectile::cpu {

class ObjectEmitter {
public:
  explicit ObjectEmitter(const HostFeatures &host);
  ~ObjectEmitter();
  bool optimize(llvm::Module &module, std::string &error);
  /// Consumes the module's code.
  bool emit(llvm::Module &module, llvm::SmallVectorImpl<char> &object, std::string &error);
  /// Returns the assembly of a copy of the module.
  std::string assembly(const llvm::Module &module);

private:
  backends::KeptMachine machine;
};

/// For tests: puts code into the module that LLVM cannot select ("cannot-select"), or that needs a
/// library function ("missing-libcall").
void injectFailure(llvm::Module &module, llvm::StringRef kind);

} // namespace sectile::cpu
