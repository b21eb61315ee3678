//===-- IndexBits.h - linear functions of a thread's number, as instructions ------------------===//
// Layouts say what each *bit* of a lane or warp number contributes to a coordinate or an offset.
// Bits that move by the same distance go together:
//
//   bases {4, 8, 16, 1, 2} of a lane     ((lane << 2) & 28) ^ ((lane >> 3) & 3)
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace sectile::gpu {

/// The xor of bases[b] over the bits b set in `index` (i32); null when it is always zero.
llvm::Value *emitXorOfBases(llvm::IRBuilderBase &builder, llvm::Value *index,
                            llvm::ArrayRef<int64_t> bases);

/// a ^ b of values that may be null (zero).
llvm::Value *emitXor(llvm::IRBuilderBase &builder, llvm::Value *lhs, llvm::Value *rhs);

} // namespace sectile::gpu
