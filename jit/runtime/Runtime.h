//===-- Runtime.h - gets kernels: from memory, from disk, from the compiler -------------------===//
// The door of libsectile.so. A request names a variant by what it is made from; the answer is a
// loaded kernel. The compiler library is loaded only when neither cache has it.
//
//   KernelRequest request;
//   request.sourceDigest = ...;                       // of the kernel's source and its helpers
//   request.signature = specializer.signature(values);
//   request.makeCompileRequest = [&](CompileRequest &compile) { compile.function = parse(); ... };
//   KernelResult result = Runtime::instance().getKernel(request);
//   if (!result.kernel) ... result.status.error().text() ...
//
// Two threads that ask for one variant compile it once. Nothing here throws or ends the process.
#pragma once

#include "backends/plain/CompileOptions.h"
#include "jit/Api.h"
#include "jit/CompilerInterface.h"
#include "jit/Status.h"
#include "jit/cache/RecordedRead.h"
#include "jit/launch/Kernel.h"
#include "jit/launch/MemoryFacts.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sectile::nvidia {
struct CudaApi;
}
namespace sectile::amd {
struct HipApi;
}

namespace sectile::jit {

/// The host language's side of what evaluation reads (cache/RecordedRead.h). Its functions are
/// called by the thread that requests the kernel, as the request's callbacks are.
class HostReads {
public:
  virtual ~HostReads() = default;
  /// What has been read since makeCompileRequest was called.
  virtual std::vector<RecordedRead> recorded() = 0;
  /// Whether all of it reads the same now, for this request.
  virtual bool hold(const std::vector<RecordedRead> &reads) = 0;
  /// Whether reading was interrupted (Ctrl-C in Python), in hold() or by evaluation: what was found
  /// or made since is not to be used, and this thread's request ends as Error::Kind::Interrupted.
  virtual bool wasInterrupted() = 0;
};

struct KernelRequest {
  /// Digest of all that is known of the source without evaluating it: for Python the kernel's and
  /// its helpers' text and globals; for C++ the executable's build id, registration site and
  /// constants. Empty: unknown (a capturing C++ kernel); the kernel is then evaluated first and
  /// found by its IR.
  std::string sourceDigest;
  lang::KernelSignature signature;
  backends::CompileOptions options;
  /// Where code for the usual memory is not what fits the memory of this launch, a variant that
  /// does is obtained instead.
  MemoryFacts memory;
  /// The files of the functions in `sourceDigest`, each once, in the order in which it takes them
  /// in. They are in no key: an entry made elsewhere names these files when it is loaded here.
  std::vector<std::string> sourceFiles;
  /// The text of every stage is wanted in image().stages, not only what costs nothing.
  bool wantStages = false;
  /// Sets the source (function and environment, trace, or tileText) of a compile; signature and
  /// options are filled in. Called on a miss only, by the thread that requests the kernel.
  std::function<Status(CompileRequest &)> makeCompileRequest;
  /// Records and checks what evaluation reads beyond `sourceDigest`. Null when the digest covers
  /// everything; an entry with recorded reads is not used then.
  HostReads *reads = nullptr;
};

struct KernelResult;

/// A compile that was done, or failed.
struct CompileEvent {
  /// The function, and what the code of the variant is called, often the same.
  std::string kernelName, variantName;
  /// "cuda:sm_90a"; "x: *fp32, BLOCK = 64"; "num_warps=8".
  std::string target, variant, options;
  /// What sets it apart from the nearest variant there was: "BLOCK: 64 instead of 32".
  std::string reason;
  /// Why the code did not come from the disk cache: "absent".
  std::string cacheMiss;
  double seconds = 0;
  bool succeeded = false;

  static CompileEvent of(const KernelRequest &request, const KernelResult &result,
                         const std::string &cacheMiss, double seconds);
  /// The line of SECTILE_LOG=compile.
  std::string text() const;
};
using CompileListener = std::function<void(const CompileEvent &)>;

struct KernelResult {
  /// Null on failure.
  std::shared_ptr<const Kernel> kernel;
  Status status;
  enum class Origin : uint8_t { None, Memory, Disk, SameIr, Compiled };
  Origin origin = Origin::None;
  /// The recorded C++ function threw an exception, which the caller keeps.
  bool functionThrew = false;
  /// The same as CompileEvent::reason, for a variant that was not in memory.
  std::string reason;
};

/// Counts since the start of the process.
struct RuntimeStatistics {
  uint64_t memoryHits = 0, diskHits = 0;
  /// The disk hits that came from a read-only layer.
  uint64_t layerHits = 0;
  /// Requests whose source evaluated to IR that has code already.
  uint64_t sameIrHits = 0;
  uint64_t compiles = 0, failedCompiles = 0;
  /// Why a disk entry was not used: "absent", "checksum mismatch", "a dependency changed" ... ->
  /// times.
  std::map<std::string, uint64_t> diskMisses;
  uint64_t diskWrites = 0, diskWriteFailures = 0, evictedFiles = 0;
  /// Times another process that compiled the same kernel was waited for.
  uint64_t diskWaits = 0;
  /// Why nothing is stored; empty when the disk cache works.
  std::string diskDisabled;
  std::string cacheDirectory;
};

/// What is left empty is taken from the environment (jit/runtime/Knobs.h).
struct RuntimeOptions {
  std::optional<std::string> cacheDirectory; // "" switches the disk cache off
  std::optional<uint64_t> cacheBytes;
  std::optional<std::vector<std::string>> cacheLayers;
  std::optional<double> cacheWaitSeconds;
  std::string compilerLibrary;
  /// Used instead of the library: tests, and programs that link the compiler.
  std::shared_ptr<Compiler> compiler;
  /// Threads of the CPU; 0: as many as the process may use.
  uint32_t threadCount = 0;
  /// How many kernels are kept in memory after their last reference is gone.
  uint32_t recentKernels = 256;
  /// Tests: used instead of NVIDIA's driver.
  const nvidia::CudaApi *cudaApi = nullptr;
  /// Tests: used instead of AMD's HIP runtime.
  const amd::HipApi *hipApi = nullptr;
};

class SECTILE_API Runtime {
public:
  explicit Runtime(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime &) = delete;
  Runtime &operator=(const Runtime &) = delete;

  /// The process's default runtime, made on first use from the environment. The one global of the
  /// library.
  static Runtime &instance();

  /// Thread-safe. May wait for another thread that compiles the same variant, and calls back into
  /// the request: hold no lock that the callbacks need (Python: release the GIL, take it in the
  /// callbacks).
  KernelResult getKernel(const KernelRequest &request);

  /// Which of them is outside its range: "num_warps is 3, not a power of two from 1 to 64"; "" when
  /// none is.
  static std::string problemOf(const backends::KernelOptions &options);
  /// Options as the environment sets them (SECTILE_CHECK, SECTILE_DEBUG, SECTILE_NUMERICS,
  /// SECTILE_DEFAULT_DOT_INPUT_PRECISION).
  backends::CompileOptions defaultOptions() const;
  /// The same for every launch: no lock, and the environment is not read. As of the start, or the
  /// last reconfigure().
  struct alignas(4) LaunchDefaults { // so that it is an atomic of the machine's
    bool checkBounds : 1 = false, checkStrides : 1 = false, debug : 1 = false;
    backends::Numerics numerics = backends::Numerics::Default;
    backends::DotPrecision dotPrecision{};

    /// Adds what the environment asks for to what a launch asks for.
    void complete(backends::KernelOptions &options) const {
      options.checkBounds |= checkBounds;
      options.debug |= debug;
      if (options.numerics == backends::Numerics{})
        options.numerics = numerics;
      if (options.dotPrecision == backends::DotPrecision{})
        options.dotPrecision = dotPrecision;
    }
  };
  LaunchDefaults launchDefaults() const { return atLaunch.load(std::memory_order_relaxed); }

  /// After this, what would have to be compiled is an error that names the argument, or option, by
  /// which it differs from the nearest variant there is.
  void seal();
  /// Sets the function that is called after every compile, by the thread that did it; empty removes
  /// it.
  void setCompileListener(CompileListener listener);
  /// Keeps with the cache entry of `kernel` what one launch of it took. False when there is no such
  /// entry.
  bool recordMeasurement(const Kernel &kernel, double seconds);
  /// A kernel as bytes, which unpack() makes the same kernel of, in any process of this build: the
  /// image as the disk cache keeps it.
  static std::string pack(const Kernel &kernel);
  /// The kernel in bytes that pack() returned. Fails with Error::Kind::Machine on anything else,
  /// and on what another build or another host's compiler made. Nothing is compiled.
  KernelResult unpack(std::string_view bytes);
  /// An image as it is, loaded for launches: no key is asked for, and nothing is compiled.
  KernelResult load(backends::KernelImage image);
  /// Sets the check that is called now and then while a kernel on the CPU keeps the process's first
  /// thread: true ends that launch with Error::Kind::Interrupted. Null removes the check.
  void setInterruptCheck(backends::InterruptCheck check);
  /// Where device_print goes instead of stdout; empty: stdout.
  void setPrintHandler(backends::PrintHandler handler);

  /// Reads the environment again: what it says holds for launches and compiles from then on.
  /// Nothing is changed, and what cannot be is returned, when there is something of that kind.
  std::vector<std::string> reconfigure();
  /// Part of the key of every table of variants. It is 0, or, while each kernel's stages are
  /// requested (dumps, kept stages, times of passes), a number that no variant had before the last
  /// reconfigure(), so that kernels compiled without their stages are compiled anew.
  uint64_t stagesGeneration() const { return stagesAsked.load(std::memory_order_relaxed); }
  /// instance(), if it has been made.
  static Runtime *ifStarted();

  RuntimeStatistics statistics() const;
  /// Forgets kernels in memory; those still referenced live on.
  void clearMemory();

  /// The compiler library, loaded now if it was not. Null with `status` set when it is missing.
  Compiler *compiler(Status &status);
  /// Identifies the build of the compiler; known without loading it.
  static std::string buildId();
  /// The driver of a back end ("cpu", "cuda", "hip"); null for an unknown name.
  backends::Driver *driver(std::string_view backend);
  /// The back end of this process's GPUs: "cuda", or "hip" where there are GPUs of AMD's and none
  /// of NVIDIA's. Arrays and streams are those of its driver.
  std::string gpuBackend();
  /// The same of instance().
  static std::string defaultGpuBackend() { return instance().gpuBackend(); }
  /// The driver of gpuBackend(); its devices() says why there are none.
  backends::Driver &gpuDriver();
  /// "cuda:0", "hip:0"; "the CPU" where `device` is negative.
  std::string deviceName(int32_t device);
  /// What is known of a GPU, which lives as long as the driver. Null with `status` set where there
  /// is no such device.
  const backends::DeviceInfo *deviceInfo(std::string_view backend, int32_t device, Status &status);
  /// The architecture of a GPU: "sm_90a". "" with `status` set where there is no such device.
  std::string archOf(std::string_view backend, int32_t device, Status &status);

private:
  struct State;
  class VariantCompile;
  void publishSettings();
  std::unique_ptr<State> state;
  std::atomic<LaunchDefaults> atLaunch{LaunchDefaults{}};
  static_assert(std::atomic<LaunchDefaults>::is_always_lock_free);
  std::atomic<uint64_t> stagesAsked = 0;
  std::atomic<uint64_t> lastGeneration = 0;
};

} // namespace sectile::jit
