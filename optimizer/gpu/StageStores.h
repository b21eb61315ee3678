//===-- StageStores.h - tiles that a copy engine brings to memory ------------------------------===//
// A store that says which block of an array it writes (tile::BlockAtOp), of a tile that threads
// would exchange through shared memory first, is left to the copy engine: threads store to a buffer
// what they have, and one of them starts the boxes. No thread computes addresses or masks.
//
//   %y = tile.convert_layout %x                  tile.buffer_store %x, %b[0]
//   tile.store %p, %y, %m within %block          tile.proxy_fence
//                                        ==>     tile.barrier shared
//                                                tile.tensor_store %b[0], %map[%i, %j]
//                                                ...
//                                                tile.tensor_store_wait
//
// The buffer is free again behind the wait, at the end of the store's block, so it may lie where
// stages of loops have been. In a loop each round waits for what the one before has written, as
// the engine keeps no order among stores, and the buffer has bytes of its own. Where these would
// leave room for fewer programs on a multiprocessor the tile goes in pieces that threads have in
// registers of their own, one after another through two stages, or one if there is no room for
// more. A stage is filled again when the engine has read what it had. (Of programs that multiply by
// turns pieces are half as large, and each tile is as many as that makes.)
//
//   %l, %r = halves of %x                        tile.buffer_store %l, %b[0]; ...
//                                        ==>     tile.tensor_store %b[0], %map[%i, %j]
//                                                tile.tensor_store_wait; tile.barrier shared
//                                                tile.buffer_store %r, %b[0]; ...
//                                                tile.tensor_store %b[0], %map[%i, %j + 64]
//
// Arrays whose addresses are loaded (EditMaps.h) may be stored so, too, in a loop that reads
// nothing but blocks of such arrays by the engine, and in which all are the same (ApartArrays.h).
// Their rows end anywhere, and the engine writes up to 16 bytes: what is behind their last whole 16
// bytes threads store.
//
// The engine writes some time after the program's own accesses. So a kernel that orders memory (by
// an atomic, a barrier, a volatile load), and arrays that it reads, or writes otherwise, keep to
// threads; arguments are taken to share no memory, which is recorded (LoopWrites.h).
#pragma once

#include "optimizer/gpu/GpuPass.h"
#include "optimizer/gpu/TensorCopies.h"

namespace sectile::optimizer {

/// Pieces of a tile are no smaller, unless the tile is.
inline constexpr int64_t kLeastPieceBytes = 16 << 10;

/// What the engine would store, of a store whose block it can write as far as the block itself
/// goes; `planned` and `whyNot` as in arrayBlockOf().
std::optional<ArrayBlock> storedBlockOf(tile::StoreOp store, const IndexAnalysis &analysis,
                                        const GpuShape &shape, int64_t planned,
                                        std::string &whyNot);

/// Returns the store for which threads exchange elements in `op`, if that is all that `op` is for.
tile::StoreOp storeBehind(mlir::Operation *op);

/// Returns the shared memory that the store takes at least if a program that takes turns leaves it
/// to the engine; nothing where it does not.
std::optional<int64_t> bytesInTurns(tile::StoreOp store, const IndexAnalysis &analysis,
                                    const GpuShape &shape);

/// --stage-stores=maps=0,shared=49152,overlap=false; behind it no store names a block.
std::unique_ptr<mlir::Pass> createStageStores(const GpuPipelineOptions &options = {},
                                              GpuAssumptions *assumed = nullptr);

} // namespace sectile::optimizer
