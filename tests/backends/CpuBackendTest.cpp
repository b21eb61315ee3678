// Kernels as tile IR text through the whole CPU back end, against scalar references.
#include "HostKernelHarness.h"

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

std::string replaced(std::string text, const std::string &name, const std::string &by) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += by.size())
    text.replace(at, name.size(), by);
  return text;
}

const char *kVectorAdd = R"(
func.func @add(%x: !tile.ptr<f32> {tile.name = "x"}, %y: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32)
    attributes {tile.kernel} {
  %size = arith.constant BLOCK : i32
  %pid = tile.program_id 0
  %start = arith.muli %pid, %size : i32
  %i = tile.arange 0, BLOCK : tensor<BLOCKxi32>
  %s = tile.splat %start : i32 -> tensor<BLOCKxi32>
  %o = arith.addi %s, %i : tensor<BLOCKxi32>
  %ns = tile.splat %n : i32 -> tensor<BLOCKxi32>
  %m = arith.cmpi slt, %o, %ns : tensor<BLOCKxi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %xp = tile.ptr_add %xs, %o : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  %xv = tile.load %xp, %m : tensor<BLOCKx!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %yp = tile.ptr_add %ys, %o : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  %yv = tile.load %yp, %m : tensor<BLOCKx!tile.ptr<f32>>
  %sum = arith.addf %xv, %yv : tensor<BLOCKxf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %op = tile.ptr_add %os, %o : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  tile.store %op, %sum, %m : tensor<BLOCKx!tile.ptr<f32>>
  return
})";

TEST(CpuBackend, adds_vectors_of_any_length) {
  for (int block : {1, 3, 17, 96, 100, 1000, 1024}) {
    HostKernelUnderTest kernel(replaced(kVectorAdd, "BLOCK", std::to_string(block)));
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

const char *kSoftmax = R"(
func.func @softmax(%x: !tile.ptr<f32>, %out: !tile.ptr<f32>, %stride: i32, %n: i32) attributes {tile.kernel} {
  %row = tile.program_id 0
  %start = arith.muli %row, %stride : i32
  %xrow = tile.ptr_add %x, %start : !tile.ptr<f32>, i32
  %orow = tile.ptr_add %out, %start : !tile.ptr<f32>, i32
  %i = tile.arange 0, BLOCK : tensor<BLOCKxi32>
  %ns = tile.splat %n : i32 -> tensor<BLOCKxi32>
  %m = arith.cmpi slt, %i, %ns : tensor<BLOCKxi32>
  %xs = tile.splat %xrow : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %xp = tile.ptr_add %xs, %i : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  %inf = arith.constant dense<0xFF800000> : tensor<BLOCKxf32>
  %xv = tile.load %xp, %m, %inf : tensor<BLOCKx!tile.ptr<f32>>
  %max = tile.reduce(%xv) axis 0 : (tensor<BLOCKxf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tile.yield %c : f32
  }
  %maxs = tile.splat %max : f32 -> tensor<BLOCKxf32>
  %d = arith.subf %xv, %maxs : tensor<BLOCKxf32>
  %e = math.exp %d : tensor<BLOCKxf32>
  %sum = tile.reduce(%e) axis 0 : (tensor<BLOCKxf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %sums = tile.splat %sum : f32 -> tensor<BLOCKxf32>
  %r = arith.divf %e, %sums : tensor<BLOCKxf32>
  %os = tile.splat %orow : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %op = tile.ptr_add %os, %i : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  tile.store %op, %r, %m : tensor<BLOCKx!tile.ptr<f32>>
  return
})";

TEST(CpuBackend, softmax_of_rows) {
  for (int block : {1, 3, 17, 100, 1024})
    for (int n : {1, 2, 16, 17, 99, 1000, 1024}) {
      if (n > block)
        continue;
      HostKernelUnderTest kernel(replaced(kSoftmax, "BLOCK", std::to_string(block)));
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
