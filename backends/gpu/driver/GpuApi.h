//===-- GpuApi.h - what a maker's driver of GPUs offers ---------------------------------------===//
// The part of CUDA's driver API and of HIP that launching kernels needs, in one shape. A maker's
// folder implements it (CudaGpu, HipGpu); all that loads, launches and reports is written once, on
// top of it. The functions may be called by any thread. Results are the driver's own numbers, zero
// for success; `describe` gives them names.
//
//   int devices = 0, version = 0;
//   if (api.start(devices, version) != kGpuSuccess) ...
//   GpuPlace before = nullptr;
//   GpuResult result = api.enter(0, before);      // device 0 is this thread's from here on
//   ...
//   if (before) api.leave(before);
#pragma once

#include "backends/plain/Device.h"
#include "backends/plain/Driver.h"
#include "backends/plain/TensorMap.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sectile::gpu {

using GpuResult = int;
inline constexpr GpuResult kGpuSuccess = 0;
using GpuModule = struct GpuModuleTag *;
using GpuFunction = struct GpuFunctionTag *;
/// Null is the default stream.
using GpuStream = void *;
using GpuEvent = void *;
using GpuAddress = uint64_t;
/// What a thread's device was before `enter` changed it; null when there is nothing to put back.
using GpuPlace = void *;

/// What is said of one maker's GPUs.
struct GpuNames {
  /// Of the back end, and of its devices: "cuda" of "cuda:0".
  std::string_view backend;
  /// What the target's name begins with: "nvptx64:".
  std::string_view targetPrefix;
  /// "NVIDIA GPU", of which there is one or are several.
  std::string_view gpu;
  /// "NVIDIA's driver".
  std::string_view driver;
  /// The system that does not survive fork(): "CUDA".
  std::string_view system;
  /// Where to look when devices are missing: "nvidia-smi, and CUDA_VISIBLE_DEVICES".
  std::string_view whereToLook;
  /// The variable that hides devices: "CUDA_VISIBLE_DEVICES".
  std::string_view visibleDevices;
  /// The code itself says how much shared memory a block has: a launch asks for none.
  bool codeReservesShared = false;
};

/// What the threads of a loaded kernel use: 32-bit registers, bytes of local memory (spills), bytes
/// of shared memory of a block whose size is fixed by the code, and the most threads of a block
/// that the code allows (0: not known).
struct GpuFunctionFacts {
  int32_t registers = 0, localBytes = 0, sharedBytes = 0, mostThreads = 0;
};

/// The longest axes of a grid, and what to do about longer ones.
struct GpuGridLimits {
  int64_t x = 0, y = 0, z = 0;
  std::string_view remedy;
  bool allows(const backends::Grid &grid) const {
    return grid.x <= x && grid.y <= y && grid.z <= z;
  }
};

struct GpuLaunchShape {
  unsigned grid[3] = {1, 1, 1}; // blocks
  unsigned threads = 1;         // of a block
  unsigned sharedBytes = 0;     // dynamic, of a block
  unsigned clusterBlocks = 1;   // blocks that run one program
  bool isCooperative = false, isDependent = false;
  GpuStream stream = nullptr;
};

/// What the driver makes of a TensorMap for one launch: a kernel's parameter, passed by value.
struct alignas(backends::kTensorMapAlignment) GpuTensorMap {
  unsigned char bytes[backends::kTensorMapBytes];
};

/// Code as it was loaded, or why it was not.
struct GpuLoadedCode {
  GpuModule module = nullptr;
  /// What the driver says of code that it has to assemble itself; empty otherwise.
  std::string log;
  /// The code is at fault, not the machine.
  bool isRejected = false;
};

class GpuApi {
public:
  virtual ~GpuApi() = default;

  virtual const GpuNames &names() const = 0;
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  virtual std::string describe(GpuResult result) const = 0;
  /// What to do about `result`; empty when there is nothing to say.
  virtual std::string remedyFor(GpuResult result) const = 0;
  /// The kernel, not the call, went wrong: every later call on the device fails, too.
  virtual bool isSticky(GpuResult result) const = 0;

  /// Called once, before anything else but the names.
  virtual GpuResult start(int &deviceCount, int &version) = 0;
  virtual backends::DeviceInfo describeDevice(unsigned device) const = 0;
  /// May code for `arch`, as target names have it behind the prefix, run on such a device?
  virtual bool runs(std::string_view arch, const backends::DeviceInfo &device) const = 0;
  /// How well code for `arch` suits such a device: 0, it does not run there; the larger the better.
  virtual int suitability(std::string_view arch, bool isMachineCode,
                          const backends::DeviceInfo &device) const = 0;
  /// The most programs along each axis of a grid whose blocks have so many threads.
  virtual GpuGridLimits mostPrograms(unsigned threads) const = 0;

  virtual GpuResult enter(unsigned device, GpuPlace &before) = 0;
  virtual void leave(GpuPlace before) = 0;

  // All of the following concern the device that the calling thread has entered.
  virtual GpuResult synchronizeDevice() const = 0;
  virtual GpuResult load(const std::string &code, GpuLoadedCode &loaded) const = 0;
  virtual GpuResult unload(GpuModule module) const = 0;
  virtual GpuResult find(GpuModule module, const char *name, GpuFunction &function) const = 0;
  virtual GpuFunctionFacts describeFunction(GpuFunction function) const = 0;
  /// How many blocks of such a shape a multiprocessor runs at a time, at least. The shape was
  /// prepared.
  virtual int32_t residentBlocks(GpuFunction function, const GpuLaunchShape &shape) const = 0;
  /// Reserves what launches of such a shape need beyond what every kernel may have.
  virtual GpuResult prepare(GpuFunction function, const GpuLaunchShape &shape) const = 0;
  /// `parameters`: the address of each argument.
  virtual GpuResult launch(GpuFunction function, const GpuLaunchShape &shape,
                           void **parameters) const = 0;
  /// `values` are readable (isReadable). Fails where the driver, or the maker's GPUs, have no
  /// tensor maps.
  virtual GpuResult encodeTensorMap(const backends::TensorMap &map,
                                    const backends::TensorMapValues &values,
                                    GpuTensorMap &made) const = 0;

  virtual GpuResult allocate(size_t bytes, GpuAddress &address) const = 0;
  virtual GpuResult release(GpuAddress address) const = 0;
  virtual GpuResult copyToDevice(GpuAddress target, const void *source, size_t bytes,
                                 GpuStream stream) const = 0;
  virtual GpuResult copyToHost(void *target, GpuAddress source, size_t bytes,
                               GpuStream stream) const = 0;
  virtual GpuResult fill(GpuAddress address, uint8_t byte, size_t bytes,
                         GpuStream stream) const = 0;
  /// Host memory that kernels read and write while they run, and its address there.
  virtual GpuResult allocateHost(size_t bytes, void *&memory, GpuAddress &address) const = 0;
  virtual void releaseHost(void *memory) const = 0;
  /// The device whose memory `address` lies in; -1 for none. Memory of the host that GPUs may
  /// access has a device, too.
  virtual int32_t deviceOf(GpuAddress address) const = 0;
  /// Whether `address` lies in the ordinary memory of the device itself: neither the host's, nor
  /// another GPU's, nor managed memory, which moves, nor memory whose caches are kept coherent with
  /// other devices' (fine-grained). False where that is not known. The device need not have been
  /// entered, and streams may be capturing.
  virtual bool isMemoryOf(unsigned device, GpuAddress address) const = 0;

  virtual GpuResult makeStream(GpuStream &stream) const = 0;
  virtual GpuResult releaseStream(GpuStream stream) const = 0;
  virtual GpuResult synchronize(GpuStream stream) const = 0;
  virtual GpuResult isCapturing(GpuStream stream, bool &answer) const = 0;
  virtual GpuResult makeEvent(GpuEvent &event) const = 0;
  virtual GpuResult releaseEvent(GpuEvent event) const = 0;
  virtual GpuResult record(GpuEvent event, GpuStream stream) const = 0;
  virtual GpuResult wait(GpuEvent event) const = 0;
  virtual GpuResult elapsed(GpuEvent from, GpuEvent to, float &milliseconds) const = 0;
};

} // namespace sectile::gpu
