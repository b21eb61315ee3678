// Which variant is launched for what arguments: some arrays overlap, have atomics in the device's
// own memory, cannot be read by tensor maps, or reach further than buffers.
#include "jit/launch/MemoryFacts.h"

#include "../backends/FakeCuda.h"
#include "../backends/FakeHip.h"
#include "FakeCompiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/runtime/VariantList.h"

using namespace sectile;
using namespace sectile::jit;
using jit::test::FakeCompiler;
using jit::test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr uintptr_t kOfDevice = 0x10000, kOfHost = 0x20000, kManaged = 0x30000, kOfOther = 0x40000,
                    kFineGrained = 0x50000, kUnknown = 0x60000;

/// Launches of count(x, out) on hip:0, whose code for any memory combines into `out` by loops.
class MemoryFactsTest : public testing::Test {
protected:
  MemoryFactsTest() {
    hip.archs = {"gfx90a", "gfx90a"};
    hip.memory = {{kOfDevice, {.memoryType = 2}},
                  {kOfHost, {.memoryType = 1, .hostPointer = this}},
                  {kManaged, {.memoryType = 3, .isManaged = 1}},
                  {kOfOther, {.memoryType = 2, .device = 1}},
                  {kFineGrained, {.memoryType = 2, .allocationFlags = 1}}};
    compiler->body = [this](const CompileRequest &request) {
      backends::KernelImage image;
      image.kernelName = image.entryPoint = "count";
      image.backend = backend;
      image.targetName = targetPrefix + arch;
      auto pointer = lang::DType::pointer(lang::ScalarKind::Float32);
      image.arguments = {{"x", pointer, 0, false}, {"out", pointer, 1, true}};
      if (integerBits)
        image.arguments[1] = {"n",
                              lang::DType::scalar(integerBits == 32 ? lang::ScalarKind::Int32
                                                                    : lang::ScalarKind::Int64),
                              1, false};
      image.options = request.options;
      image.gpu.threads = image.gpu.lanes = 64;
      image.binary = "\x7f"
                     "ELF code object";
      if (combinesAtomically && !request.options.deviceMemory)
        image.atomicArguments = {1};
      if (readsByMaps && !request.options.pointersOnly) {
        backends::TensorMap map; // of x
        map.elementBytes = 4;
        map.box = {32};
        map.extents = map.strides = {{{{backends::LaunchExpression::Kind::Constant, 1}}}};
        image.tensorMaps = {map};
      }
      if (!inBuffers.empty() && !request.options.largeArrays)
        image.bufferArguments = inBuffers;
      if (hasHazard && !request.options.argumentsOverlap)
        image.overlapHazards = {{1, 0, true}};
      CompileResult result;
      result.image = image;
      return result;
    };
  }

  std::array<ArgumentValue, 2> valuesOf(uintptr_t x, uintptr_t out, int16_t device = 0) {
    auto array = [&](uintptr_t address) {
      ArgumentValue value =
          ArgumentValue::array(lang::DType::pointer(lang::ScalarKind::Float32),
                               reinterpret_cast<void *>(address), address, address + 0x100);
      value.device = device;
      return value;
    };
    return {array(x), array(out)};
  }

  /// What a launch does for want of a variant.
  const Kernel *obtain(const std::array<ArgumentValue, 2> &values, const BoundArguments &bound) {
    if (const Kernel *kernel = table.find(bound))
      return kernel;
    KernelRequest request;
    request.sourceDigest = "count";
    request.signature = specializer.signature(values);
    request.options.backend = backend;
    request.options.arch = arch;
    request.memory = MemoryFacts::of(bound);
    request.makeCompileRequest = [](CompileRequest &) { return Status(); };
    KernelResult result = runtime->getKernel(request);
    problem = result.kernel ? "" : result.status.error().text();
    if (!result.kernel)
      return nullptr;
    variants.add(request, result);
    return table.insert(bound, result.kernel);
  }

  /// Launches, and returns what the kernel launched was compiled for; "none" where there was none.
  std::string launch(uintptr_t x, uintptr_t out) {
    auto values = valuesOf(x, out);
    BoundArguments bound;
    EXPECT_TRUE(specializer.bind(values, bound).ok());
    bound.addOption(1);
    const Kernel *kernel = selectForMemory(bound, [&] { return obtain(values, bound); });
    if (!kernel)
      return "none";
    EXPECT_TRUE(kernel->launch({1}, bound).ok());
    return textOf(*kernel);
  }
  static std::string textOf(const Kernel &kernel) {
    const backends::CompileOptions &of = kernel.image().options;
    return std::string(of.deviceMemory ? "device" : "any") +
           (of.argumentsOverlap ? " overlap" : "") + (of.pointersOnly ? " pointers" : "") +
           (of.largeArrays ? " large" : "");
  }
  std::vector<std::string> optionsOfVariants() const {
    std::vector<std::string> result;
    for (const VariantRecord &variant : variants.all())
      result.push_back(variant.options);
    return result;
  }

  sectile::test::FakeHip hip;
  sectile::test::FakeCuda cuda;
  std::string backend = "hip", targetPrefix = "amdgcn:", arch = "gfx90a";
  TemporaryFolder folder;
  std::shared_ptr<FakeCompiler> compiler = std::make_shared<FakeCompiler>();
  bool combinesAtomically = true, hasHazard = false, readsByMaps = false;
  std::vector<uint32_t> inBuffers;
  /// Of the second argument, where it is none of arrays.
  int integerBits = 0;
  Specializer specializer{"count", {{"x"}, {"out"}}};
  std::unique_ptr<Runtime> runtime = start();
  KernelTable table;
  VariantList variants;
  std::string problem;

  /// A process that finds what those before it left on disk.
  std::unique_ptr<Runtime> start() {
    RuntimeOptions options;
    options.cacheDirectory = folder.path;
    options.compiler = compiler;
    options.hipApi = &hip.api;
    options.cudaApi = &cuda.api;
    return std::make_unique<Runtime>(options);
  }
};

TEST_F(MemoryFactsTest, AtomicsOfTheDevicesOwnMemoryHaveAVariant) {
  EXPECT_EQ(launch(kOfHost, kOfDevice), "device") << "x is not combined into";
  EXPECT_EQ(launch(kOfHost, kOfDevice), "device");
  for (uintptr_t out : {kOfHost, kManaged, kOfOther, kFineGrained, kUnknown})
    EXPECT_EQ(launch(kUnknown + 0x1000, out), "any") << out;
  EXPECT_EQ(launch(kOfHost, kOfDevice), "device") << "memory is asked for at each launch";
  EXPECT_EQ(compiler->compileCount, 2);
  EXPECT_EQ(hip.memoryQuestions, 8);
  EXPECT_THAT(optionsOfVariants(), ElementsAre("", "device_memory=1"));
}

TEST_F(MemoryFactsTest, BeforeHip6KindsOfMemoryHadOtherNumbers) {
  hip.version = 50221153;
  hip.memory[kOfDevice].memoryType = 1;
  hip.memory[kOfHost].memoryType = 0;
  EXPECT_EQ(launch(kOfHost, kOfDevice), "device");
  EXPECT_EQ(launch(kOfDevice, kOfHost), "any");
  EXPECT_EQ(launch(kOfDevice, kUnknown), "any");
}

TEST_F(MemoryFactsTest, OtherKernelsAskNothing) {
  combinesAtomically = false;
  EXPECT_EQ(launch(kOfHost, kOfDevice), "any");
  EXPECT_EQ(launch(kOfHost, kOfDevice), "any");
  EXPECT_EQ(hip.memoryQuestions, 0);
  EXPECT_EQ(compiler->compileCount, 1);
}

TEST_F(MemoryFactsTest, OverlapsAndTheDevicesMemoryGoTogether) {
  hasHazard = true;
  EXPECT_EQ(launch(kOfHost, kOfDevice), "device");
  EXPECT_EQ(launch(kOfDevice, kOfDevice), "device overlap");
  EXPECT_EQ(launch(kOfHost, kOfHost), "any overlap");
  EXPECT_EQ(launch(kOfDevice, kOfDevice), "device overlap");
  EXPECT_THAT(optionsOfVariants(), ElementsAre("", "device_memory=1", "arguments_overlap=1",
                                               "arguments_overlap=1, device_memory=1"));
}

TEST_F(MemoryFactsTest, AfterSealingWhatIsMissingIsAnError) {
  EXPECT_EQ(launch(kOfHost, kManaged), "any");
  runtime->seal();
  EXPECT_EQ(launch(kOfHost, kManaged), "any");
  EXPECT_EQ(launch(kOfHost, kOfDevice), "none");
  EXPECT_THAT(problem, HasSubstr("device_memory: 1 instead of 0"));
  EXPECT_EQ(launch(kOfHost, kManaged), "any") << "the other goes on";
}

TEST_F(MemoryFactsTest, TheDiskKeepsBoth) {
  EXPECT_EQ(launch(kOfHost, kOfDevice), "device");
  EXPECT_EQ(compiler->compileCount, 2);
  runtime = start();
  runtime->seal();
  auto values = valuesOf(kOfHost, kOfDevice);
  BoundArguments bound;
  ASSERT_TRUE(specializer.bind(values, bound).ok());
  bound.addOption(2); // not found in the table
  const Kernel *kernel = selectForMemory(bound, [&] { return obtain(values, bound); });
  ASSERT_TRUE(kernel) << problem;
  EXPECT_EQ(textOf(*kernel), "device");
  EXPECT_EQ(compiler->compileCount, 2);
}

TEST_F(MemoryFactsTest, StandInsForArraysGetBothAhead) {
  auto prepare = [&](uintptr_t out, int16_t device) {
    auto values = valuesOf(kOfHost, out, device);
    BoundArguments bound;
    EXPECT_TRUE(specializer.bind(values, bound).ok());
    bound.addOption(1);
    const Kernel *kernel = selectAhead(bound, values, [&] { return obtain(values, bound); });
    return kernel ? textOf(*kernel) : "none";
  };
  EXPECT_EQ(prepare(kManaged, 0), "any") << "an array of launches to come";
  EXPECT_EQ(compiler->compileCount, 1);
  EXPECT_EQ(prepare(kUnknown, ArgumentValue::kAnywhere), "any");
  EXPECT_EQ(compiler->compileCount, 2);
  runtime->seal();
  EXPECT_EQ(launch(kOfHost, kOfDevice), "device");
  EXPECT_EQ(launch(kOfDevice, kOfHost), "any");
  EXPECT_EQ(prepare(kOfDevice, 0), "device");
}

/// Launches of count(x, out), whose code for any arguments accesses `x` by a buffer.
class BufferFactsTest : public MemoryFactsTest {
protected:
  BufferFactsTest() {
    combinesAtomically = false;
    inBuffers = {0};
  }
  static constexpr uint64_t kReach = (uint64_t{1} << 31) - 1;

  /// Launches with an x that ends so many bytes behind its pointer.
  std::string launchReaching(uint64_t bytes, bool isAhead = false) {
    auto values = valuesOf(kOfDevice, kOfHost, isAhead ? ArgumentValue::kAnywhere : 0);
    values[0].rangeBegin = kOfDevice - 0x1000; // strides may be negative
    values[0].rangeEnd = kOfDevice + bytes;
    values[1].rangeEnd = ~uint64_t{0}; // in no buffer
    BoundArguments bound;
    EXPECT_TRUE(specializer.bind(values, bound).ok());
    bound.addOption(1);
    auto get = [&] { return obtain(values, bound); };
    const Kernel *kernel = isAhead ? selectAhead(bound, values, get) : selectForMemory(bound, get);
    return kernel ? textOf(*kernel) : "none";
  }
};

TEST_F(BufferFactsTest, ArraysThatReachFurtherHaveAVariant) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(launchReaching(kReach), "any");
    EXPECT_EQ(launchReaching(kReach + 1), "any large");
    EXPECT_EQ(launchReaching(0), "any");
    EXPECT_EQ(launchReaching(~uint64_t{0} - kOfDevice), "any large") << "nothing is known of it";
  }
  EXPECT_EQ(compiler->compileCount, 2);
  EXPECT_THAT(optionsOfVariants(), ElementsAre("", "large_arrays=1"));
}

TEST_F(BufferFactsTest, KernelsWithoutBuffersTakeArraysOfAnySize) {
  inBuffers.clear();
  EXPECT_EQ(launchReaching(kReach + 1), "any");
  EXPECT_EQ(compiler->compileCount, 1);
}

TEST_F(BufferFactsTest, IntegersThatAreNegativeHaveAVariant) {
  specializer = Specializer("count", {{"x"}, {"n"}});
  for (int bits : {32, 64}) {
    table.clear();
    integerBits = bits;
    inBuffers = {1};
    auto launchWith = [&](int64_t number) {
      auto values = valuesOf(kOfDevice, kOfHost);
      values[1] = ArgumentValue::integer(number, lang::DType::scalar(lang::ScalarKind::Int64));
      if (bits == 32)
        values[1].dtype = lang::DType::scalar(lang::ScalarKind::Int32);
      BoundArguments bound;
      EXPECT_TRUE(specializer.bind(values, bound).ok());
      bound.addOption(uint64_t(bits));
      const Kernel *kernel = selectForMemory(bound, [&] { return obtain(values, bound); });
      return kernel ? textOf(*kernel) : "none";
    };
    EXPECT_EQ(launchWith(7), "any");
    EXPECT_EQ(launchWith(-7), "any large");
    EXPECT_EQ(launchWith(0), "any");
    EXPECT_EQ(launchWith(INT32_MAX), "any");
    EXPECT_EQ(launchWith(INT32_MIN), "any large");
  }
}

TEST_F(BufferFactsTest, StandInsGetTheVariantWithBuffers) {
  EXPECT_EQ(launchReaching(~uint64_t{0} - kOfDevice, /*isAhead=*/true), "any");
  EXPECT_EQ(compiler->compileCount, 1);
  runtime->seal();
  EXPECT_EQ(launchReaching(kReach), "any");
  EXPECT_EQ(launchReaching(kReach + 1), "none");
  EXPECT_THAT(problem, HasSubstr("large_arrays: 1 instead of 0"));
}

TEST_F(BufferFactsTest, TheDiskKeepsBoth) {
  EXPECT_EQ(launchReaching(kReach + 1), "any large");
  runtime = start();
  runtime->seal();
  table.clear();
  EXPECT_EQ(launchReaching(kReach + 1), "any large") << problem;
  EXPECT_EQ(launchReaching(kReach), "any");
  EXPECT_EQ(compiler->compileCount, 2);
}

TEST_F(BufferFactsTest, ArchivesHoldEveryVariant) {
  backends::KernelImage usual;
  usual.bufferArguments = {0};
  usual.atomicArguments = {1};
  std::vector<MemoryFacts> unusual = unusualMemory(usual);
  ASSERT_EQ(unusual.size(), 3u);
  int large = 0;
  for (const MemoryFacts &memory : unusual) {
    backends::CompileOptions options;
    EXPECT_TRUE(memory.changeOptions(usual, options));
    EXPECT_EQ(options.largeArrays, memory.isLarge);
    backends::CompileOptions copied;
    copyMemoryOptions(options, copied);
    EXPECT_EQ(copied, options);
    large += memory.isLarge;
  }
  EXPECT_EQ(large, 2);
}

/// Launches of count(x, out), whose code for any memory reads `x` by a tensor map.
class TensorMapFactsTest : public MemoryFactsTest {
protected:
  TensorMapFactsTest() {
    backend = "cuda";
    targetPrefix = "nvptx64:";
    arch = "sm_90a";
    combinesAtomically = false;
    readsByMaps = true;
    // One key for arrays at all addresses.
    std::vector<ParameterPolicy> policies = {{"x"}, {"out"}};
    for (ParameterPolicy &policy : policies)
      policy.specializeOnAlignment = false;
    specializer = Specializer("count", policies);
  }
  /// The fake has device 0 own addresses from 0x1000 to 0x1fff.
  static constexpr uintptr_t kAligned = 0x1000, kUnaligned = 0x1108, kOut = 0x1800,
                             kElsewhere = 0x4800;

  std::string prepare(const std::array<ArgumentValue, 2> &values) {
    BoundArguments bound;
    EXPECT_TRUE(specializer.bind(values, bound).ok());
    bound.addOption(1);
    const Kernel *kernel = selectAhead(bound, values, [&] { return obtain(values, bound); });
    return kernel ? textOf(*kernel) : "none";
  }
};

TEST_F(TensorMapFactsTest, ArraysThatCannotBeMappedHaveAVariant) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(launch(kAligned, kOut), "any");
    EXPECT_EQ(launch(kUnaligned, kOut), "any pointers");
    EXPECT_EQ(launch(kAligned, kOut + 8), "any") << "out is not mapped";
  }
  EXPECT_EQ(compiler->compileCount, 2);
  EXPECT_EQ(cuda.count("encode map"), 1) << "for all launches with the same array";
  EXPECT_EQ(cuda.count("launch"), 6);
  EXPECT_THAT(optionsOfVariants(), ElementsAre("", "pointers_only=1"));
}

TEST_F(TensorMapFactsTest, LaunchesHaveTheMapsOfTheirArrays) {
  int mapped = 0;
  uint64_t expected = 0;
  cuda.onLaunch = [&](const sectile::test::FakeCuda::Launch &launch) {
    EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[0]), expected);
    if (expected % 16 == 0) {
      ++mapped;
      EXPECT_EQ(*static_cast<uint64_t *>(launch.parameters[2]), expected);
    }
  };
  for (uintptr_t x : {kAligned, kUnaligned, kAligned + 64, kAligned}) {
    expected = x;
    launch(x, kOut);
  }
  EXPECT_EQ(mapped, 3);
}

TEST_F(TensorMapFactsTest, DriversWithoutTensorMapsGetPointers) {
  cuda.api.tensorMapEncodeTiled = nullptr;
  EXPECT_EQ(launch(kAligned, kOut), "any pointers");
  EXPECT_EQ(launch(kUnaligned, kOut), "any pointers");
  EXPECT_EQ(compiler->compileCount, 2);
}

TEST_F(TensorMapFactsTest, WhatTheDriverRefusesGetsPointers) {
  EXPECT_EQ(launch(kAligned, kOut), "any");
  cuda.results["encode map"] = nvidia::kCudaInvalidValue;
  EXPECT_EQ(launch(kAligned + 16, kOut), "any pointers");
  EXPECT_EQ(launch(kAligned, kOut), "any") << "made before";
}

TEST_F(TensorMapFactsTest, AllFactsGoTogether) {
  combinesAtomically = hasHazard = true;
  EXPECT_EQ(launch(kAligned, kElsewhere), "any");
  EXPECT_EQ(launch(kUnaligned, kElsewhere), "any pointers");
  EXPECT_EQ(launch(kAligned, kOut), "device");
  EXPECT_EQ(launch(kUnaligned, kOut), "device pointers");
  EXPECT_EQ(launch(kOut, kOut), "device overlap");
  EXPECT_EQ(launch(kUnaligned, kUnaligned), "device overlap pointers");
  EXPECT_EQ(compiler->compileCount, 7) << "the usual one of arrays that overlap is the first";
  EXPECT_EQ(launch(kUnaligned, kOut), "device pointers");
  EXPECT_EQ(launch(kUnaligned, kElsewhere), "any pointers");
  EXPECT_EQ(compiler->compileCount, 7);
  EXPECT_EQ(cuda.count("launch"), 8);
}

TEST_F(TensorMapFactsTest, AfterSealingWhatIsMissingIsAnError) {
  EXPECT_EQ(launch(kAligned, kOut), "any");
  runtime->seal();
  EXPECT_EQ(launch(kUnaligned, kOut), "none");
  EXPECT_THAT(problem, HasSubstr("pointers_only: 1 instead of 0"));
  EXPECT_EQ(launch(kAligned, kOut), "any") << "the other goes on";
}

TEST_F(TensorMapFactsTest, TheDiskKeepsBoth) {
  EXPECT_EQ(launch(kUnaligned, kOut), "any pointers");
  EXPECT_EQ(launch(kAligned, kOut), "any");
  EXPECT_EQ(compiler->compileCount, 2);
  runtime = start();
  runtime->seal();
  auto values = valuesOf(kUnaligned, kOut);
  BoundArguments bound;
  ASSERT_TRUE(specializer.bind(values, bound).ok());
  bound.addOption(2); // not found in the table
  const Kernel *kernel = selectForMemory(bound, [&] { return obtain(values, bound); });
  ASSERT_TRUE(kernel) << problem;
  EXPECT_EQ(textOf(*kernel), "any pointers");
  EXPECT_EQ(compiler->compileCount, 2);
}

TEST_F(TensorMapFactsTest, CompilesAheadLookAtArraysThatTheyKnow) {
  EXPECT_EQ(prepare(valuesOf(kUnaligned, kOut)), "any pointers");
  EXPECT_EQ(prepare(valuesOf(kAligned, kOut)), "any");
  EXPECT_EQ(compiler->compileCount, 2);
}

TEST_F(TensorMapFactsTest, StandInsGetTheVariantWithMaps) {
  EXPECT_EQ(prepare(valuesOf(kUnaligned, kOut, ArgumentValue::kAnywhere)), "any");
  EXPECT_EQ(compiler->compileCount, 1);
  EXPECT_EQ(cuda.count("encode map"), 0);
  // Both of the memory's variants, as without maps.
  table.clear();
  combinesAtomically = true;
  runtime = start();
  arch = "sm_90";
  EXPECT_EQ(prepare(valuesOf(kUnaligned, kElsewhere, ArgumentValue::kAnywhere)), "any");
  EXPECT_EQ(compiler->compileCount, 3);
  EXPECT_EQ(cuda.count("encode map"), 0);
}

TEST_F(TensorMapFactsTest, IntegersThatStandForOthersLeaveMapsOpen) {
  specializer = Specializer("count", {{"x"}, {"n"}});
  auto values = valuesOf(kUnaligned, kOut);
  values[1] = ArgumentValue::integer(3);
  EXPECT_FALSE(leavesMapsOpen(values));
  EXPECT_FALSE(leavesMemoryOpen(values));
  values[1].device = ArgumentValue::kAnywhere;
  EXPECT_TRUE(leavesMapsOpen(values));
  EXPECT_FALSE(leavesMemoryOpen(values)) << "the array is known";
  values[0].device = ArgumentValue::kHost;
  values[1].device = ArgumentValue::kHost;
  EXPECT_TRUE(leavesMapsOpen(values));
}

TEST(BoundArgumentsTest, NoOptionsGiveTheKeyOfAFact) {
  Specializer specializer("count", {{"n"}});
  ArgumentValue values[] = {ArgumentValue::integer(100)};
  enum Facts { kNone, kOfDevice, kUnmappable, kBoth, kBothTheOtherWay, kLarge, kAll };
  auto keyOf = [&](std::vector<uint64_t> words, Facts facts) {
    BoundArguments bound;
    EXPECT_TRUE(specializer.bind(values, bound).ok());
    for (uint64_t word : words)
      bound.addOption(word);
    if (facts == kLarge || facts == kAll)
      bound.setLarge();
    if (facts == kUnmappable || facts == kBothTheOtherWay)
      bound.setUnmappable();
    if (facts != kNone && facts != kUnmappable && facts != kLarge)
      bound.setOfDevice();
    if (facts == kBoth || facts == kAll)
      bound.setUnmappable();
    MemoryFacts said = MemoryFacts::of(bound);
    EXPECT_EQ(said.isUsual(), facts == kNone);
    EXPECT_EQ(said.isOfDevice, facts != kNone && facts != kUnmappable && facts != kLarge);
    EXPECT_EQ(said.isUnmappable, facts >= kUnmappable && facts != kLarge);
    EXPECT_EQ(said.isLarge, facts >= kLarge);
    return std::string(reinterpret_cast<const char *>(bound.key.data()), bound.key.size());
  };
  std::set<std::string> keys;
  for (const std::vector<uint64_t> &words : {std::vector<uint64_t>{}, {1}, {2}, {1, 1}, {3}})
    for (Facts facts : {kNone, kOfDevice, kUnmappable, kBoth, kLarge, kAll})
      keys.insert(keyOf(words, facts));
  EXPECT_EQ(keys.size(), 30u);
  EXPECT_EQ(keyOf({1}, kBoth), keyOf({1}, kBothTheOtherWay));
  BoundArguments bound;
  bound.setOfDevice();
  bound.setUnmappable();
  bound.setLarge();
  EXPECT_TRUE(specializer.bind(values, bound).ok());
  EXPECT_FALSE(bound.isOfDevice || bound.isUnmappable || bound.isLarge)
      << "a launch with other arguments begins anew";
}

} // namespace
