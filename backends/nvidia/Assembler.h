//===-- Assembler.h - PTX into machine code ---------------------------------------------------===//
// Two ways: the driver's own assembler in this process, which needs a device, and the program
// `ptxas`, which needs none. README.md has what was measured. Both are thread-safe.
//
//   Assembled result = assembleWithDriver(device, {ptx, "sm_90a"});
//   if (!result.isGood()) ... result.error, result.log ...
#pragma once

#include "backends/gpu/driver/GpuDevice.h"

#include <string>

namespace sectile::nvidia {

struct AssemblyRequest {
  const std::string &ptx;
  /// "sm_90a"
  std::string arch;
};

struct Assembled {
  std::string cubin;
  /// The registers and bytes of local memory of a thread; -1 when the log does not say.
  int32_t registers = -1, localBytes = -1;
  /// What the assembler printed, warnings too.
  std::string log;
  /// Empty when it worked.
  std::string error, help;
  /// The PTX is at fault, not the machine: no other assembler need be tried.
  bool isRejected = false;
  bool isGood() const { return error.empty(); }
};

/// `device` is one of CudaGpu.
Assembled assembleWithDriver(gpu::GpuDevice &device, const AssemblyRequest &request);
/// `ptxas`: its path.
Assembled assembleWithPtxas(const std::string &ptxas, const AssemblyRequest &request);

/// `given`, else the one of CUDA_HOME or CUDA_PATH, on the PATH, of the Python packages beside ours
/// or in /usr/local/cuda; empty when there is none.
std::string findPtxas(const std::string &given);

} // namespace sectile::nvidia
