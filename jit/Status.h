//===-- Status.h - how the runtime says that something failed ---------------------------------===//
// The core throws nothing: a call that can fail returns a Status (success costs no allocation), and
// the edges (Python bindings, inline C++ headers) turn its Error into an exception.
//
//   if (Status status = kernel->launch(grid, slots, ranges); !status.ok())
//     throw sectile::Error(status.error().text());
#pragma once

#include "jit/Api.h"
#include "lang/plain/Diagnostics.h"

#include <memory>
#include <string>
#include <vector>

namespace sectile::jit {

struct SECTILE_API Error {
  enum class Kind : uint8_t {
    Kernel,      // the kernel is wrong: `diagnostics` say where and how to put it right
    Call,        // the launch is wrong: an argument, the grid
    Trap,        // the kernel stopped itself: an assertion, an access out of bounds
    Internal,    // the compiler is wrong: `reproducer` is the file to attach to a report
    Machine,     // the machine is wrong: no compiler library, no memory; `help` is the remedy
    Resources,   // the device has less than the kernel needs
    Interrupted, // the check (Runtime::setInterruptCheck) ended the launch
  };
  Kind kind = Kind::Internal;
  /// Lower case, subject first, no full stop.
  std::string message;
  std::string help;
  std::vector<lang::Diagnostic> diagnostics;
  std::string reproducer;
  /// The parameter of the kernel that the error is about; -1 when it is not about one.
  int32_t parameter = -1;

  /// All of the above, as it is shown to a user.
  std::string text() const;
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::make_unique<Error>(std::move(error))) {}
  /// Cold, as all that makes errors: compilers put it aside from the code around it.
  [[gnu::cold]] static Status fail(Error::Kind kind, std::string message, std::string help = {}) {
    return Error{kind, std::move(message), std::move(help), {}, {}, -1};
  }
  bool ok() const { return !failure; }
  /// Only when !ok().
  const Error &error() const { return *failure; }
  Error &error() { return *failure; }

private:
  std::unique_ptr<Error> failure;
};

} // namespace sectile::jit
