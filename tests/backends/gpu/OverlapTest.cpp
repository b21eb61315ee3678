// Arrays that share memory, on the simulated GPU: a program loads whole tiles, then stores them.
#include "../TileText.h"
#include "SimulatedGpu.h"

#include <numeric>

using namespace sectile;
using namespace sectile::testing;

namespace {

/// out[511 - i] = x[i], or out[i] where `isReversed` is not set.
std::string copyText(bool isReversed) {
  const std::string numbers = "tensor<512xi32>", pointers = "tensor<512x!tile.ptr<i32>>";
  return kernelText(pointer("x", "i32") + ", " + pointer("out", "i32"),
                    loadTile("v", "x", {512}, "i32") + "%i = tile.arange 0, 512 : " + numbers +
                        "\n%last = arith.constant dense<511> : " + numbers +
                        "\n%there = arith.subi %last, %i : " + numbers +
                        "\n%o = tile.splat %out : !tile.ptr<i32> -> " + pointers +
                        "\n%oi = tile.ptr_add %o, " + (isReversed ? "%there" : "%i") + " : " +
                        pointers + ", " + numbers + "\ntile.store %oi, %v : " + pointers + "\n");
}

using Hazards = std::vector<backends::OverlapHazard>;

TEST(GpuOverlap, one_array_reversed_in_place) {
  for (unsigned lanes : {32u, 64u}) {
    SCOPED_TRACE(lanes);
    SimulatedKernel usual(copyText(/*isReversed=*/true), {.lanes = lanes});
    ASSERT_TRUE(usual.compiled()) << usual.diagnostics();
    EXPECT_EQ(usual.image.overlapHazards, (Hazards{{1, 0, true}}));

    SimulatedKernel careful(copyText(/*isReversed=*/true),
                            {.lanes = lanes, .argumentsOverlap = true});
    ASSERT_TRUE(careful.compiled()) << careful.diagnostics();
    EXPECT_TRUE(careful.image.overlapHazards.empty());
    std::vector<int32_t> array(512);
    std::iota(array.begin(), array.end(), 0);
    std::vector<int32_t> expected(array.rbegin(), array.rend());
    SimulatedReport report = careful.run({1}, {argument(array), argument(array)});
    EXPECT_EQ(report.problem, "");
    EXPECT_EQ(array, expected);
  }
}

TEST(GpuOverlap, one_array_given_twice_and_used_alike_has_the_usual_code) {
  SimulatedKernel kernel(copyText(/*isReversed=*/false));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_EQ(kernel.image.overlapHazards, (Hazards{{1, 0, false}}));
  std::vector<int32_t> array(512, 7);
  SimulatedReport report = kernel.run({1}, {argument(array), argument(array)});
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.barriers, 0);
}

} // namespace
