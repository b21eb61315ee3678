//===-- FakeHip.h - a HIP runtime that is not one ---------------------------------------------===//
// As FakeCuda.h: a HipApi whose functions note what was asked and answer as a test wants them to.
// Device memory is the host's. One at a time exists.
#pragma once

#include "backends/amd/HipApi.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace sectile::test {

class FakeHip {
public:
  FakeHip();
  ~FakeHip() { current = nullptr; }
  FakeHip(const FakeHip &) = delete;

  amd::HipApi api;
  /// The architecture of each device, as HIP has it.
  std::vector<std::string> archs = {"gfx942:sramecc+:xnack-"};
  /// Where hipDeviceProp_t has it: 1160 from 6.0 on, 396 before.
  size_t archPlace = 1160;
  std::map<int, int> attributes = {{amd::kHipMaxThreadsPerBlock, 1024},
                                   {amd::kHipMultiprocessorCount, 304},
                                   {amd::kHipWarpSize, 64},
                                   {amd::kHipMaxSharedPerBlock, 65536},
                                   {amd::kHipComputeCapabilityMajor, 9},
                                   {amd::kHipComputeCapabilityMinor, 4}};
  /// Of every kernel.
  std::map<int, int> functionAttributes = {{amd::kHipFunctionMaxThreadsPerBlock, 1024},
                                           {amd::kHipFunctionRegisters, 24},
                                           {amd::kHipFunctionSharedBytes, 512}};
  /// Results of functions by name; kHipSuccess where there is none.
  std::map<std::string, amd::HipResult> results;
  /// Names of the functions called, in order, without those that only ask.
  std::vector<std::string> calls;
  /// Of the calling thread, as HIP has it at first.
  static inline thread_local int currentDevice = 0;
  bool isCapturing = false;
  /// 0: nobody knows.
  int version = 60342131;
  /// What is known of memory, by its first address; and how often that was asked.
  std::map<uintptr_t, amd::HipPointerAttributes> memory;
  int memoryQuestions = 0;
  unsigned hostFlags = 0;

  struct Launch {
    unsigned grid[3], block[3], sharedBytes;
    amd::HipStream stream;
    bool isCooperative;
    int device;
    void **parameters;
  };
  std::function<void(const Launch &)> onLaunch;
  uintptr_t modulesLoaded = 0;
  /// By number, with the device that each was loaded on.
  std::map<uintptr_t, int> modules;
  /// Launches of what was unloaded, or on another device than its own.
  int wrongLaunches = 0;

  static inline FakeHip *current = nullptr;
  /// Guards what calls write; not held while `onLaunch` runs.
  std::recursive_mutex guard;
  amd::HipResult note(const char *name) {
    std::lock_guard lock(guard);
    calls.push_back(name);
    auto found = results.find(name);
    return found == results.end() ? amd::kHipSuccess : found->second;
  }
  int count(const std::string &name) const {
    int times = 0;
    for (const std::string &call : calls)
      times += call == name;
    return times;
  }
};

} // namespace sectile::test
