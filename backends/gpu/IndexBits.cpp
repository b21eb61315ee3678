#include "backends/gpu/IndexBits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <map>

namespace sectile::gpu {

llvm::Value *emitXorOfBases(llvm::IRBuilderBase &builder, llvm::Value *index,
                            llvm::ArrayRef<int64_t> bases) {
  std::map<int, uint64_t> maskByShift; // of the index's bits
  for (auto [bit, basis] : llvm::enumerate(bases))
    for (uint64_t rest = basis; rest; rest &= rest - 1)
      maskByShift[llvm::countr_zero(rest) - int(bit)] |= uint64_t(1) << bit;
  llvm::Value *sum = nullptr;
  for (auto [shift, mask] : maskByShift) {
    llvm::Value *part = builder.CreateAnd(index, builder.getInt32(mask));
    if (shift > 0)
      part = builder.CreateShl(part, shift);
    else if (shift < 0)
      part = builder.CreateLShr(part, -shift);
    sum = emitXor(builder, sum, part);
  }
  return sum;
}

llvm::Value *emitXor(llvm::IRBuilderBase &builder, llvm::Value *lhs, llvm::Value *rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return builder.CreateXor(lhs, rhs);
}

} // namespace sectile::gpu
