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
  emitCountedLoop(b, b.getInt64(uint64_t(count)), name, body);
}

void emitCountedLoop(llvm::IRBuilderBase &b, V count, llvm::StringRef name,
                     llvm::function_ref<void(V)> body) {
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
  b.CreateCondBr(b.CreateICmpULT(next, count), head, after);
  b.SetInsertPoint(after);
}

void emitShareOfPrefetches(llvm::IRBuilderBase &b, llvm::ArrayRef<DotPrefetch> prefetches, V number,
                           int64_t slotCount) {
  if (prefetches.empty())
    return;
  constexpr int64_t kLineBytes = 64;
  auto index = [&](int64_t value) { return b.getInt64(uint64_t(value)); };
  auto ceilDiv = [](int64_t x, int64_t y) { return (x + y - 1) / y; };
  auto linesOf = [](const DotPrefetch &rows) {
    return (rows.rowBytes + kLineBytes - 1) / kLineBytes;
  };
  int64_t lines = 0;
  for (const DotPrefetch &rows : prefetches)
    lines += rows.rows * linesOf(rows);
  // The parts of all rows, one operand behind the other. A part is as many lines of a row as a slot
  // has to ask for, or a whole row if that is less.
  struct Operand {
    const DotPrefetch &rows;
    int64_t parts, linesOfPart, first; // parts of a row, and those of the operands before
  };
  llvm::SmallVector<Operand, 2> operands;
  int64_t partCount = 0, mostLines = 0;
  for (const DotPrefetch &rows : prefetches) {
    int64_t linesOfPart = std::min(linesOf(rows), ceilDiv(lines, slotCount));
    operands.push_back({rows, ceilDiv(linesOf(rows), linesOfPart), linesOfPart, partCount});
    partCount += rows.rows * operands.back().parts;
    mostLines = std::max(mostLines, linesOfPart);
  }
  int64_t partsOfSlot = ceilDiv(partCount, slotCount);

  // There may be fewer parts than slots. Rows of the next round are asked for by the last slots, so
  // that they have little time to leave the cache again; rows of the next block, which is near, by
  // the first ones.
  const int64_t idleSlots =
      prefetches.front().isOfNextBlock ? 0 : slotCount - ceilDiv(partCount, partsOfSlot);
  V first = b.CreateMul(b.CreateSub(number, index(idleSlots)), index(partsOfSlot));
  llvm::Function *function = b.GetInsertBlock()->getParent();
  auto *fetch = llvm::BasicBlock::Create(b.getContext(), "fetch", function);
  auto *after = llvm::BasicBlock::Create(b.getContext(), "fetched", function);
  V asks = b.CreateICmpULT(first, index(partCount)); // before the first one it is below zero: huge
  if (V isUseful = prefetches.front().isUseful)
    asks = b.CreateAnd(asks, isUseful);
  b.CreateCondBr(asks, fetch, after);
  b.SetInsertPoint(fetch);
  for (int64_t i = 0; i < partsOfSlot; ++i) {
    V part = b.CreateAdd(first, index(i));
    if (partCount % partsOfSlot)
      part = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, part, index(partCount - 1));
    V row = nullptr, offset = nullptr, addresses = nullptr, distance = nullptr;
    for (const Operand &operand : operands) {
      V mine = b.CreateSub(part, index(operand.first));
      V rowHere = b.CreateUDiv(mine, index(operand.parts));
      V offsetHere = b.CreateMul(b.CreateURem(mine, index(operand.parts)),
                                 index(operand.linesOfPart * kLineBytes));
      V isHere = row ? b.CreateICmpUGE(part, index(operand.first)) : nullptr;
      auto choose = [&](V &chosen, V here) {
        chosen = isHere ? b.CreateSelect(isHere, here, chosen) : here;
      };
      choose(row, rowHere);
      choose(offset, offsetHere);
      choose(addresses, operand.rows.addresses);
      choose(distance, operand.rows.distance);
    }
    V start = b.CreateAlignedLoad(b.getPtrTy(), b.CreateGEP(b.getPtrTy(), addresses, row),
                                  llvm::Align(8));
    start = b.CreateGEP(b.getInt8Ty(), start, b.CreateAdd(distance, offset));
    constexpr int kRead = 0, kSecondCache = 2, kData = 1;
    for (int64_t line = 0; line < mostLines; ++line)
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                        {b.CreateConstGEP1_64(b.getInt8Ty(), start, uint64_t(line * kLineBytes)),
                         b.getInt32(kRead), b.getInt32(kSecondCache), b.getInt32(kData)});
  }
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

} // namespace sectile::cpu
