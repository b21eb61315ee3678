//===-- Driver.h - loads and launches kernels on AMD GPUs -------------------------------------===//
// Part of libsectile.so: no LLVM, no HIP header. The HIP runtime is looked for when something is
// first asked of a device; without one there are no devices, and `devices` says why.
#pragma once

#include "backends/amd/HipApi.h"
#include "backends/plain/Driver.h"

#include <memory>

namespace sectile::amd {

struct DriverOptions {
  backends::DriverSettings settings;
  /// Tests: used instead of the machine's.
  const HipApi *api = nullptr;
};

std::unique_ptr<backends::Driver> createDriver(DriverOptions options = {});

} // namespace sectile::amd
