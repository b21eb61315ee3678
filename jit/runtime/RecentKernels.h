//===-- RecentKernels.h - kernels kept although nobody holds them -----------------------------===//
// A kernel lives as long as somebody holds it. Programs that make the same kernel again and again
// (a function defined where it is used) hold it only while it runs, so the latest ones are held
// here, too; the others die, and their code is unloaded.
//
//   std::shared_ptr<const Kernel> dropped = recent.touch(kernel);   // destroy it outside of locks
#pragma once

#include "jit/launch/Kernel.h"

#include <list>
#include <unordered_map>

namespace sectile::jit {

class RecentKernels {
public:
  explicit RecentKernels(size_t capacity) : capacity(capacity) {}

  /// The latest is `kernel` now. Gives what is no longer held, if any.
  std::shared_ptr<const Kernel> touch(const std::shared_ptr<const Kernel> &kernel) {
    if (auto found = places.find(kernel.get()); found != places.end()) {
      latestFirst.splice(latestFirst.begin(), latestFirst, found->second);
      return nullptr;
    }
    latestFirst.push_front(kernel);
    places[kernel.get()] = latestFirst.begin();
    if (latestFirst.size() <= capacity)
      return nullptr;
    std::shared_ptr<const Kernel> dropped = std::move(latestFirst.back());
    places.erase(dropped.get());
    latestFirst.pop_back();
    return dropped;
  }

  std::list<std::shared_ptr<const Kernel>> takeAll() {
    places.clear();
    return std::exchange(latestFirst, {});
  }

private:
  const size_t capacity;
  std::list<std::shared_ptr<const Kernel>> latestFirst;
  std::unordered_map<const Kernel *, std::list<std::shared_ptr<const Kernel>>::iterator> places;
};

} // namespace sectile::jit
