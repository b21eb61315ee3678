//===-- StaticLifetime.cpp - the compiler lives as long as the process ------------------------===//
// A thread may be compiling when main returns, and a static destructor of the program may launch a
// kernel for the first time. So no static object of this library (of LLVM, MLIR and LLD, mostly) is
// ever destroyed: registering a destructor succeeds, and the destructor is forgotten. The memory
// goes with the process; the code that writes to standard output flushes it (CommandLine.cpp).
//
// The objects of a thread are destroyed with it. A compile on a thread that has come so far, as the
// main one has while static destructors run, is refused by the runtime (jit/runtime/ThreadEnd.h).

/// Registers a destructor for the end of the process, in the C++ ABI. Hidden, so of this library.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *,
                                                                  void *) {
  return 0;
}
