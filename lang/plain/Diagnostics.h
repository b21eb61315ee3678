//===-- Diagnostics.h - what is wrong with a kernel, where, and what to do --------------------===//
// Plain C++. A diagnostic has a message (lower case, no full stop, subject first), a source range,
// the chain of calls that led there, and a remedy. Several are collected; none is thrown.
//
//   dot: inner dimensions differ: lhs is 128x64, rhs is 32x128
//     --> kernels.py:17:11, in matmul
//      17 |     acc = tl.dot(a, b, acc)
//         |           ^^^^^^^^^^^^^^^^^
//     called from kernels.py:30:5, in fused
//     help: transpose rhs with tl.trans, or load it as 64x128
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sectile::lang {

/// Lines and columns count from 1; columns count bytes; the end column is one past the last.
struct SourceRange {
  std::string file;
  int line = 0, column = 0, endLine = 0, endColumn = 0;
  bool isKnown() const { return line > 0; }
};

struct CallSite {
  std::string function; // the function containing `range`
  SourceRange range;
};

struct Diagnostic {
  enum class Severity { Error, Warning, Note };
  Severity severity = Severity::Error;
  std::string message;
  SourceRange range;
  std::string function;          // in which the range lies
  std::vector<CallSite> callers; // innermost first
  std::string help;              // the remedy; may be empty
  std::string sourceLine;        // text of range.line; may be empty
};

class DiagnosticSink {
public:
  void report(Diagnostic diagnostic);
  bool hasErrors() const;
  const std::vector<Diagnostic> &all() const { return diagnostics; }
  std::vector<Diagnostic> take() { return std::move(diagnostics); }

private:
  std::vector<Diagnostic> diagnostics;
};

/// The text shown at the top of this file. Tabs and wide characters keep the caret in place.
std::string render(const Diagnostic &diagnostic);
std::string render(const std::vector<Diagnostic> &diagnostics);

/// The known name closest to a misspelt one, or "" when none is close. For "did you mean".
std::string closestName(const std::string &name, const std::vector<std::string> &known);

} // namespace sectile::lang
