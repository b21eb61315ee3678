// Which variant is launched for what memory: arrays that overlap, and atomics in the device's own.
#include "jit/launch/MemoryFacts.h"

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
      image.backend = "hip";
      image.targetName = "amdgcn:gfx90a";
      auto pointer = lang::DType::pointer(lang::ScalarKind::Float32);
      image.arguments = {{"x", pointer, 0, false}, {"out", pointer, 1, true}};
      image.options = request.options;
      image.gpu.threads = image.gpu.lanes = 64;
      image.binary = "\x7f"
                     "ELF code object";
      if (combinesAtomically && !request.options.deviceMemory)
        image.atomicArguments = {1};
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
    request.options.backend = "hip";
    request.options.arch = "gfx90a";
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
           (of.argumentsOverlap ? " overlap" : "");
  }
  std::vector<std::string> optionsOfVariants() const {
    std::vector<std::string> result;
    for (const VariantRecord &variant : variants.all())
      result.push_back(variant.options);
    return result;
  }

  sectile::test::FakeHip hip;
  TemporaryFolder folder;
  std::shared_ptr<FakeCompiler> compiler = std::make_shared<FakeCompiler>();
  bool combinesAtomically = true, hasHazard = false;
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

TEST(BoundArgumentsTest, NoOptionsGiveTheKeyOfTheDevicesMemory) {
  Specializer specializer("count", {{"n"}});
  ArgumentValue values[] = {ArgumentValue::integer(100)};
  auto keyOf = [&](std::vector<uint64_t> words, bool isOfDevice) {
    BoundArguments bound;
    EXPECT_TRUE(specializer.bind(values, bound).ok());
    for (uint64_t word : words)
      bound.addOption(word);
    if (isOfDevice)
      bound.setOfDevice();
    EXPECT_EQ(MemoryFacts::of(bound).isUsual(), !isOfDevice);
    return std::string(reinterpret_cast<const char *>(bound.key.data()), bound.key.size());
  };
  std::set<std::string> keys = {keyOf({}, false), keyOf({1}, false), keyOf({1, 1}, false),
                                keyOf({}, true),  keyOf({1}, true),  keyOf({1, 1}, true)};
  EXPECT_EQ(keys.size(), 6u);
  BoundArguments bound;
  bound.setOfDevice();
  EXPECT_TRUE(specializer.bind(values, bound).ok());
  EXPECT_FALSE(bound.isOfDevice) << "a launch with other arguments begins anew";
}

} // namespace
