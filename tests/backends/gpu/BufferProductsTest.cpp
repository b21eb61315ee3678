// Products of several warps that read shared memory themselves, on the simulated GPU: layouts of
// their operands, products under way from round to round, and what happens where a wait, a fence or
// a barrier is missing.
#include "../TileText.h"
#include "AssembledKernel.h"
#include "SimulatedGpu.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <gtest/gtest.h>
#include <random>

using namespace sectile;
using namespace sectile::testing;

namespace {

struct Case {
  int64_t rows, columns, depth;
  bool turnedLhs = false, turnedRhs = false;
  unsigned warps = 4, stages = 3;
  std::string lhs = "f16", rhs = "f16", sum = "f32";
};

std::ostream &operator<<(std::ostream &stream, const Case &one) {
  return stream << one.rows << "x" << one.columns << "x" << one.depth
                << (one.turnedLhs ? " lhs turned" : "") << (one.turnedRhs ? " rhs turned" : "")
                << ", " << one.warps << " warps, " << one.stages << " stages, " << one.lhs << " * "
                << one.rhs;
}

SimulatedAbilities hopper() {
  SimulatedAbilities abilities = SimulatedAbilities::all();
  abilities.bufferProducts = true;
  return abilities;
}

/// An operand: loaded as it is, or with its axes exchanged and then transposed.
std::string loadOperand(const std::string &name, const std::string &array, Shape shape,
                        bool isTurned, const std::string &element = "f16") {
  if (!isTurned)
    return loadTile(name, array, shape, element);
  Shape stored{shape[1], shape[0]};
  return loadTile(name + "_t", array, stored, element) + "%" + name + " = tile.transpose %" + name +
         "_t [1, 0] : " + tileType(stored, element) + " -> " + tileType(shape, element) + "\n";
}

/// The sum of `%n` products of tiles that follow each other in a and b; `more` changes the sum in
/// each round.
std::string loopText(const Case &one, const std::string &more = "%next = tile.dot %x, %y, %sum") {
  std::string sums = tileType({one.rows, one.columns}, one.sum);
  auto step = [&](const std::string &array, int64_t elements, const std::string &element) {
    return "%" + array + "_size = arith.constant " + std::to_string(elements) + " : i32\n%" +
           array + "_offset = arith.muli %k, %" + array + "_size : i32\n%" + array +
           "_k = tile.ptr_add %" + array + ", %" + array + "_offset : !tile.ptr<" + element +
           ">, i32\n";
  };
  std::string body = "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
                     "%none = arith.constant dense<" +
                     std::string(one.sum == "f32" ? "0.0" : "0") + "> : " + sums +
                     "\n%p = scf.for %k = %zero to %n step %one iter_args(%sum = %none) -> (" +
                     sums + ") : i32 {\n" + step("a", one.rows * one.depth, one.lhs) +
                     step("b", one.depth * one.columns, one.rhs) +
                     loadOperand("x", "a_k", {one.rows, one.depth}, one.turnedLhs, one.lhs) +
                     loadOperand("y", "b_k", {one.depth, one.columns}, one.turnedRhs, one.rhs) +
                     more + " : " + tileType({one.rows, one.depth}, one.lhs) + " * " +
                     tileType({one.depth, one.columns}, one.rhs) + " -> " + sums +
                     "\nscf.yield %next : " + sums + "\n}\n" +
                     storeTile("p", "out", {one.rows, one.columns}, one.sum);
  auto aligned = [](const std::string &name, const std::string &element) {
    return pointer(name, element) + " {tile.divisibility = 16 : i64}, ";
  };
  return kernelText(
      aligned("a", one.lhs) + aligned("b", one.rhs) + aligned("out", one.sum) + "%n: i32", body);
}

SimulatedKernel compiled(const std::string &text, const Case &one, int64_t shared = 1 << 20) {
  return SimulatedKernel(
      text,
      {.warps = one.warps, .stages = one.stages, .abilities = hopper(), .maxSharedBytes = shared});
}

/// Small integers, so that sums are exact.
struct Operands {
  Operands(const Case &one, int64_t steps)
      : one(one), a(steps * one.rows * one.depth), b(steps * one.depth * one.columns) {
    std::mt19937 random(7);
    for (auto *array : {&a, &b})
      for (_Float16 &number : *array)
        number = _Float16(int(random() % 9) - 4);
  }
  float lhs(int64_t step, int64_t row, int64_t k) const {
    int64_t place = one.turnedLhs ? k * one.rows + row : row * one.depth + k;
    return float(a[step * one.rows * one.depth + place]);
  }
  float rhs(int64_t step, int64_t k, int64_t column) const {
    int64_t place = one.turnedRhs ? column * one.depth + k : k * one.columns + column;
    return float(b[step * one.depth * one.columns + place]);
  }
  float product(int64_t steps, int64_t row, int64_t column) const {
    float sum = 0;
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t k = 0; k < one.depth; ++k)
        sum += lhs(step, row, k) * rhs(step, k, column);
    return sum;
  }
  const Case &one;
  std::vector<_Float16> a, b;
};

/// The first problem, or "wrong" where some sum is; empty when all is well.
std::string outcome(SimulatedKernel &kernel, const Case &one, int32_t steps) {
  Operands operands(one, std::max(1, steps));
  std::vector<float> out(one.rows * one.columns, 77);
  SimulatedReport report =
      kernel.run({1}, {argument(operands.a), argument(operands.b), argument(out), argument(steps)});
  if (!report.problem.empty())
    return report.problem;
  for (int64_t row = 0; row < one.rows; ++row)
    for (int64_t column = 0; column < one.columns; ++column)
      if (out[row * one.columns + column] != operands.product(steps, row, column))
        return "wrong";
  return "";
}

TEST(GpuBufferProducts, every_way_an_operand_can_lie) {
  for (const Case &one : {Case{64, 64, 32}, Case{128, 64, 64, false, true},
                          Case{64, 128, 32, true, false}, Case{128, 32, 16, true, true},
                          Case{64, 16, 128, false, true}, Case{128, 256, 32, false, false, 8},
                          Case{64, 64, 64, false, true, 8}, Case{256, 32, 32, true, false, 8},
                          Case{64, 48, 32}, Case{128, 192, 64}, Case{64, 96, 96, true, true},
                          Case{192, 80, 48, true, false}, Case{192, 160, 32, false, true, 8}}) {
    SCOPED_TRACE(::testing::PrintToString(one));
    SimulatedKernel kernel = compiled(loopText(one), one);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    ASSERT_NE(kernel.tileText.find("tile.dot_async"), std::string::npos) << kernel.tileText;
    EXPECT_EQ(kernel.tileText.find("tile.transpose"), std::string::npos) << kernel.tileText;
    EXPECT_NE(kernel.tileText.find("tile.async_copy"), std::string::npos) << kernel.tileText;
    for (int32_t steps : {0, 1, 3})
      EXPECT_EQ(outcome(kernel, one, steps), "") << steps << " rounds";
  }
}

TEST(GpuBufferProducts, any_number_of_stages_and_rounds) {
  for (unsigned stages : {1, 2, 3, 4}) {
    Case one{64, 64, 32, false, false, 4, stages};
    SimulatedKernel kernel = compiled(loopText(one), one);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    // With stages a product is under way while the next round's copies are waited for.
    EXPECT_EQ(kernel.tileText.find("tile.dot_wait 1") != std::string::npos, stages > 1)
        << kernel.tileText;
    for (int32_t steps : {0, 1, 2, 3, 4, 7})
      EXPECT_EQ(outcome(kernel, one, steps), "") << stages << " stages, " << steps << " rounds";
  }
}

//===-- Other elements ------------------------------------------------------------------------===//

/// The bits of a small integer.
uint64_t bitsOf(int number, const std::string &element) {
  if (element == "i8")
    return uint8_t(number);
  bool isInexact = false;
  llvm::APFloat value{float(number)};
  value.convert(element == "f32"        ? llvm::APFloat::IEEEsingle()
                : element == "f8E4M3FN" ? llvm::APFloat::Float8E4M3FN()
                                        : llvm::APFloat::Float8E5M2(),
                llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return value.bitcastToAPInt().getZExtValue();
}

TEST(GpuBufferProducts, elements_of_8_and_32_bits_where_they_are_loaded_along_the_depth) {
  struct Kind {
    std::string lhs, rhs, sum, name;
  };
  for (const Kind &kind : {Kind{"i8", "i8", "i32", "wgmma.m64n64k32.s32.s8.s8"},
                           Kind{"f32", "f32", "f32", "wgmma.m64n64k8.f32.tf32.tf32"},
                           Kind{"f8E4M3FN", "f8E5M2", "f32", "wgmma.m64n64k32.f32.e4m3.e5m2"}})
    for (bool turnedRhs : {false, true}) {
      Case one{64, 64, 64, false, turnedRhs, 4, 3, kind.lhs, kind.rhs, kind.sum};
      SCOPED_TRACE(::testing::PrintToString(one));
      SimulatedKernel kernel = compiled(loopText(one), one);
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_EQ(kernel.tileText.find(kind.name) != std::string::npos, turnedRhs) << kernel.tileText;
      constexpr int32_t kSteps = 3;
      Operands numbers(one, kSteps);
      auto encode = [&](const std::vector<_Float16> &from, const std::string &element) {
        size_t bytes = element == "f32" ? 4 : 1;
        std::vector<uint8_t> array(from.size() * bytes);
        for (size_t i = 0; i < from.size(); ++i) {
          uint64_t bits = bitsOf(int(float(from[i])), element);
          std::memcpy(&array[i * bytes], &bits, bytes);
        }
        return array;
      };
      auto a = encode(numbers.a, one.lhs), b = encode(numbers.b, one.rhs);
      std::vector<uint32_t> out(64 * 64, 77);
      SimulatedReport report =
          kernel.run({1}, {argument(a), argument(b), argument(out), argument(kSteps)});
      EXPECT_EQ(report.problem, "");
      for (int64_t row = 0; row < 64; ++row)
        for (int64_t column = 0; column < 64; ++column) {
          float expected = numbers.product(kSteps, row, column);
          uint32_t bits =
              one.sum == "i32" ? uint32_t(int32_t(expected)) : llvm::bit_cast<uint32_t>(expected);
          ASSERT_EQ(out[row * 64 + column], bits) << row << ", " << column;
        }
    }
}

//===-- What must not be missing --------------------------------------------------------------===//

/// What a kernel comes to from whose laid-out text the first `piece` behind `mark` is left out.
std::string outcomeWithout(const std::string &piece, const std::string &mark = "",
                           int64_t shared = 1 << 20) {
  Case one{64, 64, 32, false, false, 8};
  std::string text = compiled(loopText(one), one, shared).tileText;
  size_t at = text.find(piece, text.find(mark));
  EXPECT_NE(at, std::string::npos) << text;
  if (at == std::string::npos)
    return "not found";
  SimulatedKernel kernel = compiled(text.erase(at, piece.size()), one);
  EXPECT_TRUE(kernel.compiled()) << kernel.diagnostics();
  return kernel.compiled() ? outcome(kernel, one, 7) : "not compiled";
}

TEST(GpuBufferProducts, what_is_left_out_is_seen) {
  EXPECT_EQ(outcomeWithout(""), "");
  EXPECT_EQ(outcomeWithout("tile.proxy_fence"),
            "a product reads what a thread has stored without a fence");
  EXPECT_NE(outcomeWithout("tile.barrier shared", "scf.for"), "");
  EXPECT_NE(outcomeWithout("tile.dot_wait 1 : () -> ()"), "");
  EXPECT_NE(outcomeWithout("tile.async_wait 1"), "");
}

/// The stages leave room for two programs and one more would not, so that warps meet once more.
TEST(GpuBufferProducts, warps_meet_where_another_stage_would_cost_a_program) {
  constexpr int64_t kShared = 48 << 10;
  for (unsigned stages : {2, 3}) {
    Case one{64, 64, 32, false, false, 8, stages};
    SimulatedKernel kernel = compiled(loopText(one), one, stages == 3 ? kShared : kShared * 2 / 3);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    size_t wait = kernel.tileText.find("tile.dot_wait 1");
    ASSERT_NE(wait, std::string::npos) << kernel.tileText;
    EXPECT_LT(kernel.tileText.find("tile.barrier shared", wait),
              kernel.tileText.find("scf.yield", wait));
    EXPECT_NE(kernel.tileText.find("<" + std::to_string(stages) + ", [64, 32], f16"),
              std::string::npos)
        << kernel.tileText;
    for (int32_t steps : {0, 1, 2, 3, 7})
      EXPECT_EQ(outcome(kernel, one, steps), "") << stages << " stages, " << steps << " rounds";
  }
  EXPECT_NE(outcomeWithout("tile.barrier shared", "tile.dot_wait 1", kShared), "");
  EXPECT_NE(outcomeWithout("tile.dot_wait 1 : () -> ()", "", kShared), "");
}

/// With four stages that leave room for two programs copies are two rounds ahead all the same.
TEST(GpuBufferProducts, warps_meet_once_where_four_stages_let_copies_run_two_rounds_ahead) {
  for (int64_t shared : {64 << 10, 32 << 10}) { // two programs, and one
    Case one{64, 64, 32, false, false, 8, 4};
    SimulatedKernel kernel = compiled(loopText(one), one, shared);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_NE(kernel.tileText.find("<4, [64, 32], f16"), std::string::npos) << kernel.tileText;
    size_t wait = kernel.tileText.find("tile.dot_wait 1");
    ASSERT_NE(wait, std::string::npos) << kernel.tileText;
    EXPECT_EQ(kernel.tileText.find("tile.barrier shared", wait) <
                  kernel.tileText.find("scf.yield", wait),
              shared == 32 << 10)
        << kernel.tileText;
    for (int32_t steps : {0, 1, 2, 3, 4, 9})
      EXPECT_EQ(outcome(kernel, one, steps), "") << shared << " bytes, " << steps << " rounds";
  }
}

TEST(GpuBufferProducts, sums_are_there_behind_a_wait_only) {
  Case one{64, 64, 32};
  std::string text = compiled(loopText(one), one).tileText;
  // What takes the wait's result takes that of the loop.
  size_t loop = text.find(" = scf.for"), wait = text.find(" = tile.dot_wait 0", loop);
  ASSERT_NE(wait, std::string::npos) << text;
  auto nameBefore = [&](size_t end) {
    size_t begin = text.rfind('%', end);
    return text.substr(begin, text.find_first_of(": ", begin) - begin);
  };
  size_t line = text.rfind('\n', wait) + 1;
  size_t comma = text.find(", ", wait);
  std::string waited = nameBefore(wait),
              early = text.substr(comma + 2, text.find(' ', comma + 2) - comma - 2);
  text.replace(line, text.find('\n', line) - line, "    tile.dot_wait 0 : () -> ()");
  for (size_t at = text.find(waited, line); at != std::string::npos;
       at = text.find(waited, at + early.size()))
    if (!std::isdigit(text[at + waited.size()]))
      text.replace(at, waited.size(), early);
  SimulatedKernel kernel = compiled(text, one);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_EQ(outcome(kernel, one, 3), "wrong");
}

TEST(GpuBufferProducts, what_is_computed_is_stored_or_stays_in_registers) {
  Case one{64, 64, 32};
  std::string lhs = tileType({64, 32}, "f16"), rhs = tileType({32, 64}, "f16");
  std::string text =
      loopText(one, "%x2 = arith.addf %x, %x : " + lhs + "\n%y2 = arith.negf %y : " + rhs +
                        "\n%next = tile.dot %x2, %y2, %sum");
  for (unsigned stages : {1, 3}) {
    one.stages = stages;
    SimulatedKernel kernel = compiled(text, one);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_NE(kernel.tileText.find("tile.dot_async"), std::string::npos) << kernel.tileText;
    EXPECT_NE(kernel.tileText.find("tile.buffer_store"), std::string::npos) << kernel.tileText;
    for (int32_t steps : {1, 3}) {
      Operands operands(one, steps);
      std::vector<float> out(64 * 64, 77);
      SimulatedReport report = kernel.run(
          {1}, {argument(operands.a), argument(operands.b), argument(out), argument(steps)});
      EXPECT_EQ(report.problem, "");
      for (int64_t row = 0; row < 64; ++row)
        for (int64_t column = 0; column < 64; ++column)
          ASSERT_EQ(out[row * 64 + column], -2 * operands.product(steps, row, column));
    }
  }
}

constexpr int64_t kChain = 64;

/// r = f16(x y) z of squares; z is y, or y with its axes exchanged.
std::string chainText(bool isTurned = false) {
  constexpr int64_t n = kChain;
  std::string half = tileType({n, n}, "f16"), full = tileType({n, n}, "f32");
  auto aligned = [](const std::string &name, const std::string &element) {
    return pointer(name, element) + " {tile.divisibility = 16 : i64}";
  };
  return kernelText(
      aligned("a", "f16") + ", " + aligned("b", "f16") + ", " + aligned("out", "f32"),
      "%none = arith.constant dense<0.0> : " + full + "\n" + loadTile("x", "a", {n, n}, "f16") +
          loadTile("y", "b", {n, n}, "f16") + "%s = tile.dot %x, %y, %none : " + half + " * " +
          half + " -> " + full + "\n%h = arith.truncf %s : " + full + " to " + half +
          (isTurned ? "\n%z = tile.transpose %y [1, 0] : " + half + " -> " + half : "") +
          "\n%r = tile.dot %h, " + (isTurned ? "%z" : "%y") + ", %none : " + half + " * " + half +
          " -> " + full + "\n" + storeTile("r", "out", {n, n}, "f32"));
}

/// What comes out of one product is the other's operand, in the same registers.
void checkChain(bool isTurned) {
  constexpr int64_t n = kChain;
  SimulatedKernel kernel(chainText(isTurned), {.warps = 4, .abilities = hopper()});
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  size_t first = kernel.tileText.find("tile.dot_async"),
         second = kernel.tileText.find("tile.dot_async", first + 1);
  ASSERT_NE(second, std::string::npos) << kernel.tileText;
  EXPECT_EQ(kernel.tileText.substr(first, second - first).find("convert_layout"), std::string::npos)
      << kernel.tileText;
  Case one{n, n, n};
  Operands operands(one, 1);
  std::vector<float> out(n * n, 77);
  SimulatedReport report =
      kernel.run({1}, {argument(operands.a), argument(operands.b), argument(out)});
  EXPECT_EQ(report.problem, "");
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (int64_t k = 0; k < n; ++k)
        sum += float(_Float16(operands.product(1, row, k))) *
               (isTurned ? operands.rhs(0, column, k) : operands.rhs(0, k, column));
      ASSERT_EQ(out[row * n + column], sum);
    }
}

TEST(GpuBufferProducts, a_chain_moves_nothing_between_its_products) {
  checkChain(false);
}

/// The first product takes the buffer itself, the second one a view of it.
TEST(GpuBufferProducts, a_buffer_is_stored_before_its_first_product_whoever_else_views_it) {
  checkChain(true);
}

/// In one product x is a view of the other operand's source.
TEST(GpuBufferProducts, operands_that_are_turned_from_each_other) {
  constexpr int64_t n = kChain;
  std::string half = tileType({n, n}, "f16"), full = tileType({n, n}, "f32");
  auto aligned = [](const std::string &name, const std::string &element) {
    return pointer(name, element) + " {tile.divisibility = 16 : i64}";
  };
  SimulatedKernel kernel(
      kernelText(aligned("a", "f16") + ", " + aligned("out", "f32"),
                 "%none = arith.constant dense<0.0> : " + full + "\n" +
                     loadTile("x", "a", {n, n}, "f16") + "%t = tile.transpose %x [1, 0] : " + half +
                     " -> " + half + "\n%u = tile.transpose %t [1, 0] : " + half + " -> " + half +
                     "\n%s = tile.dot %u, %t, %none : " + half + " * " + half + " -> " + full +
                     "\n" + storeTile("s", "out", {n, n}, "f32")),
      {.warps = 4, .abilities = hopper()});
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_NE(kernel.tileText.find("tile.dot_async"), std::string::npos) << kernel.tileText;
  EXPECT_EQ(kernel.tileText.find("tile.transpose"), std::string::npos) << kernel.tileText;
  Case one{n, n, n};
  Operands operands(one, 1);
  std::vector<float> out(n * n, 77);
  SimulatedReport report = kernel.run({1}, {argument(operands.a), argument(out)});
  EXPECT_EQ(report.problem, "");
  for (int64_t row = 0; row < n; ++row)
    for (int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (int64_t k = 0; k < n; ++k)
        sum += operands.lhs(0, row, k) * operands.lhs(0, column, k);
      ASSERT_EQ(out[row * n + column], sum);
    }
}

/// Three tiles of 8 KiB lie still while the loop runs, whichever of its products is looked at.
TEST(GpuBufferProducts, operands_that_do_not_fit_together_are_those_of_single_warps) {
  constexpr int64_t n = kChain;
  std::string half = tileType({n, n}, "f16"), full = tileType({n, n}, "f32");
  auto aligned = [](const std::string &name, const std::string &element) {
    return pointer(name, element) + " {tile.divisibility = 16 : i64}";
  };
  const std::string text =
      kernelText(aligned("a", "f16") + ", " + aligned("b", "f16") + ", " + aligned("c", "f16") +
                     ", " + aligned("out", "f32") + ", %n: i32",
                 "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
                 "%none = arith.constant dense<0.0> : " +
                     full + "\n" + loadTile("x", "a", {n, n}, "f16") +
                     loadTile("y", "b", {n, n}, "f16") + loadTile("z", "c", {n, n}, "f16") +
                     "%p = scf.for %k = %zero to %n step %one iter_args(%sum = %none) -> (" + full +
                     ") : i32 {\n%s = tile.dot %x, %y, %sum : " + half + " * " + half + " -> " +
                     full + "\n%t = tile.dot %x, %z, %s : " + half + " * " + half + " -> " + full +
                     "\nscf.yield %t : " + full + "\n}\n" + storeTile("p", "out", {n, n}, "f32"));
  for (int64_t shared : {23 << 10, 24 << 10}) {
    SimulatedKernel kernel(text, {.warps = 4, .abilities = hopper(), .maxSharedBytes = shared});
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_EQ(kernel.tileText.find("tile.dot_async") != std::string::npos, shared == 24 << 10)
        << kernel.tileText;
  }
}

/// An instruction reads an operand as a whole, those of single warps take it piece by piece.
TEST(GpuBufferProducts, operands_that_do_not_fit_are_those_of_single_warps) {
  for (int64_t depth : {128, 256}) {
    Case one{128, 64, depth, false, false, 4, 1};
    constexpr int64_t kShared = 64 << 10;
    SimulatedKernel kernel = compiled(loopText(one), one, kShared);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_EQ(kernel.tileText.find("tile.dot_async") != std::string::npos, depth == 128)
        << kernel.tileText;
  }
}

/// The lhs is stored once for each round of the outermost loop; the loop with the product, which is
/// under way behind its rounds, stands in a branch or in another loop.
TEST(GpuBufferProducts, a_buffer_is_filled_anew_when_all_products_that_read_it_are_done) {
  const Case one{64, 64, 32};
  const std::string sums = tileType({64, 64}, "f32"), row = tileType({64}, "f32"),
                    lhs = tileType({64, 32}, "f16"), rhs = tileType({32, 64}, "f16");
  auto at = [](const std::string &name, const std::string &array, const std::string &element,
               const std::string &index, int64_t size) {
    return "%" + name + "_size = arith.constant " + std::to_string(size) + " : i32\n%" + name +
           "_offset = arith.muli %" + index + ", %" + name + "_size : i32\n%" + name +
           " = tile.ptr_add %" + array + ", %" + name + "_offset : !tile.ptr<" + element +
           ">, i32\n";
  };
  // Nothing in the outer loop takes scratch, whose barriers would hide that one is missing.
  const std::string inner =
      "%p = scf.for %k = %zero to %n step %one iter_args(%sum = %none) -> (" + sums +
      ") : i32 {\n" + at("bk", "b", "f16", "k", 32 * 64) + loadTile("y", "bk", {32, 64}, "f16") +
      "%next = tile.dot %x, %y, %sum : " + lhs + " * " + rhs + " -> " + sums +
      "\nscf.yield %next : " + sums + "\n}\n%top = tile.reduce(%p) axis 1 : (" + sums + ") -> " +
      row +
      " {\n^bb0(%l: f32, %r: f32):\n%g = arith.maximumf %l, %r : f32\ntile.yield %g : f32\n}\n" +
      storeTile("top", "to", {64}, "f32");
  for (const std::string &around :
       {std::string("%c = arith.cmpi sge, %n, %zero : i32\nscf.if %c {\n"),
        std::string("scf.for %t = %zero to %one step %one : i32 {\n")}) {
    const std::string body = "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
                             "%none = arith.constant dense<0.0> : " +
                             sums + "\nscf.for %i = %zero to %m step %one : i32 {\n" +
                             at("ai", "a", "f16", "i", 64 * 32) + at("to", "out", "f32", "i", 64) +
                             loadTile("x", "ai", {64, 32}, "f16") + around + inner + "}\n}\n";
    auto aligned = [](const std::string &name, const std::string &element) {
      return pointer(name, element) + " {tile.divisibility = 16 : i64}, ";
    };
    SimulatedKernel kernel(kernelText(aligned("a", "f16") + aligned("b", "f16") +
                                          aligned("out", "f32") + "%n: i32, %m: i32",
                                      body),
                           {.warps = 4, .abilities = hopper()});
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    ASSERT_NE(kernel.tileText.find("tile.dot_wait 1"), std::string::npos) << kernel.tileText;
    constexpr int32_t kRounds = 3, kTiles = 3;
    Operands operands(one, kTiles);
    std::vector<float> out(64 * kTiles, 77);
    SimulatedReport report = kernel.run({1}, {argument(operands.a), argument(operands.b),
                                              argument(out), argument(kRounds), argument(kTiles)});
    EXPECT_EQ(report.problem, "") << around;
    for (int64_t tile = 0; tile < kTiles; ++tile)
      for (int64_t r = 0; r < 64; ++r) {
        float top = -1e30f;
        for (int64_t column = 0; column < 64; ++column) {
          float sum = 0;
          for (int64_t step = 0; step < kRounds; ++step)
            for (int64_t k = 0; k < 32; ++k)
              sum += operands.lhs(tile, r, k) * operands.rhs(step, k, column);
          top = std::max(top, sum);
        }
        ASSERT_EQ(out[tile * 64 + r], top) << tile << ", " << r;
      }
  }
}

TEST(GpuBufferProducts, ptxas_takes_the_code_as_it_is) {
  std::vector<std::pair<std::string, int32_t>> kernels = {{chainText(), 4}};
  for (const Case &one : {Case{128, 128, 64}, Case{128, 192, 64}, Case{64, 176, 96, false, true},
                          Case{128, 256, 64, false, true, 8}, Case{64, 64, 32, true, false},
                          Case{64, 64, 64, false, true, 4, 3, "i8", "i8", "i32"}})
    kernels.push_back({loopText(one), int32_t(one.warps)});
  for (const auto &[text, warps] : kernels) {
    AssembledKernel kernel(text, "sm_90a", warps);
    ASSERT_EQ(kernel.problem(), "");
    EXPECT_GT(kernel.count("wgmma.mma_async"), 0);
    EXPECT_EQ(kernel.count("mma.sync"), 0);
    EXPECT_EQ(kernel.spilledBytes(), 0);
  }
}

TEST(GpuBufferProducts, products_with_too_many_sums_are_of_one_warp) {
  // In as many warps as suffice for other tiles: 256 sums a thread; 128, where a thread may have as
  // many registers.
  const Case one{256, 256, 32};
  for (int64_t words : {255, 128}) {
    SCOPED_TRACE(words);
    SimulatedKernel kernel(loopText(one),
                           {.warps = one.warps, .abilities = hopper(), .threadWords = words});
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_EQ(kernel.tileText.find("tile.dot_async"), std::string::npos);
  }
}

TEST(GpuBufferProducts, products_that_cannot_be_of_buffers_are_of_one_warp) {
  // Too few rows for four warps; no multiple of sixteen columns; two warps.
  for (const Case &one : {Case{32, 64, 32}, Case{64, 40, 32}, Case{64, 64, 32, false, false, 2}}) {
    SCOPED_TRACE(::testing::PrintToString(one));
    SimulatedKernel kernel = compiled(loopText(one), one);
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    EXPECT_EQ(kernel.tileText.find("tile.dot_async"), std::string::npos);
    EXPECT_NE(kernel.tileText.find("mma.m16n8k16"), std::string::npos);
    EXPECT_EQ(outcome(kernel, one, 3), "");
  }
}

TEST(GpuBufferProducts, reproducible_sums_do_not_depend_on_warps) {
  Case one{64, 64, 32};
  SimulatedKernel kernel(
      loopText(one),
      {.warps = 4, .abilities = hopper(), .numerics = backends::Numerics::Reproducible});
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_EQ(kernel.tileText.find("tile.dot_async"), std::string::npos);
}

} // namespace
