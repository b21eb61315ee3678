//===-- TensorCopies.h - loads that a copy engine can do --------------------------------------===//
// A load that says which block of an array it reads (tile::BlockAtOp) can be left to the copy
// engine, whatever layout its tile has, where
//
//   - the array begins at an argument of the kernel, at a multiple of 16 bytes, and its extents and
//     strides follow from the arguments by sums and products: the host makes its map at a launch;
//   - the kernel does not write to it, nor waits for others that may: the engine would not see that
//     (PipelineLoops asks LoopWrites of the whole kernel, which takes arguments to be apart);
//   - the buffer has the layout that the engine writes (layout::bufferOperandOf).
//
//   std::optional<ArrayBlock> block = tensorCopyOf(load, analysis, whyNot);
//   ...
//   Value map = tensorMapOf(*block, buffer);               // at the kernel's entry
//   startTensorCopy(builder, *block, map, slice.clone(...), buffer, stage, full, exists);
#pragma once

#include "lang/tile/TileDialect.h"
#include "optimizer/IndexAnalysis.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

#include <optional>
#include <string>

namespace sectile::optimizer {

/// The axis along which neighbours lie one element apart, the last where there are several; nullopt
/// where none is known to be.
std::optional<int> rowAxisOf(tile::BlockAtOp block);

/// What the engine is to copy for a load.
struct ArrayBlock {
  tile::BlockAtOp at;
  int rowAxis = 1;
  /// By dimension, whether an offset is known to fit 32 bits.
  llvm::SmallVector<bool, 2> isNarrow;
};

/// Nothing where the engine cannot do it; `whyNot` is then the reason, for a remark, and empty for
/// a load that is of no block.
std::optional<ArrayBlock> tensorCopyOf(tile::LoadOp load, const IndexAnalysis &analysis,
                                       std::string &whyNot);

/// Whether the engine writes stages of such a buffer, of rank 2 and with neighbours along
/// `rowAxis`.
bool isFilledByEngine(tile::BufferType buffer, int rowAxis);

/// Describes the array at the kernel's entry, in boxes for the buffer.
mlir::Value tensorMapOf(const ArrayBlock &block, tile::BufferType buffer);

/// Copies the block at the offsets that `there` has, if the iteration `exists`.
void startTensorCopy(mlir::OpBuilder &builder, const ArrayBlock &block, mlir::Value map,
                     const mlir::IRMapping &there, mlir::Value buffer, mlir::Value stage,
                     mlir::Value full, mlir::Value exists);

/// --drop-blocks: behind all passes that leave loads to the engine, the others are of pointers.
std::unique_ptr<mlir::Pass> createDropBlocks();

} // namespace sectile::optimizer
