#include "SimulatedGpu.h"
#include "backends/gpu/CompileGpuKernel.h"
#include "backends/plain/BufferArguments.h"
#include "backends/plain/DeviceAbi.h"
#include "optimizer/Pipeline.h"
#include "optimizer/gpu/AssignAccessWidths.h"

#include "mlir/Parser/Parser.h"

namespace sectile::testing {
namespace {

/// What NVIDIA's back end writes as PTX becomes code of the host.
class SimulatedCodegen final : public gpu::GpuCodegen {
public:
  SimulatedCodegen(unsigned warps, unsigned lanes, layout::SharedBanks banks)
      : warps(warps), lanes(lanes), banks(std::move(banks)) {}

  llvm::StringRef codeName() const override { return "simulated"; }
  std::string symbolOf(llvm::StringRef kernelName) const override { return kernelName.str(); }
  void tune(llvm::Function &, mlir::func::FuncOp, int64_t) const override {}
  bool optimize(llvm::Module &, std::string &) override { return true; }
  bool emit(llvm::Module &module, backends::KernelImage &image, CodeObserver,
            std::string &error) override {
    program = std::make_unique<SimulatedProgram>(module, image.entryPoint,
                                                 unsigned(image.gpu.threads) / lanes, lanes,
                                                 image.gpu.sharedBytes, banks);
    program->programWarps = warps;
    error = program->error();
    return error.empty();
  }

  std::unique_ptr<SimulatedProgram> program;

private:
  unsigned warps, lanes;
  layout::SharedBanks banks;
};

/// Makes the tensor maps of a launch as its host does; returns why one cannot be made.
std::string makeMaps(const backends::KernelImage &image, const std::vector<HostArgument> &arguments,
                     std::vector<SimulatedTensorMap> &maps) {
  std::vector<uint64_t> slots;
  for (const HostArgument &argument : arguments)
    slots.push_back(argument.slot);
  for (const backends::TensorMap &map : image.tensorMaps) {
    backends::TensorMapValues values = valuesOf(map, image.arguments, slots.data());
    if (std::string why = problemOf(map, image.arguments, values); !why.empty())
      return "tensor map " + std::to_string(maps.size()) + " cannot be made: " + why;
    maps.push_back(simulatedMap(map, values));
  }
  return "";
}

/// As the compile driver has them, for what launches compute from arguments: how many bits they
/// have, and which are pointers.
std::vector<backends::KernelArgument> argumentsOf(mlir::func::FuncOp function) {
  std::vector<backends::KernelArgument> arguments;
  for (mlir::Type type : function.getArgumentTypes()) {
    using lang::ScalarKind;
    backends::KernelArgument argument;
    const unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
    argument.dtype = lang::DType::scalar(bits == 1    ? ScalarKind::Int1
                                         : bits == 8  ? ScalarKind::Int8
                                         : bits == 16 ? ScalarKind::Int16
                                         : bits == 32 ? ScalarKind::Int32
                                                      : ScalarKind::Int64);
    argument.dtype.isPointer = mlir::isa<tile::PtrType>(type);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

} // namespace

SimulatedKernel::SimulatedKernel(llvm::StringRef text, SimulatedOptions options)
    : workers(options.workers) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      errors += note.str() + "\n";
    return mlir::success();
  });
  backends::CompileContext compile;
  compile.options.warpCount = int32_t(options.warps);
  compile.options.ctaCount = options.blocks;
  compile.options.numerics = options.numerics;
  compile.options.normalize();
  compile.options.stageCount = int32_t(options.stages);
  compile.options.debug = options.debug;
  compile.options.fatalAsserts = options.fatalAsserts;
  compile.options.checkBounds = options.checkBounds;
  compile.options.dependentLaunch = options.dependentLaunch;
  compile.options.argumentsOverlap = options.argumentsOverlap;
  compile.options.pointersOnly = options.pointersOnly;
  compile.options.largeArrays = options.largeArrays;
  compile.options.persistent = options.persistent;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  const bool isLaidOut = text.contains("#tile.layout");
  optimizer::Options numbers;
  numbers.exactMath = options.numerics == backends::Numerics::Strict;
  numbers.fixedOrders = options.numerics == backends::Numerics::Reproducible;
  numbers.keepsBlocks = options.abilities.tensorCopies && gpu::takesTensorCopies(compile.options);
  if (!module || (!isLaidOut && mlir::failed(optimizer::optimize(*module, numbers))))
    return;

  SimulatedTarget target(options.lanes, options.abilities, options.banks);
  target.maxSharedBytes = options.maxSharedBytes;
  target.threadWords = options.threadWords;
  compile.options.warpCount = gpu::warpsOfAllBlocks(compile.options, target);
  compile.verifyCode = true;
  compile.observe = [&](llvm::StringRef stage, llvm::function_ref<std::string()> print) {
    if (stage == "tile-gpu")
      tileText = print();
    if (stage == "llvm")
      llvmText = print();
  };
  SimulatedCodegen codegen(unsigned(compile.options.warpCount), options.lanes, options.banks);
  mlir::func::FuncOp function = *module->getOps<mlir::func::FuncOp>().begin();
  std::vector<backends::KernelArgument> parameters = argumentsOf(function);
  if (isLaidOut)
    optimizer::assignAccessWidths(function, gpu::shapeOf(target, compile.options.warpCount));
  auto compiled = isLaidOut ? gpu::compileLaidOutKernel(function, target, codegen, {}, compile)
                            : gpu::compileGpuKernel(function, target, codegen, {}, compile);
  if (mlir::failed(compiled))
    return;
  image = std::move(*compiled);
  image.arguments = std::move(parameters);
  sharedBytes = image.gpu.sharedBytes;
  program = std::move(codegen.program);
  program->acceptsDifferentWrites = options.acceptsDifferentWrites;
  program->seed = options.seed;
}

SimulatedKernel::~SimulatedKernel() = default;

std::string SimulatedKernel::mapProblem(const std::vector<HostArgument> &arguments) const {
  std::vector<SimulatedTensorMap> maps;
  return makeMaps(image, arguments, maps);
}

bool SimulatedKernel::exceedsBuffers(const std::vector<HostArgument> &arguments) const {
  std::vector<uint64_t> slots, ranges;
  for (const HostArgument &argument : arguments) {
    slots.push_back(argument.slot);
    ranges.insert(ranges.end(), {argument.begin, argument.end});
  }
  return !fitsBuffers(image, slots.data(), ranges.data());
}

SimulatedReport SimulatedKernel::run(std::vector<int32_t> grid,
                                     const std::vector<HostArgument> &arguments) {
  if (!program) {
    SimulatedReport report;
    report.problem = errors;
    return report;
  }
  std::vector<SimulatedTensorMap> maps;
  SimulatedReport report;
  report.problem = makeMaps(image, arguments, maps);
  if (!report.problem.empty())
    return report;
  std::vector<HostArgument> all = arguments;
  if (image.gpu.hiddenParameters & backends::kHiddenGrid) {
    grid.resize(3, 1);
    for (int32_t programs : grid)
      all.push_back(argument(programs));
    grid = {std::min(grid[0] * grid[1] * grid[2], workers)};
  } else if (image.gpu.hiddenParameters & backends::kHiddenPrograms) {
    all.push_back(argument(grid.front()));
    grid.front() = std::min(grid.front(), workers);
  }
  return program->run(std::move(grid), all, maps);
}

} // namespace sectile::testing
