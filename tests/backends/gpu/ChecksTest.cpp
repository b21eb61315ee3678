// What stops a kernel on a GPU: assertions and accesses out of bounds. All threads leave together,
// nothing of the failing access is carried out, the report is the first offender's.
#include "LaidOutText.h"
#include "RandomLayout.h"
#include "ReportBuffer.h"
#include "SimulatedGpu.h"

using namespace sectile;
using namespace sectile::testing;
using Kind = backends::TrapSite::Kind;

namespace {

/// On GPUs of 32 and 64 lanes, whose barriers vote, or whose votes go by way of shared memory.
struct Gpu {
  unsigned lanes;
  bool votesInSharedMemory;
};

class GpuChecks : public ::testing::TestWithParam<Gpu> {
protected:
  static SimulatedOptions on(SimulatedOptions options) {
    options.lanes = GetParam().lanes;
    options.abilities.votesInSharedMemory = GetParam().votesInSharedMemory;
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Gpus, GpuChecks,
                         ::testing::Values(Gpu{32, false}, Gpu{32, true}, Gpu{64, false},
                                           Gpu{64, true}),
                         [](const auto &info) {
                           return std::to_string(info.param.lanes) + "_lanes" +
                                  (info.param.votesInSharedMemory ? "_vote_in_shared_memory" : "");
                         });

TEST_P(GpuChecks, a_failed_assertion_stops_its_program_and_later_ones) {
  Shape shape{128};
  std::string body = R"(
  %p = tile.program_id 0
  %t = tile.splat %p : i32 -> tensor<128xi32>
  %ten = arith.constant dense<10> : tensor<128xi32>
  %limit = arith.subi %ten, %t : tensor<128xi32>
)" + loadTile("x", "in", shape, "i32") +
                     R"(
  %small = arith.cmpi slt, %x, %limit : tensor<128xi32>
  tile.assert %small, "too large" : tensor<128xi1>
  %place = tile.ptr_add %out, %p : !tile.ptr<i32>, i32
  %one = arith.constant 1 : i32
  tile.store %place, %one : !tile.ptr<i32>
)";
  std::string text = kernelText(pointer("in", "i32") + ", " + pointer("out", "i32"), body);
  std::vector<int32_t> in(128, 1);
  in[77] = 7;

  SimulatedKernel kernel(text, on({.warps = 2, .debug = true}));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int32_t> out(8, 0);
  ReportBuffer reports;
  SimulatedReport run = kernel.run({8}, reports.with(kernel.image, {argument(in), argument(out)}));
  EXPECT_EQ(run.problem, "");
  EXPECT_EQ(reports.header().stop, 1u);
  EXPECT_EQ(reports.header().trapProgram, 3);
  EXPECT_EQ(reports.header().trapAddress, 0u);
  ASSERT_EQ(kernel.image.trapSites.size(), 1u);
  EXPECT_EQ(reports.header().trapSite, 0);
  EXPECT_EQ(kernel.image.trapSites[0].kind, Kind::Assertion);
  EXPECT_EQ(kernel.image.trapSites[0].message, "too large");
  EXPECT_EQ(out, (std::vector<int32_t>{1, 1, 1, 0, 0, 0, 0, 0}));

  EXPECT_EQ(kernel.sharedBytes, GetParam().votesInSharedMemory ? 2 * 4 : 0);

  SimulatedKernel fatal(text, on({.warps = 2, .debug = true, .fatalAsserts = true}));
  ASSERT_TRUE(fatal.compiled()) << fatal.diagnostics();
  EXPECT_EQ(fatal.image.gpu.hiddenParameters, 0);
  EXPECT_TRUE(fatal.image.trapSites.empty());
  EXPECT_EQ(fatal.sharedBytes, 0);
  const std::string problem = fatal.run({8}, {argument(in), argument(out)}).problem;
  EXPECT_TRUE(llvm::StringRef(problem).starts_with("assertion failed on line ")) << problem;
  EXPECT_TRUE(llvm::StringRef(problem).ends_with(": too large")) << problem;
  EXPECT_EQ(fatal.run({3}, {argument(in), argument(out)}).problem, "");

  SimulatedKernel released(text, on({.warps = 2}));
  ASSERT_TRUE(released.compiled()) << released.diagnostics();
  EXPECT_EQ(released.image.gpu.hiddenParameters, 0);
  EXPECT_EQ(released.sharedBytes, 0);
  EXPECT_EQ(released.run({8}, {argument(in), argument(out)}).problem, "");
  EXPECT_EQ(out, std::vector<int32_t>(8, 1));
}

TEST_P(GpuChecks, an_assertion_ends_an_endless_loop_with_barriers_in_it) {
  SimulatedKernel kernel(R"(
func.func @k(%in: !tile.ptr<i32>, %out: !tile.ptr<i32>) attributes {tile.kernel} {
  %true = arith.constant true
  %zero = arith.constant 0 : i32
  %r = tile.arange 0, 512 : tensor<512xi32>
  %base = tile.splat %in : !tile.ptr<i32> -> tensor<512x!tile.ptr<i32>>
  %ptrs = tile.ptr_add %base, %r : tensor<512x!tile.ptr<i32>>, tensor<512xi32>
  %x = tile.load %ptrs : tensor<512x!tile.ptr<i32>>
  %last = scf.while (%i = %zero) : (i32) -> i32 {
    scf.condition(%true) %i : i32
  } do {
  ^bb0(%i: i32):
    %one = arith.constant 1 : i32
    %next = arith.addi %i, %one : i32
    %ni = tile.splat %next : i32 -> tensor<512xi32>
    %y = arith.muli %x, %ni : tensor<512xi32>
    %s = tile.reduce(%y) axis 0 : (tensor<512xi32>) -> i32 {
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      tile.yield %c : i32
    }
    %bound = arith.constant 5000 : i32
    %fine = arith.cmpi slt, %s, %bound : i32
    tile.assert %fine, "grew" : i1
    tile.store %out, %s : !tile.ptr<i32>
    scf.yield %next : i32
  }
  tile.store %out, %zero : !tile.ptr<i32>
  return
}
)",
                         on({.warps = 4, .debug = true}));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int32_t> in(512, 1), out(1, -1);
  ReportBuffer reports;
  EXPECT_EQ(kernel.run({1}, reports.with(kernel.image, {argument(in), argument(out)})).problem, "");
  EXPECT_EQ(reports.header().stop, 1u);
  EXPECT_EQ(out[0], 9 * 512);
}

/// It may wait for what a stopped program was to do.
TEST_P(GpuChecks, a_waiting_loop_ends_when_another_program_has_stopped) {
  SimulatedKernel kernel(R"(
func.func @k(%flag: !tile.ptr<i32>, %records: !tile.ptr<i32>, %out: !tile.ptr<i32>)
    attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %last = scf.while (%i = %zero) : (i32) -> i32 {
    %f = tile.load %flag volatile : !tile.ptr<i32>
    %waits = arith.cmpi eq, %f, %zero : i32
    // Another program's trap, in the third round.
    %three = arith.constant 3 : i32
    %third = arith.cmpi eq, %i, %three : i32
    scf.if %third {
      tile.store %records, %one : !tile.ptr<i32>
    }
    tile.assert %waits, "never" : i1
    scf.condition(%waits) %i : i32
  } do {
  ^bb0(%i: i32):
    %next = arith.addi %i, %one : i32
    tile.store %out, %next : !tile.ptr<i32>
    scf.yield %next : i32
  }
  return
}
)",
                         on({.warps = 2, .debug = true}));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int32_t> flag(1, 0), out(1, -1);
  ReportBuffer reports;
  HostArgument records;
  records.slot = reinterpret_cast<uint64_t>(&reports.header());
  records.begin = records.slot;
  records.end = records.slot + 4;
  EXPECT_EQ(
      kernel.run({1}, reports.with(kernel.image, {argument(flag), records, argument(out)})).problem,
      "");
  EXPECT_EQ(out[0], 4);
}

TEST_P(GpuChecks, the_first_offending_address_whatever_the_layout) {
  std::mt19937 random(11);
  for (const Shape &shape : {Shape{256}, {96}, {16, 32}, {12, 20}})
    for (bool isStore : {false, true}) {
      layout::TileLayout layout = randomLayout(random, shape, GetParam().lanes, 4);
      SimulatedKernel kernel(kernelText(pointer("in", "f32") + ", " + pointer("out", "f32"),
                                        loadLaidOut("x", "in", layout, "f32") +
                                            storeLaidOut("x", "out", layout, "f32")),
                             on({.warps = 4, .checkBounds = true}));
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      EXPECT_EQ(kernel.image.gpu.hiddenParameters,
                backends::kHiddenRanges | backends::kHiddenRecords);
      ASSERT_EQ(kernel.image.trapSites.size(), 2u);
      EXPECT_EQ(kernel.image.trapSites[0].kind, Kind::Load);
      EXPECT_EQ(kernel.image.trapSites[0].argument, 0);
      EXPECT_EQ(kernel.image.trapSites[1].kind, Kind::Store);
      EXPECT_EQ(kernel.image.trapSites[1].argument, 1);

      size_t count = elementCount(shape);
      std::vector<float> in(count, 2.5f), out(count, 7.f), fit = out;
      {
        ReportBuffer reports;
        SimulatedReport run =
            kernel.run({1}, reports.with(kernel.image, {argument(in), argument(fit)}));
        EXPECT_EQ(run.problem, "");
        EXPECT_EQ(reports.header().stop, 0u);
        EXPECT_EQ(fit, in);
      }
      for (size_t available : {size_t(0), size_t(1), count / 2 + 1, count - 1}) {
        HostArgument input = argument(in), output = argument(out);
        (isStore ? output : input).end = (isStore ? output : input).begin + 4 * available;
        ReportBuffer reports;
        SimulatedReport run = kernel.run({1}, reports.with(kernel.image, {input, output}));
        EXPECT_EQ(run.problem, "");
        EXPECT_EQ(reports.header().stop, 1u);
        EXPECT_EQ(reports.header().trapSite, isStore);
        EXPECT_EQ(reports.header().trapAddress, (isStore ? output : input).begin + 4 * available)
            << layout::print(layout);
        EXPECT_EQ(out, std::vector<float>(count, 7.f)) << "something was written";
      }
    }
}

TEST_P(GpuChecks, masked_elements_are_not_checked) {
  Shape shape{64};
  SimulatedKernel kernel(
      kernelText(pointer("in", "i32") + ", " + pointer("out", "i32") + ", %n: i32",
                 pointerTile("p", "in", shape, "i32") + pointerTile("q", "out", shape, "i32") + R"(
  %r = tile.arange 0, 64 : tensor<64xi32>
  %sn = tile.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %r, %sn : tensor<64xi32>
  %x = tile.load %p, %m : tensor<64x!tile.ptr<i32>>
  tile.store %q, %x, %m : tensor<64x!tile.ptr<i32>>
)"),
      on({.warps = 1, .checkBounds = true}));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int32_t> in(41, 5), out(41, 0);
  ReportBuffer reports;
  auto arguments = [&](int32_t n) {
    return reports.with(kernel.image, {argument(in), argument(out), argument(n)});
  };
  EXPECT_EQ(kernel.run({1}, arguments(41)).problem, "");
  EXPECT_EQ(reports.header().stop, 0u);
  EXPECT_EQ(out, in);
  EXPECT_EQ(kernel.run({1}, arguments(42)).problem, "");
  EXPECT_EQ(reports.header().stop, 1u);
  EXPECT_EQ(reports.header().trapAddress, reinterpret_cast<uint64_t>(in.data() + 41));
}

TEST_P(GpuChecks, scalars_and_atomics) {
  SimulatedKernel kernel(
      R"(
func.func @k(%in: !tile.ptr<i64>, %out: !tile.ptr<i32>, %i: i32, %j: i32)
    attributes {tile.kernel} {
  %p = tile.ptr_add %in, %i : !tile.ptr<i64>, i32
  %x = tile.load %p : !tile.ptr<i64>
  %y = arith.trunci %x : i64 to i32
  %q = tile.ptr_add %out, %j : !tile.ptr<i32>, i32
  %old = tile.atomic_rmw add, acq_rel, gpu, %q, %y : !tile.ptr<i32>
  tile.store %out, %old : !tile.ptr<i32>
  return
}
)",
      on({.warps = 2, .checkBounds = true}));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int64_t> in{3, 4};
  auto run = [&](int32_t i, int32_t j, std::vector<int32_t> &out, ReportBuffer &reports) {
    return kernel
        .run({1},
             reports.with(kernel.image, {argument(in), argument(out), argument(i), argument(j)}))
        .problem;
  };
  {
    std::vector<int32_t> out{10, 20};
    ReportBuffer reports;
    EXPECT_EQ(run(1, 1, out, reports), "");
    EXPECT_EQ(reports.header().stop, 0u);
    EXPECT_EQ(out, (std::vector<int32_t>{20, 24}));
  }
  {
    std::vector<int32_t> out{10, 20};
    ReportBuffer reports;
    EXPECT_EQ(run(-1, 1, out, reports), "");
    EXPECT_EQ(kernel.image.trapSites[reports.header().trapSite].kind, Kind::Load);
    EXPECT_EQ(reports.header().trapAddress, reinterpret_cast<uint64_t>(in.data() - 1));
    EXPECT_EQ(out, (std::vector<int32_t>{10, 20}));
  }
  {
    std::vector<int32_t> out{10, 20};
    ReportBuffer reports;
    EXPECT_EQ(run(0, 2, out, reports), "");
    EXPECT_EQ(kernel.image.trapSites[reports.header().trapSite].kind, Kind::Atomic);
    EXPECT_EQ(reports.header().trapAddress, reinterpret_cast<uint64_t>(out.data() + 2));
    EXPECT_EQ(out, (std::vector<int32_t>{10, 20}));
  }
}

/// A pointer that may be either argument's has to lie in one of them.
TEST_P(GpuChecks, pointers_of_unknown_origin) {
  SimulatedKernel kernel(R"(
func.func @k(%a: !tile.ptr<i32>, %b: !tile.ptr<i32>, %which: i1, %out: !tile.ptr<i32>, %i: i32)
    attributes {tile.kernel} {
  %s = arith.select %which, %a, %b : !tile.ptr<i32>
  %p = tile.ptr_add %s, %i : !tile.ptr<i32>, i32
  %x = tile.load %p : !tile.ptr<i32>
  tile.store %out, %x : !tile.ptr<i32>
  return
}
)",
                         on({.warps = 1, .checkBounds = true}));
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  EXPECT_EQ(kernel.image.trapSites[0].argument, -1);
  std::vector<int32_t> memory{1, 2, 3, 4, 5, 6}, out(1, 0);
  HostArgument a = argument(memory), b = a;
  a.end = a.begin + 8;
  b.slot = b.begin = a.begin + 16;
  for (bool which : {true, false})
    for (int32_t i = 0; i < 3; ++i) {
      ReportBuffer reports;
      EXPECT_EQ(kernel
                    .run({1}, reports.with(kernel.image, {a, b, argument(uint8_t(which)),
                                                          argument(out), argument(i)}))
                    .problem,
                "");
      EXPECT_EQ(reports.header().stop, uint32_t(i == 2)) << which << i;
      if (i < 2)
        EXPECT_EQ(out[0], memory[size_t(which ? i : 4 + i)]);
    }
}

TEST_P(GpuChecks, an_index_of_a_gather_lies_in_the_extent) {
  Shape shape{128};
  std::string text = kernelText(
      pointer("in", "i32") + ", " + pointer("where", "i32") + ", " + pointer("out", "i32"),
      loadTile("x", "in", shape, "i32") + loadTile("i", "where", shape, "i32") +
          "%r = tile.gather %x[%i] {axis = 0 : i32} : tensor<128xi32>, tensor<128xi32> -> "
          "tensor<128xi32>\n" +
          storeTile("r", "out", shape, "i32"));
  std::vector<int32_t> in(128), where(128), out(128, -1), expected(128);
  for (int n = 0; n < 128; ++n)
    in[n] = 3 * n, where[n] = (5 * n) % 128, expected[n] = 3 * where[n];
  for (bool checkBounds : {true, false}) {
    SimulatedKernel kernel(text, on({.warps = 2, .checkBounds = checkBounds}));
    ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
    ReportBuffer reports;
    auto run = [&](std::vector<int32_t> indices) {
      std::vector<HostArgument> arguments{argument(in), argument(indices), argument(out)};
      return kernel.run({1}, reports.with(kernel.image, arguments)).problem;
    };
    EXPECT_EQ(run(where), "");
    EXPECT_EQ(out, expected);
    std::fill(out.begin(), out.end(), -1);
    std::vector<int32_t> wrong = where;
    wrong[77] = -2, wrong[90] = 128;
    EXPECT_EQ(run(wrong), "");
    if (!checkBounds) { // some element, and no access elsewhere
      EXPECT_EQ(out[76], expected[76]);
      continue;
    }
    EXPECT_EQ(reports.header().stop, 1u);
    const auto &site = kernel.image.trapSites.at(reports.header().trapSite);
    EXPECT_EQ(site.kind, Kind::Gather);
    EXPECT_EQ(site.message, "axis 0, which has 128 elements");
    EXPECT_EQ(int64_t(reports.header().trapAddress), -2);
    EXPECT_EQ(out, std::vector<int32_t>(128, -1));
  }
}

} // namespace
