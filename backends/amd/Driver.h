//===-- Driver.h - AMD GPUs at run time: there are none yet ------------------------------------===//
// Part of libsectile.so: no LLVM. Kernels are compiled for AMD GPUs, finished and kept in the
// cache; nothing of HIP is loaded, there are no devices, and a launch says so.
#pragma once

#include "backends/plain/Driver.h"

#include <memory>

namespace sectile::amd {

std::unique_ptr<backends::Driver> createDriver();

} // namespace sectile::amd
