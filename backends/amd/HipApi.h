//===-- HipApi.h - the functions of AMD's HIP runtime that are used here ----------------------===//
// libamdhip64 is loaded with dlopen, so that one build serves machines with and without it. Types
// and signatures are declared from AMD's documentation of HIP; nothing is included. All of them
// are in HIP 5.2 and in 7.1, with the same numbers, but for those called optional.
//
//   std::string reason;
//   const HipApi *api = HipApi::load("", reason);   // null: `reason` says why
//
// A table of functions rather than an object: tests put their own into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sectile::amd {

using HipResult = int;
using HipModule = struct HipModuleTag *;
using HipFunction = struct HipFunctionTag *;
using HipStream = struct HipStreamTag *;
using HipEvent = struct HipEventTag *;

enum : HipResult {
  kHipSuccess = 0,
  kHipInvalidValue = 1,
  kHipOutOfMemory = 2,
  kHipNotInitialized = 3,
  kHipDeinitialized = 4,
  kHipInvalidConfiguration = 9,
  kHipInvalidDeviceFunction = 98,
  kHipNoDevice = 100,
  kHipInvalidDevice = 101,
  kHipInvalidImage = 200,
  kHipNoBinaryForGpu = 209,
  kHipInvalidKernelFile = 218,
  kHipSharedObjectInitFailed = 303,
  kHipOperatingSystem = 304,
  kHipNotFound = 500,
  kHipIllegalAddress = 700,
  kHipLaunchOutOfResources = 701,
  kHipLaunchTimeout = 702,
  kHipAssert = 710,
  kHipLaunchFailure = 719,
  kHipCooperativeTooLarge = 720,
  kHipNotSupported = 801,
};

enum HipDeviceAttribute : int {
  kHipClockRate = 5,
  kHipL2CacheSize = 19,
  kHipComputeCapabilityMajor = 23,
  kHipMaxThreadsPerBlock = 56,
  kHipMaxThreadsPerMultiprocessor = 57,
  kHipMemoryBusWidth = 59,
  kHipMemoryClockRate = 60,
  kHipComputeCapabilityMinor = 61,
  kHipMultiprocessorCount = 63,
  kHipMaxRegistersPerBlock = 71,
  kHipMaxSharedPerBlock = 74,
  kHipWarpSize = 87,
  kHipMaxSharedPerMultiprocessor = 10002,
};

enum HipFunctionAttribute : int {
  kHipFunctionMaxThreadsPerBlock = 0,
  kHipFunctionSharedBytes = 1,
  kHipFunctionLocalBytes = 3,
  kHipFunctionRegisters = 4,
};

inline constexpr unsigned kHipHostPortable = 1, kHipHostMapped = 2, kHipHostCoherent = 0x40000000;
inline constexpr int kHipPointerDeviceOrdinal = 9;
/// What hipRuntimeGetVersion returns from 6.0 on, which numbered kinds of memory anew, is no less.
inline constexpr int kHipVersion6 = 60'000'000;
/// hipMemoryTypeDevice, and what it was before 6.0.
inline constexpr int kHipMemoryDevice = 2, kHipMemoryDeviceBefore6 = 1;
inline constexpr unsigned kHipStreamNonBlocking = 1;
/// More than hipDeviceProp_t has in any release.
inline constexpr size_t kHipPropertyBytes = 8 << 10;

/// hipPointerAttribute_t, with room for what a later release may add. The layout is that of all
/// releases so far.
struct HipPointerAttributes {
  /// One of the numbers above. Managed memory has a number of its own from 5.7 on.
  int memoryType = 0;
  /// Memory of the host has a device, too.
  int device = 0;
  void *devicePointer = nullptr, *hostPointer = nullptr;
  int isManaged = 0;
  /// Those of the function that allocated it: 0 for hipMalloc, 1 and more for fine-grained,
  /// uncached and other memory of a device (hipExtMallocWithFlags), for which `memoryType` is that
  /// of a device, too.
  unsigned allocationFlags = 0;
  char later[64] = {};
};

// X(field, exported name, parameters)
#define SECTILE_HIP_FUNCTIONS(X)                                                                   \
  X(init, "hipInit", (unsigned flags))                                                             \
  X(runtimeGetVersion, "hipRuntimeGetVersion", (int *version))                                     \
  X(getDeviceCount, "hipGetDeviceCount", (int *count))                                             \
  X(deviceGetAttribute, "hipDeviceGetAttribute",                                                   \
    (int *value, HipDeviceAttribute attribute, int device))                                        \
  X(deviceGetName, "hipDeviceGetName", (char *name, int size, int device))                         \
  X(deviceTotalMem, "hipDeviceTotalMem", (size_t *bytes, int device))                              \
  X(getDevice, "hipGetDevice", (int *device))                                                      \
  X(setDevice, "hipSetDevice", (int device))                                                       \
  X(deviceSynchronize, "hipDeviceSynchronize", ())                                                 \
  X(moduleLoadData, "hipModuleLoadData", (HipModule * module, const void *image))                  \
  X(moduleUnload, "hipModuleUnload", (HipModule module))                                           \
  X(moduleGetFunction, "hipModuleGetFunction",                                                     \
    (HipFunction * function, HipModule module, const char *name))                                  \
  X(funcGetAttribute, "hipFuncGetAttribute",                                                       \
    (int *value, HipFunctionAttribute attribute, HipFunction function))                            \
  X(moduleLaunchKernel, "hipModuleLaunchKernel",                                                   \
    (HipFunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,        \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, HipStream stream, void **parameters,  \
     void **extra))                                                                                \
  X(malloc, "hipMalloc", (void **memory, size_t bytes))                                            \
  X(free, "hipFree", (void *memory))                                                               \
  X(memcpyToDeviceAsync, "hipMemcpyHtoDAsync",                                                     \
    (void *target, const void *source, size_t bytes, HipStream stream))                            \
  X(memcpyToHostAsync, "hipMemcpyDtoHAsync",                                                       \
    (void *target, void *source, size_t bytes, HipStream stream))                                  \
  X(memsetAsync, "hipMemsetD8Async",                                                               \
    (void *address, unsigned char byte, size_t bytes, HipStream stream))                           \
  X(hostMalloc, "hipHostMalloc", (void **memory, size_t bytes, unsigned flags))                    \
  X(hostFree, "hipHostFree", (void *memory))                                                       \
  X(hostGetDevicePointer, "hipHostGetDevicePointer",                                               \
    (void **address, void *memory, unsigned flags))                                                \
  X(pointerGetAttribute, "hipPointerGetAttribute", (void *value, int attribute, void *address))    \
  X(pointerGetAttributes, "hipPointerGetAttributes",                                               \
    (HipPointerAttributes * attributes, const void *address))                                      \
  X(streamCreate, "hipStreamCreateWithFlags", (HipStream * stream, unsigned flags))                \
  X(streamDestroy, "hipStreamDestroy", (HipStream stream))                                         \
  X(streamSynchronize, "hipStreamSynchronize", (HipStream stream))                                 \
  X(streamIsCapturing, "hipStreamIsCapturing", (HipStream stream, int *status))                    \
  X(eventCreate, "hipEventCreateWithFlags", (HipEvent * event, unsigned flags))                    \
  X(eventDestroy, "hipEventDestroy", (HipEvent event))                                             \
  X(eventRecord, "hipEventRecord", (HipEvent event, HipStream stream))                             \
  X(eventSynchronize, "hipEventSynchronize", (HipEvent event))                                     \
  X(eventElapsedTime, "hipEventElapsedTime", (float *milliseconds, HipEvent from, HipEvent to))

struct HipApi {
#define SECTILE_HIP_FIELD(field, name, parameters) HipResult(*field) parameters = nullptr;
  SECTILE_HIP_FUNCTIONS(SECTILE_HIP_FIELD)
#undef SECTILE_HIP_FIELD
  const char *(*getErrorName)(HipResult result) = nullptr;
  const char *(*getErrorString)(HipResult result) = nullptr;
  /// Fills hipDeviceProp_t, whose layout changed in 6.0: that of the release, or the older one.
  HipResult (*getDeviceProperties)(void *properties, int device) = nullptr;
  /// Optional: HIP 5.2 lacks it.
  HipResult (*moduleLaunchCooperativeKernel)(HipFunction function, unsigned gridX, unsigned gridY,
                                             unsigned gridZ, unsigned blockX, unsigned blockY,
                                             unsigned blockZ, unsigned sharedBytes,
                                             HipStream stream, void **parameters) = nullptr;
  /// The file it came from.
  std::string path;

  /// Returns the library at `path`; where that is empty, the one that is in the process already
  /// (torch brings its own: two do not share memory), else the newest of 7, 6 and 5 that the linker
  /// finds, else ROCm's in ROCM_PATH or /opt/rocm. Loaded once for a path and never unloaded. Null
  /// with `reason` set.
  static const HipApi *load(const std::string &path, std::string &reason);
  /// From any library; false with `reason` set when it lacks a function.
  bool fill(void *library, std::string &reason);

  /// "hipErrorIllegalAddress (an illegal memory access was encountered)".
  std::string describe(HipResult result) const;
};

/// What to do about `result`; empty when there is nothing to say.
std::string remedyFor(HipResult result);
/// The kernel, not the call, went wrong: every later call in the process fails, too.
bool isSticky(HipResult result);
/// Returns "gfx942" of the bytes of a hipDeviceProp_t of any release, in which the name is followed
/// by a zero or by features (":sramecc+:xnack-"); empty when there is none.
std::string archIn(const char *properties, size_t bytes);

} // namespace sectile::amd
