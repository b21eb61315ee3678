// Eight tile registers of 16 rows of 64 bytes: four hold a block of the accumulator, two each the
// tiles of lhs and rhs that it is multiplied from. A tile of lhs is 16 rows of 16 words as they lie
// in memory; a tile of rhs 16 rows of a panel of packed words, a KiB of neighbours.
//
//            rhs    4     5
//            lhs  +-----+-----+
//             6   |  0  |  1  |    for k: load 6, 7, 4, 5; four products
//             7   |  2  |  3  |
//                 +-----+-----+
//
// Two by two tiles need four loads for four products; with fewer accumulators there are more loads
// than products. (Intel 64 and IA-32 Architectures Optimization Reference Manual, on AMX.)
#include "backends/cpu/DotTiles.h"

#include "backends/cpu/DotBlocks.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace sectile::cpu {
namespace {

using V = llvm::Value *;

constexpr int64_t kTileRows = 16, kTileWords = 16, kWordBytes = 4;
constexpr uint8_t kRhsTile = 4, kLhsTile = 6;
static_assert(kTileWords == kPanelColumns && kTileRows == kTileWords);

class TileDotEmitter {
public:
  TileDotEmitter(llvm::IRBuilderBase &b, const DotShape &shape, V lhs, V rhs, V acc)
      : b(b), shape(shape), lhs(lhs), rhs(rhs), acc(acc),
        lhsStride(shape.lhsStride ? shape.lhsStride : shape.depth),
        accStride(shape.accStride ? shape.accStride : shape.columns) {}

  void emit() {
    // A pair of rows of tiles stays in the first-level cache while all of rhs passes by.
    forEachPair(shape.rows / kTileRows, [&](V row, int64_t height) {
      forEachPair(shape.columns / kTileWords,
                  [&](V column, int64_t width) { emitBlock(row, column, height, width); });
    });
  }

private:
  llvm::IRBuilderBase &b;
  const DotShape &shape;
  V lhs, rhs, acc;
  int64_t lhsStride, accStride; // in words

  V index(int64_t value) { return b.getInt64(uint64_t(value)); }
  V wordAt(V base, V row, int64_t stride, V column) {
    return b.CreateGEP(b.getInt32Ty(), base, b.CreateAdd(b.CreateMul(row, index(stride)), column));
  }
  V at(V pointer, int64_t words) {
    return words ? b.CreateGEP(b.getInt32Ty(), pointer, index(words)) : pointer;
  }
  void call(llvm::Intrinsic::ID id, llvm::ArrayRef<V> arguments) {
    b.CreateIntrinsic(id, {}, arguments);
  }
  void load(int64_t tile, V from, int64_t stride) {
    call(llvm::Intrinsic::x86_tileloadd64,
         {b.getInt8(uint8_t(tile)), from, index(stride * kWordBytes)});
  }

  /// body(first row or column, tiles) for each pair of tiles, and for one alone where the number is
  /// odd.
  void forEachPair(int64_t tiles, llvm::function_ref<void(V, int64_t)> body) {
    emitCountedLoop(b, tiles / 2, "tiles",
                    [&](V pair) { body(b.CreateMul(pair, index(2 * kTileRows)), 2); });
    if (tiles % 2)
      body(index((tiles - 1) * kTileRows), 1);
  }

  /// Loads the tiles of the accumulator, or clears them where it has nothing in it yet.
  void loadAccumulators(int64_t height, int64_t width, llvm::function_ref<V(int64_t, int64_t)> at) {
    auto forEach = [&](llvm::function_ref<void(int64_t, int64_t)> body) {
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j)
          body(i, j);
    };
    auto loadAll = [&] {
      forEach([&](int64_t i, int64_t j) { load(2 * i + j, at(i, j), accStride); });
    };
    if (!shape.isFirst)
      return loadAll();
    llvm::Function *function = b.GetInsertBlock()->getParent();
    auto block = [&](const char *name) {
      return llvm::BasicBlock::Create(b.getContext(), name, function);
    };
    auto *clear = block("tiles.clear"), *fill = block("tiles.load"), *after = block("tiles.ready");
    b.CreateCondBr(shape.isFirst, clear, fill);
    b.SetInsertPoint(clear);
    forEach([&](int64_t i, int64_t j) {
      call(llvm::Intrinsic::x86_tilezero, {b.getInt8(uint8_t(2 * i + j))});
    });
    b.CreateBr(after);
    b.SetInsertPoint(fill);
    loadAll();
    b.CreateBr(after);
    b.SetInsertPoint(after);
  }

  void emitBlock(V row, V column, int64_t height, int64_t width) {
    V target = wordAt(acc, row, accStride, column);
    auto accTile = [&](int64_t i, int64_t j) {
      return at(target, i * kTileRows * accStride + j * kTileWords);
    };
    loadAccumulators(height, width, accTile);
    V left = wordAt(lhs, row, lhsStride, index(0)),
      panel = b.CreateGEP(b.getInt32Ty(), rhs, b.CreateMul(column, index(shape.depth)));
    auto forEachStep = [&](llvm::function_ref<void(V, V, V)> body) {
      auto steps = [&](V left, V panel) {
        emitCountedLoop(b, shape.depth / kTileWords, "tiles", [&](V k) { body(k, left, panel); });
      };
      if (!shape.rounds)
        return steps(left, panel);
      emitCountedLoop(b, shape.rounds, "rounds", [&](V round) {
        auto behind = [&](V pointer, int64_t words) {
          return b.CreateGEP(b.getInt32Ty(), pointer, b.CreateMul(round, index(words)));
        };
        steps(behind(left, shape.rows * lhsStride),
              behind(panel, packedWords(shape.columns, shape.depth)));
      });
    };
    forEachStep([&](V k, V left, V panel) {
      V leftNow = b.CreateGEP(b.getInt32Ty(), left, b.CreateMul(k, index(kTileWords)));
      V panelNow =
          b.CreateGEP(b.getInt32Ty(), panel, b.CreateMul(k, index(kTileRows * kPanelColumns)));
      for (int64_t i = 0; i < height; ++i)
        load(kLhsTile + i, at(leftNow, i * kTileRows * lhsStride), lhsStride);
      for (int64_t j = 0; j < width; ++j) {
        load(kRhsTile + j, at(panelNow, j * kPanelColumns * shape.depth), kPanelColumns);
        for (int64_t i = 0; i < height; ++i)
          call(shape.word == DotWord::Bf16Pair ? llvm::Intrinsic::x86_tdpbf16ps
                                               : llvm::Intrinsic::x86_tdpbssd,
               {b.getInt8(uint8_t(2 * i + j)), b.getInt8(uint8_t(kLhsTile + i)),
                b.getInt8(uint8_t(kRhsTile + j))});
      }
    });
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        call(llvm::Intrinsic::x86_tilestored64,
             {b.getInt8(uint8_t(2 * i + j)), accTile(i, j), index(accStride * kWordBytes)});
  }
};

} // namespace

void emitTileDot(llvm::IRBuilderBase &builder, const DotShape &shape, V lhs, V rhs, V acc) {
  TileDotEmitter(builder, shape, lhs, rhs, acc).emit();
}

bool usesTileRegisters(const HostFeatures &host, const DotShape &shape) {
  bool hasInstruction = shape.word == DotWord::Bf16Pair   ? host.amxBf16
                        : shape.word == DotWord::Int8Quad ? host.amxInt8
                                                          : false;
  return hasInstruction && shape.rows % kTileRows == 0 && shape.columns % kTileWords == 0 &&
         shape.depth % kTileWords == 0 && !shape.lhsRows;
}

void emitTileConfiguration(llvm::IRBuilderBase &builder) {
  // The 64 bytes that LDTILECFG reads: palette 1, then for each register bytes of a row and rows.
  uint8_t bytes[64] = {1};
  for (int tile = 0; tile < 8; ++tile) {
    bytes[16 + 2 * tile] = kTileWords * kWordBytes;
    bytes[48 + tile] = kTileRows;
  }
  llvm::Module &module = *builder.GetInsertBlock()->getModule();
  auto *constant = llvm::ConstantDataArray::get(builder.getContext(), llvm::ArrayRef(bytes));
  auto *global =
      new llvm::GlobalVariable(module, constant->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::InternalLinkage, constant, "tile.configuration");
  global->setAlignment(llvm::Align(64));
  builder.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {global});
}

void emitTileRelease(llvm::IRBuilderBase &builder) {
  builder.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, llvm::ArrayRef<llvm::Type *>(),
                          llvm::ArrayRef<V>());
}

} // namespace sectile::cpu
