// What kernels report: traps, prints, records that are damaged.
#include "CudaDriverFixture.h"

using namespace sectile;
using namespace sectile::nvidia;
using namespace sectile::nvidia::test_driver;

namespace {

TEST_F(CudaDriverTest, ReportsTraps) {
  auto kernel = load(test::checkedImage());
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    auto *rangesSeen = reinterpret_cast<uint64_t *>(*static_cast<uint64_t *>(launch.parameters[2]));
    EXPECT_EQ(rangesSeen[1], ranges[1]);
    auto *buffer = reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[3]));
    EXPECT_EQ(buffer->stop, 0u);
    buffer->stop = 1;
    buffer->trapSite = 0;
    buffer->trapProgram = 3;
    buffer->trapAddress = 0x1400;
  };
  for (int round = 0; round < 2; ++round) { // the buffer is clean the second time
    LaunchFailure why = launch(*kernel);
    EXPECT_EQ(why.kind, Kind::Trap);
    EXPECT_EQ(why.site, 0);
    EXPECT_EQ(why.program, 3);
    EXPECT_EQ(why.address, 0x1400u);
  }
  EXPECT_EQ(fake.count("synchronize"), 2);
  EXPECT_EQ(fake.count("pin"), 1) << "the buffer is used again";
}

/// A record as a kernel writes it.
void writeRecord(RecordBuffer &buffer, int64_t program, float first, uint32_t bytes = 144) {
  char *place = reinterpret_cast<char *>(&buffer + 1) + buffer.cursor;
  RecordHeader header{0, bytes, program};
  std::memcpy(place, &header, sizeof header);
  for (int i = 0; i < 32; ++i) {
    float value = first + static_cast<float>(i);
    std::memcpy(place + sizeof header + 4 * i, &value, sizeof value);
  }
  buffer.cursor += 144;
}

TEST_F(CudaDriverTest, PrintsWhatKernelsPrinted) {
  auto kernel = load(test::printImage());
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    auto &buffer =
        *reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[1]));
    writeRecord(buffer, 2, 0.5f);
    writeRecord(buffer, 1, 100);
    writeRecord(buffer, 2, -1);
    buffer.lost = 5;
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_THAT(printed, testing::StartsWith("pid (1, 0, 0) value: fp32[32]\n[100.0 101.0 "));
  EXPECT_THAT(printed, HasSubstr(" 131.0]\npid (2, 0, 0) value: fp32[32]\n[ 0.5  1.5 "));
  EXPECT_THAT(printed, HasSubstr("31.5]\npid (2, 0, 0) value: fp32[32]\n[-1.0  0.0 "));
  EXPECT_THAT(printed, HasSubstr("printing: device_print: 5 prints of programs are missing"));
}

TEST_F(CudaDriverTest, CutsLargeTilesShort) {
  options.settings.printElements = 31;
  auto kernel = load(test::printImage());
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    writeRecord(*reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[1])),
                0, 0);
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(printed, "pid (0, 0, 0) value: fp32[32], 26 of 32 elements left out "
                     "(SECTILE_PRINT_ELEMENTS=32 shows all)\n"
                     "[ 0.0  1.0  2.0 ... 29.0 30.0 31.0]\n");
}

TEST_F(CudaDriverTest, DoesNotTrustRecords) {
  auto kernel = load(test::printImage());
  auto buffer = [](const test::FakeCuda::Launch &launch) -> RecordBuffer & {
    return *reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[1]));
  };
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    buffer(launch).cursor = ~uint64_t{0}; // nothing was ever written
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(printed, "");
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    writeRecord(buffer(launch), 0, 1, 0xffffff00); // beyond the end
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(printed, "");
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    writeRecord(buffer(launch), 0, 1, 24); // shorter than what the site says
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(printed, "");
}

TEST_F(CudaDriverTest, PrintsBeforeItTellsOfACrash) {
  auto kernel = load(test::printImage());
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    writeRecord(*reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[1])),
                0, 1);
    fake.results["synchronize"] = kCudaIllegalAddress;
  };
  LaunchFailure why = launch(*kernel);
  EXPECT_THAT(printed, HasSubstr("value: fp32[32]\n[ 1.0  2.0 "));
  EXPECT_THAT(why.message, HasSubstr("printing: stopped: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(CudaDriverTest, RefusesToCaptureReports) {
  auto kernel = load(test::printImage());
  fake.isCapturing = true;
  LaunchFailure why = launch(*kernel);
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_THAT(why.message, HasSubstr("cannot be captured into a graph"));
  EXPECT_EQ(fake.count("launch"), 0);
}

} // namespace
