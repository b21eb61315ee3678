//===-- CurrentTrace.cpp ------------------------------------------------------------------===//
#include "frontend/cpp/CurrentTrace.h"

#include <atomic>

namespace sectile::cpp {

void *&currentTrace() {
  static thread_local void *trace = nullptr;
  return trace;
}

uint32_t nextTraceSerial() {
  static std::atomic<uint32_t> last{0};
  return ++last;
}

} // namespace sectile::cpp
