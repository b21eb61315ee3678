#include "lang/plain/Diagnostics.h"

#include <algorithm>
#include <cstdint>

namespace sectile::lang {
namespace {

/// Terminal columns of a code point: none for combining marks, two for East Asian wide ones and
/// emoji.
int displayWidth(uint32_t codePoint) {
  auto within = [&](uint32_t low, uint32_t high) { return codePoint >= low && codePoint <= high; };
  if (within(0x300, 0x36f) || within(0x200b, 0x200f) || within(0xfe00, 0xfe0f) ||
      within(0x20d0, 0x20ff))
    return 0;
  if (within(0x1100, 0x115f) || within(0x2e80, 0xa4cf) || within(0xac00, 0xd7a3) ||
      within(0xf900, 0xfaff) || within(0xfe30, 0xfe6f) || within(0xff00, 0xff60) ||
      within(0xffe0, 0xffe6) || within(0x1f300, 0x1f64f) || within(0x1f900, 0x1f9ff) ||
      within(0x20000, 0x3fffd))
    return 2;
  return 1;
}

/// Decodes one UTF-8 code point; a stray byte counts as one of its own.
uint32_t nextCodePoint(const std::string &text, size_t &at) {
  unsigned char lead = text[at++];
  int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
  uint32_t codePoint = more == 3 ? lead & 7 : more == 2 ? lead & 15 : more == 1 ? lead & 31 : lead;
  while (more-- > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
    codePoint = codePoint << 6 | (static_cast<unsigned char>(text[at++]) & 0x3f);
  return codePoint;
}

/// Returns the line below `line`: blanks and tabs of the same width up to the range, then carets.
std::string caretLine(const std::string &line, const SourceRange &range) {
  size_t begin = std::min<size_t>(std::max(range.column, 1) - 1, line.size());
  size_t end = range.endLine > range.line
                   ? line.size()
                   : std::min<size_t>(std::max(range.endColumn, 1) - 1, line.size());
  std::string under;
  size_t at = 0;
  while (at < begin) {
    uint32_t codePoint = nextCodePoint(line, at);
    if (codePoint == '\t')
      under += '\t';
    else
      under.append(displayWidth(codePoint), ' ');
  }
  size_t carets = 0;
  while (at < end)
    carets += displayWidth(nextCodePoint(line, at));
  return under + std::string(std::max<size_t>(carets, 1), '^');
}

std::string place(const SourceRange &range, const std::string &function) {
  std::string text = range.file.empty() ? "<unknown>" : range.file;
  text += ":" + std::to_string(range.line) + ":" + std::to_string(range.column);
  if (!function.empty())
    text += ", in " + function;
  return text;
}

} // namespace

void DiagnosticSink::report(Diagnostic diagnostic) {
  diagnostics.push_back(std::move(diagnostic));
}

bool DiagnosticSink::hasErrors() const {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic &diagnostic) {
    return diagnostic.severity == Diagnostic::Severity::Error;
  });
}

std::string render(const Diagnostic &diagnostic) {
  std::string text;
  if (diagnostic.severity == Diagnostic::Severity::Warning)
    text = "warning: ";
  else if (diagnostic.severity == Diagnostic::Severity::Note)
    text = "note: ";
  text += diagnostic.message + "\n";

  const SourceRange &range = diagnostic.range;
  if (range.isKnown()) {
    text += "  --> " + place(range, diagnostic.function) + "\n";
    std::string line = diagnostic.sourceLine;
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
      line.pop_back();
    if (!line.empty()) {
      std::string number = std::to_string(range.line);
      text += "   " + number + " | " + line + "\n";
      text += "   " + std::string(number.size(), ' ') + " | " + caretLine(line, range) + "\n";
    }
  } else if (!diagnostic.function.empty()) {
    text += "  --> in " + diagnostic.function + "\n";
  }
  // Of a deep recursion, where it was met and how it began.
  constexpr size_t kFirst = 4, kLast = 3;
  size_t count = diagnostic.callers.size(),
         rest = count > kFirst + kLast + 1 ? count - kLast : kFirst;
  for (size_t i = 0; i < count; ++i) {
    if (i == kFirst && rest > kFirst) {
      text += "  called from " + std::to_string(rest - kFirst) + " more places\n";
      i = rest;
    }
    const CallSite &caller = diagnostic.callers[i];
    text += "  called from " + place(caller.range, caller.function) + "\n";
  }
  if (!diagnostic.help.empty())
    text += "  help: " + diagnostic.help + "\n";
  return text;
}

std::string render(const std::vector<Diagnostic> &diagnostics) {
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics)
    text += (text.empty() ? "" : "\n") + render(diagnostic);
  return text;
}

std::string closestName(const std::string &name, const std::vector<std::string> &known) {
  auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : char(c); });
    return text;
  };
  // Edit distance with swaps of neighbours (optimal string alignment): typing slips cost one.
  auto distance = [](const std::string &a, const std::string &b) {
    std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i)
      for (size_t j = 0; j <= b.size(); ++j) {
        if (i == 0 || j == 0) {
          cost[i][j] = i + j;
          continue;
        }
        size_t best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
        best = std::min({best, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
          best = std::min(best, cost[i - 2][j - 2] + 1);
        cost[i][j] = best;
      }
    return cost[a.size()][b.size()];
  };
  std::string wanted = lower(name), closest;
  if (wanted.empty() || wanted.size() > 100)
    return closest;
  size_t least = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string &candidate : known) {
    if (candidate.size() > 100 || candidate == name)
      continue;
    size_t gap = candidate.size() > wanted.size() ? candidate.size() - wanted.size()
                                                  : wanted.size() - candidate.size();
    if (gap >= least)
      continue;
    size_t candidateDistance = distance(wanted, lower(candidate));
    // A name of one or two letters is close to everything; only a change of case counts there.
    if (wanted.size() <= 2 && candidateDistance > 0 && candidate.size() <= 2)
      continue;
    if (candidateDistance < least) {
      least = candidateDistance;
      closest = candidate;
    }
  }
  return closest;
}

} // namespace sectile::lang
