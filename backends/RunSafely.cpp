#include "backends/RunSafely.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <mutex>

namespace sectile::backends {
namespace {

/// LLVM's last words on this thread.
thread_local std::string fatalError;

void onFatalError(void *, const char *reason, bool) {
  fatalError = reason;
  if (auto *context = llvm::CrashRecoveryContext::GetCurrent())
    context->HandleExit(1);
  // Not ours to survive: LLVM goes on to end the process.
}

/// Crash recovery is switched on for the whole process, so the first in does and the last out
/// undoes.
class RecoveryEnabled {
public:
  RecoveryEnabled() {
    std::lock_guard lock(mutex);
    if (users++ == 0) {
      llvm::CrashRecoveryContext::Enable();
      llvm::install_fatal_error_handler(onFatalError);
      llvm::install_bad_alloc_error_handler(onFatalError);
    }
  }
  ~RecoveryEnabled() {
    std::lock_guard lock(mutex);
    if (--users == 0) {
      llvm::remove_bad_alloc_error_handler();
      llvm::remove_fatal_error_handler();
      llvm::CrashRecoveryContext::Disable();
    }
  }

private:
  // Guards state that LLVM itself keeps per process.
  static inline std::mutex mutex;
  static inline unsigned users = 0;
};

std::string describeExit(int code) {
  if (!fatalError.empty())
    return fatalError;
  switch (code - 128) {
  case SIGSEGV:
    return "segmentation fault";
  case SIGBUS:
    return "bus error";
  case SIGABRT:
    return "abort";
  case SIGFPE:
    return "arithmetic exception";
  case SIGILL:
    return "illegal instruction";
  case SIGTRAP:
    return "trap";
  default:
    return "exit with status " + std::to_string(code);
  }
}

} // namespace

std::string runSafely(llvm::function_ref<void()> function) {
  RecoveryEnabled enabled;
  fatalError.clear();
  llvm::CrashRecoveryContext context;
  if (context.RunSafely(function))
    return {};
  return describeExit(context.RetCode);
}

} // namespace sectile::backends
