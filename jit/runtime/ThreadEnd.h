//===-- ThreadEnd.h - whether a thread's own objects are gone ---------------------------------===//
// The compiler keeps caches for each thread. They are destroyed when the thread ends, those of the
// thread that calls exit() before the first static destructor runs; what is compiled on it after
// that would use them. So each thread that compiles is marked by an object of its own, made before
// and after its first compile: whatever the compiler made is destroyed between the two.
#pragma once

#include "jit/Status.h"

namespace sectile::jit {

/// Marks the calling thread.
void markThread();
/// Whether a mark of the calling thread is gone.
bool hasThreadEnded();
/// The error for a kernel that would have to be compiled on such a thread.
Error endedThreadError(const std::string &kernelName);

} // namespace sectile::jit
