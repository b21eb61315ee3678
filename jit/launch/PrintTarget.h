//===-- PrintTarget.h - where device_print goes -----------------------------------------------===//
// Shared by a runtime and its kernels; may be changed at any time. A handler that was replaced is
// kept: a launch under way may still call it. (They change once or twice in a process.)
#pragma once

#include "backends/plain/Driver.h"
#include "backends/plain/ForkSafeMutex.h"

#include <atomic>
#include <vector>

namespace sectile::jit {

class PrintTarget {
public:
  PrintTarget() { set({}); }
  void set(backends::PrintHandler handler) {
    std::lock_guard lock(mutex);
    handlers.push_back(std::make_unique<backends::PrintHandler>(std::move(handler)));
    active.store(handlers.back().get(), std::memory_order_release);
  }
  const backends::PrintHandler &current() const { return *active.load(std::memory_order_acquire); }

private:
  ForkSafeMutex mutex;
  std::vector<std::unique_ptr<backends::PrintHandler>> handlers;
  std::atomic<const backends::PrintHandler *> active;
};

} // namespace sectile::jit
