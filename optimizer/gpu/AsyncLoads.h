//===-- AsyncLoads.h - a load as an asynchronous copy to shared memory ------------------------===//
//   std::optional<AsyncLoad> ahead = asAsyncLoad(load, shape, analysis, whyNot);
//   allocateBuffer(*ahead, stages);
//   startCopy(builder, *ahead, slice.clone(...), stage, exists);     // of a later iteration
#pragma once

#include "optimizer/IndexAnalysis.h"
#include "optimizer/gpu/GpuShape.h"
#include "optimizer/gpu/TensorCopies.h"

#include "mlir/IR/IRMapping.h"

#include <optional>
#include <string>

namespace sectile::optimizer {

struct AsyncLoad {
  tile::LoadOp load;
  /// Each thread copies `width` neighbours along `axis` at a time.
  int axis = 0;
  int64_t width = 1;
  /// Its mask may be on for the first of them alone.
  bool isPartial = false;
  mlir::Value buffer = {};
  /// What the copy engine copies, if it does; `map` describes the array.
  std::optional<ArrayBlock> block = {};
  mlir::Value map = {};
  /// The engine is to see what the program has stored in front of the loop.
  bool isBehindStores = false;
  /// Threads take it from the stage, and no product or conversion alone.
  bool isBeside = false;
};

/// Nothing where the instruction cannot: it copies 4, 8 or 16 bytes, and zeros where it is masked
/// off. `whyNot` is then the reason, for a remark.
std::optional<AsyncLoad> asAsyncLoad(tile::LoadOp load, const GpuShape &shape,
                                     const IndexAnalysis &analysis, std::string &whyNot);

/// Stages of the tile's shape: as a product wants to read them (tile::ToBufferOp), else panels.
tile::BufferType bufferOf(const AsyncLoad &ahead, int64_t stages);

/// Allocates such stages. They are in use from the first copy to a wait for all copies behind the
/// loop, which is the caller's.
void allocateBuffer(AsyncLoad &ahead, int64_t stages);
/// Describes the array to the engine, which copies to the buffer.
void describeToEngine(AsyncLoad &ahead);

/// Copies what the load would read with the pointer and mask that `there` has, if the iteration
/// `exists` (null: it does). A commit is the caller's. Only of loads that threads copy.
void startCopy(mlir::OpBuilder &builder, const AsyncLoad &ahead, const mlir::IRMapping &there,
               mlir::Value stage, mlir::Value exists);

/// Emits the load, into registers, with the operands that `there` has for its own, where the
/// iteration `exists` (null: it does).
tile::LoadOp emitLoadAhead(mlir::OpBuilder &builder, tile::LoadOp load, mlir::IRMapping &there,
                           mlir::Value exists);

} // namespace sectile::optimizer
