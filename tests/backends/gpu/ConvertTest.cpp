// Conversions between layouts, run thread by thread: every element arrives, no race, no bank
// conflict where the plan promises none.
#include "LaidOutText.h"
#include "RandomLayout.h"
#include "SimulatedGpu.h"

#include <numeric>

using namespace sectile::testing;
using namespace sectile::layout;

namespace {

std::string convertText(const TileLayout &from, const TileLayout &to, const std::string &element) {
  return kernelText(pointer("in", element) + ", " + pointer("out", element),
                    loadLaidOut("x", "in", from, element) +
                        "%y = tile.convert_layout %x : " + laidOut(from, element) + " -> " +
                        laidOut(to, element) + "\n" + storeLaidOut("y", "out", to, element));
}

template <typename T>
SimulatedReport checkConvert(const TileLayout &from, const TileLayout &to,
                             const std::string &element, SimulatedOptions options) {
  SimulatedKernel kernel(convertText(from, to, element), options);
  EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
  if (!kernel.compiled())
    return {};
  int64_t count = 1;
  for (int64_t extent : from.shape())
    count *= extent;
  std::vector<T> in(count), out(count, T(0));
  std::iota(in.begin(), in.end(), T(1));
  SimulatedReport report = kernel.run({1}, {argument(in), argument(out)});
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(in, out) << print(from) << "\n" << print(to);
  return report;
}

TEST(GpuConvert, registers_are_renamed) {
  TileLayout from = blocked({64}, {2}, {32}, {1}, {0});
  auto report = checkConvert<float>(from, from, "f32", {.warps = 1});
  EXPECT_EQ(report.barriers, 0);
  EXPECT_EQ(report.shuffles, 0);
}

TEST(GpuConvert, a_warp_shuffles) {
  TileLayout from = blocked({16, 16}, {1, 8}, {16, 2}, {1, 1}, {1, 0});
  TileLayout to = blocked({16, 16}, {1, 4}, {8, 4}, {1, 1}, {1, 0});
  auto report = checkConvert<float>(from, to, "f32", {.warps = 1});
  EXPECT_EQ(report.barriers, 0);
  EXPECT_GT(report.shuffles, 0);
}

TEST(GpuConvert, a_block_transposes_without_bank_conflicts) {
  TileLayout from = blocked({64, 64}, {1, 4}, {2, 16}, {4, 1}, {1, 0});
  TileLayout to = blocked({64, 64}, {4, 1}, {16, 2}, {1, 4}, {0, 1});
  for (const char *element : {"f32", "i32"}) {
    auto report = checkConvert<int32_t>(from, to, element, {});
    EXPECT_EQ(report.barriers, 1);
    EXPECT_EQ(report.bankConflicts, 0);
  }
}

// Reads of 16 bytes by lanes that are no neighbours, and 64 banks.
TEST(GpuConvert, banks_of_other_gpus_have_no_conflicts) {
  TileLayout from = blocked({64, 64}, {1, 4}, {4, 16}, {4, 1}, {1, 0});
  TileLayout to = blocked({64, 64}, {1, 4}, {64, 1}, {1, 4}, {1, 0});
  for (const SharedBanks &banks :
       {SharedBanks{}, SharedBanks{32, {1, 2, 4 ^ 16}}, SharedBanks{64, {1, 2, 4 ^ 8, 4 ^ 16}}}) {
    auto report = checkConvert<int32_t>(from, to, "i32", {.lanes = 64, .banks = banks});
    EXPECT_EQ(report.barriers, 1);
    EXPECT_EQ(report.bankConflicts, 0);
  }
}

TEST(GpuConvert, large_tiles_go_in_rounds) {
  TileLayout from = blocked({128, 128}, {1, 4}, {2, 16}, {4, 1}, {1, 0});
  TileLayout to = blocked({128, 128}, {4, 1}, {16, 2}, {1, 4}, {0, 1});
  SimulatedOptions options;
  options.maxSharedBytes = 40 << 10;
  SimulatedKernel kernel(convertText(from, to, "i32"), options);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_LE(kernel.sharedBytes, 32 << 10);
  auto report = checkConvert<int32_t>(from, to, "i32", options);
  EXPECT_GE(report.barriers, 3);
}

TEST(GpuConvert, random_layouts) {
  std::mt19937 random(5);
  const std::vector<std::vector<int64_t>> shapes = {
      {64}, {96}, {100}, {1}, {7}, {32, 32}, {16, 48}, {5, 17}, {4, 8, 16}, {3, 1, 20}, {2, 96, 2}};
  for (int trial = 0; trial < 120; ++trial) {
    const auto &shape = shapes[trial % shapes.size()];
    SimulatedOptions options;
    options.lanes = random() % 3 ? 32 : 64;
    options.warps = 1u << random() % 4;
    TileLayout from = randomLayout(random, shape, options.lanes, options.warps);
    TileLayout to = randomLayout(random, shape, options.lanes, options.warps);
    SCOPED_TRACE(trial);
    switch (trial % 4) {
    case 0:
      checkConvert<int32_t>(from, to, "i32", options);
      break;
    case 1:
      checkConvert<int16_t>(from, to, "i16", options);
      break;
    case 2:
      checkConvert<int8_t>(from, to, "i8", options);
      break;
    case 3:
      checkConvert<double>(from, to, "f64", options);
      break;
    }
    if (HasFailure())
      break;
  }
}

} // namespace
