// GPUs with some abilities and without others (GpuAbilities.h): a pipelined loop of products gives
// the right sums with every selection of them.
#include "../TileText.h"
#include "SimulatedGpu.h"

#include <gmock/gmock.h>
#include <random>

using namespace sectile;
using namespace sectile::testing;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

constexpr int64_t kRows = 32, kColumns = 32, kDepth = 32;
constexpr int32_t kSteps = 5;

/// out = the sum over %n steps of products of tiles, which follow each other in a and b.
std::string productText(const std::string &element) {
  Shape lhs{kRows, kDepth}, rhs{kDepth, kColumns}, result{kRows, kColumns};
  std::string sums = tileType(result, "f32");
  auto stepTo = [&](const std::string &array, int64_t elements) {
    return "%" + array + "_size = arith.constant " + std::to_string(elements) + " : i32\n%" +
           array + "_offset = arith.muli %k, %" + array + "_size : i32\n%" + array +
           "_here = tile.ptr_add %" + array + ", %" + array + "_offset : !tile.ptr<" + element +
           ">, i32\n";
  };
  auto aligned = [](const std::string &name, const std::string &type) {
    return "%" + name + ": !tile.ptr<" + type + "> {tile.divisibility = 16 : i64}, ";
  };
  return kernelText(
      aligned("a", element) + aligned("b", element) + aligned("out", "f32") + "%n: i32",
      "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
      "%none = arith.constant dense<0.0> : " +
          sums + "\n%sum = scf.for %k = %zero to %n step %one iter_args(%before = %none) -> (" +
          sums + ") : i32 {\n" + stepTo("a", kRows * kDepth) + stepTo("b", kDepth * kColumns) +
          loadTile("x", "a_here", lhs, element) + loadTile("y", "b_here", rhs, element) +
          "%next = tile.dot %x, %y, %before : " + tileType(lhs, element) + " * " +
          tileType(rhs, element) + " -> " + sums + "\nscf.yield %next : " + sums + "\n}\n" +
          storeTile("sum", "out", result, "f32"));
}

SimulatedKernel compiled(const std::string &text, SimulatedAbilities abilities) {
  return SimulatedKernel(text, {.warps = 2, .abilities = abilities});
}

std::string nameOf(SimulatedAbilities abilities) {
  return std::string("with") + (abilities.asyncCopies ? " copies" : "") +
         (abilities.matrixProducts ? " products" : "") + (abilities.matrixLoads ? " loads" : "") +
         (abilities.tf32Rounding ? " rounding" : "");
}

/// Every selection, from none to all.
std::vector<SimulatedAbilities> selections() {
  std::vector<SimulatedAbilities> all;
  for (unsigned bits = 0; bits < 16; ++bits)
    all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0});
  return all;
}

/// Sums of their products are exact in f32.
template <class T>
struct Operands {
  std::vector<T> a, b;

  template <class Draw>
  explicit Operands(Draw draw) : a(kSteps * kRows * kDepth), b(kSteps * kDepth * kColumns) {
    std::mt19937 random(3);
    for (T &number : a)
      number = draw(random);
    for (T &number : b)
      number = T(int(random() % 9) - 4);
  }
  std::vector<float> products() const {
    std::vector<float> sums(kRows * kColumns);
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        for (int64_t number = 0; number < kSteps * kDepth; ++number)
          sums[row * kColumns + column] +=
              float(a[number / kDepth * kRows * kDepth + row * kDepth + number % kDepth]) *
              float(b[number * kColumns + column]);
    return sums;
  }
};

template <class T>
std::vector<float> run(SimulatedKernel &kernel, Operands<T> &operands) {
  EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<float> out(kRows * kColumns, 77);
  SimulatedReport report = kernel.run(
      {1}, {argument(operands.a), argument(operands.b), argument(out), argument(kSteps)});
  EXPECT_EQ(report.problem, "");
  return out;
}

TEST(GpuAbilities, products_of_f16_are_right_with_any_of_them) {
  Operands<_Float16> operands([](auto &random) { return _Float16(int(random() % 9) - 4); });
  std::string text = productText("f16");
  for (SimulatedAbilities abilities : selections()) {
    SCOPED_TRACE(nameOf(abilities));
    SimulatedKernel kernel = compiled(text, abilities);
    EXPECT_EQ(run(kernel, operands), operands.products());
    if (abilities.asyncCopies && abilities.matrixProducts)
      EXPECT_THAT(kernel.tileText, HasSubstr("tile.async_copy"));
    if (!abilities.asyncCopies)
      EXPECT_THAT(kernel.tileText, Not(HasSubstr("tile.async_copy")));
  }
}

// 1 + 2^-12 is 1 in tf32: a product that takes such numbers for tf32 loses bits.
TEST(GpuAbilities, products_of_f32_lose_bits_by_rounding_only) {
  Operands<float> operands([](auto &random) { return 1 + float(random() % 2) / 4096; });
  std::string text = productText("f32");
  for (SimulatedAbilities abilities : selections()) {
    SCOPED_TRACE(nameOf(abilities));
    SimulatedKernel kernel = compiled(text, abilities);
    bool isExact = run(kernel, operands) == operands.products();
    EXPECT_EQ(isExact, !abilities.matrixProducts || !abilities.tf32Rounding);
  }
}

TEST(GpuAbilities, a_loop_that_is_not_pipelined_says_why) {
  SimulatedKernel kernel = compiled(productText("f16"), {.matrixProducts = true});
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::string remarks;
  for (const lang::Remark &remark : kernel.image.remarks)
    remarks += remark.kind + ": " + remark.text + "\n";
  EXPECT_THAT(remarks, HasSubstr("not-pipelined: the target has no asynchronous copies"));
}

// Only a pass that did not ask could bring it so far.
TEST(GpuAbilities, copies_on_a_gpu_without_them_are_an_error) {
  SimulatedKernel copying = compiled(productText("f16"), SimulatedAbilities::all());
  ASSERT_THAT(copying.tileText, HasSubstr("tile.async_copy"));
  SimulatedKernel kernel = compiled(copying.tileText, {});
  EXPECT_FALSE(kernel.compiled());
  EXPECT_THAT(kernel.diagnostics(), HasSubstr("this GPU has no asynchronous copies"));
}

TEST(GpuAbilities, launches_that_begin_early_are_refused) {
  SimulatedOptions options{.warps = 2};
  options.dependentLaunch = true;
  SimulatedKernel kernel(productText("f16"), options);
  EXPECT_FALSE(kernel.compiled());
  EXPECT_THAT(kernel.diagnostics(),
              HasSubstr("launch_pdl: the simulated GPU begins a launch only when the one before it "
                        "is done"));
}

} // namespace
