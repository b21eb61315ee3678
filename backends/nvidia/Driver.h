//===-- Driver.h - loads and launches kernels on NVIDIA GPUs ----------------------------------===//
// Part of libsectile.so: no LLVM, no CUDA header. NVIDIA's driver is looked for when something is
// first asked of a device; without one there are no devices, and `devices` says why.
//
// A kernel is loaded on a device when it first runs there. Launches are asynchronous.
#pragma once

#include "backends/Driver.h"
#include "backends/nvidia/CudaApi.h"

namespace sectile::nvidia {

/// `api`: used instead of the machine's driver, by tests.
std::unique_ptr<backends::Driver> createDriver(const CudaApi *api = nullptr);

} // namespace sectile::nvidia
