// Blocks of threads that run several programs, and copies that go on from one to the next: results
// are those of a block for each program, whenever copies land and however many blocks there are.
#include "SimulatedGpu.h"

#include "backends/plain/DeviceAbi.h"

#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;

namespace {

constexpr int64_t kTile = 64;

/// c = a a^T of an array of n x depth: tiles (program / count, program % count). The tile of a
/// program, or of each round of a loop that the kernel has itself.
struct Product {
  bool hasOwnLoop = false, isAccumulated = false;
  std::string out = "f32";

  std::string text() const {
    const std::string tile = "tensor<64x64x" + out + ">";
    std::string body = R"(
  %row = arith.divsi %tile, %count : i32
  %column = arith.remsi %tile, %count : i32
  %down = arith.muli %row, %step : i32
  %across = arith.muli %column, %step : i32
  %i = arith.extsi %down : i32 to i64
  %j = arith.extsi %across : i32 to i64
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %x = tile.block_load %a[%i, %d64] of [%n, %depth] by [%depth, %one] checked = [true, true]
       : !tile.ptr<f16> -> tensor<64x64xf16>
    %y = tile.block_load %a[%j, %d64] of [%n, %depth] by [%depth, %one] checked = [true, true]
       : !tile.ptr<f16> -> tensor<64x64xf16>
    %t = tile.transpose %y [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
    %next = tile.dot %x, %t, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
)";
    body += out == "f32" ? "  %z = arith.addf %sum, %none : tensor<64x64xf32>\n"
                         : "  %z = arith.truncf %sum : tensor<64x64xf32> to " + tile + "\n";
    body += "  tile.block_store %z, %c[%i, %j] of [%n, %n] by [%n, %one] checked = [true, true] : " +
            tile + ", !tile.ptr<" + out + ">\n";
    return "func.func @k(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %c: !tile.ptr<" + out +
           "> {tile.divisibility = 16 : i64}, %n: i64 {tile.divisibility = 16 : i64}, "
           "%depth: i64 {tile.divisibility = 16 : i64}, %count: i32, %k: i32, %tiles: i32) "
           "attributes {tile.kernel} {\n"
           "  %zero = arith.constant 0 : i32\n  %step = arith.constant 64 : i32\n"
           "  %one = arith.constant 1 : i64\n"
           "  %none = arith.constant dense<0.0> : tensor<64x64xf32>\n"
           "  %p = tile.program_id 0\n" +
           (hasOwnLoop ? "  %programs = tile.num_programs 0\n"
                         "  scf.for %tile = %p to %tiles step %programs : i32 {" +
                             body + "  }\n"
                       : "  %tile = arith.addi %p, %zero : i32\n" + body) +
           "  return\n}\n";
  }
};

SimulatedOptions hopper() {
  SimulatedOptions options;
  options.abilities = SimulatedAbilities::all();
  options.abilities.bufferProducts = options.abilities.tensorCopies = true;
  options.maxSharedBytes = 227 << 10;
  return options;
}

/// Runs the product of an n x depth array, and returns what is wrong with the run or its result.
template <class Out>
std::string outcome(SimulatedKernel &kernel, int64_t n, int64_t depth, int32_t programs) {
  if (!kernel.compiled())
    return kernel.diagnostics();
  const int64_t rows = (n + 15) / 16 * 16, width = std::max<int64_t>(16, depth);
  std::vector<_Float16> a(size_t(rows * width));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = _Float16(int(i * 2654435761u >> 20) % 7 - 3);
  std::vector<Out> c(size_t(rows * rows), Out(77));
  const auto count = int32_t((rows + kTile - 1) / kTile);
  std::vector<HostArgument> arguments{
      argument(a),     argument(c),              argument(rows),         argument(width),
      argument(count), argument(int32_t(depth)), argument(count * count)};
  SimulatedReport report = kernel.run({programs ? programs : count * count}, arguments);
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
      SimulatedOptions options = hopper();
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

TEST(GpuPersistent, copies_may_land_at_any_time) {
  for (uint64_t seed = 1; seed <= 12; ++seed)
    for (bool hasOwnLoop : {false, true}) {
      SimulatedOptions options = hopper();
      options.seed = seed;
      SimulatedKernel kernel(Product{.hasOwnLoop = hasOwnLoop}.text(), options);
      EXPECT_EQ(outcome<float>(kernel, 144, 192, hasOwnLoop ? 2 : 0), "") << seed;
    }
}

TEST(GpuPersistent, copies_go_on_across_the_rounds_of_the_kernels_own_loop) {
  SimulatedKernel kernel(Product{.hasOwnLoop = true, .out = "f16"}.text(), hopper());
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_FALSE(has(kernel, "persistent"));
  EXPECT_FALSE(has(kernel, "not-across-rounds"));
  // Memory barriers are made once.
  size_t first = kernel.tileText.find("tile.mbarrier_init"),
         loop = kernel.tileText.find("scf.for");
  EXPECT_LT(first, loop);
  for (int32_t programs : {1, 2, 4, 20})
    for (int64_t depth : {0, 64, 80, 320})
      EXPECT_EQ(outcome<_Float16>(kernel, 144, depth, programs), "") << programs << " " << depth;
}

TEST(GpuPersistent, each_program_has_a_block_where_that_is_asked_for) {
  SimulatedOptions options = hopper();
  options.persistent = false;
  SimulatedKernel kernel(Product().text(), options);
  EXPECT_EQ(outcome<float>(kernel, 144, 128, 0), "");
  EXPECT_EQ(kernel.image.gpu.hiddenParameters, 0);
}

/// Stages that take nearly all of shared memory leave none for the exchange behind the loop, and
/// a tile is stored in pieces where it does not fit beside them as a whole.
TEST(GpuPersistent, shared_memory_is_enough) {
  SimulatedOptions options = hopper();
  // 3 stages of 16 KiB, with a whole tile of 16 KiB beside them; with half of one; with none.
  std::string wide = Product().text();
  for (int64_t bytes : {(48 + 17) << 10, (48 + 9) << 10, 49 << 10}) {
    options.maxSharedBytes = bytes;
    SimulatedKernel kernel(wide, options);
    EXPECT_EQ(outcome<float>(kernel, 144, 192, 0), "") << bytes;
    EXPECT_LE(kernel.sharedBytes, bytes);
  }
}

} // namespace
