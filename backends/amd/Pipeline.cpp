// The way of a kernel through the AMD back end, from optimised tile IR (optimizer/Pipeline.h) to a
// code object. What is the same for all GPUs is backends/gpu/CompileGpuKernel.cpp.
#include "backends/PipelineSteps.h"
#include "backends/amd/AmdBackend.h"
#include "backends/amd/AmdTarget.h"
#include "backends/amd/EmitCodeObject.h"
#include "backends/gpu/CompileGpuKernel.h"

using namespace mlir;

namespace sectile::amd {

static const char kTargetPrefix[] = "amdgcn:";

std::string AmdBackend::targetName(const backends::CompileOptions &options) const {
  return kTargetPrefix + options.arch;
}

backends::TargetFacts AmdBackend::facts(const backends::CompileOptions &options) const {
  // An unknown architecture is reported by compile().
  AmdTarget target(AmdArch::parse(options.arch).value_or(AmdArch()));
  return {.warpCount = gpu::warpsOfAllBlocks(options, target),
          .cudaCapability = 0,
          .hasTensorCopies = false};
}

FailureOr<backends::KernelImage> AmdBackend::compile(ModuleOp module,
                                                     const backends::CompileContext &context) {
  const backends::CompileOptions &options = context.options;
  auto arch = AmdArch::parse(options.arch);
  if (!arch)
    return module.emitError() << "unknown AMD architecture '" << options.arch << "': expected "
                              << AmdArch::known();
  if (options.ctaCount > 1)
    return module.emitError() << "num_ctas > 1: " << arch->name
                              << " has no clusters of work-groups; leave it out";
  if (options.maxRegisters) {
    auto error = module.emitError()
                 << "maxnreg: registers of " << arch->name << " are bounded by waves_per_eu";
    error.attachNote() << "leave it out for this GPU";
    return error;
  }
  func::FuncOp function = backends::kernelOf(module);
  if (!function)
    return module.emitError() << "module has no function with the attribute " << tile::kKernelAttr;
  backends::KernelImage image;
  image.backend = "hip";
  image.targetName = targetName(options);
  AmdTarget target(*arch, options.matrixExtent);
  AmdCodegen codegen(*arch);
  return gpu::compileGpuKernel(function, target, codegen, std::move(image), context);
}

} // namespace sectile::amd
