// Narrow operands of products as words of 32 bits: which words a processor multiplies, and rows of
// rhs interleaved into them.
#include "backends/cpu/DotBlocks.h"

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

void packRows(llvm::IRBuilderBase &b, const HostFeatures &host, DotWord word, int64_t rows,
              int64_t columns, V from, int64_t fromStride, V to, int64_t toStride) {
  int64_t perWord = elementsIn(word), lanes = host.laneCount(32);
  unsigned bits = 32 / unsigned(perWord);
  auto *narrow = llvm::FixedVectorType::get(b.getIntNTy(bits), unsigned(lanes));
  auto *words = llvm::FixedVectorType::get(b.getInt32Ty(), unsigned(lanes));
  auto index = [&](int64_t value) { return b.getInt64(uint64_t(value)); };
  emitCountedLoop(b, rows / perWord, "pack", [&](V row) {
    V source =
        b.CreateGEP(narrow->getElementType(), from, b.CreateMul(row, index(perWord * fromStride)));
    V target = b.CreateGEP(b.getInt32Ty(), to, b.CreateMul(row, index(toStride)));
    emitCountedLoop(b, (columns + lanes - 1) / lanes, "pack.row", [&](V group) {
      V column = b.CreateMul(group, index(lanes));
      V packed = nullptr;
      for (int64_t part = 0; part < perWord; ++part) {
        V address = b.CreateGEP(narrow->getElementType(), source,
                                b.CreateAdd(column, index(part * fromStride)));
        V wide = b.CreateZExt(b.CreateAlignedLoad(narrow, address, llvm::Align(bits / 8)), words);
        wide = b.CreateShl(wide, uint64_t(part * bits));
        packed = packed ? b.CreateOr(packed, wide) : wide;
      }
      b.CreateAlignedStore(packed, b.CreateGEP(b.getInt32Ty(), target, column), llvm::Align(4));
    });
  });
}

} // namespace sectile::cpu
