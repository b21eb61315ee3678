// The way of a kernel through the CPU back end, from optimised tile IR (optimizer/Pipeline.h) to a
// loadable image.
#include "backends/cpu/CpuBackend.h"
#include "backends/cpu/EmitObject.h"
#include "backends/cpu/HostAbi.h"
#include "backends/cpu/ImageDescription.h"
#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/KernelPlan.h"
#include "backends/cpu/LinkSharedObject.h"

#include <chrono>

using namespace mlir;

namespace sectile::cpu {
namespace {

class StepClock {
public:
  StepClock(const backends::StepTimer &report, StringRef step) : report(report), step(step) {}
  ~StepClock() {
    if (report)
      report(step, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

private:
  const backends::StepTimer &report;
  StringRef step;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

template <typename Module>
std::string printed(Module &module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

func::FuncOp kernelOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(tile::kKernelAttr))
      return function;
  return {};
}

} // namespace

FailureOr<backends::KernelImage> CpuBackend::compile(ModuleOp module,
                                                     const backends::CompileContext &context) {
  const backends::CompileOptions &options = context.options;
  auto host = HostFeatures::named(options.arch);
  if (!host)
    return module.emitError() << "unknown CPU '" << options.arch
                              << "': expected x86-64, x86-64-v2, x86-64-v3 or x86-64-v4";
  func::FuncOp function = kernelOf(module);
  if (!function)
    return module.emitError() << "module has no function with the attribute " << tile::kKernelAttr;
  auto observe = [&](StringRef stage, llvm::function_ref<std::string()> text) {
    if (context.observe)
      context.observe(stage, text);
  };

  backends::KernelImage image;
  describeKernel(function, targetName(options), image);

  // Needs the whole kernel at once: which values cross from nest to nest.
  KernelPlan plan;
  {
    StepClock clock(context.time, "plan nests");
    plan = planKernel(function, options.argumentsOverlap);
    image.overlapHazards = plan.overlapHazards;
  }

  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code;
  {
    StepClock clock(context.time, "emit llvm");
    code = KernelEmitter(function, plan, *host, options, llvmContext, image).emit();
  }
  if (!code)
    return failure();
  observe("llvm", [&] { return printed(*code); });

  // Everything below is LLVM, which may fail by ending the process: each step runs guarded.
  std::string error;
  ObjectEmitter objects(*host);
  {
    StepClock clock(context.time, "optimize llvm");
    injectFailure(*code, options.injectFailure);
    if (!objects.optimize(*code, error))
      return function.emitError() << "code generation failed: " << error;
  }
  observe("llvm-optimized", [&] { return printed(*code); });
  observe("asm", [&] { return objects.assembly(*code); });
  llvm::SmallVector<char, 0> object;
  {
    StepClock clock(context.time, "generate code");
    if (!objects.emit(*code, object, error))
      return function.emitError() << "code generation failed: " << error;
  }
  {
    StepClock clock(context.time, "link");
    auto shared = linkSharedObject(StringRef(object.data(), object.size()), function.getName());
    if (!shared)
      return function.emitError() << "linking failed: " << llvm::toString(shared.takeError());
    image.binary = std::move(*shared);
  }
  return image;
}

} // namespace sectile::cpu
