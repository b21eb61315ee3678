#include "backends/nvidia/CudaApi.h"

#include <dlfcn.h>

namespace sectile::nvidia {
namespace {

struct LoadedApi {
  CudaApi api;
  std::string reason;

  LoadedApi() {
    void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      reason = "NVIDIA's driver (libcuda.so.1) was not found";
      return;
    }
#define SECTILE_CUDA_FIND(field, name, parameters)                                                 \
  api.field = reinterpret_cast<decltype(api.field)>(::dlsym(library, name));                       \
  if (!api.field)                                                                                  \
    reason = "NVIDIA's driver lacks " name ": version 520 or newer is needed";
    SECTILE_CUDA_API(SECTILE_CUDA_FIND)
#undef SECTILE_CUDA_FIND
  }
};

} // namespace

const CudaApi *CudaApi::load(std::string &reason) {
  static const LoadedApi *loaded = new LoadedApi; // used until the process ends
  reason = loaded->reason;
  return reason.empty() ? &loaded->api : nullptr;
}

std::string CudaApi::describe(CudaResult result) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != kCudaSuccess || !name)
    return "CUDA error " + std::to_string(result);
  if (getErrorString(result, &text) != kCudaSuccess || !text)
    return name;
  return std::string(name) + " (" + text + ")";
}

std::string cudaRemedy(CudaResult result) {
  switch (result) {
  case 2: // out of memory
    return "free memory of the device: that of other processes, or cached blocks "
           "(torch.cuda.empty_cache())";
  case 3: // not initialised: what a forked child sees
    return "start the process with 'spawn': CUDA does not survive fork()";
  case 100: // no device
    return "see nvidia-smi and CUDA_VISIBLE_DEVICES";
  case 209: // no binary for the GPU
    return "compile for this device: leave arch= out";
  case 218: // invalid PTX
    return "this is a fault of the compiler, not of the kernel";
  case 221: // JIT compiler not found
    return "install libnvidia-ptxjitcompiler of the same version as the driver";
  case 222: // unsupported PTX version
    return "update NVIDIA's driver: the code is newer than it";
  case 700: // illegal address
  case 716: // misaligned address
    return "an earlier launch accessed memory outside of its arrays; look for a missing mask, or "
           "run compute-sanitizer; the device cannot be used by this process any more";
  case 701: // too many resources requested
    return "use smaller blocks or fewer warps, or limit registers with maxnreg";
  case 715: // illegal instruction
  case 719: // launch failed
    return "an earlier launch crashed; run compute-sanitizer; the device cannot be used by this "
           "process any more";
  case 803: // system driver mismatch
    return "restart the machine: the driver in use and its library have different versions";
  default:
    return "";
  }
}

} // namespace sectile::nvidia
