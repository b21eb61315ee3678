// Maps of arrays that programs make themselves: grouped products, whose arrays' addresses and
// extents are loaded, give what doubles give, whenever copies land, also where one product reads
// what the one before has stored. Each order that must be kept is broken once, instruction by
// instruction, and the simulated GPU says so.
#include "SimulatedGpu.h"
#include "TensorCode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

/// Products c = a b^T of a list, by programs that share the tiles of each. `lists` has the
/// addresses of a, b and c, and `sizes` m, n, k and the rows' distances of each product. Of c the
/// engine is to know enough to store it where `isStored`.
std::string groupedText(bool isStored = false, bool isOrdered = false) {
  std::string text = R"(
func.func @k(%lists: !tile.ptr<i64>, %sizes: !tile.ptr<i32>, %count: i32, %x: !tile.ptr<f16>)
    attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %unit = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %six = arith.constant 6 : i32
  %step = arith.constant 64 : i32
  %less = arith.constant 63 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program_id 0
  %programs = tile.num_programs 0
  scf.for %g = %zero to %count step %unit : i32 {
    %at = arith.muli %g, %three : i32
    %list = tile.ptr_add %lists, %at : !tile.ptr<i64>, i32
    %list1 = tile.ptr_add %list, %unit : !tile.ptr<i64>, i32
    %list2 = tile.ptr_add %list1, %unit : !tile.ptr<i64>, i32
    %a0 = tile.load %list : !tile.ptr<i64>
    %b0 = tile.load %list1 : !tile.ptr<i64>
    %c0 = tile.load %list2 : !tile.ptr<i64>
    %a1 = tile.int_to_ptr %a0 : i64 -> !tile.ptr<f16>
    %b1 = tile.int_to_ptr %b0 : i64 -> !tile.ptr<f16>
    %c1 = tile.int_to_ptr %c0 : i64 -> !tile.ptr<f16>
    %c = tile.hint %c1 {divisibility = array<i64: C_BYTES>} : !tile.ptr<f16>
    %a = tile.hint %a1 {divisibility = array<i64: 16>} : !tile.ptr<f16>
    %b = tile.hint %b1 {divisibility = array<i64: 16>} : !tile.ptr<f16>
    %of = arith.muli %g, %six : i32
    %size = tile.ptr_add %sizes, %of : !tile.ptr<i32>, i32
    %size1 = tile.ptr_add %size, %unit : !tile.ptr<i32>, i32
    %size2 = tile.ptr_add %size1, %unit : !tile.ptr<i32>, i32
    %size3 = tile.ptr_add %size2, %unit : !tile.ptr<i32>, i32
    %size4 = tile.ptr_add %size3, %unit : !tile.ptr<i32>, i32
    %size5 = tile.ptr_add %size4, %unit : !tile.ptr<i32>, i32
    %m = tile.load %size : !tile.ptr<i32>
    %n = tile.load %size1 : !tile.ptr<i32>
    %k = tile.load %size2 : !tile.ptr<i32>
    %ra = tile.load %size3 : !tile.ptr<i32>
    %rb = tile.load %size4 : !tile.ptr<i32>
    %rc = tile.load %size5 : !tile.ptr<i32>
    %m64 = arith.extsi %m : i32 to i64
    %n64 = arith.extsi %n : i32 to i64
    %k64 = arith.extsi %k : i32 to i64
    %ra0 = arith.extsi %ra : i32 to i64
    %rb0 = arith.extsi %rb : i32 to i64
    %rc0 = arith.extsi %rc : i32 to i64
    %rc64 = tile.hint %rc0 {described, divisibility = array<i64: 8>} : i64
    %ra64 = tile.hint %ra0 {described, divisibility = array<i64: 8>} : i64
    %rb64 = tile.hint %rb0 {described, divisibility = array<i64: 8>} : i64
    %more = arith.addi %n, %less : i32
    %across = arith.divsi %more, %step : i32
    %more2 = arith.addi %m, %less : i32
    %down = arith.divsi %more2, %step : i32
    %tiles = arith.muli %across, %down : i32
    scf.for %tile = %p to %tiles step %programs : i32 {
      %row = arith.divsi %tile, %across : i32
      %column = arith.remsi %tile, %across : i32
      %i0 = arith.muli %row, %step : i32
      %j0 = arith.muli %column, %step : i32
      %i = arith.extsi %i0 : i32 to i64
      %j = arith.extsi %j0 : i32 to i64
      %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
        %d64 = arith.extsi %d : i32 to i64
        %l = tile.block_load %a[%i, %d64] of [%m64, %k64] by [%ra64, %one] checked = [true, true]
           : !tile.ptr<f16> -> tensor<64x64xf16>
        %r = tile.block_load %b[%j, %d64] of [%n64, %k64] by [%rb64, %one] checked = [true, true]
           : !tile.ptr<f16> -> tensor<64x64xf16>
        %t = tile.transpose %r [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
        %next = tile.dot %l, %t, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      %z = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
      tile.block_store %z, %c[%i, %j] of [%m64, %n64] by [%rc64, %one] checked = [true, true]
         : tensor<64x64xf16>, !tile.ptr<f16>
    }
)";
  const std::string word = "C_BYTES";
  text.replace(text.find(word), word.size(), isStored ? "16" : "2");
  return text + (isOrdered ? "    tile.barrier\n" : "") + "  }\n  return\n}\n";
}

struct Matrix {
  int64_t rows, columns, apart; // elements from row to row, a multiple of 8
  std::vector<_Float16> content;
  Matrix(int64_t rows, int64_t columns, int seed = 0)
      : rows(rows), columns(columns), apart((columns + 7) / 8 * 8 + 8),
        content(size_t(std::max<int64_t>(rows, 1) * apart), _Float16(NAN)) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        at(i, j) =
            seed ? _Float16(
                       float(int((uint64_t(i * columns + j) * 2654435761u + uint64_t(seed)) >> 18) %
                                 5 -
                             2) /
                       4)
                 : _Float16(0);
  }
  const _Float16 &at(int64_t i, int64_t j) const { return content[size_t(i * apart + j)]; }
  _Float16 &at(int64_t i, int64_t j) { return content[size_t(i * apart + j)]; }
};

/// The arrays of a launch. They lie in one, so that the simulated GPU knows them; each begins at a
/// multiple of 16 bytes.
struct Group {
  struct Extents {
    int64_t m, n, k;
  };
  std::vector<Extents> products;
  bool isChained = false; // a of each product is c of the one before

  /// Runs `programs` programs, and returns what is wrong with the run or its results.
  std::string outcome(SimulatedKernel &kernel, int32_t programs) const {
    if (!kernel.compiled())
      return kernel.diagnostics();
    std::vector<Matrix> arrays; // three for each product
    std::vector<size_t> begins;
    size_t total = 0;
    for (auto [number, size] : llvm::enumerate(products)) {
      const int seed = int(number) * 7 + 1;
      for (const Matrix &matrix : {Matrix(size.m, size.k, seed), Matrix(size.n, size.k, seed + 1),
                                   Matrix(size.m, size.n)}) {
        arrays.push_back(matrix);
        begins.push_back(total);
        total += (matrix.content.size() + 7) / 8 * 8;
      }
    }
    std::vector<_Float16> memory(total + 8);
    while (reinterpret_cast<uint64_t>(memory.data()) % 16)
      return "the test's memory is not aligned";
    std::vector<int64_t> lists;
    std::vector<int32_t> sizes;
    for (size_t number = 0; number < arrays.size(); ++number) {
      std::copy(arrays[number].content.begin(), arrays[number].content.end(),
                memory.begin() + ptrdiff_t(begins[number]));
      lists.push_back(int64_t(reinterpret_cast<uint64_t>(memory.data() + begins[number])));
    }
    for (size_t number = 0; number < products.size(); ++number) {
      const size_t a = isChained && number ? 3 * number - 1 : 3 * number;
      lists[3 * number] = lists[a];
      for (int64_t each :
           {products[number].m, products[number].n, products[number].k, arrays[a].apart,
            arrays[3 * number + 1].apart, arrays[3 * number + 2].apart})
        sizes.push_back(int32_t(each));
    }
    std::vector<HostArgument> arguments{argument(lists), argument(sizes),
                                        argument(int32_t(products.size())), argument(memory)};
    SimulatedReport report = kernel.run({programs}, arguments);
    if (!report.problem.empty())
      return report.problem;
    for (size_t number = 0; number < products.size(); ++number) {
      const auto [m, n, k] = products[number];
      Matrix &a = arrays[isChained && number ? 3 * number - 1 : 3 * number],
             &b = arrays[3 * number + 1], &c = arrays[3 * number + 2];
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < c.apart; ++j) {
          double sum = 0;
          for (int64_t d = 0; d < k && j < n; ++d)
            sum += double(a.at(i, d)) * double(b.at(j, d));
          const _Float16 wanted = j < n ? _Float16(sum) : c.at(i, j),
                         found = memory[begins[3 * number + 2] + size_t(i * c.apart + j)];
          if (j < n ? std::abs(double(found) - sum) > 0.002 * (1 + std::abs(sum))
                    : !std::isnan(double(found)))
            return "product " + std::to_string(number) + " is wrong at " + std::to_string(i) +
                   ", " + std::to_string(j) + ": " + std::to_string(double(found)) + " for " +
                   std::to_string(double(wanted));
          if (j < n)
            c.at(i, j) = found;
        }
    }
    return "";
  }
};

/// What starts the copies, and edits the maps that they go by.
enum class Copies { ByProgram, ByProducer, InTurns };

SimulatedOptions optionsWith(Copies copies, uint64_t seed = 1, unsigned stages = 3) {
  SimulatedOptions options = hopperOptions();
  options.seed = seed;
  options.stages = stages;
  options.abilities.producers = copies != Copies::ByProgram;
  options.abilities.turns = copies == Copies::InTurns;
  if (copies == Copies::ByProducer) // room for one program
    options.maxSharedBytes = (16 * (int64_t(stages) + 1) + 13) << 10;
  return options;
}

/// Results are stored by threads or by the engine.
class GpuEditedMaps : public ::testing::TestWithParam<std::tuple<bool, Copies>> {
protected:
  static Copies copies() { return std::get<Copies>(GetParam()); }
  static SimulatedOptions optionsOf(uint64_t seed, unsigned stages = 3) {
    return optionsWith(copies(), seed, stages);
  }
  static bool isStored() { return std::get<bool>(GetParam()); }
  static void checkCopies(const SimulatedKernel &kernel, unsigned stages = 3) {
    // Too few stages for two teams, and room for more programs than one.
    const bool areFew = copies() == Copies::InTurns && stages < 3;
    EXPECT_EQ(kernel.tileText.find("tile.producer") != std::string::npos,
              copies() != Copies::ByProgram && !areFew);
    EXPECT_EQ(kernel.tileText.find("tile.team_id") != std::string::npos,
              copies() == Copies::InTurns && !areFew);
  }
  static auto wantsStores() {
    return ::testing::Conditional(isStored(), HasSubstr("tile.tensor_store "),
                                  Not(HasSubstr("tile.tensor_store ")));
  }
};
std::string nameOf(const ::testing::TestParamInfo<std::tuple<bool, Copies>> &test) {
  const char *names[] = {"by_program", "by_producer", "in_turns"};
  return std::string(std::get<bool>(test.param) ? "by_engine_" : "by_threads_") +
         names[int(std::get<Copies>(test.param))];
}
INSTANTIATE_TEST_SUITE_P(Stores, GpuEditedMaps,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Copies::ByProgram, Copies::ByProducer,
                                                              Copies::InTurns)),
                         nameOf);

TEST_P(GpuEditedMaps, products_of_a_list_whenever_copies_land) {
  const Group group{
      {{64, 64, 64}, {130, 61, 201}, {1, 1, 1}, {64, 128, 0}, {0, 64, 64}, {200, 72, 136}}};
  for (uint64_t seed = 1; seed <= 3; ++seed)
    for (unsigned stages : {2, 3, 4}) {
      SimulatedKernel kernel(groupedText(isStored()), optionsOf(seed, stages));
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_THAT(kernel.tileText, HasSubstr("tile.edited_map"));
      EXPECT_THAT(kernel.tileText, HasSubstr("tile.map_memory_end"));
      EXPECT_THAT(kernel.tileText, Not(HasSubstr("tile.async_copy")));
      EXPECT_THAT(kernel.tileText, wantsStores());
      checkCopies(kernel, stages);
      const bool goesOn = llvm::any_of(kernel.image.remarks, [](const lang::Remark &remark) {
        return remark.text.find("on into the next round of the loop around") != std::string::npos;
      });
      // Two more programs have room where stages share their bytes with what follows.
      if (copies() == Copies::ByProgram)
        EXPECT_EQ(goesOn, stages > 2) << stages;
      for (int32_t programs : {1, 2, 3})
        EXPECT_EQ(group.outcome(kernel, programs), "")
            << seed << ", " << stages << " stages, " << programs << " programs";
    }
}

TEST_P(GpuEditedMaps, a_product_reads_what_the_one_before_has_stored) {
  const Group chain{{{64, 64, 64}, {64, 40, 64}, {64, 72, 40}, {64, 64, 72}}, /*isChained=*/true};
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SimulatedKernel kernel(groupedText(isStored()), optionsOf(seed));
    EXPECT_THAT(kernel.tileText, HasSubstr("tile.proxy_fence global"));
    EXPECT_THAT(kernel.tileText, wantsStores());
    checkCopies(kernel);
    EXPECT_EQ(chain.outcome(kernel, 1), "") << seed;
  }
}

/// Tiles of a row read what those before have stored: c begins where a does, and is wider.
TEST_P(GpuEditedMaps, a_tile_reads_what_the_one_before_has_stored) {
  constexpr int64_t kRows = 64, kColumns = 256, kDepth = 192;
  for (unsigned stages : {2, 3, 4})
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      SimulatedKernel kernel(groupedText(isStored()), optionsOf(seed, stages));
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_THAT(kernel.tileText, wantsStores());
      checkCopies(kernel, stages);
      Matrix a(kRows, kColumns, 3), b(kColumns, kDepth, 5);
      std::vector<_Float16> memory(a.content);
      memory.insert(memory.end(), b.content.begin(), b.content.end());
      const auto at = int64_t(reinterpret_cast<uint64_t>(memory.data()));
      std::vector<int64_t> lists{at, at + int64_t(a.content.size() * sizeof(_Float16)), at};
      std::vector<int32_t> sizes{
          kRows, kColumns, kDepth, int32_t(a.apart), int32_t(b.apart), int32_t(a.apart)};
      SimulatedReport report = kernel.run(
          {1}, {argument(lists), argument(sizes), argument(int32_t(1)), argument(memory)});
      ASSERT_EQ(report.problem, "") << seed;
      // Tile by tile, as the program does it.
      for (int64_t first = 0; first < kColumns; first += 64) {
        const Matrix before = a;
        for (int64_t i = 0; i < kRows; ++i)
          for (int64_t j = first; j < first + 64; ++j) {
            double sum = 0;
            for (int64_t d = 0; d < kDepth; ++d)
              sum += double(before.at(i, d)) * double(b.at(j, d));
            const auto found = double(memory[size_t(i * a.apart + j)]);
            ASSERT_NEAR(found, sum, 0.002 * (1 + std::abs(sum)))
                << i << ", " << j << ", " << stages << " stages, seed " << seed;
            a.at(i, j) = memory[size_t(i * a.apart + j)];
          }
      }
    }
}

/// The program compares where the two arrays that it reads lie with where the third does, twice: in
/// front of the tiles, for the copies of the next one and for the store that nobody waits for.
TEST(GpuEditedMapsText, arrays_that_share_memory_are_told_apart_by_the_program) {
  SimulatedKernel kernel(groupedText(/*isStored=*/true), optionsWith(Copies::ByProgram));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  const llvm::StringRef text = kernel.tileText;
  EXPECT_EQ(text.count("arith.cmpi ule"), 8u);
  EXPECT_LT(text.rfind("arith.cmpi ule"), text.find("tile.dot_async"));
}

/// A map is made once for all tiles of a product: in front of their loop.
TEST(GpuEditedMapsText, maps_are_made_where_their_arrays_are_known) {
  SimulatedKernel kernel(groupedText(), optionsWith(Copies::ByProgram));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  const std::string &text = kernel.tileText;
  const size_t map = text.find("tile.edited_map"), group = text.find("scf.for"),
               tiles = text.find("scf.for", group + 1);
  EXPECT_LT(group, map);
  EXPECT_LT(map, tiles);
  EXPECT_LT(text.rfind("tile.edited_map"), tiles);
}

TEST(GpuEditedMapsText, kernels_that_order_memory_leave_such_arrays_to_threads) {
  SimulatedKernel kernel(groupedText(/*isStored=*/false, /*isOrdered=*/true), hopperOptions());
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_THAT(kernel.tileText, Not(HasSubstr("tile.edited_map")));
  EXPECT_TRUE(llvm::any_of(kernel.image.remarks, [](const lang::Remark &remark) {
    return remark.kind == "not-by-copy-engine" &&
           remark.text.find("orders memory") != std::string::npos;
  }));
  const Group group{{{64, 64, 64}, {130, 61, 201}}};
  EXPECT_EQ(group.outcome(kernel, 1), "");
}

//===-- Instruction by instruction ------------------------------------------------------------===//

/// A kernel that edits a map of its first argument's boxes; `order` is what goes wrong.
enum class Order {
  Right,
  BeforeEdit,
  BeforeFence,
  Unreleased,
  EditedUnderWay,
  ReleasedUnderWay,
  AnotherWarp,
  Unfenced,
  Late
};

std::string problemOf(Order order) {
  Code code;
  llvm::IRBuilderBase &builder = code.builder;
  const unsigned first = order == Order::AnotherWarp ? kLanes : 0;
  llvm::Value *number = builder.CreateUDiv(code.thread, code.word(kLanes)),
              *lane = builder.CreateURem(code.thread, code.word(kLanes));
  const gpu::CopyingWarp warp{builder.CreateICmpEQ(number, code.word(first / kLanes)),
                              code.isThread(first), lane};
  llvm::Value *memory = code.copies().claimMaps(builder, 1, kThreads, warp);
  gpu::ArrayDescription array;
  array.elementBytes = 4;
  array.swizzleBytes = kSwizzle;
  array.box = {kRows, kColumns};
  array.base = code.kernel->getArg(0);
  array.extents = {builder.getInt64(kBoxes * kRows), builder.getInt64(kColumns)};
  array.strides = {builder.getInt64(kColumns), builder.getInt64(1)};
  auto edit = [&] {
    code.copies().editMap(builder, memory, code.at(int64_t(2048)), array, nullptr, warp);
    if (order != Order::BeforeFence)
      code.copies().fenceMap(builder, memory, warp);
  };
  if (order != Order::BeforeEdit)
    edit();
  code.makeBarrier(kBarrier);
  if (order == Order::Unfenced || order == Order::Late) {
    code.put(code.thread, code.thread, /*argument=*/0);
    if (order == Order::Late)
      code.meet();
    code.fence(/*isGlobal=*/order == Order::Late);
    if (order == Order::Unfenced)
      code.meet();
  }
  code.expect(kBarrier, kBoxBytes, first);
  llvm::SmallVector<llvm::Value *> origin{code.word(0), code.word(0)};
  code.copies().copy(builder, code.at(int64_t(0)), memory, origin, code.at(kBarrier),
                     code.isThread(first));
  if (order == Order::EditedUnderWay)
    edit();
  if (order == Order::ReleasedUnderWay)
    code.copies().releaseMaps(builder, memory, 1, kThreads, warp);
  code.wait(kBarrier, 0);
  code.put(code.thread, code.load(placeOfWord(code)));
  if (order != Order::Unreleased && order != Order::ReleasedUnderWay)
    code.copies().releaseMaps(builder, memory, 1, kThreads, warp);
  code.finish(4096);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Arrays arrays;
    SimulatedReport report = code.run(arrays.in, arrays.out, arrays.map, seed);
    if (!report.problem.empty())
      return report.problem;
    if (order == Order::Right &&
        !std::equal(arrays.in.begin(), arrays.in.begin() + kThreads, arrays.out.begin()))
      return "the box did not come";
  }
  return "";
}

TEST(GpuEditedMapsText, each_order_that_must_be_kept) {
  EXPECT_EQ(problemOf(Order::Right), "");
  EXPECT_THAT(problemOf(Order::BeforeEdit), HasSubstr("by what is no tensor map"));
  EXPECT_THAT(problemOf(Order::BeforeFence), HasSubstr("by what is no tensor map"));
  EXPECT_THAT(problemOf(Order::Unreleased), HasSubstr("has not given the memory of its maps back"));
  EXPECT_THAT(problemOf(Order::EditedUnderWay), HasSubstr("edited while the engine copies by it"));
  EXPECT_THAT(problemOf(Order::ReleasedUnderWay),
              HasSubstr("gives a map back while the engine copies by it"));
  EXPECT_THAT(problemOf(Order::AnotherWarp), HasSubstr("of another warp than the first"));
  EXPECT_THAT(problemOf(Order::Unfenced),
              HasSubstr("reads global memory where a thread of the program stores"));
  EXPECT_THAT(problemOf(Order::Late),
              HasSubstr("reads global memory where a thread of the program stores"));
}

} // namespace
