#include "SimulatedGpu.h"
#include "backends/gpu/EmitDot.h"
#include "backends/gpu/GpuEmitter.h"
#include "optimizer/Pipeline.h"
#include "optimizer/gpu/AssignAccessWidths.h"
#include "optimizer/gpu/Pipeline.h"

#include "mlir/Parser/Parser.h"

namespace sectile::testing {

SimulatedKernel::SimulatedKernel(llvm::StringRef text, SimulatedOptions options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      errors += note.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return;
  SimulatedTarget target(options.lanes, options.hasMatrices);
  target.maxSharedBytes = options.maxSharedBytes;
  mlir::func::FuncOp function = *module->getOps<mlir::func::FuncOp>().begin();
  optimizer::GpuPipelineOptions passes;
  passes.shape.warpCount = options.warps;
  passes.shape.laneCount = options.lanes;
  passes.shape.maxAccessBytes = target.maxAccessBytes;
  passes.shape.hasAsyncCopy = options.hasMatrices;
  passes.shape.sharedBytes = options.maxSharedBytes;
  if (text.contains("#tile.layout")) {
    optimizer::assignAccessWidths(function, passes.shape);
  } else {
    if (mlir::failed(optimizer::optimize(*module)))
      return;
    passes.stageCount = options.stages;
    passes.runAhead = !options.checkBounds;
    passes.verifyEachPass = true;
    passes.shape.hasMatrixProduct = [&](tile::DotOp dot) {
      return gpu::hasMatrixInstructions(dot, target);
    };
    if (mlir::failed(optimizer::optimizeForGpu(function, passes)))
      return;
  }
  llvm::raw_string_ostream(tileText) << *module;

  gpu::SharedMemoryPlan plan = gpu::planSharedMemory(function, target);
  if (mlir::failed(gpu::checkSharedMemory(function, plan, target, "the simulated GPU")))
    return;
  sharedBytes = plan.bytes;
  backends::CompileOptions compile;
  compile.warpCount = options.warps;
  compile.debug = options.debug;
  compile.checkBounds = options.checkBounds;
  llvm::LLVMContext llvmContext;
  auto code = gpu::GpuEmitter(function, target, plan, compile, llvmContext, image).emit();
  if (!code)
    return;
  llvm::raw_string_ostream(llvmText) << *code;
  auto made = std::make_unique<SimulatedProgram>(*code, function.getName(), options.warps,
                                                 options.lanes, sharedBytes, target.bankCount);
  made->acceptsDifferentWrites = options.acceptsDifferentWrites;
  errors += made->error();
  if (made->error().empty())
    program = std::move(made);
}

SimulatedKernel::~SimulatedKernel() = default;

SimulatedReport SimulatedKernel::run(std::vector<int32_t> grid,
                                     const std::vector<HostArgument> &arguments) {
  if (!program) {
    SimulatedReport report;
    report.problem = errors;
    return report;
  }
  return program->run(std::move(grid), arguments);
}

} // namespace sectile::testing
