#include "jit/runtime/TimeTable.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <unistd.h>

namespace sectile::jit {
namespace {

struct Row {
  std::string name;
  double seconds;
  bool isPass;
};

/// Steps in order, each followed by its passes.
std::vector<Row> rowsOf(const StepTimes &times) {
  std::vector<Row> rows, passes;
  for (const auto &[full, seconds] : times) {
    std::string_view name = full;
    constexpr std::string_view kBackend = "backend/";
    if (name == "total" || name == "backend") // its steps say it
      continue;
    if (name.starts_with(kBackend))
      name.remove_prefix(kBackend.size());
    if (size_t slash = name.find('/'); slash != name.npos) {
      passes.push_back({std::string(name.substr(slash + 1)), seconds, true});
      continue;
    }
    rows.push_back({std::string(name), seconds, false});
    rows.insert(rows.end(), passes.begin(), passes.end());
    passes.clear();
  }
  return rows;
}

std::string line(const Row &row, double total) {
  char text[160];
  std::snprintf(text, sizeof text, "%10.2f ms  %3.0f %%  %s%s\n", row.seconds * 1e3,
                total > 0 ? 100 * row.seconds / total : 0.0, row.isPass ? "  " : "",
                row.name.c_str());
  return text;
}

/// Threads may compile while the process ends, so it is never destroyed.
class Totals {
public:
  static Totals &instance() {
    static Totals *totals = [] {
      auto *made = new Totals;
      std::atexit([] { instance().print(); });
      return made;
    }();
    return *totals;
  }

  void addCompile(const StepTimes &times, double seconds) {
    std::lock_guard lock(mutex);
    forgetParent();
    ++compiles;
    compileSeconds += seconds;
    for (const Row &row : rowsOf(times)) {
      if (row.isPass)
        continue;
      auto found = std::find_if(steps.begin(), steps.end(),
                                [&](const auto &step) { return step.first == row.name; });
      if (found == steps.end())
        steps.emplace_back(row.name, row.seconds);
      else
        found->second += row.seconds;
    }
  }
  void addHit(double seconds) {
    std::lock_guard lock(mutex);
    forgetParent();
    ++hits;
    hitSeconds += seconds;
  }

private:
  void print() {
    std::lock_guard lock(mutex);
    forgetParent();
    if (compiles)
      std::fprintf(stderr, "sectile: %u compile%s took %.2f ms in all\n%s", compiles,
                   compiles == 1 ? "" : "s", compileSeconds * 1e3,
                   timeTable(steps, compileSeconds, false).c_str());
    if (hits)
      std::fprintf(stderr, "sectile: %u kernel%s came from the disk cache in %.2f ms\n", hits,
                   hits == 1 ? "" : "s", hitSeconds * 1e3);
  }
  /// A forked child prints only its own compiles.
  void forgetParent() {
    if (owner == ::getpid())
      return;
    owner = ::getpid();
    compiles = hits = 0;
    compileSeconds = hitSeconds = 0;
    steps.clear();
  }

  std::mutex mutex;
  pid_t owner = ::getpid();
  unsigned compiles = 0, hits = 0;
  double compileSeconds = 0, hitSeconds = 0;
  StepTimes steps;
};

} // namespace

std::string timeTable(const StepTimes &times, double total, bool withPasses) {
  std::string text;
  double rest = total;
  for (const Row &row : rowsOf(times)) {
    if (!row.isPass)
      rest -= row.seconds;
    if (!row.isPass || withPasses)
      text += line(row, total);
  }
  if (rest > total / 200)
    text += line({"other", rest, false}, total);
  return text;
}

void printTimeTable(const std::string &title, const StepTimes &times, double total,
                    bool withPasses) {
  char inAll[32];
  std::snprintf(inAll, sizeof inAll, ": %.2f ms\n", total * 1e3);
  std::string text = "sectile: " + title + inAll + timeTable(times, total, withPasses);
  std::fputs(text.c_str(), stderr);
  addCompileToTotals(times, total);
}

void addCompileToTotals(const StepTimes &times, double total) {
  Totals::instance().addCompile(times, total);
}
void addCacheHitToTotals(double seconds) {
  Totals::instance().addHit(seconds);
}

} // namespace sectile::jit
