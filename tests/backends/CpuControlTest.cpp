// Loops, branches, matrix products, atomics, checks: what is not a single nest.
#include "HostKernelHarness.h"
#include "TileText.h"

#include <cmath>
#include <random>

using namespace sectile::testing;

namespace {

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = uniform(generator);
  return numbers;
}

TEST(CpuControl, loop_carries_a_tile_and_a_scalar) {
  for (int64_t n : {1, 17, 100}) {
    std::string t = tileType({n}, "f32");
    std::string text = pointerTile("p", "in", {n}, "f32") + R"(
%zero = arith.constant dense<0.0> : TILE
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%acc, %total = scf.for %k = %c0 to %steps step %c1 iter_args(%a = %zero, %s = %c0) -> (TILE, i32) : i32 {
  %width = arith.constant WIDTH : i32
  %off = arith.muli %k, %width : i32
  %offs = tile.splat %off : i32 -> INTS
  %q = tile.ptr_add %p, %offs : POINTERS, INTS
  %x = tile.load %q : POINTERS
  %next = arith.addf %a, %x : TILE
  %t = arith.addi %s, %k : i32
  scf.yield %next, %t : TILE, i32
}
%f = arith.sitofp %total : i32 to f32
%fs = tile.splat %f : f32 -> TILE
%r = arith.addf %acc, %fs : TILE
)" + storeTile("r", "out", {n}, "f32");
    auto put = [&](const std::string &name, const std::string &by) {
      for (size_t at; (at = text.find(name)) != std::string::npos;)
        text.replace(at, name.size(), by);
    };
    put("TILE", t);
    put("INTS", tileType({n}, "i32"));
    put("POINTERS", tileType({n}, "!tile.ptr<f32>"));
    put("WIDTH", std::to_string(n));
    HostKernelUnderTest kernel(
        kernelText(pointer("in", "f32") + ", " + pointer("out", "f32") + ", %steps: i32", text));
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics() << text;
    for (int steps : {0, 1, 5}) {
      auto in = randomFloats(n * std::max(steps, 1), 3);
      std::vector<float> out(n);
      ASSERT_EQ(kernel.run({1}, {argument(in), argument(out), argument(steps)}), 0);
      for (int64_t i = 0; i < n; ++i) {
        double sum = steps * (steps - 1) / 2;
        for (int k = 0; k < steps; ++k)
          sum += in[k * n + i];
        ASSERT_NEAR(out[i], sum, 1e-5) << n << " " << steps;
      }
    }
  }
}

TEST(CpuControl, carried_tiles_that_read_each_other) {
  // (a, b, c) <- (b + 1, a * 2, transpose(c) + a)
  std::string text = loadTile("x", "in", {20, 20}, "f32") + R"(
%one = arith.constant dense<1.0> : tensor<20x20xf32>
%two = arith.constant dense<2.0> : tensor<20x20xf32>
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%c3 = arith.constant 3 : i32
%ra, %rb, %rc = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %one, %c = %x)
    -> (tensor<20x20xf32>, tensor<20x20xf32>, tensor<20x20xf32>) : i32 {
  %na = arith.addf %b, %one : tensor<20x20xf32>
  %nb = arith.mulf %a, %two : tensor<20x20xf32>
  %ct = tile.transpose %c [1, 0] : tensor<20x20xf32> -> tensor<20x20xf32>
  %nc = arith.addf %ct, %a : tensor<20x20xf32>
  scf.yield %na, %nb, %nc : tensor<20x20xf32>, tensor<20x20xf32>, tensor<20x20xf32>
}
)" + storeTile("ra", "oa", {20, 20}, "f32") +
                     storeTile("rb", "ob", {20, 20}, "f32") +
                     storeTile("rc", "oc", {20, 20}, "f32");
  HostKernelUnderTest kernel(kernelText(pointer("in", "f32") + ", " + pointer("oa", "f32") + ", " +
                                            pointer("ob", "f32") + ", " + pointer("oc", "f32"),
                                        text));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  auto in = randomFloats(400, 5);
  std::vector<float> oa(400), ob(400), oc(400);
  ASSERT_EQ(kernel.run({1}, {argument(in), argument(oa), argument(ob), argument(oc)}), 0);
  std::vector<double> a(in.begin(), in.end()), b(400, 1.0), c(in.begin(), in.end());
  for (int k = 0; k < 3; ++k) {
    auto na = a, nb = b, nc = c;
    for (int i = 0; i < 400; ++i) {
      na[i] = b[i] + 1;
      nb[i] = a[i] * 2;
      nc[i] = c[i % 20 * 20 + i / 20] + a[i];
    }
    a = na, b = nb, c = nc;
  }
  for (int i = 0; i < 400; ++i) {
    ASSERT_NEAR(oa[i], a[i], 1e-4);
    ASSERT_NEAR(ob[i], b[i], 1e-4);
    ASSERT_NEAR(oc[i], c[i], 1e-4);
  }
}

TEST(CpuControl, branches_and_while) {
  std::string text = loadTile("x", "in", {33}, "f32") + R"(
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%positive = arith.cmpi sgt, %n, %c0 : i32
%y, %s = scf.if %positive -> (tensor<33xf32>, i32) {
  %d = arith.addf %x, %x : tensor<33xf32>
  scf.yield %d, %n : tensor<33xf32>, i32
} else {
  %e = math.absf %x : tensor<33xf32>
  scf.yield %e, %c1 : tensor<33xf32>, i32
}
%half = arith.constant dense<0.5> : tensor<33xf32>
%r, %left = scf.while (%v = %y, %i = %s) : (tensor<33xf32>, i32) -> (tensor<33xf32>, i32) {
  %more = arith.cmpi sgt, %i, %c0 : i32
  scf.condition(%more) %v, %i : tensor<33xf32>, i32
} do {
^bb0(%v: tensor<33xf32>, %i: i32):
  %w = arith.mulf %v, %half : tensor<33xf32>
  %j = arith.subi %i, %c1 : i32
  scf.yield %w, %j : tensor<33xf32>, i32
}
)" + storeTile("r", "out", {33}, "f32");
  HostKernelUnderTest kernel(
      kernelText(pointer("in", "f32") + ", " + pointer("out", "f32") + ", %n: i32", text));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  auto in = randomFloats(33, 9);
  for (int n : {-2, 0, 1, 4}) {
    std::vector<float> out(33);
    ASSERT_EQ(kernel.run({1}, {argument(in), argument(out), argument(n)}), 0);
    for (int i = 0; i < 33; ++i) {
      double expected = n > 0 ? in[i] * 2.0 : std::fabs(in[i]);
      for (int k = 0; k < (n > 0 ? n : 1); ++k)
        expected *= 0.5;
      ASSERT_FLOAT_EQ(out[i], expected) << n;
    }
  }
}

TEST(CpuControl, loads_stay_before_stores_that_may_overwrite_them) {
  // Transposes in place: every load comes first.
  std::string text = loadTile("x", "io", {24, 24}, "f32") +
                     "%t = tile.transpose %x [1, 0] : tensor<24x24xf32> -> tensor<24x24xf32>\n" +
                     storeTile("t", "io", {24, 24}, "f32");
  HostKernelUnderTest kernel(kernelText(pointer("io", "f32"), text));
  auto io = randomFloats(576, 2);
  auto before = io;
  ASSERT_EQ(kernel.run({1}, {argument(io)}), 0);
  for (int i = 0; i < 576; ++i)
    ASSERT_EQ(io[i], before[i % 24 * 24 + i / 24]);

  // A load used after a store to the same array.
  text = loadTile("x", "io", {24, 24}, "f32") +
         "%z = arith.constant dense<0.0> : tensor<24x24xf32>\n" +
         storeTile("z", "io", {24, 24}, "f32") + storeTile("x", "out", {24, 24}, "f32");
  HostKernelUnderTest second(kernelText(pointer("io", "f32") + ", " + pointer("out", "f32"), text));
  std::vector<float> out(576);
  before = io;
  ASSERT_EQ(second.run({1}, {argument(io), argument(out)}), 0);
  EXPECT_EQ(out, before);
  EXPECT_EQ(io, std::vector<float>(576, 0.0f));
}

TEST(CpuControl, products_in_a_loop) {
  for (const std::string element : {"f32", "f16", "bf16"}) {
    for (auto [m, n, k] : {std::array<int64_t, 3>{16, 16, 16}, {17, 33, 5}, {64, 48, 32}}) {
      // acc += a_step @ b_step, with a and b filled from integers (exact in every format).
      std::string accType = tileType({m, n}, "f32");
      std::string text =
          loadTile("a", "pa", {m, k}, "i8") + loadTile("b", "pb", {k, n}, "i8") +
          "%fa = arith.sitofp %a : " + tileType({m, k}, "i8") + " to " + tileType({m, k}, element) +
          "\n%fb = arith.sitofp %b : " + tileType({k, n}, "i8") + " to " +
          tileType({k, n}, element) + "\n%zero = arith.constant dense<1.0> : " + accType + R"(
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%c3 = arith.constant 3 : i32
%two = arith.constant dense<2.0> : ACC
%r = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (ACC) : i32 {
  %scaled = arith.mulf %acc, %two : ACC
  %next = tile.dot %fa, %fb, %scaled : A * B -> ACC
  scf.yield %next : ACC
}
)" + storeTile("r", "out", {m, n}, "f32");
      auto put = [&](const std::string &name, const std::string &by) {
        for (size_t at; (at = text.find(name)) != std::string::npos;)
          text.replace(at, name.size(), by);
      };
      put("ACC", accType);
      put("A * B", tileType({m, k}, element) + " * " + tileType({k, n}, element));
      HostKernelUnderTest kernel(kernelText(
          pointer("pa", "i8") + ", " + pointer("pb", "i8") + ", " + pointer("out", "f32"), text));
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics() << text;
      std::vector<int8_t> a(m * k), b(k * n);
      std::mt19937 generator(4);
      for (auto *array : {&a, &b})
        for (int8_t &number : *array)
          number = int8_t(generator() % 17) - 8;
      std::vector<float> out(m * n);
      ASSERT_EQ(kernel.run({1}, {argument(a), argument(b), argument(out)}), 0);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double product = 0, expected = 1;
          for (int64_t l = 0; l < k; ++l)
            product += double(a[i * k + l]) * b[l * n + j];
          for (int step = 0; step < 3; ++step)
            expected = expected * 2 + product;
          ASSERT_EQ(out[i * n + j], expected) << element << " " << i << "," << j;
        }
    }
  }
}

TEST(CpuControl, atomics) {
  for (const std::string element : {"f32", "i32", "f16", "i64"}) {
    bool isFloat = element[0] == 'f';
    // 40 lanes add their number to one of 4 places; odd lanes are masked off.
    std::string text = R"(
%i = tile.arange 0, 40 : tensor<40xi32>
%three = arith.constant dense<3> : tensor<40xi32>
%one = arith.constant dense<1> : tensor<40xi32>
%zero = arith.constant dense<0> : tensor<40xi32>
%at = arith.andi %i, %three : tensor<40xi32>
%odd = arith.andi %i, %one : tensor<40xi32>
%m = arith.cmpi eq, %odd, %zero : tensor<40xi32>
%ps = tile.splat %out : !tile.ptr<E> -> tensor<40x!tile.ptr<E>>
%p = tile.ptr_add %ps, %at : tensor<40x!tile.ptr<E>>, tensor<40xi32>
)";
    text += isFloat            ? "%v = arith.sitofp %i : tensor<40xi32> to tensor<40xE>\n"
            : element == "i64" ? "%v = arith.extsi %i : tensor<40xi32> to tensor<40xi64>\n"
                               : "%v = arith.addi %i, %zero : tensor<40xi32>\n";
    text += std::string("%old = tile.atomic_rmw ") + (isFloat ? "fadd" : "add") +
            ", acq_rel, gpu, %p, %v, %m : tensor<40x!tile.ptr<E>>\n";
    for (size_t at = 0; (at = text.find("<E>", at)) != std::string::npos;)
      text.replace(at, 3, "<" + element + ">");
    for (size_t at = 0; (at = text.find("xE>", at)) != std::string::npos;)
      text.replace(at, 3, "x" + element + ">");
    HostKernelUnderTest kernel(kernelText(pointer("out", element), text));
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics() << text;
    double expected[4] = {};
    for (int i = 0; i < 40; i += 2)
      expected[i & 3] += 3 * i;
    if (element == "f32") {
      std::vector<float> out(4);
      ASSERT_EQ(kernel.run({3}, {argument(out)}), 0);
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(out[i], expected[i]);
    } else if (element == "i32") {
      std::vector<int32_t> out(4);
      ASSERT_EQ(kernel.run({3}, {argument(out)}), 0);
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(out[i], expected[i]);
    } else if (element == "i64") {
      std::vector<int64_t> out(4);
      ASSERT_EQ(kernel.run({3}, {argument(out)}), 0);
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(out[i], expected[i]);
    } else {
      std::vector<_Float16> out(4);
      ASSERT_EQ(kernel.run({3}, {argument(out)}), 0);
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(float(out[i]), expected[i]);
    }
  }
  HostKernelUnderTest cas(
      kernelText(pointer("p", "i32") + ", %expected: i32, %desired: i32, " + pointer("old", "i32"),
                 "%o = tile.atomic_cas acq_rel, gpu, %p, %expected, %desired : !tile.ptr<i32>\n"
                 "tile.store %old, %o : !tile.ptr<i32>\n"));
  std::vector<int32_t> cell{5}, old{0};
  cas.run({1}, {argument(cell), argument(4), argument(9), argument(old)});
  EXPECT_EQ(cell[0], 5);
  cas.run({1}, {argument(cell), argument(5), argument(9), argument(old)});
  EXPECT_EQ(cell[0], 9);
  EXPECT_EQ(old[0], 5);
}

TEST(CpuControl, division_never_traps) {
  std::string text = loadTile("a", "pa", {20}, "i32") + loadTile("b", "pb", {20}, "i32") + R"(
%q = arith.divsi %a, %b : tensor<20xi32>
%r = arith.remsi %a, %b : tensor<20xi32>
%u = arith.divui %a, %b : tensor<20xi32>
)";
  text += storeTile("q", "oq", {20}, "i32") + storeTile("r", "orem", {20}, "i32") +
          storeTile("u", "ou", {20}, "i32");
  HostKernelUnderTest kernel(kernelText(pointer("pa", "i32") + ", " + pointer("pb", "i32") + ", " +
                                            pointer("oq", "i32") + ", " + pointer("orem", "i32") +
                                            ", " + pointer("ou", "i32"),
                                        text));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int32_t> a(20), b(20), q(20), r(20), u(20);
  std::mt19937 generator(1);
  for (int i = 0; i < 20; ++i) {
    a[i] = generator();
    b[i] = i % 4 ? int32_t(generator()) >> (i % 30) : 3;
  }
  a[0] = INT32_MIN, b[0] = -1, a[1] = 7, b[1] = 0, a[2] = INT32_MIN, b[2] = 1, b[3] = -1;
  ASSERT_EQ(kernel.run({1}, {argument(a), argument(b), argument(q), argument(r), argument(u)}), 0);
  for (int i = 2; i < 20; ++i) {
    if (!b[i])
      continue;
    EXPECT_EQ(q[i], a[i] / b[i]) << a[i] << "/" << b[i];
    EXPECT_EQ(r[i], a[i] % b[i]);
    EXPECT_EQ(uint32_t(u[i]), uint32_t(a[i]) / uint32_t(b[i]));
  }
}

TEST(CpuControl, checks_bounds) {
  sectile::backends::CompileOptions options;
  options.checkBounds = true;
  std::string text = loadTile("x", "in", {40}, "f32") + storeTile("x", "out", {40}, "f32");
  HostKernelUnderTest kernel(kernelText(pointer("in", "f32") + ", " + pointer("out", "f32"), text),
                             options);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<float> in(40, 1), out(40), longer(64, 5);
  EXPECT_EQ(kernel.run({1}, {argument(in), argument(out)}), 0);
  EXPECT_EQ(out, in);
  HostArgument shorter = argument(longer);
  shorter.end -= 27 * 4; // 37 elements
  EXPECT_EQ(kernel.run({1}, {argument(in), shorter}), 1);
  ASSERT_EQ(kernel.traps.size(), 1u);
  const auto &site = kernel.image.trapSites[kernel.traps[0].site];
  EXPECT_EQ(site.kind, sectile::backends::TrapSite::Kind::Store);
  EXPECT_EQ(site.argument, 1);
  EXPECT_EQ(kernel.traps[0].address, reinterpret_cast<uint64_t>(&longer[37]));
  for (int i = 37; i < 64; ++i)
    EXPECT_EQ(longer[i], 5);
}

TEST(CpuControl, asserts_and_prints) {
  std::string text = loadTile("x", "in", {5, 3}, "i16") + R"(
%limit = arith.constant dense<100> : tensor<5x3xi16>
%c = arith.cmpi slt, %x, %limit : tensor<5x3xi16>
tile.assert %c, "small" : tensor<5x3xi1>
tile.print "x: ", %x, %c {hex = false, isSigned = array<i32: 1, 0>} : tensor<5x3xi16>, tensor<5x3xi1>
)";
  sectile::backends::CompileOptions options;
  options.debug = true;
  HostKernelUnderTest kernel(kernelText(pointer("in", "i16"), text), options);
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int16_t> in(15);
  for (int i = 0; i < 15; ++i)
    in[i] = i - 4;
  EXPECT_EQ(kernel.run({2}, {argument(in)}), 0);
  ASSERT_EQ(kernel.prints.size(), 2u);
  EXPECT_EQ(kernel.prints[1].program, 1);
  EXPECT_EQ(std::memcmp(kernel.prints[0].data.data(), in.data(), 30), 0);
  EXPECT_EQ(std::vector<uint8_t>(kernel.prints[0].data.begin() + 32, kernel.prints[0].data.end()),
            std::vector<uint8_t>(15, 1));
  in[14] = 100;
  EXPECT_EQ(kernel.run({2}, {argument(in)}), 1);
  ASSERT_EQ(kernel.traps.size(), 1u);
  EXPECT_EQ(kernel.image.trapSites[kernel.traps[0].site].message, "small");
}

TEST(CpuControl, failures_inside_llvm_come_back) {
  for (const char *kind : {"cannot-select", "missing-libcall"}) {
    sectile::backends::CompileOptions options;
    options.injectFailure = kind;
    HostKernelUnderTest kernel(kernelText(pointer("in", "i16"), ""), options);
    EXPECT_FALSE(kernel.compiled()) << kind;
    EXPECT_NE(kernel.diagnostics(), "");
    HostKernelUnderTest fine(kernelText(pointer("in", "i16"), ""));
    EXPECT_TRUE(fine.compiled()) << fine.diagnostics();
  }
}

} // namespace
