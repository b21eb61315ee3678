// Tensor maps that launches need, and blocks that run several programs.
#include "CudaDriverFixture.h"
#include "backends/gpu/driver/LaunchTensorMaps.h"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::nvidia;
using namespace sectile::nvidia::test_driver;

namespace {

using Step = backends::LaunchExpression::Kind;

/// Adds arrays x of n rows of 64 elements, 2 * n elements apart, and y of n elements.
backends::KernelImage mappedImage() {
  backends::KernelImage image = test::addImage();
  backends::TensorMap rows, line;
  rows.argument = 0;
  rows.elementBytes = 2;
  rows.box = {16, 64};
  rows.extents = {{{{Step::Argument, 3}}}, {{{Step::Constant, 64}}}};
  rows.strides = {{{{Step::Argument, 3}, {Step::Constant, 2}, {Step::Multiply, 0}}},
                  {{{Step::Constant, 1}}}};
  line.argument = 1;
  line.elementBytes = 4;
  line.box = {8};
  line.extents = {{{{Step::Argument, 3}}}};
  line.strides = {{{{Step::Constant, 1}}}};
  line.swizzleBytes = 32;
  image.tensorMaps = {rows, line};
  return image;
}

/// What the fake puts into a map.
std::string mapOf(uint64_t address, int number) {
  std::string bytes(128, char(number));
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}
std::string mapAt(const test::FakeCuda::Launch &launch, size_t parameter) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.parameters[parameter]) % 64, 0u);
  return {static_cast<const char *>(launch.parameters[parameter]), 128};
}

TEST_F(CudaDriverTest, EncodesTensorMaps) {
  auto kernel = load(mappedImage());
  ASSERT_TRUE(kernel) << failure.message;
  slots[3] = 0xffff'ffff'0000'0028; // an i32 has 32 bits: 40
  int launches = 0;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    ++launches;
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[i]), slots[i]);
    EXPECT_EQ(mapAt(launch, 4), mapOf(0x1000, 1));
    EXPECT_EQ(mapAt(launch, 5), mapOf(0x2000, 2));
  };
  EXPECT_TRUE(launch(*kernel).ok());
  ASSERT_EQ(fake.encodedMaps.size(), 2u);
  using testing::ElementsAre, testing::IsEmpty;
  const test::FakeCuda::EncodedMap &rows = fake.encodedMaps[0], &line = fake.encodedMaps[1];
  EXPECT_EQ(rows.type, kTensorMapUInt16);
  EXPECT_EQ(rows.address, 0x1000u);
  EXPECT_THAT(rows.extents, ElementsAre(64, 40)) << "the innermost dimension comes first";
  EXPECT_THAT(rows.strideBytes, ElementsAre(160));
  EXPECT_THAT(rows.box, ElementsAre(64, 16));
  EXPECT_THAT(rows.elementStrides, ElementsAre(1, 1));
  EXPECT_EQ(rows.swizzle, kTensorMapSwizzle128);
  EXPECT_EQ(line.type, kTensorMapUInt32);
  EXPECT_EQ(line.address, 0x2000u);
  EXPECT_THAT(line.extents, ElementsAre(40));
  EXPECT_THAT(line.strideBytes, IsEmpty());
  EXPECT_THAT(line.box, ElementsAre(8));
  EXPECT_EQ(line.swizzle, kTensorMapSwizzle32);
  for (const test::FakeCuda::EncodedMap &map : fake.encodedMaps) {
    EXPECT_EQ(map.interleave, 0);
    EXPECT_EQ(map.promotion, 2);
    EXPECT_EQ(map.fill, 0);
    EXPECT_TRUE(map.isAligned);
    EXPECT_EQ(map.context, reinterpret_cast<CudaContext>(100 << 4));
  }
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(launches, 2);
  EXPECT_EQ(fake.encodedMaps.size(), 2u) << "the second launch finds them";
}

/// 132 multiprocessors that run two blocks each.
TEST_F(CudaDriverTest, BlocksRunSeveralPrograms) {
  backends::KernelImage given = mappedImage();
  given.gpu.hiddenParameters = backends::kHiddenPrograms;
  auto kernel = load(std::move(given));
  ASSERT_TRUE(kernel) << failure.message;
  EXPECT_TRUE(kernel->isAsynchronous());
  struct Case {
    backends::Grid grid;
    unsigned blocks;
  };
  const Case cases[] = {
      {{1, 1, 1}, 1},
      {{264, 1, 1}, 264},
      {{265, 1, 1}, 264},
      {{100'000, 1, 1}, 264},
      {{1000, 2, 1}, 132},
      {{1000, 2, 3}, 44},
      // 264 rows of two programs, one block for each row; 265 rows have blocks for their programs.
      {{2, 264, 1}, 1},
      {{2, 265, 1}, 2},
      // 140 blocks would take 16 rounds for what 264 at a time do in 9.
      {{16, 140, 1}, 16}};
  for (const Case &each : cases) {
    bool launched = false;
    fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
      launched = true;
      EXPECT_EQ(launch.config.gridX, each.blocks) << each.grid.x << " " << each.grid.y;
      EXPECT_EQ(launch.config.gridY, unsigned(each.grid.y));
      EXPECT_EQ(launch.config.gridZ, unsigned(each.grid.z));
      EXPECT_EQ(*static_cast<uint32_t *>(launch.parameters[4]), unsigned(each.grid.x));
      EXPECT_EQ(mapAt(launch, 5).substr(8), mapOf(0, 1).substr(8)) << "maps come last";
    };
    EXPECT_TRUE(launch(*kernel, 0, 0, each.grid).ok());
    EXPECT_TRUE(launched);
  }
}

/// The same of blocks that share the whole grid.
TEST_F(CudaDriverTest, BlocksRunProgramsOfTheWholeGrid) {
  backends::KernelImage given = mappedImage();
  given.gpu.hiddenParameters = backends::kHiddenGrid;
  auto kernel = load(std::move(given));
  ASSERT_TRUE(kernel) << failure.message;
  int launches = 0;
  auto expect = [&](backends::Grid grid, unsigned blocks) {
    fake.onLaunch = [&, grid, blocks](const test::FakeCuda::Launch &launch) {
      ++launches;
      EXPECT_EQ(launch.config.gridX, blocks);
      EXPECT_EQ(launch.config.gridY, 1u);
      EXPECT_EQ(launch.config.gridZ, 1u);
      for (size_t axis = 0; axis < 3; ++axis)
        EXPECT_EQ(*static_cast<uint32_t *>(launch.parameters[4 + axis]),
                  unsigned(std::array{grid.x, grid.y, grid.z}[axis]));
      EXPECT_EQ(mapAt(launch, 7).substr(8), mapOf(0, 1).substr(8)) << "maps come last";
    };
    EXPECT_TRUE(launch(*kernel, 0, 0, grid).ok());
    auto prepared = kernel->prepare(grid, {slots, ranges, 0, nullptr});
    ASSERT_TRUE(prepared);
    fake.onLaunch = [&, blocks](const test::FakeCuda::Launch &launch) {
      ++launches;
      EXPECT_EQ(launch.config.gridX, blocks);
      EXPECT_EQ(*static_cast<uint32_t *>(launch.parameters[6]), 3u);
    };
    EXPECT_FALSE(prepared->run(nullptr));
  };
  expect({2, 5, 3}, 30);
  expect({100, 5, 3}, 264);
  EXPECT_EQ(launches, 4);

  fake.onLaunch = [&](const test::FakeCuda::Launch &) { ADD_FAILURE() << "too many programs"; };
  const backends::Grid large{1 << 20, 1 << 11, 1};
  const auto refused = launch(*kernel, 0, 0, large);
  EXPECT_THAT(refused.message, HasSubstr("1048576 x 2048 x 1 programs"));
  EXPECT_THAT(refused.help, HasSubstr("persistent=False"));
  EXPECT_FALSE(kernel->prepare(large, {slots, ranges, 0, nullptr}));
}

TEST_F(CudaDriverTest, PreparedLaunchesMakeTheirMapsOnce) {
  backends::KernelImage persistent = mappedImage();
  persistent.gpu.hiddenParameters |= backends::kHiddenPrograms;
  auto kernel = load(persistent);
  ASSERT_TRUE(kernel) << failure.message;
  auto prepared = kernel->prepare({1000, 2, 1}, {slots, ranges, 0, nullptr});
  ASSERT_TRUE(prepared);
  const size_t made = fake.encodedMaps.size();
  EXPECT_EQ(made, 2u);
  int launches = 0;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    ++launches;
    EXPECT_EQ(launch.config.gridX, 132u);
    EXPECT_EQ(*static_cast<uint32_t *>(launch.parameters[4]), 1000u);
    EXPECT_EQ(mapAt(launch, 5), mapOf(slots[0], 1));
    EXPECT_EQ(mapAt(launch, 6), mapOf(slots[1], 2));
  };
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(prepared->run(nullptr));
  EXPECT_EQ(launches, 3);
  EXPECT_EQ(fake.encodedMaps.size(), made);
  slots[0] = 0x1008; // no multiple of 16
  EXPECT_FALSE(kernel->prepare({1, 1, 1}, {slots, ranges, 0, nullptr}));
}

TEST_F(CudaDriverTest, TensorMapsOfAllKinds) {
  const std::pair<int32_t, int> types[] = {{1, 0}, {2, 1}, {4, 2}, {8, 4}};
  const std::pair<int32_t, int> swizzles[] = {{32, 1}, {64, 2}, {128, 3}};
  for (auto [bytes, type] : types)
    for (auto [swizzleBytes, swizzle] : swizzles) {
      backends::KernelImage given = mappedImage();
      given.tensorMaps.erase(given.tensorMaps.begin());
      given.tensorMaps[0].elementBytes = bytes;
      given.tensorMaps[0].swizzleBytes = swizzleBytes;
      given.tensorMaps[0].box = {16 / bytes};
      EXPECT_TRUE(launch(given).ok());
      EXPECT_EQ(fake.encodedMaps.back().type, type);
      EXPECT_EQ(fake.encodedMaps.back().swizzle, swizzle);
    }
  EXPECT_EQ(fake.encodedMaps.size(), 12u);
}

TEST_F(CudaDriverTest, TensorMapsOfFiveDimensions) {
  backends::KernelImage given = mappedImage();
  backends::TensorMap &map = given.tensorMaps[0];
  auto constants = [](std::vector<int64_t> numbers) {
    std::vector<backends::LaunchExpression> result;
    for (int64_t number : numbers)
      result.push_back({{{Step::Constant, number}}});
    return result;
  };
  map.extents = constants({2, 3, 4, 5, 64});
  map.strides = constants({3840, 1280, 320, 64, 1});
  map.box = {1, 2, 4, 8, 64};
  EXPECT_TRUE(launch(given).ok());
  using testing::ElementsAre;
  EXPECT_THAT(fake.encodedMaps[0].extents, ElementsAre(64, 5, 4, 3, 2));
  EXPECT_THAT(fake.encodedMaps[0].strideBytes, ElementsAre(128, 640, 2560, 7680));
  EXPECT_THAT(fake.encodedMaps[0].box, ElementsAre(64, 8, 4, 2, 1));
  EXPECT_THAT(fake.encodedMaps[0].elementStrides, ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(CudaDriverTest, RemembersTheLatestTensorMaps) {
  auto kernel = load(mappedImage());
  uint64_t expected = 0;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    uint64_t address;
    std::memcpy(&address, launch.parameters[4], sizeof address);
    EXPECT_EQ(address, expected);
  };
  auto launched = [&](uint64_t array) { // how many sets of maps were encoded for it
    const size_t before = fake.encodedMaps.size();
    slots[0] = expected = 0x10000 * (array + 1);
    EXPECT_TRUE(launch(*kernel).ok());
    return (fake.encodedMaps.size() - before) / 2;
  };
  constexpr uint64_t kMost = gpu::LaunchTensorMaps::kLaunches;
  EXPECT_EQ(kMost, 8u);
  for (uint64_t array = 0; array < kMost; ++array)
    EXPECT_EQ(launched(array), 1u) << array;
  for (uint64_t array = 0; array < kMost; ++array)
    EXPECT_EQ(launched(array), 0u) << array;
  EXPECT_EQ(launched(0), 0u);
  EXPECT_EQ(launched(kMost), 1u) << "takes the place of 1, which was used longest ago";
  EXPECT_EQ(launched(0), 0u);
  EXPECT_EQ(launched(2), 0u);
  EXPECT_EQ(launched(1), 1u);
  // Another extent makes other maps of the same arrays.
  slots[3] = 104;
  EXPECT_EQ(launched(1), 1u);
}

TEST_F(CudaDriverTest, TensorMapsComeBehindHiddenParameters) {
  backends::KernelImage given = test::checkedImage();
  given.tensorMaps = {mappedImage().tensorMaps[1]};
  given.tensorMaps[0].extents = {{{{Step::Constant, 100}}}};
  auto kernel = load(given);
  ASSERT_TRUE(kernel) << failure.message;
  int launches = 0;
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    ++launches;
    auto *rangesSeen = reinterpret_cast<uint64_t *>(*static_cast<uint64_t *>(launch.parameters[2]));
    EXPECT_EQ(rangesSeen[1], ranges[1]);
    auto *buffer = reinterpret_cast<RecordBuffer *>(*static_cast<uint64_t *>(launch.parameters[3]));
    EXPECT_EQ(buffer->stop, 0u);
    EXPECT_EQ(mapAt(launch, 4), mapOf(0x2000, 1));
  };
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(launches, 1);
}

TEST_F(CudaDriverTest, TensorMapsComeBehindManyArguments) {
  backends::KernelImage given = mappedImage();
  while (given.arguments.size() < 50)
    given.arguments.push_back(given.arguments[3]);
  given.tensorMaps.resize(backends::kMostTensorMaps, given.tensorMaps[1]);
  auto kernel = load(given);
  ASSERT_TRUE(kernel) << failure.message;
  uint64_t many[50] = {0x1000, 0x2000, 0x3000};
  std::fill(many + 3, many + 50, 200);
  fake.onLaunch = [&](const test::FakeCuda::Launch &launch) {
    EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[49]), 200u);
    for (size_t i = 0; i < backends::kMostTensorMaps; ++i)
      EXPECT_EQ(mapAt(launch, 50 + i), mapOf(i ? 0x2000 : 0x1000, int(i + 1)));
  };
  EXPECT_TRUE(kernel->launch({1, 1, 1}, {many, nullptr, 0, nullptr}, {}).ok());
  EXPECT_EQ(fake.count("launch"), 1);
}

TEST_F(CudaDriverTest, KnowsWhetherArraysCanBeMapped) {
  auto kernel = load(mappedImage());
  auto isPossible = [&] { return kernel->canMapArrays({slots, ranges, 0, nullptr}); };
  EXPECT_TRUE(isPossible());
  EXPECT_EQ(fake.encodedMaps.size(), 2u);
  EXPECT_TRUE(launch(*kernel).ok());
  EXPECT_EQ(fake.encodedMaps.size(), 2u) << "the launch finds what was made for the answer";

  fake.calls.clear();
  slots[1] = 0x2008;
  EXPECT_FALSE(isPossible());
  LaunchFailure why = launch(*kernel);
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_EQ(why.message, "add: the base 0x2008 of 'y' is no multiple of 16 bytes");
  EXPECT_THAT(why.help, HasSubstr("pointers_only"));
  slots[1] = 0x2000;
  slots[3] = 0;
  EXPECT_FALSE(isPossible());
  EXPECT_EQ(launch(*kernel).message, "add: dimension 0 of 'x' has 0 elements, not 1 to 2147418112");
  EXPECT_EQ(fake.count("encode map") + fake.count("launch"), 0);
  EXPECT_TRUE(load(test::addImage())->canMapArrays({slots, ranges, 0, nullptr}))
      << "there is nothing to map";
  EXPECT_TRUE(load(mappedImage())->canMapArrays({slots, ranges, 3, nullptr}))
      << "there is no such device, which the launch says";
}

TEST_F(CudaDriverTest, WhatTheDriverRefusesIsNotMapped) {
  auto kernel = load(mappedImage());
  fake.results["encode map"] = kCudaNotSupported;
  EXPECT_FALSE(kernel->canMapArrays({slots, ranges, 0, nullptr}));
  LaunchFailure why = launch(*kernel);
  EXPECT_EQ(why.kind, Kind::Call);
  EXPECT_EQ(why.message,
            "add: no tensor map can be made of 'x': CUDA_ERROR_NOT_SUPPORTED (a text)");
  EXPECT_EQ(fake.count("launch"), 0);
  fake.results.clear();
  EXPECT_TRUE(kernel->canMapArrays({slots, ranges, 0, nullptr})) << "failures are not remembered";
  EXPECT_TRUE(launch(*kernel).ok());
}

TEST_F(CudaDriverTest, DriversWithoutTensorMapsLaunchOtherKernels) {
  fake.api.tensorMapEncodeTiled = nullptr;
  auto kernel = load(mappedImage());
  EXPECT_FALSE(kernel->canMapArrays({slots, ranges, 0, nullptr}));
  EXPECT_EQ(launch(*kernel).message,
            "add: no tensor map can be made of 'x': CUDA_ERROR_NOT_SUPPORTED (a text)");
  EXPECT_TRUE(launch(test::addImage()).ok());
}

TEST_F(CudaDriverTest, RefusesMalformedTensorMaps) {
  backends::KernelImage given = mappedImage();
  given.tensorMaps[1].extents[0].steps.clear();
  EXPECT_FALSE(load(given));
  EXPECT_EQ(failure.kind, Kind::Internal);
  EXPECT_EQ(failure.message, "add: its tensor maps are malformed");
}

TEST_F(CudaDriverTest, AForkedChildMakesNoTensorMaps) {
  auto kernel = load(mappedImage());
  ASSERT_TRUE(launch(*kernel).ok());
  slots[0] = 0x8000;
  pid_t child = fork();
  if (child == 0) {
    bool isRight = kernel->canMapArrays({slots, ranges, 0, nullptr}) &&
                   launch(*kernel).kind == Kind::Machine && fake.encodedMaps.size() == 2;
    _exit(isRight ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(launch(*kernel).ok()) << "the parent goes on";
  EXPECT_EQ(fake.encodedMaps.size(), 4u);
}

} // namespace
