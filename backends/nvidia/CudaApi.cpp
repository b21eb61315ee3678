#include "backends/nvidia/CudaApi.h"

#include <cstring>
#include <dlfcn.h>

namespace sectile::nvidia {

bool CudaApi::fill(void *library, std::string &reason) {
#define SECTILE_CUDA_FIND(field, name, parameters)                                                 \
  field = reinterpret_cast<decltype(field)>(::dlsym(library, name));                               \
  if (!field) {                                                                                    \
    reason =                                                                                       \
        "NVIDIA's driver is too old: it has no " name "; version 520 (CUDA 11.8) or newer is "     \
        "needed";                                                                                  \
    return false;                                                                                  \
  }
  SECTILE_CUDA_FUNCTIONS(SECTILE_CUDA_FIND)
#undef SECTILE_CUDA_FIND
#define SECTILE_CUDA_FIND(field, name, parameters)                                                 \
  field = reinterpret_cast<decltype(field)>(::dlsym(library, name));
  SECTILE_CUDA_OPTIONAL_FUNCTIONS(SECTILE_CUDA_FIND)
#undef SECTILE_CUDA_FIND
  return true;
}

const CudaApi *CudaApi::load(std::string &reason) {
  struct Loaded {
    CudaApi api;
    std::string reason;
    bool isGood = false;
    Loaded() {
      void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        const char *why = ::dlerror();
        reason = std::string("NVIDIA's driver was not found: ") + (why ? why : "libcuda.so.1");
        return;
      }
      isGood = api.fill(library, reason);
    }
  };
  static const Loaded *loaded = new Loaded;
  reason = loaded->reason;
  return loaded->isGood ? &loaded->api : nullptr;
}

std::string CudaApi::describe(CudaResult result) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != kCudaSuccess || !name)
    return "CUDA error " + std::to_string(result);
  std::string description = name;
  if (getErrorString(result, &text) == kCudaSuccess && text)
    description += std::string(" (") + text + ")";
  return description;
}

bool isCubin(const std::string &code) {
  return code.size() > 4 && std::memcmp(code.data(),
                                        "\x7f"
                                        "ELF",
                                        4) == 0;
}

std::string remedyFor(CudaResult result) {
  switch (result) {
  case kCudaOutOfMemory:
    return "free memory of the device: other processes, or cached blocks "
           "(torch.cuda.empty_cache())";
  case kCudaNotInitialized:
    return "CUDA does not survive fork(): start the process with 'spawn', or use the GPU only in "
           "the child";
  case kCudaDeinitialized:
    return "the process is ending; launch before that";
  case kCudaNoDevice:
    return "see nvidia-smi, and CUDA_VISIBLE_DEVICES";
  case kCudaInvalidContext:
    return "the device's primary context was reset; reset devices before the first launch only";
  case kCudaNoBinaryForGpu:
    return "compile for this device: leave arch= out";
  case kCudaJitCompilerNotFound:
    return "install the driver's libnvidia-ptxjitcompiler, or put ptxas on the PATH";
  case kCudaUnsupportedPtxVersion:
    return "the code was made for a newer driver; update the driver, or compile here";
  case kCudaIllegalAddress:
  case kCudaMisalignedAddress:
    return "run with SECTILE_CHECK=bounds (in a new process) to find the access; the device cannot "
           "be used by this process any more";
  case kCudaLaunchFailed:
  case kCudaIllegalInstruction:
    return "run with SECTILE_CHECK=bounds, or under compute-sanitizer, in a new process";
  case kCudaCooperativeTooLarge:
    return "launch_cooperative_grid runs all programs at once: launch fewer, or make them smaller";
  case kCudaLaunchTimeout:
    return "the kernel ran longer than the display's watchdog allows; make the launch smaller";
  case kCudaNotSupported:
    return "a newer driver may offer it";
  case kCudaSystemDriverMismatch:
    return "restart the machine: the driver in use and its library are of different versions";
  default:
    return "";
  }
}

bool isSticky(CudaResult result) {
  return result >= kCudaIllegalAddress && result <= kCudaLaunchFailed &&
         result != kCudaLaunchOutOfResources;
}

} // namespace sectile::nvidia
