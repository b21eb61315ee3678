// device_print on a GPU: records as backends/plain/DeviceAbi.h says, from tiles of any layout.
#include "LaidOutText.h"
#include "RandomLayout.h"
#include "ReportBuffer.h"
#include "SimulatedGpu.h"
#include "backends/plain/PrintFormat.h"

#include <cinttypes>

using namespace sectile;
using namespace sectile::testing;
using backends::RecordHeader;

namespace {

struct Record {
  RecordHeader header;
  std::vector<uint8_t> data;
};

std::vector<Record> recordsOf(ReportBuffer &reports) {
  std::vector<Record> records;
  const uint8_t *bytes = reports.records();
  uint64_t end = std::min(reports.header().cursor, reports.header().capacity);
  for (uint64_t place = 0; place + sizeof(RecordHeader) <= end;) {
    Record record;
    std::memcpy(&record.header, bytes + place, sizeof record.header);
    if (record.header.bytes < sizeof(RecordHeader))
      break;
    record.data.assign(bytes + place + sizeof(RecordHeader), bytes + place + record.header.bytes);
    place += record.header.bytes;
    records.push_back(std::move(record));
  }
  return records;
}

TEST(GpuPrint, whole_tiles_of_any_layout_row_by_row) {
  std::mt19937 random(7);
  for (const Shape &shape : {Shape{64}, {96}, {16, 8}, {5, 12}, {4, 3, 8}, {1}})
    for (unsigned lanes : {32u, 64u}) {
      layout::TileLayout layout = randomLayout(random, shape, lanes, 2);
      std::string type = laidOut(layout, "i32");
      SimulatedKernel kernel(
          kernelText(pointer("in", "i32"),
                     loadLaidOut("x", "in", layout, "i32") +
                         "tile.print \" x: \", %x {hex = false, isSigned = array<i32: 1>} : " +
                         type + "\n"),
          {.warps = 2, .lanes = lanes});
      ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
      std::vector<int32_t> in(elementCount(shape));
      for (int32_t &each : in)
        each = int32_t(random());
      ReportBuffer reports(1 << 16);
      SimulatedReport run = kernel.run({2, 3}, reports.with(kernel.image, {argument(in)}));
      ASSERT_EQ(run.problem, "") << layout::print(layout);
      std::vector<Record> records = recordsOf(reports);
      ASSERT_EQ(records.size(), 6u);
      for (size_t program = 0; program < 6; ++program) {
        EXPECT_EQ(records[program].header.program, int64_t(program));
        ASSERT_EQ(records[program].data.size(), (in.size() * 4 + 7) / 8 * 8);
        EXPECT_EQ(std::memcmp(records[program].data.data(), in.data(), in.size() * 4), 0)
            << layout::print(layout);
      }
      EXPECT_TRUE(reports.isGuardIntact());
      ASSERT_EQ(kernel.image.printSites.size(), 1u);
      EXPECT_EQ(kernel.image.printSites[0].operands[0].shape, shape);
      EXPECT_EQ(kernel.image.gpu.hiddenParameters, backends::kHiddenRecords);
    }
}

/// Where the passes choose the layouts; texts as on the CPU.
TEST(GpuPrint, tiles_and_scalars_of_all_kinds) {
  std::string text = R"(
func.func @k(%h: !tile.ptr<f16>, %n: i32, %wide: i64, %flag: i1, %d: f64)
    attributes {tile.kernel} {
)" + loadTile("x", "h", {3}, "f16") +
                     R"(
  %zero = arith.constant dense<0.0> : tensor<3xf16>
  %positive = arith.cmpf ogt, %x, %zero : tensor<3xf16>
  tile.print " a: ", %x, %n, %positive {hex = false, isSigned = array<i32: 1, 1, 0>, names = ["x", "", "x > 0"]} : tensor<3xf16>, i32, tensor<3xi1>
  tile.print " b: ", %wide, %flag, %d, %h {hex = false, isSigned = array<i32: 0, 0, 0, 0>} : i64, i1, f64, !tile.ptr<f16>
  tile.print "here" {hex = false, isSigned = array<i32>}
  return
}
)";
  SimulatedKernel kernel(text, {.warps = 4});
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<uint16_t> in = {0x3e00, 0xc000, 0x7c00}; // 1.5, -2, inf
  ReportBuffer reports(4096);
  SimulatedReport run = kernel.run(
      {1}, reports.with(kernel.image, {argument(in), argument(int32_t(-7)), argument(~uint64_t(0)),
                                       argument(uint8_t(1)), argument(0.25)}));
  ASSERT_EQ(run.problem, "");
  std::string all;
  for (const Record &record : recordsOf(reports))
    all += backends::formatPrint(kernel.image.printSites[record.header.site], record.header.program,
                                 1, 1, record.data.data());
  char address[32];
  std::snprintf(address, sizeof address, "0x%016" PRIx64, reinterpret_cast<uint64_t>(in.data()));
  EXPECT_EQ(all, "pid (0, 0, 0) a: x = fp16[3] [ 1.5 -2.0  inf]\n"
                 "pid (0, 0, 0) a: operand 2 = -7\n"
                 "pid (0, 0, 0) a: x > 0 = i1[3] [ True False  True]\n"
                 "pid (0, 0, 0) b: operand 1 = 18446744073709551615\n"
                 "pid (0, 0, 0) b: operand 2 = True\n"
                 "pid (0, 0, 0) b: operand 3 = 0.25\n"
                 "pid (0, 0, 0) b: operand 4 = " +
                     std::string(address) + "\npid (0, 0, 0) here\n");
}

TEST(GpuPrint, what_does_not_fit_is_counted_and_not_written) {
  Shape shape{32};
  SimulatedKernel kernel(
      kernelText(pointer("in", "i32"),
                 loadTile("x", "in", shape, "i32") +
                     "tile.print \" x: \", %x {hex = false, isSigned = array<i32: 1>} : " +
                     tileType(shape, "i32") + "\n"),
      {.warps = 1});
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int32_t> in(32, -1);
  ReportBuffer reports(2 * 144 + 16); // two records and a header
  EXPECT_EQ(kernel.run({5}, reports.with(kernel.image, {argument(in)})).problem, "");
  EXPECT_EQ(recordsOf(reports).size(), 2u);
  EXPECT_EQ(reports.header().lost, 3u);
  EXPECT_EQ(reports.header().cursor, 5u * 144);
  EXPECT_TRUE(reports.isGuardIntact());
  for (size_t i = 288; i < 304; ++i)
    EXPECT_EQ(reports.records()[i], 0) << i;
}

/// A print's place travels through shared memory that others use, too.
TEST(GpuPrint, in_loops_beside_other_users_of_shared_memory) {
  Shape shape{256};
  std::string type = tileType(shape, "i32");
  SimulatedKernel kernel(
      kernelText(pointer("in", "i32") + ", %n: i32",
                 loadTile("x", "in", shape, "i32") +
                     "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n"
                     "scf.for %i = %c0 to %n step %c1 : i32 {\n%si = tile.splat %i : i32 -> " +
                     type + "\n%y = arith.addi %x, %si : " + type +
                     "\n%s = tile.reduce(%y) axis 0 : (" + type +
                     ") -> i32 {\n^bb0(%a: i32, %b: i32):\n%cc = arith.addi %a, %b : i32\n"
                     "tile.yield %cc : i32\n}\n"
                     "tile.print \" s: \", %s {hex = false, isSigned = array<i32: 1>} : i32\n}\n"),
      {.warps = 4});
  ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
  std::vector<int32_t> in(256, 3);
  ReportBuffer reports(4096);
  SimulatedReport run = kernel.run({1}, reports.with(kernel.image, {argument(in), argument(4)}));
  ASSERT_EQ(run.problem, "");
  std::vector<Record> records = recordsOf(reports);
  ASSERT_EQ(records.size(), 4u);
  for (int32_t i = 0; i < 4; ++i) {
    int32_t sum = 0;
    std::memcpy(&sum, records[size_t(i)].data.data(), 4);
    EXPECT_EQ(sum, 256 * (3 + i));
  }
}

} // namespace
