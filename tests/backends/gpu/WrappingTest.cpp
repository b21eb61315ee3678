// Indices and masks whose arithmetic wraps or takes the rest of a negative number, element by
// element against C++: what is assumed of addresses may not reach masks, values, or other elements.
#include "../TileText.h"
#include "SimulatedGpu.h"

#include <functional>
#include <random>

using namespace sectile::testing;

namespace {

constexpr int kCount = 256;
using Numbers = std::vector<int32_t>;

std::string binary(const char *op, const char *lhs, const char *rhs) {
  return std::string("arith.") + op + " %" + lhs + ", %" + rhs + " : tensor<256xi32>\n";
}
std::string splat(const char *name, int64_t number) {
  return std::string("  %") + name + " = arith.constant dense<" + std::to_string(number) +
         "> : tensor<256xi32>\n";
}

/// `body` makes %r of %i = 0 ... 255, and of %s, which is `argument` everywhere.
void expectStored(const std::string &body, int32_t given, std::function<int32_t(int32_t)> expected,
                  bool isMask = false) {
  std::string text = "  %i = tile.arange 0, 256 : tensor<256xi32>\n"
                     "  %s = tile.splat %given : i32 -> tensor<256xi32>\n" +
                     body;
  if (isMask)
    text += "  %one = arith.constant dense<1> : tensor<256xi32>\n"
            "  %base = tile.splat %out : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>>\n"
            "  %places = tile.ptr_add %base, %i : tensor<256x!tile.ptr<i32>>, tensor<256xi32>\n"
            "  tile.store %places, %one, %r : tensor<256x!tile.ptr<i32>>\n";
  else // read at what was computed
    text += "  %xs = tile.splat %in : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>>\n"
            "  %places = tile.ptr_add %xs, %r : tensor<256x!tile.ptr<i32>>, tensor<256xi32>\n"
            "  %loaded = tile.load %places : tensor<256x!tile.ptr<i32>>\n" +
            storeTile("loaded", "out", {kCount}, "i32");
  Numbers in(4096), out(kCount, 0), wanted(kCount);
  for (size_t n = 0; n < in.size(); ++n)
    in[n] = int32_t(n * 3 + 1);
  for (int32_t n = 0; n < kCount; ++n)
    wanted[n] = isMask ? expected(n) : in.at(expected(n));
  for (auto [warps, lanes] : {std::pair(1u, 32u), {4u, 32u}, {2u, 64u}}) {
    SimulatedKernel kernel(
        kernelText(pointer("in", "i32") + ", " + pointer("out", "i32") + ", %given: i32", text),
        {.warps = warps, .lanes = lanes});
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    std::fill(out.begin(), out.end(), 0);
    ASSERT_EQ(kernel.run({1}, {argument(in), argument(out), argument(given)}).problem, "");
    EXPECT_EQ(out, wanted) << body;
  }
}

TEST(GpuWrapping, the_rest_of_a_negative_number_and_an_offset) {
  // Truncating, as C++ does: -48 % 48 is 0, -47 % 48 is -47.
  std::string rest = splat("c", 48) + "  %x = " + binary("addi", "i", "s") +
                     "  %m = " + binary("remsi", "x", "c") + "  %r = " + binary("addi", "m", "c");
  for (int32_t start : {-1024, -16, -3, 0, 48})
    expectStored(rest, start, [=](int32_t i) { return (i + start) % 48 + 48; });
  std::string constant = splat("k", -1024) + splat("c", 48) + "  %x = " + binary("addi", "i", "k") +
                         "  %m = " + binary("remsi", "x", "c") +
                         "  %r = " + binary("addi", "m", "c");
  expectStored(constant, 0, [](int32_t i) { return (i - 1024) % 48 + 48; });
}

TEST(GpuWrapping, the_quotient_of_a_negative_number_and_an_offset) {
  std::string body = splat("c", 16) + splat("k", 100) + "  %x = " + binary("addi", "i", "s") +
                     "  %m = " + binary("divsi", "x", "c") + "  %r = " + binary("addi", "m", "k");
  for (int32_t start : {-1024, -16, -3, 0, 48})
    expectStored(body, start, [=](int32_t i) { return (i + start) / 16 + 100; });
}

TEST(GpuWrapping, bits_of_a_number_with_a_sign_and_without) {
  std::string shifted = splat("c", 26) + "  %x = " + binary("shli", "i", "c");
  expectStored(shifted + splat("k", 32) + "  %m = " + binary("shrsi", "x", "c") +
                   "  %r = " + binary("addi", "m", "k"),
               0, [](int32_t i) { return (int32_t(uint32_t(i) << 26) >> 26) + 32; });
  expectStored(shifted + "  %r = " + binary("shrui", "x", "c"), 0,
               [](int32_t i) { return int32_t(uint32_t(i) << 26 >> 26); });
}

TEST(GpuWrapping, there_and_back_is_a_run) {
  expectStored(splat("top", 2147483647) + "  %x = " + binary("addi", "i", "top") +
                   "  %r = " + binary("subi", "x", "top"),
               0, [](int32_t i) { return i; });
}

TEST(GpuWrapping, masks_over_sums_that_wrap) {
  auto wrapped = [](int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); };
  std::string sums = splat("a", 255) + splat("b", 2147483647) +
                     "  %x = " + binary("addi", "i", "a") + "  %y = " + binary("addi", "i", "b");
  expectStored(
      sums + "  %r = arith.cmpi sge, %x, %y : tensor<256xi32>\n", 0,
      [&](int32_t i) { return int32_t(wrapped(i, 255) >= wrapped(i, 2147483647)); }, true);
  // A kernel's argument is as unknown as any.
  std::string given =
      splat("a", 255) + "  %x = " + binary("addi", "i", "a") + "  %y = " + binary("addi", "i", "s");
  for (int32_t start : {2147483647, 2147483640, 2147483392, 5})
    expectStored(
        given + "  %r = arith.cmpi sge, %x, %y : tensor<256xi32>\n", start,
        [&](int32_t i) { return int32_t(wrapped(i, 255) >= wrapped(i, start)); }, true);
}

TEST(GpuWrapping, masks_over_quotients_of_what_wraps) {
  auto wrapped = [](int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); };
  std::string body = splat("c", 16) + splat("k", -134217727) +
                     "  %x = " + binary("addi", "i", "s") + "  %q = " + binary("divsi", "x", "c") +
                     "  %r = arith.cmpi slt, %q, %k : tensor<256xi32>\n";
  for (int32_t start : {2147483647, 2147483632, 0, -2147483647 - 1})
    expectStored(
        body, start, [&](int32_t i) { return int32_t(wrapped(i, start) / 16 < -134217727); }, true);
}

} // namespace
