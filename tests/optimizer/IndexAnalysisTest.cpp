// The laws of IndexAnalysis.h: stated facts of small kernels. IndexFactsTest.cpp has the property
// that facts hold of random expressions.
#include "optimizer/IndexAnalysis.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sectile;
using optimizer::DimensionFacts;
using optimizer::IndexAnalysis;
using optimizer::IndexFacts;

namespace {

/// Facts of the operand of the one `tile.print "name", %value` of a kernel.
class Kernel {
public:
  explicit Kernel(StringRef body) : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<tile::TileDialect>();
    std::string text = ("func.func @k(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, "
                        "%n: i32 {tile.divisibility = 16 : i64}, %m: i32, %s: i32) {\n" +
                        body + "\nreturn\n}")
                           .str();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    function = *module->getOps<func::FuncOp>().begin();
    analysis.emplace(function);
  }

  const IndexFacts &of(StringRef name) {
    Value found;
    function.walk([&](tile::PrintOp print) {
      if (print.getPrefix() == name)
        found = print.getArgs().front();
    });
    EXPECT_TRUE(found) << name.str();
    return analysis->of(found);
  }
  const DimensionFacts &of(StringRef name, unsigned dimension) {
    return of(name).dimensions[dimension];
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::optional<IndexAnalysis> analysis;
};

#define PRINT(value, type)                                                                         \
  "tile.print \"" value "\", %" value " {hex = false, isSigned = array<i32: 1>} : " type "\n"

TEST(IndexAnalysis, remainders_of_what_may_be_negative_have_no_runs) {
  Kernel kernel(R"(
    %c16 = arith.constant 16 : i32
    %b = arith.muli %s, %c16 : i32
    %bs = tile.splat %b : i32 -> tensor<128xi32>
    %i = tile.arange 0, 128 : tensor<128xi32>
    %x = arith.addi %bs, %i : tensor<128xi32>
    %ns = tile.splat %n : i32 -> tensor<128xi32>
    %r = arith.remsi %x, %ns : tensor<128xi32>
  )" PRINT("r", "tensor<128xi32>"));
  // -16 % 16 is 0, -15 % 16 is -15.
  EXPECT_EQ(kernel.of("r", 0).run, 1);
}

/// The grouped order of Triton's matrix product.
TEST(IndexAnalysis, rows_that_wrap_around_sizes_of_unknown_sign_are_runs_of_addresses) {
  Kernel kernel(R"(
    %pid = tile.program_id 0
    %c8 = arith.constant 8 : i32
    %c128 = arith.constant 128 : i32
    %width = arith.muli %m, %c8 : i32
    %group = arith.divsi %pid, %width : i32
    %first = arith.muli %group, %c8 : i32
    %left = arith.subi %n, %first : i32
    %rows = arith.minsi %left, %c8 : i32
    %inside = arith.remsi %pid, %width : i32
    %row = arith.remsi %inside, %rows : i32
    %pid_m = arith.addi %first, %row : i32
    %b = arith.muli %pid_m, %c128 : i32
    %bs = tile.splat %b : i32 -> tensor<128xi32>
    %i = tile.arange 0, 128 : tensor<128xi32>
    %x = arith.addi %bs, %i : tensor<128xi32>
    %ns = tile.splat %n : i32 -> tensor<128xi32>
    %r = arith.remsi %x, %ns : tensor<128xi32>
    %limit = arith.constant dense<40> : tensor<128xi32>
    %mask = arith.cmpi slt, %r, %limit : tensor<128xi32>
    %f = arith.sitofp %r : tensor<128xi32> to tensor<128xf32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %q = tile.ptr_add %ps, %r : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  )" PRINT("r", "tensor<128xi32>") PRINT("mask", "tensor<128xi1>") PRINT("f", "tensor<128xf32>")
                    PRINT("q", "tensor<128x!tile.ptr<f32>>"));
  EXPECT_EQ(kernel.of("q", 0).contiguity(), 16);
  EXPECT_TRUE(kernel.of("r").isAssumed);
  // Of numbers nothing is assumed.
  EXPECT_EQ(kernel.of("mask", 0).constancy(), 1);
  EXPECT_FALSE(kernel.of("mask").isAssumed);
}

TEST(IndexAnalysis, masks_over_sums_that_wrap_change_where_they_do) {
  Kernel kernel(R"(
    %i = tile.arange 0, 256 : tensor<256xi32>
    %c = arith.constant dense<255> : tensor<256xi32>
    %top = arith.constant dense<2147483647> : tensor<256xi32>
    %x = arith.addi %i, %c : tensor<256xi32>
    %y = arith.addi %i, %top : tensor<256xi32>
    %mask = arith.cmpi sge, %x, %y : tensor<256xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
    %back = arith.subi %y, %top : tensor<256xi32>
    %q = tile.ptr_add %ps, %back : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  )" PRINT("mask", "tensor<256xi1>") PRINT("q", "tensor<256x!tile.ptr<f32>>"));
  EXPECT_EQ(kernel.of("mask", 0).constancy(), 1);
  EXPECT_FALSE(kernel.of("mask", 0).isPrefix);
  EXPECT_TRUE(kernel.of("q", 0).isContiguous());
}

/// As bits are taken out of a number: no assumption makes a run of what shifts left wrap.
TEST(IndexAnalysis, shifts_to_the_left_and_back_are_runs_of_what_remains) {
  Kernel kernel(R"(
    %i = tile.arange 0, 256 : tensor<256xi32>
    %c = arith.constant dense<26> : tensor<256xi32>
    %up = arith.shli %i, %c : tensor<256xi32>
    %signed = arith.shrsi %up, %c : tensor<256xi32>
    %unsigned = arith.shrui %up, %c : tensor<256xi32>
  )" PRINT("signed", "tensor<256xi32>") PRINT("unsigned", "tensor<256xi32>"));
  EXPECT_EQ(kernel.of("signed", 0).contiguity(), 32);
  EXPECT_EQ(kernel.of("unsigned", 0).contiguity(), 32);
}

TEST(IndexAnalysis, vector_add_is_contiguous_aligned_and_its_mask_a_prefix) {
  Kernel kernel(R"(
    %pid = tile.program_id 0
    %c128 = arith.constant 128 : i32
    %base = arith.muli %pid, %c128 : i32
    %i = tile.arange 0, 128 : tensor<128xi32>
    %bs = tile.splat %base : i32 -> tensor<128xi32>
    %offsets = arith.addi %bs, %i : tensor<128xi32>
    %ns = tile.splat %n : i32 -> tensor<128xi32>
    %mask = arith.cmpi slt, %offsets, %ns : tensor<128xi32>
    %ms = tile.splat %m : i32 -> tensor<128xi32>
    %odd = arith.cmpi slt, %offsets, %ms : tensor<128xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %q = tile.ptr_add %ps, %offsets : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
  )" PRINT("base", "i32") PRINT("offsets", "tensor<128xi32>") PRINT("mask", "tensor<128xi1>")
                    PRINT("odd", "tensor<128xi1>") PRINT("q", "tensor<128x!tile.ptr<f32>>"));
  EXPECT_EQ(kernel.of("base", 0).divisibility, 128);
  EXPECT_TRUE(kernel.of("base").isNonNegative);
  EXPECT_TRUE(kernel.of("offsets", 0).isContiguous());
  EXPECT_EQ(kernel.of("offsets", 0).divisibility, 128);
  EXPECT_TRUE(kernel.of("q", 0).isContiguous());
  EXPECT_EQ(kernel.of("q", 0).divisibility, 16);
  // n is a multiple of 16, so 16 neighbours are on or off together; of m nothing is known.
  EXPECT_EQ(kernel.of("mask", 0).constancy(), 16);
  EXPECT_TRUE(kernel.of("mask", 0).isPrefix);
  EXPECT_FALSE(kernel.of("mask").isAssumed);
  EXPECT_EQ(kernel.of("odd", 0).constancy(), 1);
  EXPECT_TRUE(kernel.of("odd", 0).isPrefix);
}

TEST(IndexAnalysis, rows_and_columns_of_a_matrix) {
  Kernel kernel(R"(
    %i = tile.arange 0, 32 : tensor<32xi32>
    %j = tile.arange 0, 64 : tensor<64xi32>
    %ic = tile.expand_dims %i {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %jr = tile.expand_dims %j {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %ns = tile.splat %n : i32 -> tensor<32x1xi32>
    %rows = arith.muli %ic, %ns : tensor<32x1xi32>
    %rb = tile.broadcast %rows : tensor<32x1xi32> -> tensor<32x64xi32>
    %cb = tile.broadcast %jr : tensor<1x64xi32> -> tensor<32x64xi32>
    %o = arith.addi %rb, %cb : tensor<32x64xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<32x64x!tile.ptr<f32>>
    %q = tile.ptr_add %ps, %o : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xi32>
    %t = tile.transpose %q [1, 0] : tensor<32x64x!tile.ptr<f32>> -> tensor<64x32x!tile.ptr<f32>>
  )" PRINT("q", "tensor<32x64x!tile.ptr<f32>>") PRINT("t", "tensor<64x32x!tile.ptr<f32>>"));
  EXPECT_TRUE(kernel.of("q", 1).isContiguous());
  EXPECT_EQ(kernel.of("q", 1).divisibility, 16);
  const DimensionFacts &down = kernel.of("q", 0);
  EXPECT_TRUE(down.isStrided());
  EXPECT_EQ(down.stride, 1);
  EXPECT_EQ(down.strideSymbol, kernel.function.getArgument(1));
  EXPECT_TRUE(kernel.of("t", 0).isContiguous());
}

TEST(IndexAnalysis, wrapping_around_a_divisible_extent_keeps_runs_of_it) {
  const char *body = R"(
    %pid = tile.program_id 0
    %c64 = arith.constant 64 : i32
    %base = arith.muli %pid, %c64 : i32
    %i = tile.arange 0, 64 : tensor<64xi32>
    %bs = tile.splat %base : i32 -> tensor<64xi32>
    %o = arith.addi %bs, %i : tensor<64xi32>
    %ns = tile.splat %n : i32 -> tensor<64xi32>
    %w = arith.remsi %o, %ns : tensor<64xi32>
    %ms = tile.splat %m : i32 -> tensor<64xi32>
    %v = arith.remsi %o, %ms : tensor<64xi32>
    %c16 = arith.constant dense<16> : tensor<64xi32>
    %d = arith.divsi %o, %c16 : tensor<64xi32>
    %h = tile.hint %v {divisibility = array<i64: 64>, contiguity = array<i64: 64>} : tensor<64xi32>
  )" PRINT("w", "tensor<64xi32>") PRINT("v", "tensor<64xi32>") PRINT("d", "tensor<64xi32>")
      PRINT("h", "tensor<64xi32>");
  Kernel kernel(body);
  EXPECT_EQ(kernel.of("w", 0).contiguity(), 16);
  EXPECT_EQ(kernel.of("w", 0).divisibility, 16);
  EXPECT_EQ(kernel.of("v", 0).contiguity(), 1);
  EXPECT_EQ(kernel.of("d", 0).constancy(), 16);
  EXPECT_TRUE(kernel.of("h", 0).isContiguous());
  EXPECT_EQ(kernel.of("h", 0).divisibility, 64);
}

TEST(IndexAnalysis, loops_keep_what_every_round_keeps) {
  Kernel kernel(R"(
    %i = tile.arange 0, 64 : tensor<64xi32>
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %c8 = arith.constant dense<8> : tensor<64xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %q0 = tile.ptr_add %ps, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %r:2 = scf.for %k = %c0 to %m step %c32 iter_args(%x = %i, %q = %q0)
        -> (tensor<64xi32>, tensor<64x!tile.ptr<f32>>) : i32 {
  )" PRINT("k", "i32") PRINT("x", "tensor<64xi32>") PRINT("q", "tensor<64x!tile.ptr<f32>>") R"(
      %x2 = arith.addi %x, %c8 : tensor<64xi32>
      %ss = tile.splat %s : i32 -> tensor<64xi32>
      %q2 = tile.ptr_add %q, %ss : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
      scf.yield %x2, %q2 : tensor<64xi32>, tensor<64x!tile.ptr<f32>>
    }
    %after = arith.addi %r#0, %i : tensor<64xi32>
  )" PRINT("after", "tensor<64xi32>"));
  EXPECT_EQ(kernel.of("k", 0).divisibility, 32);
  EXPECT_EQ(kernel.of("k").low, 0);
  EXPECT_TRUE(kernel.of("x", 0).isContiguous());
  EXPECT_EQ(kernel.of("x", 0).divisibility, 8);
  EXPECT_TRUE(kernel.of("q", 0).isContiguous());
  EXPECT_EQ(kernel.of("q", 0).divisibility, 4); // by an unknown number of elements
  EXPECT_EQ(kernel.of("after", 0).stride, 2);
  EXPECT_TRUE(kernel.of("after", 0).isStrided());
}

/// Offsets of blocks that a loop moves: no round finds one beyond those of the loop's own numbers.
TEST(IndexAnalysis, what_loops_count_up_ends_with_them) {
  Kernel kernel(R"(
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %s5 = arith.constant 5 : i64
    %s64 = arith.constant 64 : i64
    %n64 = arith.extsi %n : i32 to i64
    %r:4 = scf.for %k = %c0 to %m step %c64 iter_args(%x = %s5, %y = %s5, %z = %c0, %w = %n64)
        -> (i64, i64, i32, i64) : i32 {
  )" PRINT("x", "i64") PRINT("y", "i64") PRINT("z", "i32") PRINT("w", "i64") R"(
      %x2 = arith.addi %x, %s64 : i64
      %y2 = arith.subi %y, %s64 : i64
      %z2 = arith.addi %z, %c64 : i32
      %w2 = arith.addi %w, %s64 : i64
      scf.yield %x2, %y2, %z2, %w2 : i64, i64, i32, i64
    }
    scf.for unsigned %k = %c0 to %m step %c64 iter_args(%u = %s5) -> (i64) : i32 {
  )" PRINT("u", "i64") R"(
      %u2 = arith.addi %u, %s64 : i64
      scf.yield %u2 : i64
    }
    tile.print "after", %r#0 {hex = false, isSigned = array<i32: 1>} : i64
  )");
  // At most 2^25 rounds.
  EXPECT_EQ(kernel.of("x").low, 5);
  EXPECT_EQ(kernel.of("x").high, (int64_t(1) << 31) - 64 + 5);
  EXPECT_EQ(kernel.of("y").high, std::numeric_limits<int64_t>::max()); // for all that is known
  // One more step of 32 bits may wrap.
  EXPECT_EQ(kernel.of("z").high, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(kernel.of("w").high, (int64_t(1) << 32) - 65);
  EXPECT_EQ(kernel.of("u").high, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(kernel.of("after").high, (int64_t(1) << 31) + 5);
}

/// for i in range(rows - 1, -1, -1), and a loop whose end less its start is no number of 32 bits.
TEST(IndexAnalysis, what_loops_count_down_is_not_below_their_end) {
  Kernel kernel(R"(
    %cm1 = arith.constant -1 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %rows = arith.divsi %m, %c64 : i32
    scf.for %k = %cm1 to %rows step %c1 : i32 {
      %left = arith.subi %rows, %k : i32
      %i = arith.addi %left, %cm1 : i32
      %first = arith.muli %i, %c64 : i32
      %other = arith.subi %k, %rows : i32
  )" PRINT("left", "i32") PRINT("i", "i32") PRINT("first", "i32") PRINT("other", "i32") R"(
    }
    scf.for %k = %cm1 to %m step %c1 : i32 {
      %far = arith.subi %m, %k : i32
  )" PRINT("far", "i32") R"(
    }
    scf.for unsigned %k = %c1 to %rows step %c1 : i32 {
      %any = arith.subi %rows, %k : i32
  )" PRINT("any", "i32") "}");
  EXPECT_EQ(kernel.of("left").low, 1);
  EXPECT_EQ(kernel.of("left").high, (1 << 25)); // 2^25 - 1 less -1
  EXPECT_EQ(kernel.of("i").low, 0);
  EXPECT_EQ(kernel.of("first").low, 0);
  EXPECT_EQ(kernel.of("first").high, ((1 << 25) - 1) * 64);
  EXPECT_LT(kernel.of("other").low, 0);
  EXPECT_LT(kernel.of("far").low, 0);
  EXPECT_LT(kernel.of("any").low, 0);
}

TEST(IndexAnalysis, unsigned_loops_may_run_through_the_upper_half) {
  // From 2147483646 to 2147483651: as signed numbers, the end lies below the start.
  Kernel kernel(R"(
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %lo = arith.constant 2147483646 : i32
    %hi = arith.constant -2147483645 : i32
    scf.for unsigned %k = %lo to %hi step %c1 : i32 {
  )" PRINT("k", "i32") R"(
    }
    scf.for unsigned %j = %c4 to %lo step %c4 : i32 {
  )" PRINT("j", "i32") R"(
    }
    scf.for unsigned %i = %c4 to %m step %c4 : i32 {
  )" PRINT("i", "i32") "}");
  EXPECT_EQ(kernel.of("k").constant(), std::nullopt);
  EXPECT_LT(kernel.of("k").low, 0);
  EXPECT_EQ(kernel.of("j").low, 4);
  EXPECT_EQ(kernel.of("j").high, 2147483645);
  EXPECT_LT(kernel.of("i").low, 0);
  EXPECT_EQ(kernel.of("i", 0).divisibility, 4);
}

TEST(IndexAnalysis, ranges_decide_comparisons) {
  Kernel kernel(R"(
    %i = tile.arange 0, 64 : tensor<64xi32>
    %c64 = arith.constant dense<64> : tensor<64xi32>
    %all = arith.cmpi slt, %i, %c64 : tensor<64xi32>
    %none = arith.cmpi sge, %i, %c64 : tensor<64xi32>
  )" PRINT("all", "tensor<64xi1>") PRINT("none", "tensor<64xi1>"));
  EXPECT_EQ(kernel.of("all").constant(), 1);
  EXPECT_EQ(kernel.of("none").constant(), 0);
}

TEST(IndexAnalysis, accesses_stop_where_their_mask_may_change) {
  Kernel kernel(R"(
    %i = tile.arange 0, 64 : tensor<64xi32>
    %ns = tile.splat %n : i32 -> tensor<64xi32>
    %mask = arith.cmpi slt, %i, %ns : tensor<64xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %q = tile.ptr_add %ps, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %x = arith.constant dense<1.0> : tensor<64xf32>
    tile.store %q, %x, %mask : tensor<64x!tile.ptr<f32>>
  )");
  auto store = *kernel.function.getOps<tile::StoreOp>().begin();
  EXPECT_EQ(kernel.analysis->accessRun(store.getPtr(), 0), 64);
  EXPECT_EQ(kernel.analysis->accessRun(store.getPtr(), 0, store.getMask()), 16);
  EXPECT_EQ(kernel.analysis->alignment(store.getPtr(), 0), 16);
}

} // namespace
