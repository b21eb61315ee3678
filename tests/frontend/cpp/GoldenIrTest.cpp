//===-- GoldenIrTest.cpp - whole kernels, compared with the IR expected ------------------------===//
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
  EXPECT_EQ(kernel.ir, "");
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
  EXPECT_EQ(kernel.ir, "");
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
