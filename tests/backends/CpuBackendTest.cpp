// Kernels as tile IR text through the whole CPU back end, against scalar references.
#include "HostKernelHarness.h"
#include "KernelTexts.h"

#include <cmath>
#include <random>

using namespace sectile::testing;

namespace {

std::vector<float> randomFloats(size_t count, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(generator);
  return numbers;
}

TEST(CpuBackend, adds_vectors_of_any_length) {
  for (int block : {1, 3, 17, 96, 100, 1000, 1024}) {
    HostKernelUnderTest kernel(withBlock(kVectorAdd, block));
    for (int n : {1, 2, 15, 16, 17, 333, 2048}) {
      auto x = randomFloats(n, 1), y = randomFloats(n, 2);
      std::vector<float> out(n + 64, -7.0f);
      ASSERT_EQ(kernel.run({(n + block - 1) / block},
                           {argument(x), argument(y), argument(out), argument(n)}),
                0);
      for (int i = 0; i < n; ++i)
        ASSERT_EQ(out[i], x[i] + y[i]) << block << " " << n << " at " << i;
      for (int i = n; i < n + 64; ++i)
        ASSERT_EQ(out[i], -7.0f) << "written past the end";
    }
  }
}

TEST(CpuBackend, softmax_of_rows) {
  for (int block : {1, 3, 17, 100, 1024})
    for (int n : {1, 2, 16, 17, 99, 1000, 1024}) {
      if (n > block)
        continue;
      HostKernelUnderTest kernel(withBlock(kSoftmax, block));
      int rows = 5, stride = n + 3;
      auto x = randomFloats(rows * stride);
      std::vector<float> out(rows * stride, -7.0f);
      ASSERT_EQ(kernel.run({rows}, {argument(x), argument(out), argument(stride), argument(n)}), 0);
      for (int row = 0; row < rows; ++row) {
        double max = -INFINITY, sum = 0;
        for (int i = 0; i < n; ++i)
          max = std::max<double>(max, x[row * stride + i]);
        for (int i = 0; i < n; ++i)
          sum += std::exp(x[row * stride + i] - max);
        for (int i = 0; i < n; ++i) {
          double expected = std::exp(x[row * stride + i] - max) / sum;
          ASSERT_NEAR(out[row * stride + i], expected, 2e-6 * expected) << block << " " << n;
        }
        for (int i = n; i < stride; ++i)
          ASSERT_EQ(out[row * stride + i], -7.0f);
      }
    }
}

TEST(CpuBackend, programs_of_a_grid_of_three_dimensions) {
  HostKernelUnderTest kernel(R"(
func.func @where(%out: !tile.ptr<i32>) attributes {tile.kernel} {
  %x = tile.program_id 0
  %y = tile.program_id 1
  %z = tile.program_id 2
  %nx = tile.num_programs 0
  %ny = tile.num_programs 1
  %a = arith.muli %z, %ny : i32
  %b = arith.addi %a, %y : i32
  %c = arith.muli %b, %nx : i32
  %d = arith.addi %c, %x : i32
  %thousand = arith.constant 1000 : i32
  %e = arith.muli %z, %thousand : i32
  %f = arith.addi %e, %y : i32
  %g = arith.muli %f, %thousand : i32
  %h = arith.addi %g, %x : i32
  %p = tile.ptr_add %out, %d : !tile.ptr<i32>, i32
  tile.store %p, %h : !tile.ptr<i32>
  return
})");
  std::vector<int32_t> out(3 * 4 * 5, -1);
  ASSERT_EQ(kernel.run({3, 4, 5}, {argument(out)}), 0);
  for (int z = 0; z < 5; ++z)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 3; ++x)
        EXPECT_EQ(out[(z * 4 + y) * 3 + x], (z * 1000 + y) * 1000 + x);
}

} // namespace
