#include "backends/LlvmOptions.h"

#include "llvm/Support/CommandLine.h"

#include <cassert>

namespace sectile::backends {

std::mutex &llvmOptionsMutex() {
  static std::mutex mutex;
  return mutex;
}

void withLlvmFlag(llvm::StringRef name, llvm::function_ref<void()> action) {
  std::lock_guard lock(llvmOptionsMutex());
  auto known = llvm::cl::getRegisteredOptions().find(name);
  assert(known != llvm::cl::getRegisteredOptions().end());
  if (known == llvm::cl::getRegisteredOptions().end())
    return action();
  auto *flag = static_cast<llvm::cl::opt<bool> *>(known->second);
  bool before = *flag;
  flag->setValue(true);
  action();
  flag->setValue(before);
}

} // namespace sectile::backends
