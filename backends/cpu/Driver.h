//===-- Driver.h - runs host code -------------------------------------------------------------===//
// The CPU's half of backends/plain/Driver.h: loads shared objects, runs their programs on a thread
// pool with scratch memory per thread, and carries out what kernels ask for through HostServices.
#pragma once

#include "backends/plain/Driver.h"
#include "backends/plain/PrintFormat.h"

namespace sectile::cpu {

/// Threads start with the first launch that can use them.
std::unique_ptr<backends::Driver> createDriver(const backends::DriverSettings &settings);

} // namespace sectile::cpu
