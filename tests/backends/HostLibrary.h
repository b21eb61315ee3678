//===-- HostLibrary.h - a module as a library of this process ---------------------------------===//
//   std::unique_ptr<llvm::TargetMachine> machine = hostMachine(host);
//   HostLibrary library(module, *machine, "function(sroa)"); // object in memory, LLD, dlopen
//   library.entry                                            // of `sectile_kernel`
//
// Linking fails on an undefined symbol, so every test of generated code is also a test of that.
#pragma once

#include "backends/cpu/HostFeatures.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace sectile::testing {

std::unique_ptr<llvm::TargetMachine>
hostMachine(const cpu::HostFeatures &host,
            llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

class HostLibrary {
public:
  /// `pipeline` in the words of LLVM's `opt`. The module is laid out for `machine` already.
  HostLibrary(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef pipeline);
  ~HostLibrary();
  HostLibrary(const HostLibrary &) = delete;

  /// Why there is no entry.
  std::string error;
  void *entry = nullptr;
  size_t objectBytes = 0;

private:
  void *library = nullptr;
  int file = -1;
};

} // namespace sectile::testing
