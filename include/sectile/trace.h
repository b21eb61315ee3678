//===-- trace.h - the kernel being recorded on this thread --------------------------------===//
// Internal to these headers. While a kernel's lambda runs, `Trace::current()` is where its
// operations go. Invariant: nothing is thrown through the Tracer: a body runs inside `guard`, which
// keeps what it throws; `check` throws it again once the Tracer has returned.
#pragma once

#include "frontend/cpp/CurrentTrace.h"
#include "frontend/cpp/Tracer.h"

#include <exception>
#include <sectile/error.h>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace sectile::detail {

inline lang::SourceRange rangeOf(const std::source_location &where) {
  int line = int(where.line()), column = int(where.column());
  return {where.file_name(), line, column, line, column + 1};
}

class Trace {
public:
  explicit Trace(cpp::Tracer &tracer)
      : tracer(tracer), outer(current()), serialNumber(cpp::nextTraceSerial()) {
    cpp::currentTrace() = this;
  }
  ~Trace() { cpp::currentTrace() = outer; }
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  static Trace *current() { return static_cast<Trace *>(cpp::currentTrace()); }
  /// The current trace; an error outside a kernel.
  static Trace &active() {
    Trace *trace = current();
    if (!trace)
      throw Error(Error::Kind::Kernel,
                  "kernel operation: called outside a kernel\n  help: operations on tiles run in "
                  "the function given to sectile::kernel only");
    return *trace;
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

  /// Runs a body of the user, of a loop or of what `what` names, in a scope of its own.
  template <class Body>
  cpp::BodyResult guard(const char *what, const Body &body) {
    uint32_t outside = scopeNumber;
    bodies.push_back({what, true});
    scopeNumber = uint32_t(bodies.size());
    uint32_t inside = scopeNumber;
    cpp::BodyResult result;
    try {
      result = body();
    } catch (...) {
      thrown = std::current_exception();
    }
    bodies[inside - 1].isOpen = false;
    scopeNumber = outside;
    return result;
  }

  /// A constant made in the body `made` is used: an error where that body has ended.
  void requireOpen(uint32_t made, const std::source_location &where) {
    if (made == 0 || made > bodies.size() || bodies[made - 1].isOpen) [[likely]]
      return;
    at(where);
    std::string what = bodies[made - 1].what;
    fail("value: made inside the body of " + what + " and used after it ended",
         "return it from the body, and use what " + what + " returns");
  }

private:
  struct TracedBody {
    const char *what; // "loop", "if_", "reduce"
    bool isOpen;
  };

  Trace *outer;
  uint32_t serialNumber;
  uint32_t scopeNumber = 0;
  std::vector<TracedBody> bodies; // by number, from 1
  std::exception_ptr thrown;
};

} // namespace sectile::detail
