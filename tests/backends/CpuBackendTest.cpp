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

} // namespace
