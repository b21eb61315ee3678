#include "backends/cpu/DotBlocks.h"

#include <algorithm>

namespace sectile::cpu {

using V = llvm::Value *;

void emitCountedLoop(llvm::IRBuilderBase &b, int64_t count, llvm::StringRef name,
                     llvm::function_ref<void(V)> body) {
  if (count == 0)
    return;
  if (count == 1)
    return body(b.getInt64(0));
  llvm::BasicBlock *before = b.GetInsertBlock();
  llvm::Function *function = before->getParent();
  llvm::BasicBlock *head = llvm::BasicBlock::Create(b.getContext(), name, function);
  llvm::BasicBlock *after = llvm::BasicBlock::Create(b.getContext(), name + ".end", function);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode *i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(b.getInt64(0), before);
  body(i);
  V next = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(uint64_t(count))), head, after);
  b.SetInsertPoint(after);
}

void emitShareOfPrefetches(llvm::IRBuilderBase &b, llvm::ArrayRef<DotPrefetch> prefetches, V number,
                           int64_t blockCount) {
  constexpr int64_t kLineBytes = 64;
  auto index = [&](int64_t value) { return b.getInt64(uint64_t(value)); };
  for (const DotPrefetch &prefetch : prefetches) {
    // A row is divided among several blocks when there are more blocks than rows.
    int64_t lines = (prefetch.rowBytes + kLineBytes - 1) / kLineBytes;
    int64_t parts = std::clamp<int64_t>(blockCount / prefetch.rows, 1, lines);
    int64_t linesOfPart = (lines + parts - 1) / parts, units = prefetch.rows * parts;
    int64_t unitsOfBlock = (units + blockCount - 1) / blockCount;
    for (int64_t unit = 0; unit < unitsOfBlock; ++unit) {
      V mine = b.CreateBinaryIntrinsic(
          llvm::Intrinsic::umin, b.CreateAdd(b.CreateMul(number, index(unitsOfBlock)), index(unit)),
          index(units - 1));
      V row = parts == 1 ? mine : b.CreateUDiv(mine, index(parts));
      V first = b.CreateAlignedLoad(
          b.getPtrTy(), b.CreateGEP(b.getPtrTy(), prefetch.addresses, row), llvm::Align(8));
      first = b.CreateGEP(b.getInt8Ty(), first, prefetch.distance);
      if (parts > 1)
        first = b.CreateGEP(
            b.getInt8Ty(), first,
            b.CreateMul(b.CreateURem(mine, index(parts)), index(linesOfPart * kLineBytes)));
      constexpr int kRead = 0, kSecondCache = 2, kData = 1;
      for (int64_t line = 0; line < linesOfPart; ++line)
        b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                          {b.CreateConstGEP1_64(b.getInt8Ty(), first, uint64_t(line * kLineBytes)),
                           b.getInt32(kRead), b.getInt32(kSecondCache), b.getInt32(kData)});
    }
  }
}

} // namespace sectile::cpu
