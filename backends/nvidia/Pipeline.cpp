// The way of a kernel through the NVIDIA back end, from optimised tile IR (optimizer/Pipeline.h) to
// PTX. What is the same for all GPUs is backends/gpu/CompileGpuKernel.cpp.
#include "backends/PipelineSteps.h"
#include "backends/gpu/CompileGpuKernel.h"
#include "backends/nvidia/EmitPtx.h"
#include "backends/nvidia/NvidiaBackend.h"
#include "backends/nvidia/NvidiaTarget.h"
#include "backends/nvidia/TargetNames.h"
#include "lang/tile/LoadedAddress.h"

using namespace mlir;

namespace sectile::nvidia {

static std::optional<NvidiaArch> archOf(const backends::CompileOptions &options) {
  return NvidiaArch::parse(options.arch.empty() ? "sm_90a" : options.arch);
}

std::string NvidiaBackend::targetName(const backends::CompileOptions &options) const {
  auto arch = archOf(options);
  return std::string(kTargetPrefix) + (arch ? arch->name : options.arch);
}

backends::TargetFacts NvidiaBackend::facts(const backends::CompileOptions &options) const {
  // An unknown architecture is reported by compile().
  NvidiaTarget target(archOf(options).value_or(NvidiaArch()));
  return {.warpCount = gpu::warpsOfAllBlocks(options, target),
          .cudaCapability = target.arch().capability,
          .hasTensorCopies = target.tensorCopies() && gpu::takesTensorCopies(options)};
}

/// Products of fp8, and maps of arrays that programs edit, need a newer PTX than the architecture
/// does; only kernels that may have some ask for it, and they do without where the driver
/// (`newest`; 0: any) is older.
static int ptxVersionFor(func::FuncOp function, const NvidiaArch &arch, int newest) {
  int version = arch.ptxVersion;
  auto ask = [&](int wanted) {
    if (!newest || newest >= wanted)
      version = std::max(version, wanted);
  };
  function.walk([&](Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op); dot && hasFp8Products(arch.capability)) {
      Type element = dot.getLhs().getType().getElementType();
      if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
        ask(kFp8PtxVersion);
    }
    if (auto block = dyn_cast<tile::BlockAtOp>(op);
        block && arch.capability == 90 && tile::isLoadedAddress(block.getBase()))
      ask(kEditingPtxVersion);
  });
  return version;
}

FailureOr<backends::KernelImage> NvidiaBackend::compile(ModuleOp module,
                                                        const backends::CompileContext &context) {
  const backends::CompileOptions &options = context.options;
  auto arch = archOf(options);
  if (!arch)
    return module.emitError() << "unknown NVIDIA architecture '" << options.arch
                              << "': expected sm_80, sm_86, sm_89, sm_90a, sm_100a or sm_120a";
  if (options.ptxVersion && options.ptxVersion < arch->ptxVersion)
    return module.emitError() << arch->name << " needs PTX " << arch->ptxVersion / 10 << "."
                              << arch->ptxVersion % 10 << ", and the driver here takes "
                              << options.ptxVersion / 10 << "." << options.ptxVersion % 10
                              << "; update NVIDIA's driver";
  // As in Triton, whose clusters of blocks older GPUs lack.
  if (options.ctaCount > 1 && !arch->hasClusters())
    return module.emitError() << "num_ctas > 1 requires NVIDIA SM90+ (Hopper), and the target is "
                              << arch->name;
  func::FuncOp function = backends::kernelOf(module);
  if (!function)
    return module.emitError() << "module has no function with the attribute " << tile::kKernelAttr;
  arch->ptxVersion = ptxVersionFor(function, *arch, options.ptxVersion);
  backends::KernelImage image;
  image.backend = "cuda";
  image.targetName = targetName(options);
  NvidiaTarget target(*arch);
  PtxCodegen codegen(*arch);
  return gpu::compileGpuKernel(function, target, codegen, std::move(image), context);
}

} // namespace sectile::nvidia
