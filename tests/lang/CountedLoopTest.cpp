// What a range becomes, by the types of its bounds and what is known of its step. That the loops
// run through Python's numbers is tested where they run: tests/python/differential/test_ranges.py.
#include "lang/semantics/CountedLoop.h"

#include "lang/semantics/ScalarInterval.h"
#include "tests/lang/KernelBuilder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sectile::lang;
using testing::HasSubstr;
using testing::Not;

namespace {

/// The body of a kernel with one loop, which stores the index through `a`.
std::string loopText(KernelBuilder &k, const Operand &start, const Operand &end,
                     const Operand &step) {
  auto counted = CountedLoop::make(k.sema, start, end, step);
  EXPECT_TRUE(mlir::succeeded(counted)) << k.errors();
  if (mlir::failed(counted))
    return "";
  {
    mlir::OpBuilder::InsertionGuard guard(k.builder);
    counted->open(k.sema, {});
    Value index = counted->index(k.sema);
    k.call("device_print", {KernelBuilder::text("i"), Operand(index)});
    mlir::scf::YieldOp::create(k.builder, k.sema.location());
  }
  return k.body();
}

TEST(CountedLoop, the_usual_loop_is_nothing_but_a_loop) {
  KernelBuilder k({"i32"});
  EXPECT_EQ(loopText(k, k.number(0), k[0], k.number(64)),
            "%c0_i32 = arith.constant 0 : i32\n"
            "%c64_i32 = arith.constant 64 : i32\n"
            "scf.for %arg1 = %c0_i32 to %arg0 step %c64_i32  : i32 {\n"
            "  tile.print \"i\", %arg1 {hex = false, isSigned = array<i32: 1>} : i32\n"
            "}\n");
}

TEST(CountedLoop, a_grid_stride_is_positive) {
  KernelBuilder k({"i32"});
  std::string text =
      loopText(k, k.call("program_id", {k.number(0)}), k[0], k.call("num_programs", {k.number(0)}));
  EXPECT_EQ(text, "%0 = tile.program_id 0\n"
                  "%1 = tile.num_programs 0\n"
                  "scf.for %arg1 = %0 to %arg0 step %1  : i32 {\n"
                  "  tile.print \"i\", %arg1 {hex = false, isSigned = array<i32: 1>} : i32\n"
                  "}\n");
}

TEST(CountedLoop, a_constant_step_down_is_mirrored) {
  KernelBuilder k({"i64"});
  std::string text = loopText(k, k[0], k.number(-1), k.number(-2));
  EXPECT_THAT(text, HasSubstr("scf.for %arg1 = %c-1_i64 to %arg0 step %c2_i64  : i64"));
  EXPECT_THAT(text, HasSubstr("arith.subi %arg0, %arg1 : i64"));
}

TEST(CountedLoop, an_unsigned_bound_makes_an_unsigned_loop) {
  KernelBuilder k({"u32"});
  EXPECT_THAT(loopText(k, k.number(0), k[0], k.number(1)),
              HasSubstr("scf.for unsigned %arg1 = %c0_i32 to %arg0 step %c1_i32  : i32"));
}

TEST(CountedLoop, bounds_of_both_signs_are_counted_in_a_type_that_holds_both) {
  KernelBuilder k({"i32", "u32"});
  std::string text = loopText(k, k[0], k[1], k.number(1));
  EXPECT_THAT(text, HasSubstr("arith.extsi %arg0 : i32 to i64"));
  EXPECT_THAT(text, HasSubstr("arith.extui %arg1 : i32 to i64"));
  EXPECT_THAT(text, HasSubstr("scf.for %arg2 = "));
  EXPECT_THAT(text, HasSubstr("arith.trunci %arg2 : i64 to i32"));
}

TEST(CountedLoop, a_step_that_may_be_anything_is_followed_at_run_time) {
  KernelBuilder k({"i32", "i32", "i32"});
  std::string text = loopText(k, k[0], k[1], k[2]);
  EXPECT_THAT(text, HasSubstr("tile.assert %"));
  EXPECT_THAT(text, HasSubstr("\"range: step is zero\""));
  EXPECT_THAT(text, HasSubstr("scf.for unsigned %arg3 = %c0_i32 to "));
}

TEST(CountedLoop, an_unsigned_step_may_only_be_zero) {
  KernelBuilder k({"i32", "u8"});
  std::string text = loopText(k, k.number(0), k[0], k[1]);
  EXPECT_THAT(text, HasSubstr("tile.assert %"));
  EXPECT_THAT(text, HasSubstr("scf.for %arg2 = %c0_i32 to "));
  EXPECT_THAT(text, Not(HasSubstr("muli")));
}

TEST(CountedLoop, refusals) {
  KernelBuilder k({"i64", "u64", "fp32", "*i32"});
  auto refused = [&](const Operand &start, const Operand &end, const Operand &step) {
    EXPECT_TRUE(mlir::failed(CountedLoop::make(k.sema, start, end, step)));
    return k.errors();
  };
  EXPECT_THAT(refused(k.number(0), k[0], k.number(0)), HasSubstr("range: step is zero"));
  EXPECT_THAT(refused(k[0], k[1], k.number(1)),
              HasSubstr("range: the start is i64 and the end u64, and no type holds the numbers of "
                        "both"));
  EXPECT_THAT(refused(k.number(0), k[2], k.number(1)),
              HasSubstr("range: bounds and step must be integers, not fp32"));
}

TEST(ScalarInterval, follows_what_cannot_wrap) {
  KernelBuilder k({"i32", "u8"});
  auto of = [&](const Operand &operand) { return intervalOf(*operand.value()); };
  Operand programs = k.call("num_programs", {k.number(0)});
  Int most = (Int(1) << 31) - 1;
  EXPECT_EQ(of(programs), (Interval{1, most}));
  EXPECT_EQ(of(k[0]), (Interval{-most - 1, most}));
  EXPECT_EQ(of(k[1]), (Interval{0, 255}));
  // In 32 bits the product may wrap.
  EXPECT_EQ(of(k.binary(BinaryOperator::Multiply, programs, k.number(64))),
            (Interval{-most - 1, most}));
  Operand wide = *k.sema.cast(*programs.value(), *DType::parse("i64"));
  EXPECT_EQ(of(k.binary(BinaryOperator::Multiply, wide, k.number(64))), (Interval{64, most * 64}));
}

} // namespace
