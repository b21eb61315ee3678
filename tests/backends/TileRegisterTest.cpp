// Kernels whose products run in tile registers (AMX), on processors that have none: the kernel is
// emitted for one that has, and calls of functions here, which do what the instructions do, take
// the place of the instructions before it is compiled for the processor at hand.
// (Intel Architecture Instruction Set Extensions Programming Reference, chapter 3.)
#include "HostKernelHarness.h"
#include "HostLibrary.h"
#include "TileText.h"
#include "backends/plain/ProcessorLevels.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/Support/SourceMgr.h"

#include <bit>
#include <random>

namespace sectile::testing {
namespace {

/// The tile registers of a thread, all of 16 rows of 64 bytes.
struct TileRegisters {
  uint8_t bytes[8][16][64];
  bool isConfigured = false;
  int loads = 0, clears = 0, products = 0;
};
thread_local TileRegisters tiles;

void configure(const uint8_t *text) {
  bool isWhole = text[0] == 1;
  for (int tile = 0; tile < 8; ++tile)
    isWhole &= text[16 + 2 * tile] == 64 && text[17 + 2 * tile] == 0 && text[48 + tile] == 16;
  EXPECT_TRUE(isWhole);
  tiles = {};
  tiles.isConfigured = true;
}
void release() {
  tiles.isConfigured = false;
}
void load(int64_t tile, const uint8_t *from, int64_t stride) {
  EXPECT_TRUE(tiles.isConfigured);
  for (int row = 0; row < 16; ++row)
    std::memcpy(tiles.bytes[tile][row], from + row * stride, 64);
  ++tiles.loads;
}
void store(int64_t tile, uint8_t *to, int64_t stride) {
  EXPECT_TRUE(tiles.isConfigured);
  for (int row = 0; row < 16; ++row)
    std::memcpy(to + row * stride, tiles.bytes[tile][row], 64);
}
void clear(int64_t tile) {
  EXPECT_TRUE(tiles.isConfigured);
  std::memset(tiles.bytes[tile], 0, sizeof tiles.bytes[tile]);
  ++tiles.clears;
}
/// acc[m][n] += the sum of the products of the elements of word k of lhs[m] and of word n of
/// rhs[k].
template <typename Sum, typename Element, typename Number>
void multiply(int64_t acc, int64_t lhs, int64_t rhs, Number number) {
  EXPECT_TRUE(tiles.isConfigured);
  constexpr int kElements = 4 / sizeof(Element);
  auto at = [](int64_t tile, int row, int place, auto example) {
    std::memcpy(&example, tiles.bytes[tile][row] + place * sizeof example, sizeof example);
    return example;
  };
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      Sum sum = at(acc, m, n, Sum{});
      for (int k = 0; k < 16; ++k)
        for (int e = 0; e < kElements; ++e)
          sum += number(at(lhs, m, kElements * k + e, Element{})) *
                 number(at(rhs, k, kElements * n + e, Element{}));
      std::memcpy(tiles.bytes[acc][m] + 4 * n, &sum, 4);
    }
  ++tiles.products;
}
void multiplyBf16(int64_t acc, int64_t lhs, int64_t rhs) {
  multiply<float, uint16_t>(
      acc, lhs, rhs, [](uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); });
}
void multiplyI8(int64_t acc, int64_t lhs, int64_t rhs) {
  multiply<int32_t, int8_t>(acc, lhs, rhs, [](int8_t number) { return int32_t(number); });
}

/// The function here that does what an instruction does; null for all others.
void *emulationOf(llvm::Intrinsic::ID id) {
  auto address = [](auto *function) { return reinterpret_cast<void *>(function); };
  switch (id) {
  case llvm::Intrinsic::x86_ldtilecfg:
    return address(configure);
  case llvm::Intrinsic::x86_tilerelease:
    return address(release);
  case llvm::Intrinsic::x86_tileloadd64:
    return address(load);
  case llvm::Intrinsic::x86_tilestored64:
    return address(store);
  case llvm::Intrinsic::x86_tilezero:
    return address(clear);
  case llvm::Intrinsic::x86_tdpbf16ps:
    return address(multiplyBf16);
  case llvm::Intrinsic::x86_tdpbssd:
    return address(multiplyI8);
  default:
    return nullptr;
  }
}

void emulateTiles(llvm::Module &module) {
  std::vector<llvm::IntrinsicInst *> calls;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && emulationOf(call->getIntrinsicID()))
        calls.push_back(call);
  for (llvm::IntrinsicInst *call : calls) {
    llvm::IRBuilder<> b(call);
    llvm::SmallVector<llvm::Value *> arguments;
    llvm::SmallVector<llvm::Type *> types;
    for (llvm::Value *argument : call->args()) {
      arguments.push_back(argument->getType()->isIntegerTy()
                              ? b.CreateZExtOrTrunc(argument, b.getInt64Ty())
                              : argument);
      types.push_back(arguments.back()->getType());
    }
    auto address = reinterpret_cast<uint64_t>(emulationOf(call->getIntrinsicID()));
    b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), types, false),
                 b.CreateIntToPtr(b.getInt64(address), b.getPtrTy()), arguments);
    call->eraseFromParent();
  }
}

/// out = init + the sum over rounds [low, high) of a[round] @ b[round].
std::string sumOfProducts(int64_t m, int64_t n, int64_t k, bool isBf16, bool fromZero,
                          const std::string &step) {
  const std::string element = isBf16 ? "bf16" : "i8", sum = isBf16 ? "f32" : "i32";
  const std::string acc = tileType({m, n}, sum);
  auto move = [&](const std::string &array, int64_t elements) {
    return "%o" + array + " = arith.constant " + std::to_string(elements) + " : i32\n%m" + array +
           " = arith.muli %i, %o" + array + " : i32\n%" + array + "i = tile.ptr_add %" + array +
           ", %m" + array + " : !tile.ptr<" + element + ">, i32\n";
  };
  std::string value = fromZero ? "0" : "3";
  return kernelText(
      pointer("pa", element) + ", " + pointer("pb", element) + ", " + pointer("out", sum) +
          ", %low : i32, %high : i32",
      "%init = arith.constant dense<" + value + (isBf16 ? ".0" : "") + "> : " + acc +
          "\n%step = arith.constant " + step +
          " : i32\n%r = scf.for %i = %low to %high step %step iter_args(%acc = %init) -> (" + acc +
          ") : i32 {\n" + move("pa", m * k) + move("pb", k * n) +
          loadTile("a", "pai", {m, k}, element) + loadTile("b", "pbi", {k, n}, element) +
          "%next = tile.dot %a, %b, %acc : " + tileType({m, k}, element) + " * " +
          tileType({k, n}, element) + " -> " + acc + "\nscf.yield %next : " + acc + "\n}\n" +
          storeTile("r", "out", {m, n}, sum));
}

using Kernel = cpu::HostKernel;

/// The same kernel for processors with tile registers, emulated.
std::unique_ptr<HostLibrary> emulated(const std::string &text, uint64_t &scratchBytes) {
  backends::CompileOptions options;
  options.arch = std::string(backends::kProcessorLevels[int(backends::ProcessorLevel::TileDots)]);
  std::string code;
  HostKernelUnderTest compiled(text, options,
                               [&](llvm::StringRef stage, llvm::function_ref<std::string()> seen) {
                                 if (stage == "llvm")
                                   code = seen();
                               });
  EXPECT_NE(code, "") << compiled.diagnostics() << text;
  scratchBytes = compiled.image.scratchBytes;
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(code, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  emulateTiles(*module);
  for (llvm::Function &function : *module)
    if (!function.isDeclaration() && function.hasExternalLinkage())
      function.setName(cpu::kEntryPoint);
  return std::make_unique<HostLibrary>(
      *module, *hostMachine(cpu::HostFeatures::detect()),
      "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)");
}

struct Case {
  int64_t m, n, k; // elements
  int32_t low, high, step;
  bool fromZero;
};

template <typename Element, typename Sum>
void check(const Case &c) {
  constexpr bool isBf16 = sizeof(Element) == 2;
  const int64_t words = c.k / (isBf16 ? 2 : 4);
  SCOPED_TRACE((isBf16 ? "bf16 " : "i8 ") + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
               std::to_string(c.k) + ", rounds " + std::to_string(c.low) + " to " +
               std::to_string(c.high) + " by " + std::to_string(c.step) +
               (c.fromZero ? "" : ", not from zero"));
  uint64_t scratchBytes = 0;
  auto library = emulated(sumOfProducts(c.m, c.n, c.k, isBf16, c.fromZero, std::to_string(c.step)),
                          scratchBytes);
  ASSERT_EQ(library->error, "");
  const int64_t rounds = std::max(c.high, 1);
  std::vector<int> left(rounds * c.m * c.k), right(rounds * c.k * c.n);
  std::vector<Element> a, b;
  std::mt19937_64 random(7);
  auto encode = [](int number) {
    if constexpr (isBf16)
      return Element(std::bit_cast<uint32_t>(float(number)) >> 16);
    else
      return Element(number);
  };
  for (auto [numbers, elements] : {std::pair(&left, &a), std::pair(&right, &b)})
    for (int &number : *numbers)
      elements->push_back(encode(number = int(random() % 33) - 16));
  std::vector<Sum> out(c.m * c.n, Sum(77));

  uint64_t slots[] = {reinterpret_cast<uint64_t>(a.data()), reinterpret_cast<uint64_t>(b.data()),
                      reinterpret_cast<uint64_t>(out.data()), uint32_t(c.low), uint32_t(c.high)};
  std::vector<uint8_t> scratch(scratchBytes + 64, 0xcb);
  static constexpr uint32_t kNoAttention = 0;
  cpu::HostCall call{};
  call.attention = &kNoAttention;
  call.arguments = slots;
  call.gridX = call.gridY = call.gridZ = 1;
  call.scratch =
      reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~63ull);
  ASSERT_EQ(reinterpret_cast<Kernel>(library->entry)(&call, 0, 1), 0);

  int executed = 0;
  std::vector<int64_t> sums(c.m * c.n, c.fromZero ? 0 : 3);
  for (int round = c.low; round < c.high; round += c.step, ++executed)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j)
        for (int64_t k = 0; k < c.k; ++k)
          sums[i * c.n + j] +=
              left[(round * c.m + i) * c.k + k] * right[(round * c.k + k) * c.n + j];
  for (int64_t i = 0; i < c.m * c.n; ++i)
    ASSERT_EQ(int64_t(out[i]), sums[i]) << "at " << i / c.n << ", " << i % c.n;

  // What ran: each tile of the accumulator is read, or cleared, once for up to 128 words of K.
  const int accTiles = int(c.m / 16 * (c.n / 16)), most = int(std::max<int64_t>(128 / words, 1));
  const int passes = (executed + most - 1) / most;
  EXPECT_EQ(tiles.products, executed * accTiles * words / 16);
  EXPECT_EQ(tiles.clears, c.fromZero && executed ? accTiles : 0);
  const int pairs = int(((c.m / 16 + 1) / 2) * (c.n / 16) + (c.m / 16) * ((c.n / 16 + 1) / 2));
  EXPECT_EQ(tiles.loads, passes * accTiles - tiles.clears + executed * pairs * words / 16);
  EXPECT_FALSE(tiles.isConfigured) << "released";
}

TEST(TileRegisters, sums_of_products_in_loops) {
  if (!cpu::HostFeatures::detect().avx512)
    GTEST_SKIP() << "vectors of such kernels are those of AVX-512, which this processor lacks";
  for (const Case &c : {Case{32, 32, 64, 0, 1, 1, true}, Case{32, 32, 64, 0, 9, 1, true},
                        Case{48, 16, 64, 2, 17, 1, true}, Case{32, 80, 128, 0, 5, 1, false},
                        Case{16, 48, 64, 0, 11, 3, false}, Case{32, 32, 64, 5, 5, 1, true},
                        Case{32, 32, 64, 7, 2, 1, false}, Case{16, 16, 512, 0, 3, 1, true},
                        Case{64, 32, 64, 0, 8, 2, true}}) {
    tiles = {};
    check<uint16_t, float>(c);
    tiles = {};
    check<int8_t, int32_t>(c);
  }
}

} // namespace
} // namespace sectile::testing
