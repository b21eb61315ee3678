#include "LaidOutKernel.h"

#include "lang/layout/AmdMatrixInstructions.h"
#include "lang/layout/Conversion.h"
#include "lang/layout/NvidiaMatrixInstructions.h"
#include "optimizer/gpu/DotLayouts.h"
#include "optimizer/gpu/Pipeline.h"
#include "optimizer/gpu/VerifyLayouts.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace sectile::testing {

namespace {

const std::string kFolder = SECTILE_SOURCE_DIR "/tests/optimizer/kernels/";

/// Bytes of one thread's access, as decided.
int64_t accessBytes(tile::AccessAttr access, Value pointer) {
  Type element = tile::elementTypeOf(tile::pointeeOf(pointer.getType()));
  return access.getWidth() * std::max(8u, element.getIntOrFloatBitWidth()) / 8;
}

} // namespace

optimizer::GpuShape gpuShape(int64_t warps, int64_t lanes, bool matrix) {
  optimizer::GpuShape shape;
  shape.warpCount = warps;
  shape.laneCount = lanes;
  if (matrix)
    shape.matrixInstructions = [lanes](tile::DotOp dot) {
      auto table =
          lanes == 64 ? layout::amdProductInstructions("gfx942") : layout::mmaSyncInstructions();
      auto elements = optimizer::matrixElements(dot);
      return elements ? layout::instructionsFor(table, *elements) : layout::MatrixInstructions();
    };
  return shape;
}

std::string kernelText(llvm::StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFile(kFolder + name + ".mlir");
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

std::vector<std::string> kernelNames() {
  std::vector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(kFolder, error), end; it != end && !error;
       it.increment(error))
    names.push_back(llvm::sys::path::stem(it->path()).str());
  llvm::sort(names);
  return names;
}

std::string layOut(ModuleOp module, const optimizer::GpuShape &shape, int64_t stages) {
  std::string problems;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    problems += diagnostic.str() + "\n";
    return success();
  });
  optimizer::GpuPipelineOptions options{shape};
  options.stageCount = stages;
  options.verifyEachPass = true;
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(optimizer::optimizeForGpu(function, options)) ||
        failed(optimizer::verifyLayouts(function, shape)))
      return problems + "layout assignment failed";
  if (failed(verify(module)))
    return problems + "the laid-out IR does not verify";
  module.walk([&](tile::ConvertLayoutOp convert) {
    auto plan = layout::planConversion(*tile::layoutOf(convert.getSrc().getType()),
                                       *tile::layoutOf(convert.getType()), 32);
    if (plan.kind == layout::ConversionKind::BetweenBlocks)
      problems += "a conversion has no plan\n";
  });
  return problems;
}

std::string summaryOf(ModuleOp module) {
  std::string loads, stores;
  int conversions = 0, inLoops = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk([&](Operation *op) {
      if (auto load = dyn_cast<tile::LoadOp>(op); load && load.getAccessAttr())
        loads += " " + std::to_string(accessBytes(load.getAccessAttr(), load.getPtr()));
      if (auto store = dyn_cast<tile::StoreOp>(op); store && store.getAccessAttr())
        stores += " " + std::to_string(accessBytes(store.getAccessAttr(), store.getPtr()));
      if (auto convert = dyn_cast<tile::ConvertLayoutOp>(op)) {
        unsigned bits = tile::elementTypeOf(convert.getType()).getIntOrFloatBitWidth();
        if (layout::classifyConversion(*tile::layoutOf(convert.getSrc().getType()),
                                       *tile::layoutOf(convert.getType()),
                                       bits) == layout::ConversionKind::Same)
          return;
        ++conversions;
        inLoops += op->getParentOfType<scf::ForOp>() || op->getParentOfType<scf::WhileOp>();
      }
    });
  }
  return "load" + loads + ", store" + stores + ", convert " + std::to_string(conversions) +
         ", in loops " + std::to_string(inLoops);
}

} // namespace sectile::testing
