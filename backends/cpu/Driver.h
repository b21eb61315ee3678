//===-- Driver.h - runs host code -------------------------------------------------------------===//
// The CPU's half of backends/plain/Driver.h: loads shared objects, runs their programs on a thread
// pool with scratch memory per thread, and carries out what kernels ask for through HostServices.
#pragma once

#include "backends/plain/Driver.h"
#include "backends/plain/PrintFormat.h"

namespace sectile::cpu {

/// `threadCount` 0: as many threads as the process may use. Threads start with the first launch
/// that can use them. Of printed tiles `printElements` are shown at most; 0: all.
std::unique_ptr<backends::Driver>
createDriver(unsigned threadCount = 0, uint64_t printElements = backends::kMostPrintedElements);

} // namespace sectile::cpu
