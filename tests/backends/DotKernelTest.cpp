// Matrix products of every awkward extent against long double, with canaries around acc.
#include "backends/cpu/DotKernel.h"

#include "HostCode.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::testing;
using cpu::DotShape;

namespace {

struct Extents {
  int64_t m, n, k, lhsPad = 0, rhsPad = 0, accPad = 0;
  /// lhs is given by the addresses of its rows, which lie in another order.
  bool byAddress = false;
  /// What DotShape::isFirst is when the code runs; nothing: it has none.
  std::optional<bool> isFirst = {};
};

/// A condition that holds or not, and that no compiler knows: `pointer` is not null.
llvm::Value *conditionOf(llvm::IRBuilder<> &b, std::optional<bool> holds, llvm::Value *pointer) {
  if (!holds)
    return nullptr;
  return *holds ? b.CreateIsNotNull(pointer) : b.CreateIsNull(pointer);
}

std::unique_ptr<HostCode> compileDot(const cpu::HostFeatures &host, Element element,
                                     const Extents &e) {
  return std::make_unique<HostCode>(host, 4, [&](llvm::IRBuilder<> &b, llvm::Function &f) {
    DotShape shape{e.m, e.n, e.k, elementType(b.getContext(), element)};
    shape.lhsStride = e.k + e.lhsPad;
    shape.rhsStride = e.n + e.rhsPad;
    shape.accStride = e.n + e.accPad;
    shape.isFirst = conditionOf(b, e.isFirst, f.getArg(2));
    if (e.byAddress)
      shape.lhsRows = b.CreateIntToPtr(f.getArg(3), b.getPtrTy());
    cpu::emitDot(b, host, shape, e.byAddress ? nullptr : f.getArg(0), f.getArg(1), f.getArg(2));
    b.CreateRetVoid();
  });
}

/// Memory that ends where a page may not be touched.
class Guarded {
public:
  explicit Guarded(size_t bytes) : pages((bytes + 4095) / 4096 * 4096) {
    base = static_cast<char *>(
        mmap(nullptr, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + pages, 4096, PROT_NONE);
    begin = base + pages - bytes;
  }
  ~Guarded() { munmap(base, pages + 4096); }
  Guarded(const Guarded &) = delete;
  template <typename T>
  T *as() const {
    return reinterpret_cast<T *>(begin);
  }

private:
  size_t pages;
  char *base, *begin;
};

/// Where each of `rows` rows of a matrix lies in memory: as they come, or all in other places.
std::vector<int64_t> placesOf(int64_t rows, bool isMixed) {
  std::vector<int64_t> places(rows);
  for (int64_t i = 0; i < rows; ++i)
    places[i] = isMixed ? rows - 1 - i : i;
  if (isMixed && rows > 3)
    std::swap(places[1], places[rows / 2]);
  return places;
}

/// The addresses of these rows, as the fourth argument of the code.
template <typename T>
std::vector<const T *> addressesOf(const T *matrix, int64_t stride,
                                   const std::vector<int64_t> &places) {
  std::vector<const T *> addresses;
  for (int64_t place : places)
    addresses.push_back(matrix + place * stride);
  return addresses;
}

template <typename T>
void check(const cpu::HostFeatures &host, Element element, const Extents &e) {
  SCOPED_TRACE(levelName(host) + " " + std::to_string(e.m) + "x" + std::to_string(e.n) + "x" +
               std::to_string(e.k));
  auto code = compileDot(host, element, e);
  ASSERT_EQ(code->error(), "");
  int64_t lda = e.k + e.lhsPad, ldb = e.n + e.rhsPad, ldc = e.n + e.accPad;
  size_t lhsCount = (e.m - 1) * lda + e.k, rhsCount = (e.k - 1) * ldb + e.n;
  size_t accCount = (e.m - 1) * ldc + e.n;
  Guarded lhs(lhsCount * sizeof(T)), rhs(rhsCount * sizeof(T) + cpu::dotPaddingBytes(host));
  Guarded acc(accCount * sizeof(T));
  std::mt19937_64 random(1);
  auto draw = [&]() -> T {
    if constexpr (std::is_integral_v<T>)
      return T(random());
    else
      return std::uniform_real_distribution<T>(-1, 1)(random);
  };
  for (size_t i = 0; i < lhsCount; ++i)
    lhs.as<T>()[i] = draw();
  for (size_t i = 0; i < rhsCount; ++i)
    rhs.as<T>()[i] = draw();
  for (size_t i = 0; i < accCount; ++i)
    acc.as<T>()[i] = draw();
  std::vector<T> before(acc.as<T>(), acc.as<T>() + accCount);
  std::vector<int64_t> places = placesOf(e.m, e.byAddress);
  auto addresses = addressesOf(lhs.as<const T>(), lda, places);
  (*code)(lhs.as<T>(), rhs.as<T>(), acc.as<T>(),
          int64_t(reinterpret_cast<uintptr_t>(addresses.data())));
  for (int64_t i = 0; i < e.m; ++i)
    for (int64_t j = 0; j < ldc && i * ldc + j < int64_t(accCount); ++j) {
      T actual = acc.as<T>()[i * ldc + j], start = before[i * ldc + j];
      if (j >= e.n) {
        ASSERT_EQ(actual, start) << "between rows, at " << i << ", " << j;
        continue;
      }
      if (e.isFirst == true)
        start = 0;
      if constexpr (std::is_integral_v<T>) {
        std::make_unsigned_t<T> sum = start;
        for (int64_t k = 0; k < e.k; ++k)
          sum += std::make_unsigned_t<T>(lhs.as<T>()[places[i] * lda + k]) *
                 std::make_unsigned_t<T>(rhs.as<T>()[k * ldb + j]);
        ASSERT_EQ(actual, T(sum)) << "at " << i << ", " << j;
      } else {
        long double sum = start;
        for (int64_t k = 0; k < e.k; ++k)
          sum += (long double)lhs.as<T>()[places[i] * lda + k] * rhs.as<T>()[k * ldb + j];
        double bound = double(e.k + 1) * std::numeric_limits<T>::epsilon();
        ASSERT_NEAR(actual, double(sum), bound) << "at " << i << ", " << j;
      }
    }
}

const Extents extents[] = {
    {1, 1, 1},
    {1, 16, 1},
    {2, 3, 5},
    {6, 64, 64},
    {7, 65, 9},
    {13, 31, 33},
    {16, 16, 16},
    {33, 80, 17},
    {64, 64, 64},
    {5, 127, 4},
    {25, 100, 3},
    {3, 200, 8},
    {40, 48, 12},
    {17, 33, 129},
    {9, 24, 7, 3, 5, 2},
    {20, 70, 10, 1, 6, 9, true},
    {8, 16, 40, 0, 0, 0, true},
    {20, 70, 10, 1, 6, 9, true, true},
    {33, 80, 17, 0, 0, 3, false, true},
    {33, 80, 17, 0, 0, 3, false, false},
};

TEST(DotKernel, f32) {
  for (const cpu::HostFeatures &host : runnableLevels())
    for (const Extents &e : extents)
      check<float>(host, Element::F32, e);
}

TEST(DotKernel, f64_and_integers) {
  for (const cpu::HostFeatures &host : runnableLevels())
    for (const Extents &e :
         {extents[2], extents[4], extents[7], extents[13], extents[14], extents[15], extents[17]}) {
      check<double>(host, Element::F64, e);
      check<int32_t>(host, Element::I32, e);
      check<int64_t>(host, Element::I64, e);
    }
}

/// acc[m][n] += lhs[m][k] * rhs[k][n] for narrow operands: rhs is packed, then both are multiplied.
template <typename Narrow, typename Sum>
void checkWords(const cpu::HostFeatures &host, const Extents &e) {
  constexpr bool isBf16 = std::is_same_v<Narrow, uint16_t>;
  cpu::DotWord word = isBf16 ? cpu::DotWord::Bf16Pair : cpu::DotWord::Int8Quad;
  SCOPED_TRACE((host.amxBf16 ? "tiles " : "vectors ") + std::to_string(e.m) + "x" +
               std::to_string(e.n) + "x" + std::to_string(e.k));
  int64_t perWord = cpu::elementsIn(word), padded = (e.n + 15) / 16 * 16;
  bool usesTiles = false;
  HostCode code(host, 4, [&](llvm::IRBuilder<> &b, llvm::Function &f) {
    ASSERT_EQ(cpu::dotWordFor(host, isBf16 ? b.getBFloatTy() : (llvm::Type *)b.getInt8Ty(),
                              isBf16 ? b.getFloatTy() : (llvm::Type *)b.getInt32Ty(), e.k),
              word);
    DotShape shape{e.m, e.n, e.k / perWord, isBf16 ? b.getFloatTy() : (llvm::Type *)b.getInt32Ty()};
    shape.word = word;
    shape.lhsStride = (e.k + e.lhsPad) / perWord;
    shape.accStride = e.n + e.accPad;
    shape.isFirst = conditionOf(b, e.isFirst, f.getArg(2));
    if (e.byAddress)
      shape.lhsRows = f.getArg(0);
    usesTiles = cpu::usesTileRegisters(host, shape);
    if (usesTiles)
      cpu::emitTileConfiguration(b);
    llvm::Value *packed = b.CreateIntToPtr(f.getArg(3), b.getPtrTy());
    cpu::DotRows rows{e.k, e.n, f.getArg(1)};
    rows.stride = e.byAddress ? 0 : e.n;
    rows.asUnsigned = cpu::takesUnsigned(host, shape);
    cpu::packRows(b, host, word, rows, packed);
    cpu::emitDot(b, host, shape, f.getArg(0), packed, f.getArg(2));
    if (usesTiles)
      cpu::emitTileRelease(b);
    b.CreateRetVoid();
  });
  ASSERT_EQ(code.error(), "");
  EXPECT_EQ(usesTiles, host.amxBf16 && !e.byAddress && e.m % 16 == 0 && e.n % 16 == 0 &&
                           e.k / perWord % 16 == 0);
  // Small integers: products and sums are exact in f32, so that every order gives the same.
  std::mt19937_64 random(2);
  int64_t lda = e.k + e.lhsPad, ldc = e.n + e.accPad;
  auto draw = [&]() -> int { return isBf16 ? int(random() % 33) - 16 : int(random() % 256) - 128; };
  auto encode = [&](int number) -> Narrow {
    if constexpr (isBf16)
      return Narrow(std::bit_cast<uint32_t>(float(number)) >> 16);
    else
      return Narrow(number);
  };
  std::vector<int> left(e.m * lda), right(e.k * e.n);
  Guarded lhs(left.size() * sizeof(Narrow)), acc(((e.m - 1) * ldc + e.n) * sizeof(Sum));
  std::vector<Narrow> rhs(right.size() + 64);
  std::vector<uint32_t> packed(e.k / perWord * padded + 32);
  for (size_t i = 0; i < left.size(); ++i)
    lhs.as<Narrow>()[i] = encode(left[i] = draw());
  for (size_t i = 0; i < right.size(); ++i)
    rhs[i] = encode(right[i] = draw());
  size_t accCount = (e.m - 1) * ldc + e.n;
  std::vector<Sum> before(accCount);
  for (size_t i = 0; i < accCount; ++i)
    acc.as<Sum>()[i] = before[i] = Sum(draw());
  std::vector<int64_t> places = placesOf(e.m, e.byAddress);
  auto addresses = addressesOf(lhs.as<const Narrow>(), lda, places);
  std::vector<int64_t> rhsPlaces = placesOf(e.k, e.byAddress);
  auto rhsAddresses = addressesOf<Narrow>(rhs.data(), e.n, rhsPlaces);
  code(e.byAddress ? static_cast<const void *>(addresses.data()) : lhs.as<Narrow>(),
       e.byAddress ? static_cast<const void *>(rhsAddresses.data()) : rhs.data(), acc.as<Sum>(),
       int64_t(reinterpret_cast<uintptr_t>(packed.data())));
  for (int64_t i = 0; i < e.m; ++i)
    for (int64_t j = 0; j < ldc && i * ldc + j < int64_t(accCount); ++j) {
      int64_t sum = e.isFirst == true && j < e.n ? 0 : int64_t(before[i * ldc + j]);
      for (int64_t k = 0; j < e.n && k < e.k; ++k)
        sum += int64_t(left[places[i] * lda + k]) * right[rhsPlaces[k] * e.n + j];
      ASSERT_EQ(int64_t(acc.as<Sum>()[i * ldc + j]), sum) << "at " << i << ", " << j;
    }
}

const Extents wordExtents[] = {
    {1, 1, 4},
    {7, 65, 12},
    {16, 16, 32},
    {16, 16, 64},
    {33, 80, 16},
    {64, 64, 64},
    {48, 80, 128},
    {32, 48, 192},
    {17, 33, 128},
    {128, 16, 64},
    {13, 100, 20},
    {64, 256, 256},
    {1, 8, 64},
    {32, 32, 64, 8, 0, 7},
    {6, 64, 4, 4, 0, 1},
    {7, 65, 12, 3, 0, 0, true},
    {64, 64, 64, 64, 0, 0, true},
    {13, 100, 84, 5, 0, 2, true},
    {48, 80, 128, 0, 0, 7, false, true},
    {48, 80, 128, 0, 0, 7, false, false},
    {13, 100, 84, 5, 0, 2, true, true},
};

TEST(DotKernel, words_of_narrow_elements) {
  cpu::HostFeatures host = runnableLevels().back(), noTiles = host;
  noTiles.amxBf16 = noTiles.amxInt8 = false;
  if (!host.avx512Bf16 && !host.avx512Vnni)
    GTEST_SKIP() << "this processor multiplies no bf16 pairs and no i8 quads";
  for (const Extents &e : wordExtents)
    for (const cpu::HostFeatures &level : {noTiles, host}) {
      if (host.avx512Bf16)
        checkWords<uint16_t, float>(level, e);
      if (host.avx512Vnni)
        checkWords<int8_t, int32_t>(level, e);
    }
  if (!host.amxBf16)
    GTEST_SKIP() << "tile registers (AMX) were not tried: this processor has none";
}

// Emitted, not run: a processor with tile registers need not be at hand.
TEST(DotKernel, products_in_vectors_fetch_the_rows_that_they_are_given) {
  const auto vectors = cpu::HostFeatures::level(backends::ProcessorLevel::NarrowDots),
             tiles = cpu::HostFeatures::level(backends::ProcessorLevel::TileDots);
  for (const cpu::HostFeatures &host : {vectors, tiles}) {
    SCOPED_TRACE(host.amxBf16 ? "tiles" : "vectors");
    llvm::LLVMContext context;
    llvm::Module module("fetch", context);
    llvm::Type *pointer = llvm::PointerType::get(context, 0);
    auto *function =
        llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                                       {pointer, pointer, pointer, pointer}, false),
                               llvm::GlobalValue::ExternalLinkage, "f", module);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
    DotShape shape{32, 32, 16, b.getFloatTy()};
    shape.word = cpu::DotWord::Bf16Pair;
    shape.prefetches.push_back({function->getArg(3), b.getInt64(0), 8, 256});
    EXPECT_EQ(cpu::usesTileRegisters(host, shape), host.amxBf16);
    cpu::emitDot(b, host, shape, function->getArg(0), function->getArg(1), function->getArg(2));
    b.CreateRetVoid();
    int lines = 0;
    for (llvm::Instruction &instruction : llvm::instructions(*function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        lines += call->getIntrinsicID() == llvm::Intrinsic::prefetch;
    if (host.amxBf16)
      EXPECT_EQ(lines, 0);
    else
      EXPECT_GT(lines, 0);
  }
}

/// Replaces what asks for memory by code that notes in `notes` how often it ran, then each time
/// what `noted` says of the address: the address itself, for example (i64).
void noteInsteadOfFetching(
    llvm::Function &function, llvm::Value *notes,
    llvm::function_ref<llvm::Value *(llvm::IRBuilder<> &, llvm::Value *)> noted) {
  std::vector<llvm::IntrinsicInst *> fetches;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        call && call->getIntrinsicID() == llvm::Intrinsic::prefetch)
      fetches.push_back(call);
  for (llvm::IntrinsicInst *fetch : fetches) {
    llvm::IRBuilder<> b(fetch);
    llvm::Value *number = b.CreateAdd(b.CreateLoad(b.getInt64Ty(), notes), b.getInt64(1));
    b.CreateStore(number, notes);
    b.CreateStore(noted(b, fetch->getArgOperand(0)), b.CreateGEP(b.getInt64Ty(), notes, number));
    fetch->eraseFromParent();
  }
}

// Those behind the ones that are multiplied, and with the last block the first rows of the next
// round, where there is one. The array of addresses ends where memory does.
TEST(DotKernel, blocks_of_rows_fetch_the_next_ones) {
  constexpr int64_t kColumns = 64, kDepth = 40, kRowBytes = kDepth * 4, kDistance = 1 << 20;
  for (const cpu::HostFeatures &host : runnableLevels())
    for (int64_t rows : {5, 31, 64, 137, 144}) {
      SCOPED_TRACE(levelName(host) + ", " + std::to_string(rows) + " rows");
      HostCode code(host, 6, [&](llvm::IRBuilder<> &b, llvm::Function &f) {
        DotShape shape{rows, kColumns, kDepth, b.getFloatTy()};
        shape.lhsRows = f.getArg(0);
        llvm::Value *isUseful = b.CreateICmpNE(f.getArg(5), b.getInt64(0));
        shape.prefetches.push_back(
            {shape.lhsRows, b.getInt64(kDistance), rows, kRowBytes, isUseful, true});
        cpu::emitDot(b, host, shape, nullptr, f.getArg(1), f.getArg(2));
        b.CreateRetVoid();
        noteInsteadOfFetching(f, f.getArg(3), [](auto &, llvm::Value *address) { return address; });
      });
      ASSERT_EQ(code.error(), "");
      std::vector<float> lhs(rows * kDepth * 2, 1), rhs(kDepth * kColumns + 64, 1),
          acc(rows * kColumns, 0);
      Guarded addresses(rows * sizeof(float *));
      for (int64_t i = 0; i < rows; ++i)
        addresses.as<float *>()[i] = &lhs[(rows - 1 - i) * 2 * kDepth];
      for (int64_t isUseful : {0, 1}) {
        std::vector<int64_t> notes(1 << 14);
        code(addresses.as<float *>(), rhs.data(), acc.data(), notes.data(), nullptr, isUseful);
        const std::set<int64_t> asked(notes.begin() + 1, notes.begin() + 1 + notes[0]);
        int64_t rowsOfThis = 0, rowsOfNext = 0;
        for (int64_t i = 0; i < rows; ++i) {
          auto here = int64_t(reinterpret_cast<uintptr_t>(addresses.as<float *>()[i]));
          bool isHere = asked.contains(here), isThere = asked.contains(here + kDistance);
          rowsOfThis += isHere;
          rowsOfNext += isThere;
          for (int64_t line = 64; line < kRowBytes; line += 64) { // all lines of a row, or none
            EXPECT_EQ(asked.contains(here + line), isHere) << "row " << i;
            EXPECT_EQ(asked.contains(here + line + kDistance), isThere) << "row " << i;
          }
          // Of the next round the first rows, and these alone.
          if (isThere)
            EXPECT_EQ(rowsOfNext, i + 1);
        }
        // A first block of rows nobody asks for in this round; those of the next round are as many.
        const int64_t first = rows - rowsOfThis;
        EXPECT_GE(first, 1);
        EXPECT_LE(first, 12);
        EXPECT_EQ(rowsOfNext > 0, isUseful == 1);
        if (isUseful) {
          EXPECT_GE(rowsOfNext, first - 1); // the last block may be a row lower than the first
          EXPECT_LE(rowsOfNext, first);
        }
      }
    }
}

// What is asked for a whole round before it is read may have left the cache by then: the last
// register blocks ask for it.
TEST(DotKernel, rows_of_the_next_round_are_asked_for_late) {
  constexpr int64_t kRows = 144, kColumns = 64, kDepth = 40, kFetched = 8;
  for (const cpu::HostFeatures &host : runnableLevels()) {
    SCOPED_TRACE(levelName(host));
    HostCode code(host, 4, [&](llvm::IRBuilder<> &b, llvm::Function &f) {
      DotShape shape{kRows, kColumns, kDepth, b.getFloatTy()};
      llvm::Value *acc = f.getArg(2), *notes = b.CreateIntToPtr(f.getArg(3), b.getPtrTy());
      // An address is never followed: what stands there instead of the array of them does not
      // matter.
      shape.prefetches.push_back({f.getArg(1), b.getInt64(0), kFetched, 64});
      cpu::emitDot(b, host, shape, f.getArg(0), f.getArg(1), acc);
      b.CreateRetVoid();
      // The middle row's sums have been stored when most of the product is done.
      noteInsteadOfFetching(f, notes, [&](llvm::IRBuilder<> &b, llvm::Value *) {
        llvm::Value *middle = b.CreateConstGEP1_64(b.getFloatTy(), acc, kRows / 2 * kColumns);
        return b.CreateFPToSI(b.CreateLoad(b.getFloatTy(), middle), b.getInt64Ty());
      });
    });
    ASSERT_EQ(code.error(), "");
    std::vector<float> lhs(kRows * kDepth, 1), rhs(kDepth * kColumns + 64, 1),
        acc(kRows * kColumns, 0);
    std::vector<int64_t> notes(1 << 14);
    code(lhs.data(), rhs.data(), acc.data(), int64_t(reinterpret_cast<uintptr_t>(notes.data())));
    ASSERT_EQ(notes[0], kFetched);
    for (int64_t i = 1; i <= kFetched; ++i)
      EXPECT_EQ(notes[i], kDepth) << "fetch " << i;
  }
}

// A handful of loops, whatever the extents.
TEST(DotKernel, code_does_not_grow_with_extents) {
  cpu::HostFeatures host = runnableLevels().back();
  size_t small = compileDot(host, Element::F32, {50, 200, 64})->objectBytes();
  size_t large = compileDot(host, Element::F32, {500, 2000, 1030})->objectBytes();
  EXPECT_LT(large, 2 * small);
  EXPECT_LT(large, 60000u);
}

} // namespace
