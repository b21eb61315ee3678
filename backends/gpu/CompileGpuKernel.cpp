#include "backends/gpu/CompileGpuKernel.h"

#include "backends/PipelineSteps.h"
#include "backends/VerifyCode.h"
#include "backends/gpu/DotPlan.h"
#include "backends/gpu/GpuEmitter.h"
#include "backends/gpu/ScratchBytes.h"
#include "lang/tile/KernelText.h"
#include "optimizer/gpu/ConstantArguments.h"
#include "optimizer/gpu/Pipeline.h"
#include "optimizer/gpu/WarpsForTiles.h"

using namespace mlir;

namespace sectile::gpu {

optimizer::GpuShape shapeOf(const GpuTarget &target, int64_t warpCount) {
  optimizer::GpuShape shape;
  shape.warpCount = warpCount;
  shape.laneCount = target.laneCount;
  shape.registerWords = target.registerWords;
  shape.threadWords = target.threadWords;
  shape.sharedBytes = target.maxSharedBytes;
  shape.sharedBanks = target.sharedBanks();
  shape.scratchBytes = [&target](Operation *op) { return scratchBytes(op, target); };
  shape.maxAccessBytes = target.maxAccessBytes;
  shape.lineCycles = target.lineCycles;
  shape.atomicWidth = [&target](tile::AtomicRmwOp op) {
    return target.atomicWidth(op.getKind(), tile::elementTypeOf(op.getResult().getType()));
  };
  if (const AsyncCopies *copies = target.asyncCopies())
    shape.asyncCopies = copies->kind();
  shape.hasBuffers = target.hasBuffers();
  // There masks cost nothing and branches do.
  shape.storesPartly = !target.hasBuffers();
  if (const TensorCopies *copies = target.tensorCopies()) {
    shape.mostTensorMaps = int64_t(backends::kMostTensorMaps);
    shape.editsTensorMaps = copies->editsMaps();
    auto sharesOf = [&target, copies, threads = shape.threadCount()](
                        int64_t programs, bool editMaps, int64_t wanted) {
      return copies->shareRegisters(target.registerWords, programs * threads,
                                    tile::kProducerWarps * target.laneCount, editMaps, wanted);
    };
    if (sharesOf(1, false, 0).isPossible())
      shape.wordsBesideProducer = [=, &target](int64_t programs, bool editsMaps,
                                               int64_t wanted) -> int64_t {
        const RegisterShares shares = sharesOf(programs, editsMaps, wanted);
        return !shares.isPossible() ? 0 : shares.ofProgram ? shares.ofProgram : target.threadWords;
      };
  }
  if (const MatrixProducts *products = target.matrixProducts())
    shape.keepsSubnormals = products->keepsSubnormals();
  shape.matrixInstructions = [&target](tile::DotOp dot) { return matrixInstructions(dot, target); };
  if (const BufferProducts *products = target.bufferProducts()) {
    shape.bufferInstruction = [products](llvm::StringRef name) { return products->named(name); };
    shape.leastTurnWords = products->leastTurnWords();
  }
  return shape;
}

static int32_t mostWarps(const GpuTarget &target) {
  return int32_t(target.maxThreadsPerBlock / target.laneCount);
}

int32_t warpsOfAllBlocks(const backends::CompileOptions &options, const GpuTarget &target) {
  // More warps than a block has are an error of their own, which names what was asked for.
  int32_t most = std::max(options.warpCount, mostWarps(target));
  return std::min(options.warpCount * options.ctaCount, most);
}

/// Whether the target can launch the kernel as it is asked to.
static LogicalResult checkLaunch(func::FuncOp function, const GpuTarget &target,
                                 const backends::CompileOptions &options) {
  if (options.warpCount < 1 || options.warpCount > mostWarps(target) ||
      !llvm::isPowerOf2_32(options.warpCount))
    return function.emitError() << "num_warps is " << options.warpCount
                                << ": it must be a power of two up to " << mostWarps(target)
                                << ", because " << target.name() << " runs at most "
                                << target.maxThreadsPerBlock << " threads in a program";
  if (options.dependentLaunch && !target.dependentLaunches()) {
    InFlightDiagnostic error = function.emitError()
                               << "launch_pdl: " << target.name()
                               << " begins a launch only when the one before it is done";
    error.attachNote() << "leave it out for this GPU";
    return error;
  }
  return success();
}

/// Explains what became of several blocks for a program; `options` have the warps of the one block.
static void noteBlocks(func::FuncOp function, const backends::CompileOptions &options,
                       lang::Remarks &remarks) {
  if (options.ctaCount == 1)
    return;
  std::string text =
      llvm::formatv("num_ctas={0}: the program runs in one block of {1} warp{2}", options.ctaCount,
                    options.warpCount, options.warpCount == 1 ? "" : "s");
  addRemark(remarks, function.getLoc(), "hint", std::move(text));
}

/// Returns how many warps run the program: those that are asked for, or more where tiles would be
/// spilled otherwise. A user who bounds registers by hand (maxnreg) gets what was asked
/// for.
static int32_t warpsThatHold(func::FuncOp function, const GpuTarget &target,
                             const backends::CompileOptions &options) {
  if (options.maxRegisters)
    return options.warpCount;
  const int64_t warps = optimizer::warpsForTiles(function, shapeOf(target, options.warpCount));
  return int32_t(std::min<int64_t>(warps, mostWarps(target)));
}

static void noteWarps(func::FuncOp function, int32_t asked, int32_t warps, lang::Remarks &remarks) {
  if (asked != warps)
    addRemark(remarks, function.getLoc(), "hint",
              llvm::formatv("num_warps={0}: the program runs in {1} warps, because the threads of "
                            "{0} cannot hold its tiles in registers",
                            asked, warps));
}

/// Gives the tiles layouts, and remarks and hazards to the image.
static FailureOr<LaidOut> layOut(func::FuncOp function, const GpuTarget &target,
                                 backends::KernelImage &image,
                                 const backends::CompileContext &context) {
  backends::StepClock clock(context.time, "lay out tiles");
  const backends::CompileOptions &options = context.options;
  optimizer::GpuPipelineOptions gpu;
  gpu.shape = shapeOf(target, options.warpCount);
  gpu.shape.sharedBytes -= voteBytes(function, target, options);
  if (options.maxRegisters) {
    gpu.shape.threadWords = std::min<int64_t>(gpu.shape.threadWords, options.maxRegisters);
    // All threads have so many, and none gives some away.
    gpu.shape.wordsBesideProducer = nullptr;
  }
  gpu.shape.fixedOrders = options.numerics == backends::Numerics::Reproducible;
  gpu.shape.exactSums = options.numerics != backends::Numerics::Default;
  gpu.stageCount = options.stageCount;
  // What runs ahead is not checked.
  gpu.runAhead = !options.checkBounds;
  gpu.argumentsOverlap = options.argumentsOverlap;
  gpu.largeArrays = options.largeArrays;
  // What is checked is a pointer, wherever it points to.
  gpu.shape.hasBuffers &= !options.checkBounds;
  // Programs of a cooperative launch all run at once, each in a block of its own.
  gpu.persistent = options.persistent && !options.cooperativeGrid;
  gpu.verifyEachPass = context.verifyCode;
  auto assumed = optimizer::optimizeForGpu(function, gpu, [&](StringRef pass, double seconds) {
    if (context.time)
      context.time(("lay out tiles/" + pass).str(), seconds);
  });
  if (failed(assumed))
    return failure();
  image.remarks = std::move(assumed->remarks);
  noteBlocks(function, options, image.remarks);
  LaidOut decided;
  // A producer gives its registers to the one program of a multiprocessor.
  decided.programs = tile::producerOf(function) ? 1 : assumed->programs;
  if (target.hasScalarLoads())
    decided.constants =
        optimizer::constantArguments(function, options.argumentsOverlap, assumed->apart);
  for (optimizer::ApartArguments pair : assumed->apart)
    image.overlapHazards.push_back({pair.written, pair.other, pair.evenIfSame});
  llvm::sort(assumed->bufferArguments);
  image.bufferArguments.assign(assumed->bufferArguments.begin(), assumed->bufferArguments.end());
  return decided;
}

/// Null when the kernel needs more shared memory than there is, or an op has no lowering; the
/// diagnostics have been emitted.
static std::unique_ptr<llvm::Module> emitLlvm(func::FuncOp function, const GpuTarget &target,
                                              backends::KernelImage &image,
                                              llvm::LLVMContext &llvmContext,
                                              const backends::CompileContext &context) {
  // Needs all layouts: scratch is what conversions and reductions make of them.
  SharedMemoryPlan plan;
  {
    backends::StepClock clock(context.time, "plan shared memory");
    plan = planSharedMemory(function, target, voteBytes(function, target, context.options));
  }
  image.gpu.sharedBytes = plan.bytes;
  noteSharedMemory(function, plan, target, image.remarks);
  if (failed(checkSharedMemory(function, plan, target))) {
    if (context.noteOutOfResources)
      context.noteOutOfResources();
    return nullptr;
  }
  backends::StepClock clock(context.time, "emit llvm");
  return GpuEmitter(function, target, plan, context.options, llvmContext, image).emit();
}

FailureOr<backends::KernelImage> compileGpuKernel(func::FuncOp function, const GpuTarget &target,
                                                  GpuCodegen &codegen, backends::KernelImage image,
                                                  const backends::CompileContext &context) {
  if (failed(checkLaunch(function, target, context.options)))
    return failure();
  backends::CompileContext wide = context;
  wide.options.warpCount = warpsThatHold(function, target, context.options);
  FailureOr<LaidOut> decided = layOut(function, target, image, wide);
  if (failed(decided))
    return failure();
  noteWarps(function, context.options.warpCount, wide.options.warpCount, image.remarks);
  return compileLaidOutKernel(function, target, codegen, std::move(image), wide, *decided);
}

FailureOr<backends::KernelImage> compileLaidOutKernel(func::FuncOp function,
                                                      const GpuTarget &target, GpuCodegen &codegen,
                                                      backends::KernelImage image,
                                                      const backends::CompileContext &context,
                                                      const LaidOut &decided) {
  const backends::CompileOptions &options = context.options;
  auto observe = [&](StringRef stage, llvm::function_ref<std::string()> text) {
    if (context.observe)
      context.observe(stage, text);
  };
  observe("tile-gpu", [&] { return tile::kernelText(function->getParentOfType<ModuleOp>()); });
  image.variantName = function.getName().str();
  image.gpu.threads = int32_t(target.laneCount * tile::warpsOfBlock(function, options.warpCount));
  image.gpu.lanes = int32_t(target.laneCount);
  image.gpu.isCooperative = options.cooperativeGrid;
  image.gpu.isDependent = options.dependentLaunch;

  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = emitLlvm(function, target, image, llvmContext, context);
  if (!code)
    return failure();
  llvm::Function *kernel = code->getFunction(function.getName());
  kernel->setName(codegen.symbolOf(function.getName()));
  for (unsigned argument : decided.constants) {
    kernel->addParamAttr(argument, llvm::Attribute::NoAlias);
    kernel->addParamAttr(argument, llvm::Attribute::ReadOnly);
  }
  codegen.tune(*kernel, function, decided.programs);
  image.entryPoint = kernel->getName().str();
  if (options.injectFailure == "invalid-code")
    kernel->getEntryBlock().getTerminator()->eraseFromParent();
  observe("llvm", [&] { return backends::printed(*code); });
  if (failed(backends::verifyCode(function, *code, "emit llvm", context)))
    return failure();

  std::string error;
  {
    backends::StepClock clock(context.time, "optimize llvm");
    if (!codegen.optimize(*code, error))
      return function.emitError() << "code generation failed: " << error;
  }
  observe("llvm-optimized", [&] { return backends::printed(*code); });
  if (failed(backends::verifyCode(function, *code, "optimize llvm", context)))
    return failure();
  {
    std::string step = ("generate " + codegen.codeName()).str();
    backends::StepClock clock(context.time, step);
    auto show = [&](llvm::function_ref<std::string()> text) { observe(codegen.codeName(), text); };
    if (!codegen.emit(*code, image, show, error))
      return function.emitError() << "code generation failed: " << error;
  }
  return image;
}

} // namespace sectile::gpu
