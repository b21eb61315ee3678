//===-- ForkSafeMutex.h - a mutex that a child process can use
//--------------------------------------===//
// fork() copies one thread; a mutex that another held stays locked in the child for ever. These are
// all taken before a fork and released after it in parent and child, so the child finds what they
// guard whole and unlocked.
//
// Rule: a thread that holds one takes no other (fork takes them in no particular order) and does
// not wait for anything else.
#pragma once

#include <cstdint>
#include <mutex>

namespace sectile {

class ForkSafeMutex {
public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex &) = delete;
  ForkSafeMutex &operator=(const ForkSafeMutex &) = delete;
  void lock() { mutex.lock(); }
  void unlock() { mutex.unlock(); }

private:
  friend struct ForkRegistry;
  std::mutex mutex;
  ForkSafeMutex *previous = nullptr, *next = nullptr;
};

/// How many forks lie between this process and the one that loaded the library: what was made by
/// threads of another generation has lost them.
uint64_t forkGeneration();

} // namespace sectile
