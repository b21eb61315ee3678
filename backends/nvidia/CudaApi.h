//===-- CudaApi.h - the functions of NVIDIA's driver that are used here ----------------------===//
// A table of pointers into libcuda.so.1, which is looked for at run time: one build serves machines
// with and without a GPU. Declared from the driver's documentation; nothing is included.
//
//   std::string reason;
//   const CudaApi *api = CudaApi::load(reason);   // null: `reason` says why
//
// Tests fill a table of their own.
#pragma once

#include <cstddef>
#include <string>

namespace sectile::nvidia {

using CudaResult = int;
inline constexpr CudaResult kCudaSuccess = 0;
using CudaContext = struct CudaContextHandle *;
using CudaModule = struct CudaModuleHandle *;
using CudaFunction = struct CudaFunctionHandle *;
using CudaStream = struct CudaStreamHandle *;
using CudaLink = struct CudaLinkHandle *;
using CudaEvent = struct CudaEventHandle *;

// Device attributes.
inline constexpr int kMaxThreadsPerBlock = 1;
inline constexpr int kMajorCapability = 75, kMinorCapability = 76;
inline constexpr int kMaxSharedBytesOptin = 97;
// Function attributes.
inline constexpr int kFunctionMaxThreads = 0;
inline constexpr int kFunctionSharedBytes = 1;
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionRegisters = 4;
inline constexpr int kFunctionMaxDynamicShared = 8;
// Options and inputs of the linker.
inline constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;
inline constexpr int kJitInputPtx = 1;
inline constexpr int kPointerDeviceOrdinal = 9;

// X(field, exported name, parameters)
#define SECTILE_CUDA_API(X)                                                                        \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(driverGetVersion, "cuDriverGetVersion", (int *version))                                        \
  X(getErrorName, "cuGetErrorName", (CudaResult result, const char **name))                        \
  X(getErrorString, "cuGetErrorString", (CudaResult result, const char **text))                    \
  X(deviceGetCount, "cuDeviceGetCount", (int *count))                                              \
  X(deviceGet, "cuDeviceGet", (int *device, int ordinal))                                          \
  X(deviceGetName, "cuDeviceGetName", (char *name, int capacity, int device))                      \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
  X(primaryContextRetain, "cuDevicePrimaryCtxRetain", (CudaContext * context, int device))         \
  X(contextGetCurrent, "cuCtxGetCurrent", (CudaContext * context))                                 \
  X(contextSetCurrent, "cuCtxSetCurrent", (CudaContext context))                                   \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                                        \
    (CudaModule * module, const void *image, unsigned count, int *options, void **values))         \
  X(moduleUnload, "cuModuleUnload", (CudaModule module))                                           \
  X(moduleGetFunction, "cuModuleGetFunction",                                                      \
    (CudaFunction * function, CudaModule module, const char *name))                                \
  X(functionGetAttribute, "cuFuncGetAttribute",                                                    \
    (int *value, int attribute, CudaFunction function))                                            \
  X(functionSetAttribute, "cuFuncSetAttribute", (CudaFunction function, int attribute, int value)) \
  X(launchKernel, "cuLaunchKernel",                                                                \
    (CudaFunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,       \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, CudaStream stream, void **parameters, \
     void **extra))                                                                                \
  X(linkCreate, "cuLinkCreate_v2", (unsigned count, int *options, void **values, CudaLink *link))  \
  X(linkAddData, "cuLinkAddData_v2",                                                               \
    (CudaLink link, int kind, void *data, size_t bytes, const char *name, unsigned count,          \
     int *options, void **values))                                                                 \
  X(linkComplete, "cuLinkComplete", (CudaLink link, void **cubin, size_t *bytes))                  \
  X(linkDestroy, "cuLinkDestroy", (CudaLink link))                                                 \
  X(pointerGetAttribute, "cuPointerGetAttribute",                                                  \
    (void *value, int attribute, unsigned long long address))

struct CudaApi {
#define SECTILE_CUDA_FIELD(field, name, parameters) CudaResult(*field) parameters = nullptr;
  SECTILE_CUDA_API(SECTILE_CUDA_FIELD)
#undef SECTILE_CUDA_FIELD

  /// Looked for once per process and kept.
  static const CudaApi *load(std::string &reason);

  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(CudaResult result) const;
};

/// What the user can do about an error; empty when there is nothing to say.
std::string cudaRemedy(CudaResult result);

} // namespace sectile::nvidia
