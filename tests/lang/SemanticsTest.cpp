// The IR that language operations build, word for word.
#include "tests/lang/KernelBuilder.h"

using namespace sectile::lang;

namespace {

TEST(Semantics, builds_a_masked_vector_addition) {
  KernelBuilder k{"*fp32", "*fp32", "i32"};
  Operand pid = k.call("program_id", {k.number(0)});
  Operand start = k.binary(BinaryOperator::Multiply, pid, k.number(128));
  Operand offsets =
      k.binary(BinaryOperator::Add, start, k.call("arange", {k.number(0), k.number(128)}));
  Operand mask = k.binary(BinaryOperator::Less, offsets, k[2]);
  Operand from = k.binary(BinaryOperator::Add, k[0], offsets);
  Operand x = k.call("load", {from}, {{"mask", mask}, {"other", k.real(0)}});
  Operand y = k.binary(BinaryOperator::Multiply, x, k.real(2.5));
  k.call("store", {k.binary(BinaryOperator::Add, k[1], offsets), y}, {{"mask", mask}});
  EXPECT_EQ(k.errors(), "");
  EXPECT_EQ(k.body(), R"(%0 = tile.program_id 0
%c128_i32 = arith.constant 128 : i32
%1 = arith.muli %0, %c128_i32 : i32
%2 = tile.arange 0, 128 : tensor<128xi32>
%3 = tile.splat %1 : i32 -> tensor<128xi32>
%4 = arith.addi %3, %2 : tensor<128xi32>
%5 = tile.splat %arg2 : i32 -> tensor<128xi32>
%6 = arith.cmpi slt, %4, %5 : tensor<128xi32>
%7 = tile.splat %arg0 : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
%8 = tile.ptr_add %7, %4 : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
%cst = arith.constant dense<0.000000e+00> : tensor<128xf32>
%9 = tile.load %8, %6, %cst : tensor<128x!tile.ptr<f32>>
%cst_0 = arith.constant dense<2.500000e+00> : tensor<128xf32>
%10 = arith.mulf %9, %cst_0 : tensor<128xf32>
%11 = tile.splat %arg1 : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
%12 = tile.ptr_add %11, %4 : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
tile.store %12, %10, %6 : tensor<128x!tile.ptr<f32>>
)");
}

TEST(Semantics, reduces_and_multiplies) {
  KernelBuilder k{"*fp16"};
  Operand a = k.tile("fp16", {4, 8});
  Operand most = k.call("max", {a, k.number(1)});
  EXPECT_EQ(most.kindName(), "fp32[4]");
  Operand place = k.call("argmax", {a, k.number(-1)});
  EXPECT_EQ(place.kindName(), "i32[4]");
  Operand product = k.call("dot", {a, k.call("trans", {a})});
  EXPECT_EQ(product.kindName(), "fp32[4x4]");
  EXPECT_EQ(k.call("sum", {product}).kindName(), "fp32");
  EXPECT_EQ(k.errors(), "");
  EXPECT_NE(k.body().find("tile.dot"), std::string::npos);
}

} // namespace
