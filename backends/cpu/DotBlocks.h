//===-- DotBlocks.h - loops over the blocks of a product, and what they fetch ahead -----------===//
// Internal to the matrix products (DotKernel.h), shared by products in vectors and in tile
// registers and by packing.
//
//   emitCountedLoop(builder, count, "rows", [&](llvm::Value *i) { ... });
//   emitShareOfPrefetches(builder, shape.prefetches, number, slotCount);   // in each slot
#pragma once

#include "backends/cpu/DotKernel.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace sectile::cpu {

/// for (i = 0; i < count; ++i) body(i), i an i64; no loop for a count of 0 or 1.
void emitCountedLoop(llvm::IRBuilderBase &builder, int64_t count, llvm::StringRef name,
                     llvm::function_ref<void(llvm::Value *)> body);
/// The same for a count (i64) that is known when it runs, and at least 1.
void emitCountedLoop(llvm::IRBuilderBase &builder, llvm::Value *count, llvm::StringRef name,
                     llvm::function_ref<void(llvm::Value *)> body);

/// Asks for the share of slot `number` (i64) of `slotCount` slots: pieces of a product that take
/// about the same time. Leaves the builder in a new block.
void emitShareOfPrefetches(llvm::IRBuilderBase &builder, llvm::ArrayRef<DotPrefetch> prefetches,
                           llvm::Value *number, int64_t slotCount);

} // namespace sectile::cpu
