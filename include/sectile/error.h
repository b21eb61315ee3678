//===-- error.h - what the C++ DSL throws -------------------------------------------------===//
// One exception class. what() is the whole message, as it is shown to a user:
//
//   load: mask is 64, pointer is 128
//     --> softmax.cpp:12:14, in softmax
//      12 |   auto x = load(in + col, col < cols);
//         |            ^
//     help: ...
//
// Thrown by these headers only, never through the compiled libraries.
#pragma once

#if !defined(__cpp_exceptions)
#error "Sectile's C++ headers report errors by exceptions: compile without -fno-exceptions"
#endif

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace sectile {

class Error : public std::runtime_error {
public:
  enum class Kind {
    Kernel,    // the kernel is wrong
    Call,      // the launch is wrong: an argument, the grid
    Trap,      // the kernel stopped itself: an assertion, an access out of bounds
    Internal,  // the compiler is wrong; the message names a file to attach to a report
    Machine,   // the machine is wrong: no compiler library, no memory
    Resources, // the kernel needs more than the device has: shared memory, registers, threads
  };
  Error(Kind kind, const std::string &text) : std::runtime_error(text), errorKind(kind) {}
  Kind kind() const { return errorKind; }

private:
  Kind errorKind;
};

namespace detail {

/// A number for a message. (The digits behind std::to_string are a variable that GCC makes unique
/// in the process, and a library that has one is never unloaded.)
inline std::string decimal(int64_t number) {
  char text[24];
  return {text, size_t(std::snprintf(text, sizeof text, "%lld", static_cast<long long>(number)))};
}

} // namespace detail
} // namespace sectile
