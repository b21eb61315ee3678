//===-- AheadLoads.h - which loads of a loop are copied ahead, and by what ---------------------===//
// What matrix products take is copied to shared memory iterations ahead (PipelineLoops.h): by the
// copy engine where it can, else by threads. Where threads copy, tiles are copied beside of which
// threads make what products take (numbers of 8 bits that are widened, scales, the maxima of the
// rows of a block): loaded in their round, they would make it wait for memory.
//
//   AheadLoads chosen(loop, shape, analysis, writes, allWrites, assumed);
//   for (auto &[load, whyNot] : chosen.choose())
//     ...                                   // stays as it is
//   chosen.slice.clone(builder, index, ...) // the addresses of another iteration
#pragma once

#include "optimizer/gpu/AsyncLoads.h"
#include "optimizer/gpu/GivenLoads.h"
#include "optimizer/gpu/GpuPass.h"
#include "optimizer/gpu/LoopSlice.h"

namespace sectile::optimizer {

/// Whether a product reads the load's tile in shared memory.
bool isReadByProduct(tile::LoadOp load);

class AheadLoads {
public:
  /// `writes` are the loop's, `allWrites` the kernel's.
  AheadLoads(mlir::scf::ForOp loop, const GpuShape &shape, const IndexAnalysis &analysis,
             const LoopWrites &writes, const LoopWrites &allWrites, GpuAssumptions &assumed)
      : slice(loop, LoopSlice::Runs::Anywhere,
              [this](tile::LoadOp load) { return mayBeGiven(load); }),
        given(loop), loop(loop), shape(shape), analysis(analysis), writes(writes),
        allWrites(allWrites), assumed(assumed) {}
  AheadLoads(const AheadLoads &) = delete;

  /// Fills `loads`, `slice` and `given`. Returns the other loads, and why each stays as it is.
  llvm::SmallVector<std::pair<tile::LoadOp, std::string>> choose();
  /// Leaves out again what is copied beside, and returns it.
  llvm::SmallVector<tile::LoadOp> dropBeside();
  /// Returns a load that stands around the loop, once `choose` has been, where products alone read
  /// its tile, in shared memory, and the copy engine can bring it. `planned`: maps of arrays that
  /// the kernel is to have beside those of `loads`.
  std::optional<AsyncLoad> asLoadAround(tile::LoadOp load, int64_t planned);
  /// Whether the copy engine can bring all tiles that the loop loads; instead of `choose`.
  bool areAllByEngine();

  bool areByEngine() const;
  bool areByThreads() const;
  /// Whether the engine is to see what threads have stored before the loop.
  bool areBehindStores() const;
  bool has(mlir::Operation *load) const;

  llvm::SmallVector<AsyncLoad, 2> loads;
  /// Computes their addresses and masks.
  LoopSlice slice;
  /// The loads that these are made of.
  GivenLoads given;

private:
  /// Whether the load can start earlier than those whose addresses are made of it.
  bool mayBeGiven(tile::LoadOp load);
  /// Whether the program describes an array of theirs itself.
  bool areEdited() const;
  /// Why it stays as it is; empty: it goes to `loads`.
  std::string consider(tile::LoadOp load);
  /// Whether a load goes to `loads` of which threads make what products take.
  bool considerBeside(tile::LoadOp load);
  /// A load that the copy engine can do. A remark explains why it cannot read a block.
  std::optional<AsyncLoad> asEngineLoad(tile::LoadOp load, int64_t planned = 0);
  /// Why the load stays as it is, although it could be copied; empty: it goes to `loads`.
  std::string take(AsyncLoad ahead);

  mlir::scf::ForOp loop;
  const GpuShape &shape;
  const IndexAnalysis &analysis;
  const LoopWrites &writes, &allWrites;
  GpuAssumptions &assumed;
};

} // namespace sectile::optimizer
