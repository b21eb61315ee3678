//===-- ForkSafeMutex.h - a mutex that a child process can use --------------------------------===//
// fork() copies one thread; a mutex that another held stays locked in the child for ever. These are
// all taken before a fork and released after it in parent and child, so the child finds what they
// guard whole and unlocked.
//
// Rule: a thread that holds one takes no other (fork takes them in no particular order) and does
// not wait for anything else.
//
// What takes long, or takes locks that are not ours, is done under a ForkShield instead:
//
//   ForkShield shield;                  // fork() waits until no thread has one
//   handle = dlopen(path, RTLD_NOW);    // the loader's lock would stay locked in the child
#pragma once

#include <cstdint>
#include <mutex>

namespace sectile {

class __attribute__((visibility("default"))) ForkSafeMutex { // part of what bindings are made of
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

/// While one lives, fork() in another thread waits; it is taken before any ForkSafeMutex. May be
/// nested. A fork waits for a few seconds, no longer: the thread with the shield may be waiting for
/// the thread that forks.
class ForkShield {
public:
  ForkShield();
  ~ForkShield();
  ForkShield(const ForkShield &) = delete;
  ForkShield &operator=(const ForkShield &) = delete;

private:
  const uint64_t generation;
};

/// How many forks lie between this process and the one that loaded the library: what was made by
/// threads of another generation has lost them.
uint64_t forkGeneration();

} // namespace sectile
