//===-- FunctionExtent.h - where a function's text ends ---------------------------------------===//
// CPython knows where a function starts. It ends before the first line that is indented no deeper,
// when brackets, strings, comments and joined lines are seen for what they are. Python's `inspect`
// finds out with a tokenizer written in Python, which would take longer than loading a compiled
// kernel.
#pragma once

#include <string_view>

namespace sectile::bindings {

/// Gets a function's lines one by one, from the first decorator or the `def` on.
class FunctionExtent {
public:
  /// False when `line` (and what follows) is no longer part of the function.
  bool add(std::string_view line);
  /// Lines up to the end of the last statement; comments and blank lines behind it do not count.
  int length() const { return lastLine ? lastLine : lineCount; }

private:
  void scan(std::string_view line);

  int lineCount = 0, lastLine = 0, depth = 0;
  size_t margin = 0;
  char quote = 0; // of the string that goes on in the next line
  bool isTriple = false, isJoined = false, sawHeader = false, holdsStatement = false;
};

} // namespace sectile::bindings
