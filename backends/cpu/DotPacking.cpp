// Narrow operands of products as words of 32 bits: which words a processor multiplies, and rows of
// rhs interleaved into them.
#include "backends/cpu/DotBlocks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"

namespace sectile::cpu {

using V = llvm::Value *;

DotWord dotWordFor(const HostFeatures &host, llvm::Type *narrow, llvm::Type *acc, int64_t depth) {
  DotWord word = narrow->isBFloatTy() && acc->isFloatTy()         ? DotWord::Bf16Pair
                 : narrow->isIntegerTy(8) && acc->isIntegerTy(32) ? DotWord::Int8Quad
                                                                  : DotWord::Element;
  bool has = word == DotWord::Bf16Pair ? host.avx512Bf16 : host.avx512Vnni;
  return word != DotWord::Element && has && depth % elementsIn(word) == 0 ? word : DotWord::Element;
}

void packRows(llvm::IRBuilderBase &b, const HostFeatures &host, DotWord word, const DotRows &rows,
              V to) {
  assert(host.laneCount(32) == kPanelColumns);
  int64_t perWord = elementsIn(word), depth = rows.rows / perWord;
  unsigned bits = 32 / unsigned(perWord);
  auto *narrow = llvm::FixedVectorType::get(b.getIntNTy(bits), unsigned(kPanelColumns));
  auto *words = llvm::FixedVectorType::get(b.getInt32Ty(), unsigned(kPanelColumns));
  auto index = [&](int64_t value) { return b.getInt64(uint64_t(value)); };
  auto rowAt = [&](V row) -> V {
    if (rows.stride)
      return b.CreateGEP(narrow->getElementType(), rows.from, b.CreateMul(row, index(rows.stride)));
    return b.CreateAlignedLoad(b.getPtrTy(), b.CreateGEP(b.getPtrTy(), rows.from, row),
                               llvm::Align(8));
  };
  auto packOne = [&](V row, llvm::ArrayRef<V> parts, V panel) {
    V packed = nullptr;
    for (auto [part, start] : llvm::enumerate(parts)) {
      V address =
          b.CreateGEP(narrow->getElementType(), start, b.CreateMul(panel, index(kPanelColumns)));
      V wide = b.CreateZExt(b.CreateAlignedLoad(narrow, address, llvm::Align(bits / 8)), words);
      wide = b.CreateShl(wide, uint64_t(part * bits));
      packed = packed ? b.CreateOr(packed, wide) : wide;
    }
    if (rows.asUnsigned)
      packed = b.CreateXor(packed, llvm::ConstantInt::get(words, 0x80808080));
    V target =
        b.CreateMul(b.CreateAdd(b.CreateMul(panel, index(depth)), row), index(kPanelColumns));
    b.CreateAlignedStore(packed, b.CreateGEP(b.getInt32Ty(), to, target), llvm::Align(4));
  };
  // As many panels at a time as the elements of a cache line belong to: a line is read once, and
  // each panel is written from its beginning to its end.
  int64_t panels = (rows.columns + kPanelColumns - 1) / kPanelColumns, inLine = perWord;
  auto packPanels = [&](V first, int64_t count) {
    emitCountedLoop(b, depth, "pack.row", [&](V row) {
      llvm::SmallVector<V> parts;
      for (int64_t part = 0; part < perWord; ++part)
        parts.push_back(rowAt(b.CreateAdd(b.CreateMul(row, index(perWord)), index(part))));
      for (int64_t panel = 0; panel < count; ++panel)
        packOne(row, parts, b.CreateAdd(first, index(panel)));
    });
  };
  emitCountedLoop(b, panels / inLine, "pack",
                  [&](V line) { packPanels(b.CreateMul(line, index(inLine)), inLine); });
  if (panels % inLine)
    packPanels(index(panels / inLine * inLine), panels % inLine);
}

} // namespace sectile::cpu
