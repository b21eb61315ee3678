//===-- GivenLoads.h - what addresses are made of, loaded a round before they are -------------===//
// Loads through block tables and lists of rows: what a round copies `distance` rounds ahead lies
// where something else says that has to be loaded first. That is loaded a round earlier still, and
// carried to the next round in registers, so that no copy waits for it. (PipelineLoops)
//
//   GivenLoads given(loop);
//   if (given.add(load))                            // its own address is arithmetic
//     ...
//   GivenLoads::State state = given.initial();
//   given.load(builder, index, exists, state);      // of the round of `index`, where it exists
//   IRMapping results = given.results(state);       // what LoopSlice::clone gives that round
#pragma once

#include "optimizer/gpu/LoopSlice.h"

namespace sectile::optimizer {

class GivenLoads {
public:
  explicit GivenLoads(mlir::scf::ForOp loop) : slice(loop) {}

  /// Whether the load's address and mask are arithmetic; then it can be given.
  bool add(tile::LoadOp load);
  /// Leaves those that are `used`, in that order.
  void keep(llvm::ArrayRef<tile::LoadOp> used);
  bool isEmpty() const { return loads.empty(); }

  /// Values that a loop carries: of the slice for the round after the one that `load` was last
  /// called for, and what was loaded for that one.
  struct State {
    llvm::SmallVector<mlir::Value> carried, loaded;
    llvm::SmallVector<mlir::Value> all() const;
    /// As many values as `all` has.
    void setAll(mlir::ValueRange values);
  };
  /// The state in front of the first round's loads.
  State initial() const { return {slice.initial(), {}}; }
  /// Loads what the round of `index` is given, where it `exists`.
  void load(mlir::OpBuilder &builder, mlir::Value index, mlir::Value exists, State &state);
  /// Maps the loads' results to what was loaded.
  mlir::IRMapping results(const State &state) const;

private:
  LoopSlice slice;
  llvm::SmallVector<tile::LoadOp, 2> loads;
};

} // namespace sectile::optimizer
