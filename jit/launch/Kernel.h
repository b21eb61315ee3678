//===-- Kernel.h - a compiled kernel, loaded and ready to launch ------------------------------===//
// Made by Runtime::getKernel, shared by Python and C++. Immutable and thread-safe; the code stays
// loaded as long as one reference lives.
//
//   uint64_t slots[] = {address of out, address of in, cols};
//   Status status = kernel->launch({rows}, slots);
//
// Slots follow image().arguments: the kernel's parameters in order, those folded as constants left
// out. Specialization.h fills them from arguments.
#pragma once

#include "backends/plain/Driver.h"
#include "backends/plain/KernelImage.h"
#include "jit/Api.h"
#include "jit/Status.h"
#include "jit/cache/Provenance.h"
#include "lang/plain/KernelSignature.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sectile::jit {

using backends::Grid;

/// Turns a failure into a status. Traps are excluded: only the kernel can describe them.
[[gnu::cold]] SECTILE_API Status statusOf(backends::LaunchFailure failure);

struct BoundArguments;
class PrintTarget;

class SECTILE_API Kernel {
public:
  ~Kernel();
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  /// Code, metadata and the text of each stage (.asm["tile"] of Python is image().stages).
  const backends::KernelImage &image() const { return kernelImage; }
  /// Seconds per step of the compile that made it; empty when it came from the cache.
  const std::vector<std::pair<std::string, double>> &compileTimes() const { return times; }
  /// How it was made, wherever it came from.
  const Provenance &provenance() const { return made; }
  /// The warnings of the compile that made it; empty when it came from the cache.
  const std::vector<lang::Diagnostic> &warnings() const { return compileWarnings; }

  /// Runs every program of the grid and returns when all are done (on a GPU: are queued). A grid
  /// with an empty axis is a no-op. `ranges` (two words per argument) is needed only by kernels
  /// that check bounds.
  Status launch(const Grid &grid, const uint64_t *slots, const uint64_t *ranges = nullptr) const;
  /// The same, and refuses a read-only array that the kernel stores to.
  Status launch(const Grid &grid, const BoundArguments &arguments) const;
  /// On another stream than that of the arguments.
  Status launch(const Grid &grid, const BoundArguments &arguments, void *stream) const;

  /// Does what launches with this grid and these arguments, which must stay where they are, have in
  /// common. Null where that is nothing, or they would be refused: launch() then.
  std::unique_ptr<backends::PreparedLaunch> prepare(const Grid &grid,
                                                    const BoundArguments &arguments) const;

  /// Whether a variant compiled with CompileOptions::deviceMemory would be better for this launch:
  /// this one lists atomic arguments, and all of them lie in memory of the launch's device. Asks
  /// the driver only where there are some.
  bool prefersDeviceMemory(const BoundArguments &arguments) const {
    return combinesAtomically && combinesInDeviceMemory(arguments);
  }
  /// The same where the memory is not known yet.
  bool mayPreferDeviceMemory() const { return combinesAtomically; }
  /// Whether this launch wants a variant compiled with CompileOptions::pointersOnly: this one reads
  /// arrays by tensor maps, one of which cannot be made of the arguments. Asks the driver only
  /// where there are some.
  bool wantsPointers(const BoundArguments &arguments) const {
    return readsByTensorMaps && !canMapArrays(arguments);
  }
  /// Whether this launch wants a variant compiled with CompileOptions::largeArrays: this one lists
  /// arguments of buffers, and one of them exceeds what the code assumes.
  bool exceedsBuffers(const BoundArguments &arguments) const {
    return readsByBuffers && !fitBuffers(arguments);
  }

  /// launch() returns when the kernel is in the stream, before it is done.
  bool isAsynchronous() const { return code->isAsynchronous(); }
  /// What a thread of a GPU kernel uses. May load the kernel on a device.
  backends::KernelResources resources() const { return code->resources(); }

private:
  friend class Runtime;
  Kernel();
  bool combinesInDeviceMemory(const BoundArguments &arguments) const;
  bool canMapArrays(const BoundArguments &arguments) const;
  bool fitBuffers(const BoundArguments &arguments) const;
  Status run(const Grid &grid, const backends::LaunchArguments &arguments) const;
  /// Error, or ok for arguments that this kernel can be launched with.
  Status checkArguments(const BoundArguments &arguments) const;
  Status renderFailure(const backends::LaunchFailure &failure, const Grid &grid,
                       const backends::LaunchArguments &arguments) const;

  backends::KernelImage kernelImage;
  std::unique_ptr<backends::LoadedKernel> code; // refers to kernelImage
  std::shared_ptr<const PrintTarget> print;
  std::vector<std::pair<std::string, double>> times;
  std::vector<lang::Diagnostic> compileWarnings;
  Provenance made;
  /// The key and host of its entry in the disk cache; empty when there is none.
  std::string key, hostFingerprint;
  /// Checks bounds, so launches need the extents of the arguments.
  bool needsRanges = false;
  /// The image has atomicArguments.
  bool combinesAtomically = false;
  /// The image has tensorMaps.
  bool readsByTensorMaps = false;
  /// The image has bufferArguments.
  bool readsByBuffers = false;
};

} // namespace sectile::jit
