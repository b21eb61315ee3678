// The way of a kernel through the NVIDIA back end, from optimised tile IR (optimizer/Pipeline.h) to
// PTX.
#include "optimizer/gpu/Pipeline.h"

#include "backends/PipelineSteps.h"
#include "backends/VerifyCode.h"
#include "backends/gpu/EmitDot.h"
#include "backends/gpu/GpuEmitter.h"
#include "backends/nvidia/EmitPtx.h"
#include "backends/nvidia/NvidiaBackend.h"
#include "backends/nvidia/NvidiaMatrix.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;

namespace sectile::nvidia {

std::string NvidiaBackend::targetName(const backends::CompileOptions &options) const {
  auto arch = NvidiaArch::parse(options.arch.empty() ? "sm_90a" : options.arch);
  return "nvptx64:" + (arch ? arch->name : options.arch);
}

/// Products of fp8 need a newer PTX than the architecture does; only kernels that have some ask for
/// it, and they do without the instruction where the driver (`newest`; 0: any) is older.
static int ptxVersionFor(func::FuncOp function, const NvidiaArch &arch, int newest) {
  if (!hasFp8Products(arch.capability) || (newest && newest < kFp8PtxVersion))
    return arch.ptxVersion;
  bool hasFp8 = false;
  function.walk([&](tile::DotOp dot) {
    Type element = dot.getLhs().getType().getElementType();
    hasFp8 |= isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  });
  return hasFp8 ? std::max(arch.ptxVersion, kFp8PtxVersion) : arch.ptxVersion;
}

/// Loops of loads that no matrix product waits for.
static bool loadsInLoops(func::FuncOp function) {
  bool loads = false, multiplies = false;
  function.walk([&](Operation *op) {
    loads |= isa<tile::LoadOp>(op) && optimizer::isInLoop(op);
    multiplies |= isa<tile::DotOp>(op);
  });
  return loads && !multiplies;
}

FailureOr<backends::KernelImage> NvidiaBackend::compile(ModuleOp module,
                                                        const backends::CompileContext &context) {
  const backends::CompileOptions &options = context.options;
  auto arch = NvidiaArch::parse(options.arch.empty() ? "sm_90a" : options.arch);
  if (!arch)
    return module.emitError() << "unknown NVIDIA architecture '" << options.arch
                              << "': expected sm_80, sm_86, sm_89, sm_90a, sm_100a or sm_120a";
  if (options.ptxVersion && options.ptxVersion < arch->ptxVersion)
    return module.emitError() << arch->name << " needs PTX " << arch->ptxVersion / 10 << "."
                              << arch->ptxVersion % 10 << ", and the driver here takes "
                              << options.ptxVersion / 10 << "." << options.ptxVersion % 10
                              << "; update NVIDIA's driver";
  func::FuncOp function = backends::kernelOf(module);
  if (!function)
    return module.emitError() << "module has no function with the attribute " << tile::kKernelAttr;
  arch->ptxVersion = ptxVersionFor(function, *arch, options.ptxVersion);
  NvidiaTarget target(*arch);
  unsigned mostWarps = target.maxThreadsPerBlock / target.laneCount;
  if (options.warpCount < 1 || options.warpCount > int32_t(mostWarps) ||
      !llvm::isPowerOf2_32(options.warpCount))
    return function.emitError() << "num_warps is " << options.warpCount
                                << ": it must be a power of two up to " << mostWarps << ", because "
                                << arch->name << " runs at most " << target.maxThreadsPerBlock
                                << " threads in a program";
  if (options.ctaCount != 1) {
    InFlightDiagnostic error = function.emitError()
                               << "num_ctas is " << options.ctaCount
                               << ": programs of several blocks are not there yet";
    error.attachNote() << "use num_ctas=1, with more warps for large tiles";
    return error;
  }
  if (options.dependentLaunch && !arch->hasDependentLaunch()) {
    InFlightDiagnostic error = function.emitError()
                               << "launch_pdl: " << arch->name
                               << " begins a launch only when the one before it is done";
    error.attachNote() << "leave it out below compute capability 9.0";
    return error;
  }
  auto observe = [&](StringRef stage, llvm::function_ref<std::string()> text) {
    if (context.observe)
      context.observe(stage, text);
  };

  int64_t wantedPrograms = 0;
  backends::KernelImage image;
  image.kernelName = function.getName().str();
  image.backend = "cuda";
  image.targetName = targetName(options);
  image.gpu.threads = options.warpCount * int32_t(target.laneCount);
  image.gpu.isCooperative = options.cooperativeGrid;
  image.gpu.isDependent = options.dependentLaunch;

  {
    backends::StepClock clock(context.time, "lay out tiles");
    optimizer::GpuPipelineOptions gpu;
    optimizer::GpuShape &shape = gpu.shape;
    shape.warpCount = options.warpCount;
    shape.laneCount = target.laneCount;
    shape.maxAccessBytes = target.maxAccessBytes;
    shape.sharedBytes = target.maxSharedBytes;
    shape.atomicWidth = [&](tile::AtomicRmwOp op) {
      return target.atomicWidth(op.getKind(), tile::elementTypeOf(op.getResult().getType()));
    };
    shape.hasAsyncCopy = true;
    gpu.stageCount = options.stageCount;
    // What runs ahead is not checked.
    gpu.runAhead = !options.checkBounds;
    gpu.argumentsOverlap = options.argumentsOverlap;
    gpu.verifyEachPass = context.verifyCode;
    shape.hasMatrixProduct = [&](tile::DotOp dot) {
      return gpu::hasMatrixInstructions(dot, target);
    };
    auto assumed = optimizer::optimizeForGpu(function, gpu, [&](StringRef pass, double seconds) {
      if (context.time)
        context.time(("lay out tiles/" + pass).str(), seconds);
    });
    if (failed(assumed))
      return failure();
    wantedPrograms = assumed->programs;
    image.remarks = std::move(assumed->remarks);
    for (optimizer::ApartArguments pair : assumed->apart)
      image.overlapHazards.push_back({pair.written, pair.other, /*evenIfSame=*/true});
  }
  observe("tile-gpu", [&] { return backends::printed(module); });

  // Needs all layouts: scratch is what conversions and reductions make of them.
  gpu::SharedMemoryPlan plan;
  {
    backends::StepClock clock(context.time, "plan shared memory");
    plan = gpu::planSharedMemory(function, target);
  }
  image.gpu.sharedBytes = plan.bytes;
  gpu::noteSharedMemory(function, plan, target, image.remarks);
  if (failed(gpu::checkSharedMemory(function, plan, target, arch->name))) {
    if (context.noteOutOfResources)
      context.noteOutOfResources();
    return failure();
  }

  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code;
  {
    backends::StepClock clock(context.time, "emit llvm");
    code = gpu::GpuEmitter(function, target, plan, options, llvmContext, image).emit();
  }
  if (!code)
    return failure();
  llvm::Function *kernel = code->getFunction(function.getName());
  kernel->setName(ptxIdentifier(function.getName()));
  // ptxas otherwise makes loads wait for each other to save registers, for more programs at a time
  // than such a kernel needs: a sum of 32 x 32 tiles took 32 registers and 1.6 times as long.
  if (!wantedPrograms && loadsInLoops(function))
    wantedPrograms = 1;
  if (wantedPrograms)
    kernel->addFnAttr("nvvm.minctasm", std::to_string(wantedPrograms));
  image.entryPoint = kernel->getName().str();
  if (options.injectFailure == "invalid-code")
    kernel->getEntryBlock().getTerminator()->eraseFromParent();
  observe("llvm", [&] { return backends::printed(*code); });
  if (failed(backends::verifyCode(function, *code, "emit llvm", context)))
    return failure();

  std::string error;
  PtxEmitter ptx(*arch);
  {
    backends::StepClock clock(context.time, "optimize llvm");
    if (!ptx.optimize(*code, error))
      return function.emitError() << "code generation failed: " << error;
  }
  observe("llvm-optimized", [&] { return backends::printed(*code); });
  if (failed(backends::verifyCode(function, *code, "optimize llvm", context)))
    return failure();
  {
    backends::StepClock clock(context.time, "generate ptx");
    if (!ptx.emit(*code, image.binary, error))
      return function.emitError() << "code generation failed: " << error;
  }
  observe("ptx", [&] { return image.binary; });
  return image;
}

} // namespace sectile::nvidia
