//===-- FakeCuda.h - a driver of NVIDIA's that is not one -------------------------------------===//
// A CudaApi whose functions note what was asked and answer as a test wants them to. Device memory
// is the host's. One at a time exists: its functions reach it through `FakeCuda::current`, from any
// thread. What a test sets, it sets while nobody calls.
#pragma once

#include "backends/nvidia/CudaApi.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace sectile::test {

class FakeCuda {
public:
  FakeCuda();
  ~FakeCuda() { current = nullptr; }
  FakeCuda(const FakeCuda &) = delete;

  nvidia::CudaApi api;
  int deviceCount = 1;
  int driverVersion = 13000;
  std::map<int, int> attributes = {{nvidia::kMaxThreadsPerBlock, 1024},
                                   {nvidia::kMultiprocessorCount, 132},
                                   {nvidia::kWarpSize, 32},
                                   {nvidia::kMaxRegistersPerBlock, 65536},
                                   {nvidia::kComputeCapabilityMajor, 9},
                                   {nvidia::kComputeCapabilityMinor, 0},
                                   {nvidia::kMaxSharedPerBlockOptin, 232448}};
  /// Of every kernel.
  std::map<int, int> functionAttributes = {{nvidia::kFunctionMaxThreadsPerBlock, 1024},
                                           {nvidia::kFunctionRegisters, 24},
                                           {nvidia::kFunctionLocalBytes, 16}};
  /// Results of functions by name; kCudaSuccess where there is none.
  std::map<std::string, nvidia::CudaResult> results;
  /// Names of the functions called, in order, without those that only ask.
  std::vector<std::string> calls;
  /// Of the calling thread.
  static inline thread_local nvidia::CudaContext currentContext = nullptr;
  bool isCapturing = false;
  int blocksPerMultiprocessor = 2;
  /// What is said of every address.
  int memoryType = nvidia::kMemoryTypeDevice, isManaged = 0;
  std::string assemblerLog, cubin = "\x7f"
                                    "ELF machine code";

  struct Launch {
    nvidia::CudaLaunchConfig config;
    std::vector<unsigned> cluster;
    bool isCooperative = false, isDependent = false;
    nvidia::CudaContext context;
    void **parameters;
  };
  std::function<void(const Launch &)> onLaunch;
  /// What cuTensorMapEncodeTiled was given. The first 8 bytes of a map are the array's address, all
  /// others the number of the map, from 1 on.
  struct EncodedMap {
    int type;
    uint64_t address;
    std::vector<uint64_t> extents, strideBytes;
    std::vector<unsigned> box, elementStrides;
    int interleave, swizzle, promotion, fill;
    bool isAligned;
    nvidia::CudaContext context;
  };
  std::vector<EncodedMap> encodedMaps;
  std::vector<std::pair<int, int>> attributesSet; // of functions
  int assembledFor = 0;
  uintptr_t modulesLoaded = 0;
  /// By number, with the context that each was loaded into.
  std::map<uintptr_t, nvidia::CudaContext> modules;
  /// Launches of what was unloaded, or in another context than its own.
  int wrongLaunches = 0;
  /// The number of each module among those loaded, and the context that was current.
  std::vector<std::pair<uintptr_t, nvidia::CudaContext>> unloaded;

  static inline FakeCuda *current = nullptr;
  /// Guards what calls write; not held while `onLaunch` runs.
  std::recursive_mutex guard;
  nvidia::CudaResult note(const char *name) {
    std::lock_guard lock(guard);
    calls.push_back(name);
    auto found = results.find(name);
    return found == results.end() ? nvidia::kCudaSuccess : found->second;
  }
  int count(const std::string &name) const {
    int times = 0;
    for (const std::string &call : calls)
      times += call == name;
    return times;
  }
};

} // namespace sectile::test
