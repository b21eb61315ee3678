#include "optimizer/gpu/GpuPass.h"

#include "lang/layout/AmdMatrixInstructions.h"
#include "lang/layout/NvidiaMatrixInstructions.h"
#include "optimizer/gpu/DotLayouts.h"

#include "mlir/Pass/PassOptions.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

/// What `matrix=true` means where no target is named: the instructions of one maker's chips with
/// warps of 32 lanes.
layout::MatrixInstructions commonInstructions(tile::DotOp dot) {
  auto elements = matrixElements(dot);
  return elements ? layout::instructionsFor(layout::mmaSyncInstructions(), *elements)
                  : layout::MatrixInstructions();
}

/// What `wgmma=true` means, with `matrix=true` or without: those and Hopper's.
layout::MatrixInstructions hopperInstructions(tile::DotOp dot) {
  auto elements = matrixElements(dot);
  layout::MatrixInstructions found = commonInstructions(dot);
  if (elements)
    llvm::append_range(found, layout::instructionsFor(layout::wgmmaInstructions(), *elements));
  return found;
}

/// The options by their names. What the text leaves out stays as it is in `kept`.
struct NamedOptions : PassPipelineOptions<NamedOptions> {
  explicit NamedOptions(const GpuPipelineOptions &kept)
      : warps(*this, "warps", llvm::cl::init(kept.shape.warpCount)),
        lanes(*this, "lanes", llvm::cl::init(kept.shape.laneCount)),
        bytes(*this, "bytes", llvm::cl::init(kept.shape.maxAccessBytes)),
        registers(*this, "registers", llvm::cl::init(kept.shape.registerWords)),
        each(*this, "each", llvm::cl::init(kept.shape.threadWords)),
        shared(*this, "shared", llvm::cl::init(kept.shape.sharedBytes)),
        maps(*this, "maps", llvm::cl::init(kept.shape.mostTensorMaps)),
        partly(*this, "partly", llvm::cl::init(kept.shape.storesPartly)),
        edits(*this, "edits", llvm::cl::init(kept.shape.editsTensorMaps)),
        async(*this, "async", llvm::cl::init(kept.shape.asyncCopies),
              llvm::cl::values(
                  clEnumValN(AsyncKind::None, "none", "no asynchronous copies"),
                  clEnumValN(AsyncKind::PerLane, "lanes", "each lane's by itself"),
                  clEnumValN(AsyncKind::WholeWarps, "warps", "those of a warp behind each other"))),
        buffers(*this, "buffers", llvm::cl::init(kept.shape.hasBuffers)),
        transposes(*this, "transposes", llvm::cl::init(kept.shape.sharedBanks.transposes)),
        chip(*this, "chip", llvm::cl::init("")), matrix(*this, "matrix", llvm::cl::init(false)),
        wgmma(*this, "wgmma", llvm::cl::init(false)),
        fixed(*this, "fixed", llvm::cl::init(kept.shape.fixedOrders)),
        exact(*this, "exact", llvm::cl::init(kept.shape.exactSums)),
        stages(*this, "stages", llvm::cl::init(kept.stageCount)),
        overlap(*this, "overlap", llvm::cl::init(kept.argumentsOverlap)),
        large(*this, "large", llvm::cl::init(kept.largeArrays)),
        ahead(*this, "ahead", llvm::cl::init(kept.runAhead)),
        persistent(*this, "persistent", llvm::cl::init(kept.persistent)) {}

  Option<int64_t> warps, lanes, bytes, registers, each, shared, maps;
  Option<bool> partly, edits;
  Option<AsyncKind> async;
  Option<bool> buffers, transposes;
  Option<std::string> chip;
  Option<bool> matrix, wgmma, fixed, exact;
  Option<int64_t> stages;
  Option<bool> overlap, large, ahead, persistent;
};

} // namespace

LogicalResult readGpuOptions(StringRef text, GpuPipelineOptions &options,
                             llvm::function_ref<LogicalResult(const llvm::Twine &)> report) {
  NamedOptions named(options);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (failed(named.parseFromString(text, stream)))
    return report(problem);
  options.shape.warpCount = named.warps;
  options.shape.laneCount = named.lanes;
  options.shape.maxAccessBytes = named.bytes;
  options.shape.registerWords = named.registers;
  options.shape.threadWords = named.each;
  options.shape.sharedBytes = named.shared;
  options.shape.asyncCopies = named.async;
  options.shape.mostTensorMaps = named.maps;
  options.shape.editsTensorMaps = named.edits;
  options.shape.storesPartly = named.partly;
  options.shape.hasBuffers = named.buffers;
  options.shape.sharedBanks.transposes = named.transposes;
  if (named.matrix)
    options.shape.matrixInstructions = commonInstructions;
  if (const std::string &chip = named.chip; !chip.empty())
    options.shape.matrixInstructions = [table =
                                            layout::amdProductInstructions(chip)](tile::DotOp dot) {
      auto elements = matrixElements(dot);
      return elements ? layout::instructionsFor(table, *elements) : layout::MatrixInstructions();
    };
  if (named.wgmma) {
    options.shape.matrixInstructions = hopperInstructions;
    options.shape.bufferInstruction = [](StringRef name) {
      return layout::instructionNamed(layout::wgmmaInstructions(), name);
    };
  }
  options.shape.fixedOrders = named.fixed;
  options.shape.exactSums = named.exact;
  options.stageCount = named.stages;
  options.argumentsOverlap = named.overlap;
  options.largeArrays = named.large;
  options.runAhead = named.ahead;
  options.persistent = named.persistent;
  return success();
}

} // namespace sectile::optimizer
