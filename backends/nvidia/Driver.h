//===-- Driver.h - loads and launches kernels on NVIDIA GPUs ----------------------------------===//
// Part of libsectile.so: no LLVM, no CUDA header. NVIDIA's driver is looked for when something is
// first asked of a device; without one there are no devices, and `devices` says why.
//
// A kernel is loaded on a device when it first runs there. Launches are asynchronous, but for
// kernels that report something (DeviceAbi.h).
#pragma once

#include "backends/nvidia/CudaApi.h"
#include "backends/plain/Driver.h"
#include "backends/plain/PrintFormat.h"

namespace sectile::nvidia {

struct DriverOptions {
  /// Path of ptxas; empty: looked for.
  std::string ptxas;
  /// Which assembler is asked first.
  enum class Assembler : uint8_t { Automatic, Driver, Ptxas, None };
  Assembler assembler = Assembler::Automatic;
  /// Room for what one launch prints.
  uint64_t printBufferBytes = uint64_t(16) << 20;
  /// Elements that are shown of a printed tile; 0: all.
  uint64_t printElements = backends::kMostPrintedElements;
  /// See PrintFormat.h.
  bool printsAsTriton = false;
  /// Tests: used instead of the machine's.
  const CudaApi *api = nullptr;
};

/// "driver", "ptxas", "none"; Automatic for any other.
DriverOptions::Assembler assemblerNamed(std::string_view name);

std::unique_ptr<backends::Driver> createDriver(DriverOptions options = {});

} // namespace sectile::nvidia
