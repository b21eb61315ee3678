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

#include <algorithm>

namespace sectile::cpu {
namespace {

using V = llvm::Value *;

constexpr int64_t kTileRows = 16, kTileWords = 16, kWordBytes = 4;
/// Of a first-level cache of 48 KiB, what rows of lhs may take beside a pair of panels.
constexpr int64_t kFirstCacheBytes = 24 << 10;
constexpr uint8_t kRhsTile = 4, kLhsTile = 6;
static_assert(kTileWords == kPanelColumns);

class TileDotEmitter {
public:
  TileDotEmitter(llvm::IRBuilderBase &b, const DotShape &shape, V lhs, V rhs, V acc)
      : b(b), shape(shape), lhs(lhs), rhs(rhs), acc(acc),
        lhsStride(shape.lhsStride ? shape.lhsStride : shape.depth),
        accStride(shape.accStride ? shape.accStride : shape.columns) {}

  void emit() {
    // Pairs of tiles, and one alone where the number is odd: as many blocks as pairs, rounded up.
    int64_t rowTiles = shape.rows / kTileRows, columnTiles = shape.columns / kTileWords;
    int64_t rowBlocks = (rowTiles + 1) / 2, columnBlocks = (columnTiles + 1) / 2;
    blockCount = rowBlocks * columnBlocks;
    // Rows of lhs that stay in the first-level cache while all of rhs passes by, a pair of panels
    // at a time: rhs comes from further away once for each of these groups, lhs once in all.
    int64_t pairBytes = 2 * kTileRows * shape.depth * kWordBytes;
    int64_t groupTiles =
        2 * std::clamp<int64_t>(kFirstCacheBytes / pairBytes, 1, std::max<int64_t>(rowBlocks, 1));
    forEachRun(rowTiles, groupTiles, [&](V group, int64_t tiles) {
      forEachRun(columnTiles, 2, [&](V columnBlock, int64_t width) {
        forEachRun(tiles, 2, [&](V blockInGroup, int64_t height) {
          V rowBlock = b.CreateAdd(b.CreateMul(group, index(groupTiles / 2)), blockInGroup);
          V before = b.CreateMul(group, index(groupTiles / 2 * columnBlocks));
          V number = b.CreateAdd(
              before, b.CreateAdd(b.CreateMul(columnBlock, index((tiles + 1) / 2)), blockInGroup));
          emitBlock(number, b.CreateMul(rowBlock, index(2 * kTileRows)),
                    b.CreateMul(columnBlock, index(2 * kTileWords)), height, width);
        });
      });
    });
  }

private:
  llvm::IRBuilderBase &b;
  const DotShape &shape;
  V lhs, rhs, acc;
  int64_t lhsStride, accStride; // in words
  int64_t blockCount = 0;

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

  void loop(int64_t count, llvm::function_ref<void(V)> body) {
    emitCountedLoop(b, count, "tiles", body);
  }

  /// body(number, tiles) for each run of `most` tiles, and for the shorter rest.
  void forEachRun(int64_t tiles, int64_t most, llvm::function_ref<void(V, int64_t)> body) {
    loop(tiles / most, [&](V run) { body(run, most); });
    if (tiles % most)
      body(index(tiles / most), tiles % most);
  }

  void emitBlock(V number, V row, V column, int64_t height, int64_t width) {
    V target = wordAt(acc, row, accStride, column);
    auto accTile = [&](int64_t i, int64_t j) {
      return at(target, i * kTileRows * accStride + j * kTileWords);
    };
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        load(2 * i + j, accTile(i, j), accStride);
    V left = wordAt(lhs, row, lhsStride, index(0)),
      panel = b.CreateGEP(b.getInt32Ty(), rhs, b.CreateMul(column, index(shape.depth)));
    int64_t steps = shape.depth / kTileWords;
    loop(steps, [&](V k) {
      emitShareOfPrefetches(b, shape.prefetches, b.CreateAdd(b.CreateMul(number, index(steps)), k),
                            blockCount * steps);
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
