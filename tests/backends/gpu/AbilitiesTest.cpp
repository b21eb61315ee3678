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

constexpr int64_t kRows = 64, kColumns = 32, kDepth = 32;
constexpr int32_t kSteps = 5;

/// out = the sum over %n steps of products of tiles, which follow each other in a and b.
std::string productText(const std::string &element, const std::string &accElement = "f32") {
  Shape lhs{kRows, kDepth}, rhs{kDepth, kColumns}, result{kRows, kColumns};
  std::string sums = tileType(result, accElement);
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
      aligned("a", element) + aligned("b", element) + aligned("out", accElement) + "%n: i32",
      "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
      "%none = arith.constant dense<" +
          std::string(accElement == "i32" ? "0" : "0.0") + "> : " + sums +
          "\n%sum = scf.for %k = %zero to %n step %one iter_args(%before = %none) -> (" + sums +
          ") : i32 {\n" + stepTo("a", kRows * kDepth) + stepTo("b", kDepth * kColumns) +
          loadTile("x", "a_here", lhs, element) + loadTile("y", "b_here", rhs, element) +
          "%next = tile.dot %x, %y, %before : " + tileType(lhs, element) + " * " +
          tileType(rhs, element) + " -> " + sums + "\nscf.yield %next : " + sums + "\n}\n" +
          storeTile("sum", "out", result, accElement));
}

SimulatedKernel compiled(const std::string &text, SimulatedAbilities abilities) {
  return SimulatedKernel(text, {.warps = 4, .abilities = abilities});
}

std::string nameOf(SimulatedAbilities abilities) {
  return std::string("with") + (abilities.asyncCopies ? " copies" : "") +
         (abilities.matrixProducts ? " products" : "") + (abilities.matrixLoads ? " loads" : "") +
         (abilities.tf32Rounding ? " rounding" : "") +
         (abilities.bufferProducts ? " products of buffers" : "");
}

/// Every selection, from none to all.
std::vector<SimulatedAbilities> selections() {
  std::vector<SimulatedAbilities> all;
  for (unsigned bits = 0; bits < 32; ++bits) {
    all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0});
    all.back().bufferProducts = (bits & 16) != 0;
  }
  return all;
}

/// Sums of their products are exact in Acc.
template <class T, class Acc = float>
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
  std::vector<Acc> products() const {
    std::vector<Acc> sums(kRows * kColumns);
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        for (int64_t number = 0; number < kSteps * kDepth; ++number)
          sums[row * kColumns + column] +=
              Acc(a[number / kDepth * kRows * kDepth + row * kDepth + number % kDepth]) *
              Acc(b[number * kColumns + column]);
    return sums;
  }
};

template <class T, class Acc>
std::vector<Acc> run(SimulatedKernel &kernel, Operands<T, Acc> &operands) {
  EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<Acc> out(kRows * kColumns, 77);
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
    if (!abilities.asyncCopies && abilities.matrixProducts)
      EXPECT_THAT(kernel.tileText, HasSubstr("tile.buffer_store"));
    if (abilities.matrixProducts)
      EXPECT_EQ(kernel.tileText.find("tile.dot_async") != std::string::npos,
                abilities.bufferProducts);
    abilities.chip = "gfx942";
    SimulatedKernel wide(text, {.warps = 2, .lanes = 64, .abilities = abilities});
    EXPECT_EQ(run(wide, operands), operands.products());
  }
}

// Scratch and stages want shared memory ordered; what the kernel orders is all memory.
/// Rows of the left operand end after `depth` numbers in all, which no vector's width divides. What
/// is behind them, NaN here, is not copied.
TEST(GpuAbilities, copies_end_where_rows_do) {
  constexpr int64_t kEnd = (kSteps - 1) * kDepth + 17;
  Operands<_Float16> operands([](auto &random) { return _Float16(int(random() % 9) - 4); });
  std::string text = productText("f16");
  const std::string plain = "%x = tile.load %x_p : ";
  const size_t at = text.find(plain);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, plain.size(),
               "%c = tile.arange 0, 32 : tensor<32xi32>\n"
               "%columns = tile.expand_dims %c {axis = 0 : i32} : tensor<32xi32> -> "
               "tensor<1x32xi32>\n"
               "%end = arith.constant " +
                   std::to_string(kEnd) +
                   " : i32\n%depth = arith.constant 32 : i32\n"
                   "%done = arith.muli %k, %depth : i32\n%left = arith.subi %end, %done : i32\n"
                   "%ends = tile.splat %left : i32 -> tensor<1x32xi32>\n"
                   "%in = arith.cmpi slt, %columns, %ends : tensor<1x32xi32>\n"
                   "%mask = tile.broadcast %in : tensor<1x32xi1> -> tensor<64x32xi1>\n"
                   "%x = tile.load %x_p, %mask : ");
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = kEnd - (kSteps - 1) * kDepth; column < kDepth; ++column)
      operands.a[(kSteps - 1) * kRows * kDepth + row * kDepth + column] = 0;
  const std::vector<float> expected = operands.products();
  for (_Float16 &number : operands.a)
    if (&number >= &operands.a[(kSteps - 1) * kRows * kDepth] &&
        (&number - operands.a.data()) % kDepth >= kEnd - (kSteps - 1) * kDepth)
      number = _Float16(NAN);
  for (bool ofBuffers : {false, true}) {
    SimulatedAbilities abilities = SimulatedAbilities::all();
    abilities.bufferProducts = ofBuffers;
    SimulatedKernel kernel = compiled(text, abilities);
    EXPECT_EQ(run(kernel, operands), expected);
    EXPECT_THAT(kernel.tileText, HasSubstr(" partial {axis = 1 : i32, width = 8 : i32}"));
  }
}

/// Copies of whole warps take the place of loads and stores of the operand that lies along the
/// depth; the other one's neighbours are across it.
TEST(GpuAbilities, products_are_right_with_copies_of_whole_warps) {
  Operands<_Float16> operands([](auto &random) { return _Float16(int(random() % 9) - 4); });
  SimulatedAbilities abilities = SimulatedAbilities::all();
  abilities.matrixLoads = false;
  abilities.chip = "gfx950", abilities.copiesOfWarps = true;
  const layout::SharedBanks banks{64, {1, 2, 4 ^ 8, 4 ^ 16}};
  for (unsigned warps : {1u, 2u, 4u}) {
    SimulatedKernel kernel(productText("f16"),
                           {.warps = warps, .lanes = 64, .abilities = abilities, .banks = banks});
    EXPECT_EQ(run(kernel, operands), operands.products());
    EXPECT_THAT(kernel.tileText, HasSubstr("tile.async_copy"));
    EXPECT_THAT(kernel.tileText, HasSubstr("tile.buffer_store"));
  }
}

/// Where reads transpose, the other operand is copied, too.
TEST(GpuAbilities, products_are_right_with_reads_that_transpose) {
  Operands<_Float16> halves([](auto &random) { return _Float16(int(random() % 9) - 4); });
  Operands<int8_t, int32_t> bytes([](auto &random) { return int8_t(int(random() % 9) - 4); });
  SimulatedAbilities abilities = SimulatedAbilities::all();
  abilities.chip = "gfx950", abilities.copiesOfWarps = true;
  const layout::SharedBanks banks{64, {1, 2, 4 ^ 8, 4 ^ 16}, true};
  for (bool areCopied : {true, false})
    for (unsigned warps : {1u, 2u, 4u}) {
      SCOPED_TRACE(warps);
      abilities.asyncCopies = areCopied;
      const SimulatedOptions options{
          .warps = warps, .lanes = 64, .abilities = abilities, .banks = banks};
      SimulatedKernel kernel(productText("f16"), options);
      EXPECT_EQ(run(kernel, halves), halves.products());
      EXPECT_EQ(kernel.tileText.find("tile.async_copy") != std::string::npos, areCopied);
      // Four warps have 8 bytes of a thread, which such copies are not of.
      EXPECT_EQ(kernel.tileText.find("tile.buffer_store") != std::string::npos,
                !areCopied || warps == 4);
      SimulatedKernel ofBytes(productText("i8", "i32"), options);
      EXPECT_EQ(run(ofBytes, bytes), bytes.products());
    }
}

TEST(GpuAbilities, barriers_order_global_memory_where_the_kernel_says_so) {
  Operands<_Float16> operands([](auto &random) { return _Float16(int(random() % 9) - 4); });
  std::vector<float> out(kRows * kColumns);
  for (bool saysSo : {false, true}) {
    std::string text = productText("f16");
    if (saysSo)
      text.insert(text.find("%zero ="), "tile.barrier\n");
    SimulatedKernel kernel = compiled(text, SimulatedAbilities::all());
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_THAT(kernel.tileText, HasSubstr("tile.barrier shared"));
    SimulatedReport report = kernel.run(
        {1}, {argument(operands.a), argument(operands.b), argument(out), argument(kSteps)});
    EXPECT_EQ(report.problem, "");
    EXPECT_GE(report.barriers, kSteps);
    EXPECT_EQ(report.barriersOfAllMemory, saysSo);
    EXPECT_EQ(out, operands.products());
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

//===-- AMD's matrix instructions -------------------------------------------------------------===//

struct Chip {
  const char *name;
  unsigned lanes;
};
constexpr Chip kMfmaChips[] = {{"gfx90a", 64}, {"gfx942", 64}, {"gfx950", 64}};
constexpr Chip kWmmaChips[] = {{"gfx1100", 32}, {"gfx1201", 32}};

/// Products of random small integers are right, with the instruction in each of its forms; `name`
/// is how it begins.
template <class T, class Acc>
void checkProducts(Chip chip, const std::string &element, const std::string &accElement,
                   const std::string &name) {
  Operands<T, Acc> operands([](auto &random) { return T(int(random() % 9) - 4); });
  for (bool asInManual : {false, true}) {
    SCOPED_TRACE(std::string(chip.name) + " " + element + (asInManual ? " as in the manual" : ""));
    SimulatedAbilities abilities = SimulatedAbilities::all();
    abilities.chip = chip.name, abilities.asInManual = asInManual;
    SimulatedKernel kernel(productText(element, accElement),
                           {.warps = 2, .lanes = chip.lanes, .abilities = abilities});
    EXPECT_EQ(run(kernel, operands), operands.products());
    EXPECT_THAT(kernel.tileText, HasSubstr("instruction = \"" + name));
    if (asInManual)
      EXPECT_THAT(kernel.tileText, Not(HasSubstr(".exchanged")));
  }
}

TEST(GpuAbilities, products_by_mfma_are_right) {
  for (Chip chip : kMfmaChips) {
    checkProducts<_Float16, float>(chip, "f16", "f32", "mfma.");
    checkProducts<float, float>(chip, "f32", "f32", "mfma.");
    checkProducts<double, double>(chip, "f64", "f64", "mfma.m16n16k4.f64");
    checkProducts<int8_t, int32_t>(chip, "i8", "i32", "mfma.");
  }
}

TEST(GpuAbilities, products_by_wmma_are_right) {
  for (Chip chip : kWmmaChips) {
    checkProducts<_Float16, float>(chip, "f16", "f32", "wmma.m16n16k16.f32.f16.f16");
    checkProducts<int8_t, int32_t>(chip, "i8", "i32", "wmma.m16n16k16.s32.s8.s8");
  }
}

// gfx942 has an instruction that rounds, the others multiply f32 as it is.
TEST(GpuAbilities, products_of_f32_by_mfma_lose_bits_where_there_is_xf32) {
  Operands<float> operands([](auto &random) { return 1 + float(random() % 2) / 4096; });
  for (Chip chip : kMfmaChips) {
    SimulatedAbilities abilities = SimulatedAbilities::all();
    abilities.chip = chip.name;
    SimulatedKernel kernel(productText("f32"),
                           {.warps = 2, .lanes = chip.lanes, .abilities = abilities});
    bool rounds = std::string(chip.name) == "gfx942";
    EXPECT_EQ(run(kernel, operands) == operands.products(), !rounds) << chip.name;
    EXPECT_THAT(kernel.tileText, HasSubstr(rounds ? ".f32.tf32.tf32" : ".f32.f32.f32"));
  }
}

TEST(GpuAbilities, a_loop_without_copies_says_how_it_loads) {
  auto remarksWith = [](SimulatedAbilities abilities) {
    SimulatedKernel kernel = compiled(productText("f16"), abilities);
    EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
    std::string remarks;
    for (const lang::Remark &remark : kernel.image.remarks)
      remarks += remark.kind + ": " + remark.text + "\n";
    return remarks;
  };
  EXPECT_THAT(remarksWith({.matrixProducts = true}),
              HasSubstr("pipelined: 1 iteration ahead, in registers, and through 2 stages in "
                        "shared memory\n"));
  EXPECT_THAT(remarksWith({}), HasSubstr("not-pipelined: 'tile.dot' takes it from registers, so "
                                         "shared memory would be a detour"));
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
