//===-- Driver.h - loading and launching compiled kernels -------------------------------------===//
// The runtime half of a back end: plain C++, no LLVM, part of libsectile.so. Each target's folder
// holds its Driver.{h,cpp}; jit/ sees only this header.
#pragma once

#include "backends/plain/CompileOptions.h"
#include "backends/plain/Device.h"
#include "backends/plain/KernelImage.h"
#include "backends/plain/PrintFormat.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::backends {

/// Programs per axis.
struct Grid {
  int64_t x = 1, y = 1, z = 1;
};

struct LaunchArguments {
  /// One 8-byte slot per argument of the image: the pointer, or the number in its low bytes.
  const uint64_t *slots = nullptr;
  /// [begin, end) in bytes of each argument, two words each; may be null unless the image checks
  /// bounds.
  const uint64_t *ranges = nullptr;
  /// GPUs: the index of the device, and the driver's handle of the stream (null: its default one).
  int32_t device = 0;
  void *stream = nullptr;
};

/// Why a launch did not finish. `None` is success.
struct LaunchFailure {
  enum class Kind : uint8_t {
    None,
    Trap,
    Machine,
    Resources,   // more than the device has
    Call,        // the launch is wrong
    Internal,    // the compiler is wrong
    Kernel,      // the kernel is wrong: the assembler refuses text of its own
    Interrupted, // the InterruptCheck ended the launch
  };
  Kind kind = Kind::None;
  /// Only a Trap has these: the site in the image, the linear program, the first offending address.
  int32_t site = -1;
  int64_t program = 0;
  uint64_t address = 0;
  /// All other kinds have these: what is wrong, and the remedy.
  std::string message, help;
  bool ok() const { return kind == Kind::None; }
};

/// Gets the finished text of device_print, whole prints in the order of the programs; called by the
/// threads that run or launch the kernel, one at a time.
using PrintHandler = std::function<void(std::string_view text)>;

/// What the threads of a GPU kernel use: 32-bit registers, bytes of local memory (spills).
struct KernelResources {
  int32_t registers = 0, localBytes = 0;
};

/// Called now and then while a launch keeps the process's first thread, in that thread. Returning
/// true ends the launch.
using InterruptCheck = bool (*)();

/// A launch whose grid and arguments are settled, of which the device's own call is left. Several
/// threads may run it. It must not outlive the kernel and the slots that it was made of.
class PreparedLaunch {
public:
  virtual ~PreparedLaunch() = default;
  /// Null when it was started.
  virtual std::unique_ptr<LaunchFailure> run(void *stream) const = 0;
};

/// Code in memory, ready to run. Thread-safe: several threads may launch at once.
class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;
  /// `grid` has been checked: every axis positive, the product within 2^63.
  virtual LaunchFailure launch(const Grid &grid, const LaunchArguments &arguments,
                               const PrintHandler &print) const = 0;
  /// What launch() does for this grid and these arguments, apart from the device's call. Null where
  /// each launch has more to do, or would be refused: launch() then.
  virtual std::unique_ptr<PreparedLaunch> prepare(const Grid & /*grid*/,
                                                  const LaunchArguments & /*arguments*/) const {
    return nullptr;
  }
  /// Zeros where there are none to speak of, or no device to ask.
  virtual KernelResources resources() const { return {}; }
  /// launch() returns before the kernel is done.
  virtual bool isAsynchronous() const { return false; }
  /// Whether all arguments in KernelImage::atomicArguments point to ordinary memory of the launch's
  /// own device, which is what CompileOptions::deviceMemory promises. Asks the maker's driver anew
  /// at each call. False where that is not known.
  virtual bool combinesInDeviceMemory(const LaunchArguments & /*arguments*/) const { return false; }
  /// Whether the maps of KernelImage::tensorMaps can be made for these arguments; where they cannot
  /// the launch fails. Also true where the launch fails for another reason, such as a device that
  /// is not there.
  virtual bool canMapArrays(const LaunchArguments & /*arguments*/) const { return true; }
};

/// What may be set while the process runs (jit/runtime/Knobs.h says what each is).
struct DriverSettings {
  uint32_t threadCount = 0; // 0: as many as the process may use
  /// Room for what one launch prints, and the elements that are shown of a printed tile (0: all).
  uint64_t printBufferBytes = uint64_t{16} << 20, printElements = kMostPrintedElements;
  bool printsAsTriton = false;
  std::string ptxas, assembler;
  /// The HIP runtime, which is loaded once: later changes have no effect.
  std::string hipLibrary;
  /// Where the code of CPU kernels is put into files, for profilers; "" keeps it in memory.
  std::string codeDirectory;
};

class Driver {
public:
  virtual ~Driver() = default;
  /// Thread-safe; holds for launches from then on, of kernels that are loaded, too.
  virtual void configure(const DriverSettings & /*settings*/) {}
  /// Null removes the check. Launches that do not wait for their kernel cannot be interrupted.
  virtual void setInterruptCheck(InterruptCheck /*check*/) {}
  /// What the machine at hand is, in all that decides which code is right for it: goes into cache
  /// keys.
  virtual std::string hostFingerprint() const = 0;
  /// Threads of the host that run the programs of a launch, the caller's included.
  virtual unsigned threadCount() const { return 1; }
  /// May code compiled for `targetName` run here? Otherwise `reason` says what is lacking.
  virtual bool canRun(std::string_view targetName, std::string &reason) const = 0;
  /// How well such code suits a device (the CPU is number 0): 0, it does not run there; the larger
  /// the better. `isMachineCode`: nothing has to be assembled for it.
  virtual int suitability(std::string_view targetName, bool isMachineCode, int32_t device) = 0;
  /// The last step of a compile: code as the back end leaves it into code as it is loaded, which is
  /// what the cache keeps. False with `failure` set. Thread-safe.
  virtual bool finish(KernelImage & /*image*/, LaunchFailure & /*failure*/) { return true; }
  /// Fills in what the machine at hand decides and was left open.
  virtual void completeOptions(CompileOptions & /*options*/) {}
  /// Whether finish() has nothing left to do.
  virtual bool isFinished(const KernelImage & /*image*/) const { return true; }
  /// Code made on a machine without devices (the build of a container) serves here, too: changes
  /// `options` to what they were there and returns that machine's fingerprint. "" when there is no
  /// such code.
  virtual std::string deviceless(CompileOptions & /*options*/) { return {}; }
  /// What finish() uses, in words for people: "ptxas (/usr/local/bin/ptxas)".
  virtual std::string assembler() { return {}; }
  /// The GPUs; when there are none, `reason` says why.
  virtual const std::vector<DeviceInfo> &devices(std::string & /*reason*/) { return noDevices; }
  /// The index of the GPU that owns the memory at `address`; -1 when none does.
  virtual int32_t deviceOf(uint64_t /*address*/) { return -1; }
  /// Null where memory is the host's.
  virtual DeviceServices *services() { return nullptr; }
  /// The latest launches on the device, newest first, one line each.
  virtual std::vector<std::string> recentLaunches(int32_t /*device*/) { return {}; }
  /// Null with `failure` set. The image must outlive the result.
  virtual std::unique_ptr<LoadedKernel> load(const KernelImage &image, LaunchFailure &failure) = 0;

private:
  // Not a static variable: C++ programs include this, and one of theirs must not be made unique.
  const std::vector<DeviceInfo> noDevices;
};

} // namespace sectile::backends
