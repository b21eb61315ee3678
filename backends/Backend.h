//===-- Backend.h - what a target must provide ------------------------------------------------===//
// The compiler's interface to a target. `createBackend("cpu")` is a switch in Backend.cpp; each
// target's folder holds same-named files.
#pragma once

#include "backends/plain/CompileOptions.h"
#include "backends/plain/KernelImage.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <functional>
#include <memory>

namespace sectile::backends {

/// Called after every named stage ("tile-optimized", "llvm", "llvm-optimized", "asm") with a
/// function that prints it; the compile driver decides whether to (dumps, `.asm`, stop-after).
using StageObserver =
    std::function<void(llvm::StringRef stage, llvm::function_ref<std::string()> text)>;
/// Called around every timed step: step name, seconds.
using StepTimer = std::function<void(llvm::StringRef step, double seconds)>;

struct CompileContext {
  CompileOptions options;
  StageObserver observe;
  StepTimer time;
  /// Called when compile() fails, with diagnostics, because the kernel is right and needs more than
  /// its target has.
  std::function<void()> noteOutOfResources;
  /// LLVM IR is verified after every step (VerifyCode.h).
  bool verifyCode = false;
};

/// What a kernel may ask of its target while it is compiled.
struct TargetFacts {
  /// How many warps run a program, which may be more than the options ask for (num_ctas);
  /// Backend::compile() finds it in its options.
  int32_t warpCount;
  /// Of an NVIDIA GPU, 90 for 9.0; 0 anywhere else.
  int32_t cudaCapability;
  /// Whether a copy engine may read blocks of arrays (optimizer::Options::keepsBlocks).
  bool hasTensorCopies;
};

class Backend {
public:
  virtual ~Backend() = default;
  virtual llvm::StringRef name() const = 0;
  /// Identifies code that may run here: goes into keys and images.
  virtual std::string targetName(const CompileOptions &options) const = 0;
  virtual TargetFacts facts(const CompileOptions &options) const = 0;
  /// Tile IR (verified) to a loadable image. On failure the module's context has the diagnostics.
  virtual mlir::FailureOr<KernelImage> compile(mlir::ModuleOp module,
                                               const CompileContext &context) = 0;
};

/// Null for an unknown name.
std::unique_ptr<Backend> createBackend(llvm::StringRef name);

} // namespace sectile::backends
