//===-- Together.h - threads that begin at one moment -----------------------------------------===//
//   together(8, [&](int thread) { ... });        // returns when all have
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

namespace sectile::jit::test {

inline void together(int count, const std::function<void(int)> &body) {
  std::barrier<> start(count);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread)
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      body(thread);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace sectile::jit::test
