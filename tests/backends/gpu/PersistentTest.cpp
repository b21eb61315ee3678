// Blocks of threads that run several programs, and copies that go on from one to the next: results
// are those of a block for each program, whenever copies land and however many blocks there are.
#include "SimulatedGpu.h"
#include "backends/plain/DeviceAbi.h"

#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;

namespace {

constexpr int64_t kTile = 64;

/// c = a a^T of an array of n x depth, in tiles of rows x 64: (program / count, program % count).
/// The tile of a program, or of each round of a loop that the kernel has itself.
struct Product {
  bool hasOwnLoop = false;
  std::string out = "f32";
  int rows = 64;
  /// The grid is of count columns, and so many rows along y.
  bool isOfGrid = false;
  /// The left and the right half of the columns are narrowed and stored each; so far apart.
  bool inHalves = false;
  int apart = 32;

  std::string text() const {
    const std::string extents = std::to_string(rows) + "x64x";
    const std::string tile = "tensor<" + extents + out + ">", left = "tensor<" + extents + "f16>",
                      sums = "tensor<" + extents + "f32>";
    std::string body = R"(
  %row = arith.divsi %tile, %count : i32
  %column = arith.remsi %tile, %count : i32
  %down = arith.muli %row, %rows : i32
  %across = arith.muli %column, %step : i32
  %i = arith.extsi %down : i32 to i64
  %j = arith.extsi %across : i32 to i64
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> ()" +
                       sums + R"() : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %x = tile.block_load %a[%i, %d64] of [%n, %depth] by [%depth, %one] checked = [true, true]
       : !tile.ptr<f16> -> )" +
                       left + R"(
    %y = tile.block_load %a[%j, %d64] of [%n, %depth] by [%depth, %one] checked = [true, true]
       : !tile.ptr<f16> -> tensor<64x64xf16>
    %t = tile.transpose %y [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
    %next = tile.dot %x, %t, %acc : )" +
                       left + " * tensor<64x64xf16> -> " + sums +
                       "\n    scf.yield %next : " + sums + "\n  }\n";
    auto storeTo = [&](const std::string &value, const std::string &column,
                       const std::string &type) {
      return "  tile.block_store " + value + ", %c[%i, " + column +
             "] of [%n, %n] by [%n, %one] checked = [true, true] : " + type + ", !tile.ptr<" + out +
             ">\n";
    };
    const std::string columns = std::to_string(rows);
    if (inHalves) {
      const std::string half = "tensor<" + columns + "x32x";
      body += "  %parted = tile.reshape %sum : " + sums + " -> tensor<" + columns + "x2x32xf32>\n" +
              "  %turned = tile.transpose %parted [0, 2, 1] : tensor<" + columns +
              "x2x32xf32> -> " + half.substr(0, half.size() - 1) + "x2xf32>\n" +
              "  %l, %r = tile.split %turned : " + half + "2xf32> -> " + half + "f32>\n";
      for (std::string side : {"l", "r"})
        body += "  %z" + side + " = arith.truncf %" + side + " : " + half + "f32> to " + half +
                out + ">\n";
      body += storeTo("%zl", "%j", half + out + ">") + "  %apart = arith.constant " +
              std::to_string(apart) + " : i64\n" + "  %j2 = arith.addi %j, %apart : i64\n" +
              storeTo("%zr", "%j2", half + out + ">");
    } else {
      body += out == "f32" ? "  %z = arith.addf %sum, %none : " + sums + "\n"
                           : "  %z = arith.truncf %sum : " + sums + " to " + tile + "\n";
      body += storeTo("%z", "%j", tile);
    }
    return "func.func @k(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<" + out +
           "> {tile.divisibility = 16 : i64}, %n: i64 {tile.divisibility = 16 : i64}, "
           "%depth: i64 {tile.divisibility = 16 : i64}, %count: i32, %k: i32, %tiles: i32) "
           "attributes {tile.kernel} {\n"
           "  %zero = arith.constant 0 : i32\n  %step = arith.constant 64 : i32\n"
           "  %one = arith.constant 1 : i64\n"
           "  %none = arith.constant dense<0.0> : " +
           sums + "\n  %rows = arith.constant " + std::to_string(rows) + " : i32\n" +
           (isOfGrid ? "  %px = tile.program_id 0\n  %py = tile.program_id 1\n"
                       "  %before = arith.muli %py, %count : i32\n"
                       "  %p = arith.addi %before, %px : i32\n"
                     : "  %p = tile.program_id 0\n") +
           (hasOwnLoop ? "  %programs = tile.num_programs 0\n"
                         "  scf.for %tile = %p to %tiles step %programs : i32 {" +
                             body + "  }\n"
                       : "  %tile = arith.addi %p, %zero : i32\n" + body) +
           "  return\n}\n";
  }
};

/// Runs the product of an n x depth array, and returns what is wrong with the run or its result.
template <class Out>
std::string outcome(SimulatedKernel &kernel, int64_t n, int64_t depth, int32_t programs,
                    int64_t tall = kTile, bool isOfGrid = false) {
  if (!kernel.compiled())
    return kernel.diagnostics();
  const int64_t rows = (n + 15) / 16 * 16, width = std::max<int64_t>(16, depth);
  std::vector<_Float16> a(size_t(rows * width));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = _Float16(int(i * 2654435761u >> 20) % 7 - 3);
  std::vector<Out> c(size_t(rows * rows), Out(77));
  const auto count = int32_t((rows + kTile - 1) / kTile), down = int32_t((rows + tall - 1) / tall);
  std::vector<HostArgument> arguments{argument(a),           argument(c),
                                      argument(rows),        argument(width),
                                      argument(count),       argument(int32_t(depth)),
                                      argument(down * count)};
  SimulatedReport report =
      kernel.run(isOfGrid ? std::vector<int32_t>{count, down}
                          : std::vector<int32_t>{programs ? programs : down * count},
                 arguments);
  if (!report.problem.empty())
    return report.problem;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < rows; ++j) {
      float wanted = 0;
      for (int64_t d = 0; d < depth; ++d)
        wanted += float(a[size_t(i * width + d)]) * float(a[size_t(j * width + d)]);
      if (float(c[size_t(i * rows + j)]) != float(Out(wanted)))
        return "wrong at " + std::to_string(i) + ", " + std::to_string(j);
    }
  return "";
}

bool has(const SimulatedKernel &kernel, const char *kind) {
  return llvm::any_of(kernel.image.remarks,
                      [&](const lang::Remark &remark) { return remark.kind == kind; });
}

TEST(GpuPersistent, a_block_of_threads_runs_several_programs) {
  for (unsigned stages : {2, 3, 4})
    for (int32_t workers : {1, 2, 3, 5}) {
      SimulatedOptions options = hopperOptions();
      options.stages = stages;
      options.workers = workers;
      SimulatedKernel kernel(Product().text(), options);
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_EQ(kernel.image.gpu.hiddenParameters, backends::kHiddenPrograms);
      EXPECT_TRUE(has(kernel, "persistent"));
      // One tile, nine; one round, several, none.
      for (auto [n, depth] : {std::pair(64, 64), {64, 256}, {144, 80}, {144, 256}, {144, 0}})
        EXPECT_EQ(outcome<float>(kernel, n, depth, 0), "")
            << n << " " << depth << ", " << stages << " stages, " << workers << " workers";
    }
}

TEST(GpuPersistent, blocks_of_threads_share_the_programs_of_a_grid) {
  for (int32_t workers : {1, 2, 4, 7}) {
    SimulatedOptions options = hopperOptions();
    options.workers = workers;
    SimulatedKernel kernel(Product{.out = "f16", .isOfGrid = true}.text(), options);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_EQ(kernel.image.gpu.hiddenParameters, backends::kHiddenGrid);
    for (auto [n, depth] : {std::pair(64, 64), {144, 80}, {144, 256}, {208, 64}, {144, 0}})
      EXPECT_EQ(outcome<_Float16>(kernel, n, depth, 0, kTile, /*isOfGrid=*/true), "")
          << n << " " << depth << ", " << workers << " workers";
  }
}

TEST(GpuPersistent, copies_may_land_at_any_time) {
  for (uint64_t seed = 1; seed <= 12; ++seed)
    for (bool hasOwnLoop : {false, true}) {
      SimulatedOptions options = hopperOptions();
      options.seed = seed;
      SimulatedKernel kernel(Product{.hasOwnLoop = hasOwnLoop}.text(), options);
      EXPECT_EQ(outcome<float>(kernel, 144, 192, hasOwnLoop ? 2 : 0), "") << seed;
    }
}

TEST(GpuPersistent, copies_go_on_across_the_rounds_of_the_kernels_own_loop) {
  SimulatedKernel kernel(Product{.hasOwnLoop = true, .out = "f16"}.text(), hopperOptions());
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_FALSE(has(kernel, "persistent"));
  EXPECT_FALSE(has(kernel, "not-across-rounds"));
  // Memory barriers are made once.
  size_t first = kernel.tileText.find("tile.mbarrier_init"), loop = kernel.tileText.find("scf.for");
  EXPECT_LT(first, loop);
  for (int32_t programs : {1, 2, 4, 20})
    for (int64_t depth : {0, 64, 80, 320})
      EXPECT_EQ(outcome<_Float16>(kernel, 144, depth, programs), "") << programs << " " << depth;
}

TEST(GpuPersistent, each_program_has_a_block_where_that_is_asked_for) {
  SimulatedOptions options = hopperOptions();
  options.persistent = false;
  SimulatedKernel kernel(Product().text(), options);
  EXPECT_EQ(outcome<float>(kernel, 144, 128, 0), "");
  EXPECT_EQ(kernel.image.gpu.hiddenParameters, 0);
}

//===-- Programs that take turns (optimizer/gpu/TeamTurns.h) ----------------------------------===//

/// Three stages of each of two programs, whose copies a thread beside them starts, or they
/// themselves.
SimulatedOptions optionsOfTurns(uint64_t seed = 1, int32_t workers = 2, bool hasProducer = true) {
  SimulatedOptions options = hopperOptions();
  options.abilities.producers = hasProducer;
  options.stages = 3;
  options.seed = seed;
  options.workers = workers;
  return options;
}

TEST(GpuPersistent, two_programs_take_turns_to_multiply) {
  for (bool hasProducer : {false, true})
    for (int32_t workers : {1, 3, 8}) {
      const uint64_t seed = uint64_t(workers);
      SimulatedKernel kernel(Product{.out = "f16"}.text(),
                             optionsOfTurns(seed, workers, hasProducer));
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_TRUE(has(kernel, "turns"));
      EXPECT_EQ(has(kernel, "producer"), hasProducer);
      EXPECT_EQ(kernel.image.gpu.threads, hasProducer ? 384 : 256);
      // One program, three by three of them; rounds of no, one, two and more than all stages; a
      // ring's length in turns and parities, and other numbers.
      for (auto [n, depth] : {std::pair(64, 64),
                              {64, 512},
                              {144, 0},
                              {144, 64},
                              {144, 128},
                              {144, 384},
                              {144, 400},
                              {272, 768}})
        EXPECT_EQ(outcome<_Float16>(kernel, n, depth, 0), "")
            << n << " " << depth << ", " << workers << " workers, producer " << hasProducer;
    }
}

/// Rounds of the kernel's own loop that all store to one place: the last one's tile is left there.
TEST(GpuPersistent, teams_store_in_the_order_of_the_rounds) {
  std::string text = Product{.hasOwnLoop = true, .out = "f16"}.text();
  auto replace = [&](const std::string &from, const std::string &to) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("%c[%i, %j]", "%c[%first, %first]");
  replace("  %one = arith.constant 1 : i64\n",
          "  %one = arith.constant 1 : i64\n  %first = arith.constant 0 : i64\n");
  constexpr int64_t kRows = 192, kDepth = 64;
  std::vector<_Float16> a(size_t(kRows * kDepth));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = _Float16(int(i * 2654435761u >> 20) % 7 - 3);
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SimulatedKernel kernel(text, optionsOfTurns(seed));
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_TRUE(has(kernel, "turns"));
    EXPECT_TRUE(has(kernel, "producer"));
    std::vector<_Float16> c(size_t(kRows * kRows), _Float16(77));
    const auto count = int32_t(kRows / kTile);
    SimulatedReport report =
        kernel.run({1}, {argument(a), argument(c), argument(kRows), argument(kDepth),
                         argument(count), argument(int32_t(kDepth)), argument(count * count)});
    ASSERT_EQ(report.problem, "") << seed;
    const int64_t begin = kRows - kTile; // of the last tile
    for (int64_t i = 0; i < kTile; ++i)
      for (int64_t j = 0; j < kTile; ++j) {
        double sum = 0;
        for (int64_t d = 0; d < kDepth; ++d)
          sum += double(a[size_t((begin + i) * kDepth + d)]) *
                 double(a[size_t((begin + j) * kDepth + d)]);
        ASSERT_EQ(double(c[size_t(i * kRows + j)]), sum) << i << ", " << j << ", seed " << seed;
      }
  }
}

/// A program has half of what is left of shared memory, and stores its tile in pieces.
TEST(GpuPersistent, programs_that_take_turns_store_in_small_pieces) {
  SimulatedOptions options = optionsOfTurns();
  options.maxSharedBytes = (6 * 16 + 2 * 17 + 1) << 10;
  SimulatedKernel kernel(Product().text(), options);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_TRUE(has(kernel, "turns"));
  EXPECT_NE(kernel.tileText.find("buffer_alloc : <2, [64, 32], f32"), std::string::npos);
  EXPECT_LE(kernel.sharedBytes, options.maxSharedBytes);
  for (int64_t depth : {64, 320})
    EXPECT_EQ(outcome<float>(kernel, 272, depth, 0), "") << depth;
}

/// Eight stages of 24 KiB, and the pieces of one array of each program, would leave nothing for a
/// second one.
TEST(GpuPersistent, turns_leave_room_for_all_that_is_stored) {
  std::string text = Product{.out = "f16", .rows = 128}.text();
  text.insert(text.find("%n: i64"), "%e: !tile.ptr<f32> {tile.divisibility = 16 : i64}, ");
  text.insert(
      text.find("  return"),
      "  %w = arith.addf %none, %sum : tensor<128x64xf32>\n"
      "  tile.block_store %w, %e[%i, %j] of [%n, %n] by [%n, %one] checked = [true, true] : "
      "tensor<128x64xf32>, !tile.ptr<f32>\n");
  SimulatedOptions options = optionsOfTurns();
  options.stages = 5;
  SimulatedKernel kernel(text, options);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_TRUE(has(kernel, "turns"));
  EXPECT_LE(kernel.sharedBytes, options.maxSharedBytes);
}

/// With fewer stages blocks of single programs are faster, and a loop of the kernel's own has as
/// many blocks as its launch says.
TEST(GpuPersistent, turns_want_six_stages_and_blocks_that_the_launch_counts) {
  SimulatedOptions options = optionsOfTurns();
  options.stages = 2;
  EXPECT_FALSE(has(SimulatedKernel(Product().text(), options), "turns"));
  options = optionsOfTurns();
  options.maxSharedBytes = 100 << 10;
  EXPECT_FALSE(has(SimulatedKernel(Product().text(), options), "turns"));
  EXPECT_FALSE(has(SimulatedKernel(Product{.hasOwnLoop = true}.text(), optionsOfTurns()), "turns"));
  options = optionsOfTurns();
  options.persistent = false;
  EXPECT_FALSE(has(SimulatedKernel(Product().text(), options), "turns"));
}

/// Returns what goes wrong at the first of several seeds at which something does, after `from`,
/// searched behind `mark`, has become `to`.
std::string outcomeOfTurns(bool hasProducer, const std::string &mark, const std::string &from,
                           const std::string &to) {
  const SimulatedOptions options = optionsOfTurns(1, 2, hasProducer);
  const std::string text = SimulatedKernel(Product{.out = "f16"}.text(), options).tileText;
  const size_t at = text.find(from, text.find(mark));
  EXPECT_NE(at, std::string::npos) << from;
  if (at == std::string::npos)
    return "";
  std::string changed = text;
  changed.replace(at, from.size(), to);
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SimulatedKernel kernel(changed, optionsOfTurns(seed, 2, hasProducer));
    if (std::string what = outcome<_Float16>(kernel, 208, 448, 0); !what.empty())
      return what;
  }
  return "";
}

class PartsOfTurns : public ::testing::TestWithParam<bool> {
protected:
  /// Whether a thread beside the programs starts the copies.
  const bool hasProducer = GetParam();
  const std::string text =
      SimulatedKernel(Product{.out = "f16"}.text(), optionsOfTurns(1, 2, hasProducer)).tileText;

  /// Returns the first line with the piece behind the mark.
  std::string lineOf(const char *mark, const char *piece) const {
    size_t at = text.find(piece, text.find(mark));
    size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  }
  std::string outcomeOf(const std::string &from, const std::string &to,
                        const std::string &mark = "") const {
    return outcomeOfTurns(hasProducer, mark, from, to);
  }
};
INSTANTIATE_TEST_SUITE_P(GpuPersistent, PartsOfTurns, ::testing::Bool());

TEST_P(PartsOfTurns, each_is_needed) {
  EXPECT_EQ(outcomeOf("tile.team_id", "tile.team_id"), "");
  // Behind it, what is over before the first round.
  const char *meeting = hasProducer ? "  }\n" : "tile.barrier shared of_block";
  // The programs' loop is the first one with a turn to wait for.
  const char *programs = hasProducer ? meeting : "tile.num_workers";
  const std::string over = lineOf("tile.dot_wait 1", "tile.mbarrier_arrive");
  for (const std::string &line :
       {lineOf(programs, "tile.mbarrier_wait"), lineOf("scf.yield %", "tile.mbarrier_arrive"),
        lineOf(meeting, "tile.mbarrier_arrive"), lineOf("tile.dot_wait 0", "tile.mbarrier_arrive"),
        over})
    EXPECT_NE(outcomeOf(line, ""), "") << line;
  // Whether the product before the first round is done, the team does not know.
  EXPECT_NE(outcomeOf(over, over.substr(0, over.find(" if")) + " : <6>"), "");
  if (hasProducer) // the stage may still be read
    EXPECT_NE(outcomeOf(lineOf("tile.producer", "tile.mbarrier_wait"), ""), "");
  else // all threads of the block see the memory barriers
    EXPECT_NE(outcomeOf("tile.barrier shared of_block", "tile.barrier shared"), "");
}

/// A tile is stored as a whole, in pieces through two stages or one, or by threads, as shared
/// memory allows; the loop's three stages of 24 KiB leave so much.
TEST(GpuPersistent, tiles_are_stored_in_pieces_where_they_do_not_fit) {
  struct Case {
    int64_t left;
    std::string out;
    int pieces; // 0: threads store
  };
  for (const Case &one : {Case{33, "f32", 1}, {17, "f32", 2}, {17, "f16", 1}, {9, "f32", 0}}) {
    SimulatedOptions options = hopperOptions();
    options.abilities.turns = false;
    options.maxSharedBytes = (72 + one.left) << 10;
    SimulatedKernel kernel(Product{.out = one.out, .rows = 128}.text(), options);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    int pieces = 0;
    for (size_t at = 0; (at = kernel.tileText.find("tile.tensor_store ", at)) != std::string::npos;
         ++at)
      ++pieces;
    EXPECT_EQ(pieces, one.pieces) << one.left;
    EXPECT_LE(kernel.sharedBytes, options.maxSharedBytes);
    for (int64_t depth : {64, 192})
      EXPECT_EQ(one.out == "f32" ? outcome<float>(kernel, 272, depth, 0, 128)
                                 : outcome<_Float16>(kernel, 272, depth, 0, 128),
                "")
          << one.left << " " << depth;
  }
}

/// Eight warps, and a tile of 64 KiB in four pieces through two stages.
TEST(GpuPersistent, two_stages_take_turns) {
  SimulatedOptions options = hopperOptions();
  options.warps = 8;
  options.maxSharedBytes = (3 * 40 + 35) << 10;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    options.seed = seed;
    SimulatedKernel kernel(Product{.rows = 256}.text(), options);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_NE(kernel.tileText.find("tile.tensor_store_wait but 1"), std::string::npos);
    EXPECT_EQ(outcome<float>(kernel, 528, 64, 0, 256), "") << seed;
  }
}

int countOf(const SimulatedKernel &kernel, llvm::StringRef word) {
  return int(llvm::StringRef(kernel.tileText).count(word));
}

/// Halves of a tile go through one buffer, one behind the other, through as many stages as there is
/// room for; threads exchange nothing.
TEST(GpuPersistent, halves_of_tiles_are_stored_one_behind_the_other) {
  for (bool hasOwnLoop : {false, true})
    for (int64_t left : {33, 17, 9})
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        SimulatedOptions options = hopperOptions();
        options.abilities.turns = false;
        options.maxSharedBytes = (72 + left) << 10;
        options.seed = seed;
        const Product product{
            .hasOwnLoop = hasOwnLoop, .out = "f16", .rows = 128, .inHalves = true};
        SimulatedKernel kernel(product.text(), options);
        ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
        EXPECT_EQ(countOf(kernel, "tile.tensor_store "), 2) << left;
        EXPECT_EQ(countOf(kernel, "tile.convert_layout"), 0) << left;
        EXPECT_EQ(countOf(kernel, "tile.tensor_store_wait written"), 1) << left;
        EXPECT_LE(kernel.sharedBytes, options.maxSharedBytes);
        for (int64_t depth : {64, 192})
          EXPECT_EQ(outcome<_Float16>(kernel, 272, depth, hasOwnLoop ? 2 : 0, 128), "")
              << left << " " << depth << ", seed " << seed;
      }
}

/// Halves that may lie over one another keep to threads, which know an order.
TEST(GpuPersistent, what_may_be_stored_twice_is_left_to_threads) {
  const Product product{.out = "f16", .inHalves = true, .apart = 16};
  SimulatedKernel kernel(product.text(), hopperOptions());
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_EQ(countOf(kernel, "tile.tensor_store "), 0);
}

/// What stands behind both loops takes the bytes of the stages: 192 KiB of these and 128 KiB of the
/// sums fit one after the other only.
TEST(GpuPersistent, stages_end_with_the_outer_loop) {
  const char *text = R"(
func.func @k(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %e: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32 {tile.divisibility = 16 : i64}, %count: i32, %k: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %bm = arith.constant 128 : i32
  %onei = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %n64 = arith.extsi %n : i32 to i64
  %p = tile.program_id 0
  %programs = tile.num_programs 0
  %none = arith.constant dense<0.0> : tensor<128x256xf32>
  %pi = arith.muli %p, %bm : i32
  %pi64 = arith.extsi %pi : i32 to i64
  %s = scf.for %t = %zero to %count step %onei iter_args(%o = %none) -> (tensor<128x256xf32>) : i32 {
    %row = arith.muli %t, %bm : i32
    %i = arith.extsi %row : i32 to i64
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %o) -> (tensor<128x256xf32>) : i32 {
      %d64 = arith.extsi %d : i32 to i64
      %x = tile.block_load %a[%i, %d64] of [%n64, %n64] by [%n64, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<128x64xf16>
      %y = tile.block_load %b[%d64, %i] of [%n64, %n64] by [%n64, %one] checked = [true, true] : !tile.ptr<f16> -> tensor<64x256xf16>
      %next = tile.dot %x, %y, %acc : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
      scf.yield %next : tensor<128x256xf32>
    }
    scf.yield %sum : tensor<128x256xf32>
  }
    tile.block_store %s, %c[%pi64, %pi64] of [%n64, %n64] by [%n64, %one] checked = [true, true] : tensor<128x256xf32>, !tile.ptr<f32>
  return
}
)";
  SimulatedOptions options = hopperOptions();
  options.warps = 8;
  SimulatedKernel kernel(text, options);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_FALSE(has(kernel, "not-across-rounds"));
  EXPECT_LE(kernel.sharedBytes, options.maxSharedBytes);
}

} // namespace
