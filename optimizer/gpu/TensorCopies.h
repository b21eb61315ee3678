//===-- TensorCopies.h - accesses that a copy engine can do -----------------------------------===//
// A load or a store that says which block of an array it accesses (tile::BlockAtOp) can be left to
// the copy engine, whatever layout its tile has, where
//
//   - the array begins at an argument of the kernel, at a multiple of 16 bytes, and its extents and
//     strides follow from the arguments by sums and products: the host makes its map at a launch;
//   - or its address is loaded, and all that the host would check is known: the program edits its
//     map itself (EditMaps.h);
//   - the buffer has the layout that the engine reads and writes (layout::bufferOperandOf).
//
// That no thread accesses what the engine does is for the passes to find out: PipelineLoops, whose
// copies read what the kernel does not write, and StageStores.
//
//   std::optional<ArrayBlock> block = arrayBlockOf(load.getBlock(), tile, analysis, whyNot);
//   ...
//   Value map = tensorMapOf(*block, buffer, loop);         // in front of the loop, or farther out
//   startTensorCopy(builder, *block, map, slice.clone(...), buffer, stage, full, number, exists);
#pragma once

#include "lang/tile/TileDialect.h"
#include "optimizer/IndexAnalysis.h"
#include "optimizer/gpu/GpuShape.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

#include <optional>
#include <string>

namespace sectile::optimizer {

/// The axis, of the block's last two, along which neighbours lie one element apart: 1 where both
/// are; nullopt where none is known to be.
std::optional<int> rowAxisOf(tile::BlockAtOp block);

/// What the engine is to access.
struct ArrayBlock {
  tile::BlockAtOp at;
  /// Of the tile, which has two axes: the array's last two dimensions.
  int rowAxis = 1;
  /// By dimension, whether an offset is known to fit 32 bits.
  llvm::SmallVector<bool, 5> isNarrow;
  /// Whether the program describes the array itself.
  bool isEdited = false;
  /// Whether the engine is to know of no element of a row behind its last whole 16 bytes.
  bool isCut = false;

  /// Returns how many dimensions the block has extent one along.
  int outerDimensions() const { return int(tile::BlockAtOp(at).getOffsets().size()) - 2; }
  /// Returns the array's dimensions in the order of its map, that of the rows last.
  llvm::SmallVector<int32_t, 5> dimensions() const;
};

/// What an access of a tile within `block`, null for one that names none, is to the engine. Nothing
/// where the engine cannot do it; `whyNot` is then the reason, for a remark, and empty for no
/// block. `planned` accesses are left to it already whose maps are not made yet.
std::optional<ArrayBlock> arrayBlockOf(mlir::Value block, mlir::Type tile,
                                       const IndexAnalysis &analysis, const GpuShape &shape,
                                       int64_t planned, std::string &whyNot);

/// Whether the engine reads and writes stages of such a buffer, of rank 2 and with neighbours along
/// `rowAxis`.
bool isOfEngine(tile::BufferType buffer, int rowAxis);

/// Returns the outermost loop around `user` in which the array is the same; null: there is none.
mlir::LoopLikeOpInterface loopOfArray(tile::BlockAtOp block, mlir::Operation *user);

/// Returns how many elements of a row lie in its whole pieces of 16 bytes, at the builder's place.
mlir::Value wholePieces(mlir::OpBuilder &builder, const ArrayBlock &block,
                        const mlir::IRMapping &there = {});

/// Whether the array is the same in all iterations of the loop.
bool isSameThroughout(tile::BlockAtOp block, mlir::LoopLikeOpInterface loop);

/// Whether a stride is known to be at least 1, or a descriptor promises it.
bool isPositiveStride(mlir::Value stride, const IndexAnalysis &analysis);

/// Describes the array, in boxes for the buffer: at the kernel's entry, or where the program edits
/// it, in front of `user` and of the loops around that in which it stays the same.
mlir::Value tensorMapOf(const ArrayBlock &block, tile::BufferType buffer, mlir::Operation *user);

/// Describes an array whose address is loaded at the builder's place, by what `there` has for it;
/// `turn` says how often that has been done (i32, null: it may have been at any time).
mlir::Value describeArray(mlir::OpBuilder &builder, const ArrayBlock &block,
                          tile::BufferType buffer, const mlir::IRMapping &there,
                          mlir::Value turn = {});

/// Copies the block at the offsets that `there` has, if the iteration `exists`. The memory barrier
/// of that number among `full` knows when it has arrived.
void startTensorCopy(mlir::OpBuilder &builder, const ArrayBlock &block, mlir::Value map,
                     const mlir::IRMapping &there, mlir::Value buffer, mlir::Value stage,
                     mlir::Value full, mlir::Value number, mlir::Value exists);

/// Copies a stage to the block, whose offsets `there` may have others for, or to the part of it
/// from `offset` along `axis` on.
void startTensorStore(mlir::OpBuilder &builder, const ArrayBlock &block, mlir::Value buffer,
                      mlir::Value stage, mlir::Value map, const mlir::IRMapping &there = {},
                      int axis = 0, int64_t offset = 0);

/// Makes an access one of pointers alone.
template <class Access>
void dropBlock(Access access) {
  if (mlir::Value block = access.getBlock()) {
    access.getBlockMutable().clear();
    if (block.use_empty())
      block.getDefiningOp()->erase();
  }
}

/// --drop-blocks: behind all passes that leave loads to the engine, the others are of pointers.
std::unique_ptr<mlir::Pass> createDropBlocks();

} // namespace sectile::optimizer
