//===-- Driver.h - loads and launches kernels on NVIDIA GPUs ----------------------------------===//
// Part of libsectile.so: no LLVM, no CUDA header. NVIDIA's driver is looked for when something is
// first asked of a device; without one there are no devices, and `devices` says why.
//
// A kernel is loaded on a device when it first runs there. Launches are asynchronous, but for
// kernels that report something (DeviceAbi.h).
#pragma once

#include "backends/nvidia/CudaApi.h"
#include "backends/plain/Driver.h"

namespace sectile::nvidia {

/// Which assembler is asked first.
enum class AssemblerChoice : uint8_t { Automatic, Driver, Ptxas, None };

struct DriverOptions {
  backends::DriverSettings settings;
  /// Tests: used instead of the machine's.
  const CudaApi *api = nullptr;
};

/// "driver", "ptxas", "none"; Automatic for any other.
AssemblerChoice assemblerNamed(std::string_view name);

std::unique_ptr<backends::Driver> createDriver(DriverOptions options = {});

} // namespace sectile::nvidia
