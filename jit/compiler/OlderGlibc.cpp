//===-- OlderGlibc.cpp - What LLVM asks of a newer glibc --------------------------------------===//
// Debian's LLVM was built with glibc 2.36 and calls what older ones lack. Defined here, hidden, so
// that the library loads from glibc 2.34 on. `./dev wheel` fails when another such function
// appears.
#include <cstdint>
#include <sys/random.h>
#include <unistd.h>

/// Returns a random number (glibc 2.36). LLVM names temporary files with it.
extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<uint32_t>(getpid()) * 2654435761u; // a kernel without the call
  return number;
}
