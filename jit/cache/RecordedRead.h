//===-- RecordedRead.h - what evaluating a kernel read of the host language -----------------------===//
// Code is right as long as whatever its evaluation read reads as it did then: globals, attributes,
// items, results of functions. What the source's digest covers needs no more than the digest. The
// rest is kept with the code as questions and answers, in the order in which they were asked. Only
// the host (for Python the bindings) understands the texts; it is asked before the code is used.
#pragma once

#include <string>

namespace sectile::jit {

struct RecordedRead {
  std::string question, answer;
};

} // namespace sectile::jit
