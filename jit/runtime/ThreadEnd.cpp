#include "jit/runtime/ThreadEnd.h"

namespace sectile::jit {
namespace {

// Has no destructor, so that it may be read at any time.
thread_local bool hasEnded = false;

struct Mark {
  ~Mark() { hasEnded = true; }
  void touch() const {}
};

} // namespace

void markThread() {
  static thread_local bool isMarked = false;
  if (!isMarked) {
    static thread_local Mark before;
    before.touch();
    isMarked = true;
    return;
  }
  static thread_local Mark after;
  after.touch();
}

bool hasThreadEnded() {
  return hasEnded;
}

Error endedThreadError(const std::string &kernelName) {
  return {Error::Kind::Call,
          kernelName + ": has to be compiled, and this thread is ending: what the compiler keeps "
                       "for a thread is gone once the thread's function, or main, has returned",
          "launch it once before, or compile it ahead with precompile() or warmup()",
          {},
          {},
          -1};
}

} // namespace sectile::jit
