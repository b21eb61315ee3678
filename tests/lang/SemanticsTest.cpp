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

/// What an operation gives, by dtype and shape. Tiles: a fp16[4x8], b bf16[8], c i8[8], d i1[8], e
/// fp32[2x8x2].
TEST(Semantics, result_types) {
  KernelBuilder k{"*fp32", "*i1", "i32", "fp64"};
  Operand a = k.tile("fp16", {4, 8}), b = k.tile("bf16", {8}), c = k.tile("i8", {8}),
          d = k.tile("i1", {8});
  Operand e = k.tile("fp32", {2, 8, 2}), yes = Constant{true};
  auto kind = [&](llvm::StringRef name, std::vector<Operand> positional,
                  std::vector<NamedOperand> named = {}) {
    Operand result = k.call(name, std::move(positional), std::move(named));
    if (!result.items())
      return result.kindName();
    std::string text;
    for (const Operand &item : *result.items())
      text += (text.empty() ? "" : ", ") + item.kindName();
    return text;
  };
  // shape
  EXPECT_EQ(kind("trans", {a}), "fp16[8x4]");
  EXPECT_EQ(kind("trans", {e}), "fp32[2x2x8]");
  EXPECT_EQ(kind("permute", {e, k.number(2), k.number(0), k.number(1)}), "fp32[2x2x8]");
  EXPECT_EQ(kind("reshape", {a, k.number(2), k.number(16)}), "fp16[2x16]");
  EXPECT_EQ(kind("reshape", {a, k.shape({32})}), "fp16[32]");
  EXPECT_EQ(kind("ravel", {e}), "fp32[32]");
  EXPECT_EQ(kind("expand_dims", {b, k.shape({0, 2})}), "bf16[1x8x1]");
  EXPECT_EQ(kind("expand_dims", {k[2], k.number(0)}), "i32[1]");
  EXPECT_EQ(kind("squeeze", {k.call("expand_dims", {b, k.number(1)}), k.number(-1)}), "bf16[8]");
  EXPECT_EQ(kind("broadcast_to", {b, k.number(4), k.number(8)}), "bf16[4x8]");
  EXPECT_EQ(kind("broadcast", {a, k.call("expand_dims", {b, k.number(0)})}),
            "fp16[4x8], bf16[4x8]");
  EXPECT_EQ(kind("join", {b, b}), "bf16[8x2]");
  EXPECT_EQ(kind("join", {k[2], k[2]}), "i32[2]");
  EXPECT_EQ(kind("interleave", {b, b}), "bf16[16]");
  EXPECT_EQ(kind("split", {e}), "fp32[2x8], fp32[2x8]");
  EXPECT_EQ(kind("split", {k.tile("i32", {2})}), "i32, i32");
  EXPECT_EQ(kind("cat", {b, b}), "bf16[16]");
  EXPECT_EQ(kind("cat", {a, a}, {{"dim", k.number(1)}}), "fp16[4x16]");
  EXPECT_EQ(kind("gather", {a, k.tile("i32", {4, 3}), k.number(1)}), "fp16[4x3]");
  EXPECT_EQ(kind("flip", {a, k.number(0)}), "fp16[4x8]");
  EXPECT_EQ(kind("item", {k.tile("fp32", {1, 1})}), "fp32");
  // arithmetic: minimum types its literals first and takes bf16 in fp32
  EXPECT_EQ(kind("minimum", {a, k.real(0)}), "fp32[4x8]");
  EXPECT_EQ(kind("maximum", {b, b}), "fp32[8]");
  EXPECT_EQ(kind("maximum", {c, k.number(0)}), "i32[8]");
  EXPECT_EQ(kind("where", {d, b, k.real(0)}), "bf16[8]");
  EXPECT_EQ(kind("where", {d, k.number(1), k.number(0)}), "i32[8]");
  EXPECT_EQ(kind("where", {d, k[0], k[0]}), "*fp32[8]");
  EXPECT_EQ(kind("clamp", {k.real(1), k.real(0), k[3]}), "fp64");
  EXPECT_EQ(kind("cdiv", {k[2], k.number(128)}), "i32");
  EXPECT_EQ(k.call("cdiv", {k.number(-7), k.number(2)}).constant()->repr(), "-3");
  EXPECT_EQ(kind("fdiv", {a, a}), "fp16[4x8]"); // Triton's casts nothing
  EXPECT_EQ(kind("fdiv", {a, k[3]}), "fp64[4x8]");
  EXPECT_EQ(kind("div_rn", {a, a}), "fp32[4x8]");
  EXPECT_EQ(kind("fma", {b, b, k[3]}), "fp64[8]");
  EXPECT_EQ(kind("swizzle2d", {k[2], k[2], k[2], k[2], k.number(8)}), "i32, i32");
  // reductions
  EXPECT_EQ(kind("sum", {c}), "i32");
  EXPECT_EQ(kind("sum", {d}), "u32");
  EXPECT_EQ(kind("sum", {a, k.number(0)}), "fp16[8]");
  EXPECT_EQ(kind("sum", {c}, {{"dtype", k.dtype("i64")}}), "i64");
  EXPECT_EQ(kind("sum", {e}, {{"keep_dims", yes}}), "fp32[1x1x1]");
  EXPECT_EQ(kind("max", {b, k.number(0)}), "fp32");
  EXPECT_EQ(kind("max", {a, k.number(1)}, {{"return_indices", yes}}), "fp16[4], i32[4]");
  EXPECT_EQ(kind("min", {c}), "i32");
  EXPECT_EQ(kind("argmin", {e, k.number(1)}, {{"keep_dims", yes}}), "i32[2x1x2]");
  EXPECT_EQ(kind("xor_sum", {c}), "i8");
  EXPECT_EQ(kind("softmax", {e, k.number(1)}), "fp32[2x8x2]");
  EXPECT_EQ(kind("cumsum", {c}), "i32[8]");
  EXPECT_EQ(kind("cumprod", {b}), "fp32[8]");
  EXPECT_EQ(kind("reduce", {b, k.number(0), Operand(Constant{BuiltinRef{"add"}})}), "bf16");
  // dot
  Operand transposed = k.call("trans", {a});
  EXPECT_EQ(kind("dot", {a, transposed}, {{"out_dtype", k.dtype("fp16")}}), "fp16[4x4]");
  EXPECT_EQ(kind("dot", {a, transposed, k.tile("fp16", {4, 4})}), "fp16[4x4]");
  EXPECT_EQ(kind("dot", {k.tile("i8", {4, 8}), k.tile("i8", {8, 4})}), "i32[4x4]");
  EXPECT_EQ(kind("dot", {k.tile("fp64", {4, 8}), k.tile("fp64", {8, 4})}), "fp64[4x4]");
  EXPECT_EQ(kind("dot", {k.tile("fp32", {2, 3, 4, 8}), k.tile("fp32", {2, 3, 8, 4})}),
            "fp32[2x3x4x4]");
  // memory
  EXPECT_EQ(kind("load", {k[1]}), "i1");
  EXPECT_EQ(kind("load", {k[0], d, b}), "None"); // a scalar pointer takes no tile of masks
  (void)k.sink.take();
  Operand pointers = k.binary(BinaryOperator::Add, k[0], k.tile("i32", {8}));
  EXPECT_EQ(kind("load", {pointers, d, k.number(0)}), "fp32[8]");
  EXPECT_EQ(kind("atomic_add", {pointers, k.real(1)}), "fp32[8]");
  EXPECT_EQ(kind("atomic_cas",
                 {k.binary(BinaryOperator::Add, k[0], k.number(1)), k.number(0), k.number(1)}),
            "fp32");
  EXPECT_EQ(k.errors(), "");
  k.body();
}

TEST(Semantics, truth_values_are_bytes_in_memory) {
  KernelBuilder k{"*i1", "fp32"};
  k.call("store", {k[0], k[1]});
  Operand truth = k.call("load", {k[0]});
  k.call("store", {k[0], truth});
  EXPECT_EQ(k.errors(), "");
  EXPECT_EQ(k.body(), R"(%cst = arith.constant 0.000000e+00 : f32
%0 = arith.cmpf une, %arg1, %cst : f32
%1 = arith.extui %0 : i1 to i8
tile.store %arg0, %1 : !tile.ptr<i8>
%2 = tile.load %arg0 : !tile.ptr<i8>
%c0_i8 = arith.constant 0 : i8
%3 = arith.cmpi ne, %2, %c0_i8 : i8
%4 = arith.extui %3 : i1 to i8
tile.store %arg0, %4 : !tile.ptr<i8>
)");
}

TEST(Semantics, offsets_are_signed_in_the_ir) {
  KernelBuilder k{"*fp32", "u32", "i32"};
  k.binary(BinaryOperator::Add, k[1], k[0]);
  k.binary(BinaryOperator::Subtract, k[0], k[2]);
  EXPECT_EQ(k.body(), R"(%0 = arith.extui %arg1 : i32 to i64
%1 = tile.ptr_add %arg0, %0 : !tile.ptr<f32>, i64
%c0_i32 = arith.constant 0 : i32
%2 = arith.subi %c0_i32, %arg2 : i32
%3 = tile.ptr_add %arg0, %2 : !tile.ptr<f32>, i32
)");
}

TEST(Semantics, signedness_picks_the_operation) {
  KernelBuilder k{"i32", "u32", "i64"};
  k.binary(BinaryOperator::ShiftRight, k[0], k[1]); // by the left side, though both become u32
  k.binary(BinaryOperator::ShiftRight, k[1], k[1]);
  k.binary(BinaryOperator::Less, k[0], k[1]);
  k.binary(BinaryOperator::FloorDivide, k[0], k[0]);
  k.binary(BinaryOperator::Modulo, k[1], k[1]);
  k.binary(BinaryOperator::Divide, k[0], k[0]);
  EXPECT_EQ(k.body(), R"(%0 = arith.shrsi %arg0, %arg1 : i32
%1 = arith.shrui %arg1, %arg1 : i32
%2 = arith.cmpi ult, %arg0, %arg1 : i32
%3 = arith.divsi %arg0, %arg0 : i32
%4 = arith.remui %arg1, %arg1 : i32
%5 = arith.sitofp %arg0 : i32 to f32
%6 = arith.sitofp %arg0 : i32 to f32
%7 = arith.divf %5, %6 fastmath<afn> : f32
)");
}

TEST(Semantics, fp8_is_computed_in_fp32) {
  KernelBuilder k{"fp8e5"};
  k.binary(BinaryOperator::Add, k[0], k.real(0.5));
  EXPECT_EQ(k.body(), R"(%cst = arith.constant 5.000000e-01 : f8E5M2
%0 = arith.extf %arg0 : f8E5M2 to f32
%1 = arith.extf %cst : f8E5M2 to f32
%2 = arith.addf %0, %1 : f32
%3 = tile.narrow %2 : f32 -> f8E5M2
)");
}

TEST(Semantics, argmax_prefers_the_left_of_equals) {
  KernelBuilder k{"*fp32"};
  k.call("argmax", {k.tile("fp32", {8}), k.number(0)});
  EXPECT_EQ(k.body(), R"(%0 = tile.arange 0, 8 : tensor<8xi32>
%1 = arith.sitofp %0 : tensor<8xi32> to tensor<8xf32>
%2 = tile.arange 0, 8 : tensor<8xi32>
%3:2 = tile.reduce(%1, %2) axis 0 : (tensor<8xf32>, tensor<8xi32>) -> (f32, i32) {
^bb0(%arg1: f32, %arg2: i32, %arg3: f32, %arg4: i32):
  %4 = arith.cmpf ogt, %arg1, %arg3 : f32
  %5 = arith.cmpf une, %arg3, %arg3 : f32
  %6 = arith.cmpf oeq, %arg1, %arg1 : f32
  %7 = arith.andi %6, %5 : i1
  %8 = arith.ori %4, %7 : i1
  %9 = arith.cmpf oge, %arg1, %arg3 : f32
  %10 = arith.ori %9, %5 : i1
  %11 = arith.cmpi slt, %arg2, %arg4 : i32
  %12 = arith.select %11, %10, %8 : i1
  %13 = arith.select %12, %arg1, %arg3 : f32
  %14 = arith.select %12, %arg2, %arg4 : i32
  tile.yield %13, %14 : f32, i32
}
)");
}

TEST(Semantics, a_kernel_of_every_operation_family_is_built_alike_twice) {
  auto build = [] {
    KernelBuilder k{"*fp32", "i32"};
    Operand offsets = k.call("arange", {k.number(0), k.number(64)});
    Operand x = k.call("load", {k.binary(BinaryOperator::Add, k[0], offsets)});
    Operand m = k.call("reshape", {x, k.shape({8, 8})});
    Operand y = k.call("dot", {m, k.call("trans", {m})});
    Operand s = k.call("softmax", {y, k.number(1)});
    Operand z = k.call("sum", {k.call("clamp", {s, k.real(0), k.real(1)}), k.number(0)});
    k.call("atomic_add", {k.binary(BinaryOperator::Add, k[0], k.tile("i32", {8})), z});
    k.call("swizzle2d", {k[1], k[1], k[1], k[1], k[1]});
    k.call("randn4x", {k[1], offsets});
    k.call("cumsum", {x});
    k.call("libdevice.hypot", {x, x});
    EXPECT_EQ(k.errors(), "");
    return k.body();
  };
  EXPECT_EQ(build(), build());
}

TEST(Builtins, the_table_is_in_order_and_names_its_parameters) {
  ASSERT_GT(builtins().size(), 100u);
  for (size_t i = 1; i < builtins().size(); ++i)
    EXPECT_LT(builtins()[i - 1].name, builtins()[i].name);
  const BuiltinInfo *load = findBuiltin("load");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->parameters.front(), "pointer");
  EXPECT_FALSE(load->isMethod);
  EXPECT_TRUE(findBuiltin("sum")->isMethod);
  EXPECT_EQ(findBuiltin("libdevice.asin")->name, "asin");
  EXPECT_EQ(findBuiltin("libdevice.exp")->name, "libdevice.exp");
  EXPECT_FALSE(findBuiltin("libdevice.sun"));
}

TEST(Builtins, static_print_goes_to_the_front_end) {
  KernelBuilder k{"i32"};
  std::string printed;
  k.sema.staticPrint = [&](const std::string &text) { printed += text; };
  k.call("static_print", {k.text("BLOCK"), k.number(128), k[0], k.shape({1, 2})});
  k.call("static_print", {k.text("a"), k.text("b")}, {{"sep", k.text("-")}, {"end", k.text("")}});
  EXPECT_EQ(printed, "BLOCK 128 i32 (1, 2)\na-b");
}

} // namespace
