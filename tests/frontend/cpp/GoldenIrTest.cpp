//===-- GoldenIrTest.cpp - whole kernels, compared with the IR expected -------------------===//
#include "tests/frontend/cpp/Record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sectile::test {
namespace {
using testing::HasSubstr;

TEST(CppGoldenIr, VectorAdd) {
  Recorded kernel = record(
      {"x", "y", "out", "count", "BLOCK"},
      [](Ptr<const f32> x, Ptr<const f32> y, Ptr<f32> out, i32 count, Const<int> BLOCK) {
        auto index = program_id(0) * BLOCK + arange(0, BLOCK);
        auto inside = index < count;
        store(out + index, load(x + index, inside) + load(y + index, inside), inside);
      },
      aligned, aligned, aligned, any, Const{128});
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(kernel.ir, R"(module {
  func.func @kernel(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "x"}, %arg1: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "y"}, %arg2: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "out"}, %arg3: i32 {tile.name = "count"}) attributes {tile.kernel} {
    %0 = tile.program_id 0
    %c128_i32 = arith.constant 128 : i32
    %1 = arith.muli %0, %c128_i32 : i32
    %2 = tile.arange 0, 128 : tensor<128xi32>
    %3 = tile.splat %1 : i32 -> tensor<128xi32>
    %4 = arith.addi %3, %2 : tensor<128xi32>
    %5 = tile.splat %arg3 : i32 -> tensor<128xi32>
    %6 = arith.cmpi slt, %4, %5 : tensor<128xi32>
    %7 = tile.splat %arg2 : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %8 = tile.ptr_add %7, %4 : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %9 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %10 = tile.ptr_add %9, %4 : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %11 = tile.load %10, %6 : tensor<128x!tile.ptr<f32>>
    %12 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %13 = tile.ptr_add %12, %4 : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %14 = tile.load %13, %6 : tensor<128x!tile.ptr<f32>>
    %15 = arith.addf %11, %14 : tensor<128xf32>
    tile.store %8, %15, %6 : tensor<128x!tile.ptr<f32>>
    return
  }
}
)");
}

TEST(CppGoldenIr, Softmax) {
  Recorded kernel = record(
      {"out", "in", "stride", "cols", "BLOCK"},
      [](Ptr<f32> out, Ptr<const f32> in, i32 stride, i32 cols, Const<int> BLOCK) {
        auto row = program_id(0);
        auto col = arange(0, BLOCK);
        auto x = load(in + row * stride + col, col < cols, -inf);
        auto e = exp(x - max(x, 0));
        store(out + row * stride + col, e / sum(e, 0), col < cols);
      },
      aligned, any, aligned, any, Const{64});
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(kernel.ir, R"(module {
  func.func @kernel(%arg0: !tile.ptr<f32> {tile.divisibility = 16 : i64, tile.name = "out"}, %arg1: !tile.ptr<f32> {tile.name = "in"}, %arg2: i32 {tile.divisibility = 16 : i64, tile.name = "stride"}, %arg3: i32 {tile.name = "cols"}) attributes {tile.kernel} {
    %0 = tile.program_id 0
    %1 = tile.arange 0, 64 : tensor<64xi32>
    %2 = arith.muli %0, %arg2 : i32
    %3 = tile.ptr_add %arg1, %2 : !tile.ptr<f32>, i32
    %4 = tile.splat %3 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %5 = tile.ptr_add %4, %1 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %6 = tile.splat %arg3 : i32 -> tensor<64xi32>
    %7 = arith.cmpi slt, %1, %6 : tensor<64xi32>
    %cst = arith.constant dense<0xFF800000> : tensor<64xf32>
    %8 = tile.load %5, %7, %cst : tensor<64x!tile.ptr<f32>>
    %9 = tile.reduce(%8) axis 0 : (tensor<64xf32>) -> f32 {
    ^bb0(%arg4: f32, %arg5: f32):
      %22 = arith.maxnumf %arg4, %arg5 : f32
      tile.yield %22 : f32
    }
    %10 = tile.splat %9 : f32 -> tensor<64xf32>
    %11 = arith.subf %8, %10 : tensor<64xf32>
    %12 = math.exp %11 fastmath<afn> : tensor<64xf32>
    %13 = arith.muli %0, %arg2 : i32
    %14 = tile.ptr_add %arg0, %13 : !tile.ptr<f32>, i32
    %15 = tile.splat %14 : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %16 = tile.ptr_add %15, %1 : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %17 = tile.reduce(%12) axis 0 : (tensor<64xf32>) -> f32 {
    ^bb0(%arg4: f32, %arg5: f32):
      %22 = arith.addf %arg4, %arg5 : f32
      tile.yield %22 : f32
    }
    %18 = tile.splat %17 : f32 -> tensor<64xf32>
    %19 = arith.divf %12, %18 fastmath<afn> : tensor<64xf32>
    %20 = tile.splat %arg3 : i32 -> tensor<64xi32>
    %21 = arith.cmpi slt, %1, %20 : tensor<64xi32>
    tile.store %16, %19, %21 : tensor<64x!tile.ptr<f32>>
    return
  }
}
)");
}

TEST(CppGoldenIr, ConstantsFold) {
  Recorded kernel = record(
      {"out", "stride", "n"},
      [](Ptr<i32> out, i32 stride, i32 n) {
        EXPECT_TRUE(stride.isConstant());
        EXPECT_FALSE(n.isConstant());
        // All of it known: integers divide as in C++.
        Value offset = (stride * 7 - 14) / 2 + stride % 2 + (stride << 3);
        EXPECT_TRUE(offset.isConstant());
        EXPECT_EQ(*offset.constant()->as<lang::Int>(), -3 + 1 + 8);
        store(out + offset, n / -2);
      },
      any, 1, any);
  EXPECT_EQ(kernel.error, "");
  EXPECT_THAT(kernel.ir, HasSubstr("arith.constant 6 : i32"));
  EXPECT_THAT(kernel.ir, HasSubstr("arith.divsi"));
}

} // namespace
} // namespace sectile::test
