// The way of a kernel through the CPU back end, from optimised tile IR (optimizer/Pipeline.h) to a
// loadable image.
#include "backends/PipelineSteps.h"
#include "backends/VerifyCode.h"
#include "backends/cpu/CpuBackend.h"
#include "backends/cpu/EmitObject.h"
#include "backends/cpu/HostAbi.h"
#include "backends/cpu/ImageDescription.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/KernelPlan.h"
#include "backends/cpu/LinkSharedObject.h"
#include "optimizer/UnheededHints.h"

using namespace mlir;

namespace sectile::cpu {
FailureOr<backends::KernelImage> CpuBackend::compile(ModuleOp module,
                                                     const backends::CompileContext &context) {
  const backends::CompileOptions &options = context.options;
  auto host = HostFeatures::named(options.arch);
  if (!host)
    return module.emitError() << "unknown CPU '" << options.arch << "': expected "
                              << backends::processorLevelNames();
  func::FuncOp function = backends::kernelOf(module);
  if (!function)
    return module.emitError() << "module has no function with the attribute " << tile::kKernelAttr;
  auto refuse = [&](const char *what, const char *remedy) {
    InFlightDiagnostic error = function.emitError() << what;
    error.attachNote() << remedy;
    return error;
  };
  if (options.cooperativeGrid)
    return refuse("launch_cooperative_grid: on the CPU programs run one after another, so they "
                  "cannot wait for each other",
                  "split the kernel where its programs meet");
  if (options.dependentLaunch)
    return refuse("launch_pdl: on the CPU a launch begins only when the one before it is done",
                  "leave it out");
  auto observe = [&](StringRef stage, llvm::function_ref<std::string()> text) {
    if (context.observe)
      context.observe(stage, text);
  };

  backends::KernelImage image;
  describeKernel(function, targetName(options), image);
  optimizer::noteUnheededHints(function, optimizer::LoadsAhead::Never, optimizer::SumsApart::Never,
                               image.remarks);

  // Needs the whole kernel at once: which values cross from nest to nest.
  KernelPlan plan;
  {
    backends::StepClock clock(context.time, "plan nests");
    plan = planKernel(function, options.argumentsOverlap);
    image.overlapHazards = plan.overlapHazards;
  }

  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code;
  {
    backends::StepClock clock(context.time, "emit llvm");
    code = KernelEmitter(function, plan, *host, options, llvmContext, image).emit();
  }
  if (!code)
    return failure();
  injectFailure(*code, options.injectFailure);
  observe("llvm", [&] { return backends::printed(*code); });
  if (failed(backends::verifyCode(function, *code, "emit llvm", context)))
    return failure();

  // Everything below is LLVM, which may fail by ending the process: each step runs guarded.
  std::string error;
  ObjectEmitter objects(*host);
  {
    backends::StepClock clock(context.time, "optimize llvm");
    if (!objects.optimize(*code, error))
      return function.emitError() << "code generation failed: " << error;
  }
  observe("llvm-optimized", [&] { return backends::printed(*code); });
  if (failed(backends::verifyCode(function, *code, "optimize llvm", context)))
    return failure();
  observe("asm", [&] { return objects.assembly(*code); });
  llvm::SmallVector<char, 0> object;
  {
    backends::StepClock clock(context.time, "generate code");
    if (!objects.emit(*code, object, error))
      return function.emitError() << "code generation failed: " << error;
  }
  {
    backends::StepClock clock(context.time, "link");
    auto shared = linkSharedObject(StringRef(object.data(), object.size()), function.getName(),
                                   image.entryPoint);
    if (!shared)
      return function.emitError() << "linking failed: " << llvm::toString(shared.takeError());
    image.binary = std::move(*shared);
  }
  return image;
}

} // namespace sectile::cpu
