// What moves elements between threads, as PTX: it assembles, spills nothing, and takes the
// instructions it should.
#include "../TileText.h"
#include "AssembledKernel.h"

#include <gtest/gtest.h>

using namespace sectile;
using namespace sectile::testing;

namespace {

std::string reduction(const std::string &result, const std::string &value, const Shape &shape,
                      int axis, const std::string &op) {
  Shape rest = shape;
  rest.erase(rest.begin() + axis);
  return "%" + result + " = tile.reduce(%" + value + ") axis " + std::to_string(axis) + " : (" +
         tileType(shape, "f32") + ") -> " + (rest.empty() ? "f32" : tileType(rest, "f32")) +
         " {\n^bb0(%a: f32, %b: f32):\n%cc = " + op + " %a, %b : f32\ntile.yield %cc : f32\n}\n";
}

std::string inAndOut(const std::string &element) {
  return "%in: !tile.ptr<" + element + "> {tile.divisibility = 16 : i64}, %out: !tile.ptr<" +
         element + "> {tile.divisibility = 16 : i64}";
}

/// exp(x - max) / sum, without the exp.
std::string softmaxLike(int64_t columns) {
  Shape shape{columns};
  std::string type = tileType(shape, "f32");
  return kernelText(
      inAndOut("f32"),
      loadTile("x", "in", shape, "f32") + reduction("m", "x", shape, 0, "arith.maxnumf") +
          "%ms = tile.splat %m : f32 -> " + type + "\n%d = arith.subf %x, %ms : " + type + "\n" +
          reduction("s", "d", shape, 0, "arith.addf") + "%ss = tile.splat %s : f32 -> " + type +
          "\n%r = arith.divf %d, %ss : " + type + "\n" + storeTile("r", "out", shape, "f32"));
}

class GpuPtx : public ::testing::TestWithParam<const char *> {
protected:
  void check(const AssembledKernel &kernel) {
    ASSERT_EQ(kernel.problem(), "");
    if (kernel.isAssembled())
      EXPECT_EQ(kernel.spilledBytes(), 0);
  }
};

TEST_P(GpuPtx, two_reductions_take_two_barriers) {
  AssembledKernel kernel(softmaxLike(2048), GetParam(), 4);
  check(kernel);
  EXPECT_EQ(kernel.count("bar.sync") + kernel.count("barrier.sync"), 2);
  EXPECT_EQ(kernel.count("shfl.sync.bfly"), 10);
  EXPECT_EQ(kernel.sharedBytes(), 32);
}

TEST_P(GpuPtx, a_transposing_copy_goes_through_shared_memory_in_wide_accesses) {
  Shape shape{64, 32}, turned{32, 64};
  AssembledKernel kernel(
      kernelText(inAndOut("f32"), loadTile("x", "in", shape, "f32") +
                                      "%r = tile.transpose %x [1, 0] : " + tileType(shape, "f32") +
                                      " -> " + tileType(turned, "f32") + "\n" +
                                      storeTile("r", "out", turned, "f32")),
      GetParam(), 4);
  check(kernel);
  EXPECT_EQ(kernel.count("bar.sync") + kernel.count("barrier.sync"), 1);
}

TEST_P(GpuPtx, one_warp_meets_by_an_instruction_of_its_own) {
  Shape shape{64};
  for (unsigned warps : {1, 2}) {
    AssembledKernel kernel(kernelText(inAndOut("f32"), loadTile("x", "in", shape, "f32") +
                                                           "tile.barrier\n" +
                                                           storeTile("x", "out", shape, "f32")),
                           GetParam(), warps);
    check(kernel);
    EXPECT_EQ(kernel.count("bar.warp.sync"), warps == 1);
    EXPECT_EQ(kernel.count("bar.sync") + kernel.count("barrier.sync"), warps == 2);
  }
}

TEST_P(GpuPtx, scans_of_every_kind) {
  for (const char *element : {"f32", "i32", "i8", "i64", "f64", "bf16", "f16", "i1"}) {
    std::string e = element, op = e[0] == 'i' ? "arith.xori" : "arith.addf";
    std::string memory = e == "i1" ? "i8" : e;
    for (bool isReverse : {false, true})
      for (int64_t extent : {64, 100, 3000}) {
        Shape shape{extent};
        std::string type = tileType(shape, e), text = loadTile("x", "in", shape, memory);
        std::string value = "%x";
        if (e == "i1") {
          text += "%z = arith.constant dense<0> : " + tileType(shape, "i8") +
                  "\n%y = arith.cmpi ne, %x, %z : " + tileType(shape, "i8") + "\n";
          value = "%y";
        }
        text += "%s = tile.scan(" + value + ") axis 0 reverse " + (isReverse ? "true" : "false") +
                " : (" + type + ") -> " + type + " {\n^bb0(%a: " + e + ", %b: " + e +
                "):\n%cc = " + op + " %a, %b : " + e + "\ntile.yield %cc : " + e + "\n}\n";
        if (e == "i1")
          text += "%r = arith.extui %s : " + type + " to " + tileType(shape, "i8") + "\n" +
                  storeTile("r", "out", shape, "i8");
        else
          text += storeTile("s", "out", shape, e);
        SCOPED_TRACE(e + " " + std::to_string(extent));
        check(AssembledKernel(kernelText(inAndOut(memory), text), GetParam(), 4));
      }
  }
}

TEST_P(GpuPtx, rearrangements) {
  Shape shape{32, 64};
  std::string type = tileType(shape, "f16"), load = loadTile("x", "in", shape, "f16");
  auto compile = [&](const std::string &body, const Shape &result) {
    SCOPED_TRACE(body);
    check(AssembledKernel(
        kernelText(inAndOut("f16"), load + body + "\n" + storeTile("r", "out", result, "f16")),
        GetParam(), 4));
  };
  compile("%r = tile.flip %x {axis = 0 : i32} : " + type, shape);
  compile("%r = tile.cat %x, %x {axis = 1 : i32} : " + type + ", " + type + " -> " +
              tileType({32, 128}, "f16"),
          {32, 128});
  compile("%r = tile.reshape %x : " + type + " -> " + tileType({2048}, "f16"), {2048});
  compile("%r = tile.join %x, %x : " + type + " -> " + tileType({32, 64, 2}, "f16"), {32, 64, 2});
  compile("%i = arith.constant dense<3> : " + tileType({32, 5}, "i32") +
              "\n%r = tile.gather %x[%i] {axis = 1 : i32} : " + type + ", " +
              tileType({32, 5}, "i32") + " -> " + tileType({32, 5}, "f16"),
          {32, 5});
}

TEST_P(GpuPtx, the_assembler_assumes_nothing_of_absolute_values) {
  for (const char *element : {"i8", "i16", "i32", "i64"}) {
    SCOPED_TRACE(element);
    Shape shape{128};
    AssembledKernel kernel(
        kernelText(inAndOut(element), loadTile("x", "in", shape, element) +
                                          "%r = math.absi %x : " + tileType(shape, element) + "\n" +
                                          storeTile("r", "out", shape, element)),
        GetParam(), 4);
    check(kernel);
    EXPECT_EQ(kernel.count("abs.s"), 0);
    EXPECT_GT(kernel.count("sad.s"), 0);
  }
}

/// What reports to the host, in a loop with a reduction.
TEST_P(GpuPtx, prints_assertions_and_checked_accesses_assemble) {
  Shape shape{16, 64};
  std::string type = tileType(shape, "f32");
  std::string text = kernelText(
      inAndOut("f32") + ", %n: i32",
      "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n"
      "scf.for %i = %c0 to %n step %c1 : i32 {\n" +
          loadTile("x", "in", shape, "f32") + reduction("m", "x", shape, 1, "arith.addf") +
          "%zero = arith.constant dense<0.0> : tensor<16xf32>\n"
          "%fine = arith.cmpf oge, %m, %zero : tensor<16xf32>\n"
          "tile.assert %fine, \"negative\" : tensor<16xi1>\n"
          "tile.print \" x: \", %x, %i {hex = false, isSigned = array<i32: 0, 1>} : " +
          type + ", i32\n" + storeTile("x", "out", shape, "f32") + "}\n");
  auto count = [](const std::string &ptx) {
    const size_t entry = ptx.find(".entry"); // behind functions that it calls
    return std::count(ptx.begin() + long(entry), ptx.begin() + long(ptx.find(')', entry)), ',') + 1;
  };
  backends::CompileOptions options;
  AssembledKernel released(text, GetParam(), 4, options);
  check(released);
  EXPECT_EQ(count(released.ptx()), 4);
  EXPECT_EQ(released.count("bar.red"), 0);
  options.debug = true;
  AssembledKernel asserting(text, GetParam(), 4, options);
  check(asserting);
  EXPECT_EQ(count(asserting.ptx()), 4);
  EXPECT_EQ(asserting.count("bar.red.or"), 2) << asserting.ptx();
  options.fatalAsserts = true;
  AssembledKernel fatal(text, GetParam(), 4, options);
  check(fatal);
  EXPECT_EQ(count(fatal.ptx()), 4); // the print's
  EXPECT_EQ(fatal.count("bar.red"), 0);
  EXPECT_GE(fatal.count("__assertfail"), 2) << fatal.ptx();
  options.fatalAsserts = false;
  options.checkBounds = true;
  AssembledKernel checked(text, GetParam(), 4, options);
  check(checked);
  EXPECT_EQ(count(checked.ptx()), 5);
  // At the start, the assertion, and for load and store the check and the search for the first.
  EXPECT_EQ(checked.count("bar.red.or"), 6) << checked.ptx();
  EXPECT_GE(checked.count("ld.volatile.global"), 1);
  EXPECT_EQ(checked.count("trap"), 0);
}

INSTANTIATE_TEST_SUITE_P(Targets, GpuPtx, ::testing::Values("sm_80", "sm_90a", "sm_120a"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
