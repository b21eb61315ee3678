//===-- TimeTable.h - where the time of compiles goes: SECTILE_TIME ---------------------------===//
//   sectile: softmax for cuda:sm_90a [x: *fp32, BLOCK = 1024]: 31.42 ms
//        0.21 ms    1 %  cache
//        1.02 ms    3 %  front end
//        ...
//       24.70 ms   79 %  assemble
//
// One table for each compile, and one of all at the end of the process.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sectile::jit {

/// Names and seconds of steps, in order. "optimize/cse" is a pass of "optimize", "backend/link" a
/// step of "backend", "backend/lay out tiles/cse" a pass of that; parts come before their whole.
using StepTimes = std::vector<std::pair<std::string, double>>;

/// One line for each step, of `total` seconds in all; what no step accounts for is the last.
std::string timeTable(const StepTimes &times, double total, bool withPasses);

/// "sectile: TITLE: 31.42 ms" and the table, to stderr; adds to the totals.
void printTimeTable(const std::string &title, const StepTimes &times, double total,
                    bool withPasses);

/// Adds to the totals of this process, which are printed to stderr as it ends. Thread-safe.
void addCompileToTotals(const StepTimes &times, double total);
void addCacheHitToTotals(double seconds);

} // namespace sectile::jit
