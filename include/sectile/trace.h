//===-- trace.h - the kernel being recorded on this thread --------------------------------===//
// Internal to these headers. While a kernel's lambda runs, `Trace::current()` is where its
// operations go. Invariant: nothing is thrown through the Tracer: a body runs inside `guard`, which
// keeps what it throws; `check` throws it again once the Tracer has returned.
#pragma once

#include "frontend/cpp/Tracer.h"

#include <atomic>
#include <exception>
#include <sectile/error.h>
#include <source_location>
#include <utility>

namespace sectile::detail {

inline lang::SourceRange rangeOf(const std::source_location &where) {
  int line = int(where.line()), column = int(where.column());
  return {where.file_name(), line, column, line, column + 1};
}

class Trace {
public:
  explicit Trace(cpp::Tracer &tracer)
      : tracer(tracer), outer(current()), serialNumber(++lastSerial()) {
    current() = this;
  }
  ~Trace() { current() = outer; }
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  static Trace *&current() {
    static thread_local Trace *trace = nullptr;
    return trace;
  }
  /// The current trace; an error outside a kernel.
  static Trace &active() {
    if (!current())
      throw Error(Error::Kind::Kernel,
                  "kernel operation: called outside a kernel\n  help: operations on tiles run in "
                  "the function given to sectile::kernel only");
    return *current();
  }

  cpp::Tracer &tracer;
  uint32_t serial() const { return serialNumber; }
  /// Which body is being traced: 0 is the kernel's own.
  uint32_t scope() const { return scopeNumber; }

  void at(const std::source_location &where) { tracer.at(rangeOf(where)); }
  /// Throws what went wrong in the last call of the tracer, if anything did.
  void check() {
    if (thrown)
      std::rethrow_exception(std::exchange(thrown, nullptr));
    if (tracer.failed())
      throw Error(Error::Kind::Kernel, tracer.firstError());
  }
  [[noreturn]] void fail(const std::string &message, const std::string &help) {
    tracer.error(message, help);
    throw Error(Error::Kind::Kernel, tracer.firstError());
  }

  /// Runs a body of the user in a scope of its own.
  template <class Body>
  cpp::BodyResult guard(const Body &body) {
    uint32_t outside = scopeNumber;
    scopeNumber = ++lastScope;
    cpp::BodyResult result;
    try {
      result = body();
    } catch (...) {
      thrown = std::current_exception();
    }
    scopeNumber = outside;
    return result;
  }

private:
  static std::atomic<uint32_t> &lastSerial() {
    static std::atomic<uint32_t> serial{0};
    return serial;
  }

  Trace *outer;
  uint32_t serialNumber;
  uint32_t scopeNumber = 0, lastScope = 0;
  std::exception_ptr thrown;
};

} // namespace sectile::detail
