//===-- GpuPass.h - what the passes for GPUs are made with ------------------------------------===//
// The passes of one compile share its options, and what the kernel comes to count on:
//
//   GpuAssumptions assumed;
//   passes.addPass(createPipelineLoops(options, &assumed));
//
// A pass that is made by its name reads its options from text, and what it assumes is dropped:
//
//   sectile opt --assign-layouts=warps=8,matrix=true --pipeline-loops=async=true,stages=4
//
// All such passes take the same names: warps, lanes, bytes, registers, each, shared, maps, async,
// buffers, matrix, wgmma, fixed, exact, stages, overlap, large, ahead, persistent (`NamedOptions`
// in GpuPass.cpp). A pass's description lists those that change what it does, with their defaults.
//
// A pass that needs none of this is an ordinary one (HoistLoads).
#pragma once

#include "lang/tile/SourcePlace.h"
#include "optimizer/gpu/GpuShape.h"
#include "optimizer/gpu/LoopWrites.h"

#include "mlir/Pass/Pass.h"

namespace sectile::optimizer {

struct GpuPipelineOptions {
  GpuShape shape;
  /// Stages of the buffers of a pipelined loop (num_stages); a loop with a product under way may
  /// have one more (PipelineLoops.h).
  int64_t stageCount = 3;
  /// Loads of later iterations may start early.
  bool runAhead = true;
  /// Any two arguments may share memory.
  bool argumentsOverlap = false;
  /// An array may reach further than a buffer, and integers among the arguments may be negative
  /// (BufferAccesses.h).
  bool largeArrays = false;
  /// A block of threads may run several programs.
  bool persistent = true;
  /// The IR and its layouts are verified after every pass (SECTILE_VERIFY).
  bool verifyEachPass = false;
};

/// Assumptions that the code of the laid-out kernel relies on, and remarks for the user.
struct GpuAssumptions {
  llvm::SmallVector<ApartArguments> apart;
  /// Arrays that end within a buffer behind their pointer, and integers that are not negative
  /// (BufferAccesses.h).
  llvm::SmallVector<unsigned> bufferArguments;
  /// Registers should be few enough for so many programs on a multiprocessor; 0: as it comes.
  int64_t programs = 0;
  /// What runs ahead and what does not, and why.
  lang::Remarks remarks;
};

/// Sets what `text` names, as in "warps=8 matrix=true"; `report` is called with what is wrong with
/// it.
mlir::LogicalResult
readGpuOptions(llvm::StringRef text, GpuPipelineOptions &options,
               llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)> report);

template <class Derived>
class GpuPass : public mlir::PassWrapper<Derived, mlir::OperationPass<mlir::func::FuncOp>> {
public:
  explicit GpuPass(const GpuPipelineOptions &options, GpuAssumptions *assumed = nullptr)
      : options(options), shared(assumed) {}

  mlir::LogicalResult
  initializeOptions(llvm::StringRef text,
                    llvm::function_ref<mlir::LogicalResult(const llvm::Twine &)> report) override {
    return readGpuOptions(text, options, report);
  }

protected:
  const GpuShape &shape() const { return options.shape; }
  GpuAssumptions &assumed() { return shared ? *shared : dropped; }

  GpuPipelineOptions options;

private:
  GpuAssumptions *shared;
  GpuAssumptions dropped;
};

} // namespace sectile::optimizer
