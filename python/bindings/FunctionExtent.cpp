#include "FunctionExtent.h"

namespace sectile::bindings {

bool FunctionExtent::add(std::string_view line) {
  bool startsStatement = !quote && depth <= 0 && !isJoined;
  if (startsStatement) {
    size_t indent = line.find_first_not_of(" \t\f");
    bool isBlank = indent == std::string_view::npos || line[indent] == '#' ||
                   line[indent] == '\n' || line[indent] == '\r';
    holdsStatement = !isBlank;
    if (!isBlank) {
      std::string_view text = line.substr(indent);
      if (lineCount == 0)
        margin = indent;
      else if (sawHeader && indent <= margin)
        return false;
      if (text.starts_with("def ") || text.starts_with("def\t") || text.starts_with("async "))
        sawHeader = true;
    }
  }
  ++lineCount;
  scan(line);
  if (holdsStatement && !quote && depth <= 0 && !isJoined)
    lastLine = lineCount;
  return true;
}

void FunctionExtent::scan(std::string_view line) {
  isJoined = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (c == '\\') {
      bool isLast = i + 1 == line.size() || line[i + 1] == '\n' || line[i + 1] == '\r';
      if (isLast) {
        // Inside a string the string goes on, outside the statement does.
        isJoined = !quote;
        return;
      }
      ++i;
    } else if (quote) {
      if (c != quote)
        continue;
      if (!isTriple) {
        quote = 0;
      } else if (line.substr(i, 3) == std::string_view(quote == '"' ? "\"\"\"" : "'''")) {
        quote = 0;
        i += 2;
      }
    } else if (c == '#') {
      return;
    } else if (c == '"' || c == '\'') {
      quote = c;
      isTriple = i + 2 < line.size() && line[i + 1] == c && line[i + 2] == c;
      if (isTriple)
        i += 2;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    }
  }
  // A line ended inside a one-line string: not valid Python, so nothing to carry on.
  if (quote && !isTriple)
    quote = 0;
}

} // namespace sectile::bindings
