//===-- CudaApi.h - the functions of NVIDIA's driver that are used here -----------------------===//
// libcuda is loaded with dlopen, so that one build serves machines with and without a GPU. Types
// and signatures are declared from NVIDIA's documentation of the driver API; nothing is included.
//
//   std::string reason;
//   const CudaApi *api = CudaApi::load(reason);   // null: `reason` says why
//   CudaResult result = api->init(0);
//
// A table of functions rather than an object: tests put their own into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sectile::nvidia {

using CudaResult = int;
using CudaDeviceHandle = int;
using CudaContext = struct CudaContextTag *;
using CudaModule = struct CudaModuleTag *;
using CudaFunction = struct CudaFunctionTag *;
using CudaStream = struct CudaStreamTag *;
using CudaEvent = struct CudaEventTag *;
using CudaLinkState = struct CudaLinkStateTag *;
using CudaAddress = unsigned long long;

enum : CudaResult {
  kCudaSuccess = 0,
  kCudaInvalidValue = 1,
  kCudaOutOfMemory = 2,
  kCudaNotInitialized = 3,
  kCudaDeinitialized = 4,
  kCudaNoDevice = 100,
  kCudaInvalidImage = 200,
  kCudaInvalidContext = 201,
  kCudaNoBinaryForGpu = 209,
  kCudaInvalidPtx = 218,
  kCudaJitCompilerNotFound = 221,
  kCudaUnsupportedPtxVersion = 222,
  kCudaNotFound = 500,
  kCudaIllegalAddress = 700,
  kCudaLaunchOutOfResources = 701,
  kCudaLaunchTimeout = 702,
  kCudaIllegalInstruction = 715,
  kCudaMisalignedAddress = 716,
  kCudaLaunchFailed = 719,
  kCudaCooperativeTooLarge = 720,
  kCudaNotSupported = 801,
  kCudaSystemDriverMismatch = 803,
};

enum CudaDeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kWarpSize = 10,
  kMaxRegistersPerBlock = 12,
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kMemoryClockRate = 36,
  kMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kMaxSharedPerBlockOptin = 97,
};

enum CudaFunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionPreferredSharedCarveout = 9,
  kFunctionNonPortableClusterSize = 14,
};

enum CudaJitOption : int {
  kJitInfoLog = 3,
  kJitInfoLogBytes = 4,
  kJitErrorLog = 5,
  kJitErrorLogBytes = 6,
  kJitOptimizationLevel = 7,
  kJitTarget = 9,
  kJitLogVerbose = 12,
  kJitGenerateLineInfo = 13,
};
inline constexpr int kJitInputPtx = 1;
/// Added to a capability for its architecture-specific variant ("sm_90a").
inline constexpr int kJitTargetAccelerated = 0x10000;

inline constexpr int kLaunchCooperative = 2, kLaunchClusterDimension = 4, kLaunchDependent = 6;
struct CudaLaunchAttribute {
  int id;
  int padding;
  union {
    unsigned cluster[3];
    int isOn;
    char bytes[64];
  };
};
static_assert(sizeof(CudaLaunchAttribute) == 72);

struct CudaLaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  CudaStream stream;
  CudaLaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(CudaLaunchConfig) == 56);

inline constexpr unsigned kHostAllocMapped = 2, kHostAllocPortable = 1;
inline constexpr int kPointerMemoryType = 2, kPointerIsManaged = 8, kPointerDeviceOrdinal = 9;
inline constexpr unsigned kMemoryTypeDevice = 2;
inline constexpr unsigned kStreamNonBlocking = 1;

enum CudaTensorMapDataType : int {
  kTensorMapUInt8 = 0,
  kTensorMapUInt16 = 1,
  kTensorMapUInt32 = 2,
  kTensorMapUInt64 = 4,
};
enum CudaTensorMapSwizzle : int {
  kTensorMapSwizzle32 = 1,
  kTensorMapSwizzle64 = 2,
  kTensorMapSwizzle128 = 3,
};
inline constexpr int kTensorMapInterleaveNone = 0, kTensorMapPromoteTo128 = 2,
                     kTensorMapFillZeros = 0;

// X(field, exported name, parameters)
#define SECTILE_CUDA_FUNCTIONS(X)                                                                  \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(driverGetVersion, "cuDriverGetVersion", (int *version))                                        \
  X(getErrorName, "cuGetErrorName", (CudaResult result, const char **name))                        \
  X(getErrorString, "cuGetErrorString", (CudaResult result, const char **text))                    \
  X(deviceGetCount, "cuDeviceGetCount", (int *count))                                              \
  X(deviceGet, "cuDeviceGet", (CudaDeviceHandle * device, int ordinal))                            \
  X(deviceGetName, "cuDeviceGetName", (char *name, int size, CudaDeviceHandle device))             \
  X(deviceGetAttribute, "cuDeviceGetAttribute",                                                    \
    (int *value, CudaDeviceAttribute attribute, CudaDeviceHandle device))                          \
  X(deviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, CudaDeviceHandle device))               \
  X(primaryContextRetain, "cuDevicePrimaryCtxRetain",                                              \
    (CudaContext * context, CudaDeviceHandle device))                                              \
  X(contextGetCurrent, "cuCtxGetCurrent", (CudaContext * context))                                 \
  X(contextSetCurrent, "cuCtxSetCurrent", (CudaContext context))                                   \
  X(contextSynchronize, "cuCtxSynchronize", ())                                                    \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                                        \
    (CudaModule * module, const void *image, unsigned count, CudaJitOption *options,               \
     void **values))                                                                               \
  X(moduleUnload, "cuModuleUnload", (CudaModule module))                                           \
  X(moduleGetFunction, "cuModuleGetFunction",                                                      \
    (CudaFunction * function, CudaModule module, const char *name))                                \
  X(functionSetAttribute, "cuFuncSetAttribute",                                                    \
    (CudaFunction function, CudaFunctionAttribute attribute, int value))                           \
  X(functionGetAttribute, "cuFuncGetAttribute",                                                    \
    (int *value, CudaFunctionAttribute attribute, CudaFunction function))                          \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                      \
    (int *blocks, CudaFunction function, int threads, size_t sharedBytes))                         \
  X(launchKernelEx, "cuLaunchKernelEx",                                                            \
    (const CudaLaunchConfig *config, CudaFunction function, void **parameters, void **extra))      \
  X(linkCreate, "cuLinkCreate_v2",                                                                 \
    (unsigned count, CudaJitOption *options, void **values, CudaLinkState *state))                 \
  X(linkAddData, "cuLinkAddData_v2",                                                               \
    (CudaLinkState state, int kind, void *data, size_t size, const char *name, unsigned count,     \
     CudaJitOption *options, void **values))                                                       \
  X(linkComplete, "cuLinkComplete", (CudaLinkState state, void **cubin, size_t *size))             \
  X(linkDestroy, "cuLinkDestroy", (CudaLinkState state))                                           \
  X(memAlloc, "cuMemAlloc_v2", (CudaAddress * address, size_t bytes))                              \
  X(memFree, "cuMemFree_v2", (CudaAddress address))                                                \
  X(memcpyToDeviceAsync, "cuMemcpyHtoDAsync_v2",                                                   \
    (CudaAddress target, const void *source, size_t bytes, CudaStream stream))                     \
  X(memcpyToHostAsync, "cuMemcpyDtoHAsync_v2",                                                     \
    (void *target, CudaAddress source, size_t bytes, CudaStream stream))                           \
  X(memsetAsync, "cuMemsetD8Async",                                                                \
    (CudaAddress address, unsigned char byte, size_t bytes, CudaStream stream))                    \
  X(hostAlloc, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))                    \
  X(hostFree, "cuMemFreeHost", (void *memory))                                                     \
  X(hostGetDevicePointer, "cuMemHostGetDevicePointer_v2",                                          \
    (CudaAddress * address, void *memory, unsigned flags))                                         \
  X(pointerGetAttribute, "cuPointerGetAttribute",                                                  \
    (void *value, int attribute, CudaAddress address))                                             \
  X(streamCreate, "cuStreamCreate", (CudaStream * stream, unsigned flags))                         \
  X(streamDestroy, "cuStreamDestroy_v2", (CudaStream stream))                                      \
  X(streamSynchronize, "cuStreamSynchronize", (CudaStream stream))                                 \
  X(streamIsCapturing, "cuStreamIsCapturing", (CudaStream stream, int *status))                    \
  X(eventCreate, "cuEventCreate", (CudaEvent * event, unsigned flags))                             \
  X(eventDestroy, "cuEventDestroy_v2", (CudaEvent event))                                          \
  X(eventRecord, "cuEventRecord", (CudaEvent event, CudaStream stream))                            \
  X(eventSynchronize, "cuEventSynchronize", (CudaEvent event))                                     \
  X(eventElapsedTime, "cuEventElapsedTime", (float *milliseconds, CudaEvent from, CudaEvent to))

// The same for functions that a driver may lack: their fields are null then.
#define SECTILE_CUDA_OPTIONAL_FUNCTIONS(X)                                                         \
  X(tensorMapEncodeTiled, "cuTensorMapEncodeTiled", /* from CUDA 12.0 on */                        \
    (void *map, CudaTensorMapDataType type, unsigned rank, void *address, const uint64_t *extents, \
     const uint64_t *strideBytes, const unsigned *box, const unsigned *elementStrides,             \
     int interleave, CudaTensorMapSwizzle swizzle, int promotion, int fill))

struct CudaApi {
#define SECTILE_CUDA_FIELD(field, name, parameters) CudaResult(*field) parameters = nullptr;
  SECTILE_CUDA_FUNCTIONS(SECTILE_CUDA_FIELD)
  SECTILE_CUDA_OPTIONAL_FUNCTIONS(SECTILE_CUDA_FIELD)
#undef SECTILE_CUDA_FIELD

  /// Loaded once per process and never unloaded.
  static const CudaApi *load(std::string &reason);
  /// From any library; false with `reason` set when it lacks a function that is not optional.
  bool fill(void *library, std::string &reason);

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string describe(CudaResult result) const;
};

/// Is it machine code (a cubin), not PTX?
bool isCubin(const std::string &code);
/// What to do about `result`; empty when there is nothing to say.
std::string remedyFor(CudaResult result);
/// The kernel, not the call, went wrong: every later call in the context fails too.
bool isSticky(CudaResult result);

} // namespace sectile::nvidia
