// The runtime with a compiler that is not one: caching, waiting, launching, errors.
#include "FakeCompiler.h"
#include "gtest/gtest.h"
#include "jit/launch/Specialization.h"

#include <sys/wait.h>
#include <thread>

using namespace sectile;
using namespace sectile::jit;
using jit::test::FakeCompiler;
using jit::test::fakeRequest;
using jit::test::TemporaryFolder;
using jit::test::testImage;
using Origin = KernelResult::Origin;

namespace {

class RuntimeTest : public testing::Test {
protected:
  RuntimeTest() { options.cacheDirectory = folder.path; }
  std::unique_ptr<Runtime> makeRuntime() {
    options.compiler = compiler;
    return std::make_unique<Runtime>(options);
  }
  /// A kernel of `image`, through the whole runtime.
  std::shared_ptr<const Kernel> kernelOf(backends::KernelImage image) {
    compiler->body = [image](const CompileRequest &) {
      CompileResult result;
      result.image = image;
      return result;
    };
    runtime = makeRuntime();
    KernelResult result = runtime->getKernel(fakeRequest("image"));
    EXPECT_TRUE(result.status.ok()) << result.status.error().text();
    return result.kernel;
  }
  TemporaryFolder folder;
  RuntimeOptions options;
  std::shared_ptr<FakeCompiler> compiler = std::make_shared<FakeCompiler>();
  std::unique_ptr<Runtime> runtime;
};

int64_t launchOne(const Kernel &kernel) {
  int64_t out = 0;
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(&out)};
  EXPECT_TRUE(kernel.launch({1}, slots).ok());
  return out;
}

TEST_F(RuntimeTest, CompilesOnceThenMemoryThenDisk) {
  auto first = makeRuntime();
  KernelResult result = first->getKernel(fakeRequest("addValue 7"));
  ASSERT_TRUE(result.kernel) << result.status.error().text();
  EXPECT_EQ(result.origin, Origin::Compiled);
  EXPECT_EQ(launchOne(*result.kernel), 7);
  EXPECT_EQ(first->getKernel(fakeRequest("addValue 7")).origin, Origin::Memory);
  EXPECT_EQ(first->getKernel(fakeRequest("addValue 8")).origin, Origin::Compiled);
  EXPECT_EQ(compiler->compileCount, 2);

  auto second = makeRuntime();
  result = second->getKernel(fakeRequest("addValue 7"));
  EXPECT_EQ(result.origin, Origin::Disk);
  EXPECT_EQ(launchOne(*result.kernel), 7);
  EXPECT_EQ(result.kernel->image().stages.at("tile"), "module {}");
  EXPECT_EQ(compiler->compileCount, 2);
  second->clearMemory();
  EXPECT_EQ(second->getKernel(fakeRequest("addValue 7")).origin, Origin::Disk);
  RuntimeStatistics statistics = second->statistics();
  EXPECT_EQ(statistics.diskHits, 2u);
  EXPECT_EQ(statistics.compiles, 0u);
  EXPECT_EQ(first->statistics().compiles, 2u);
  EXPECT_EQ(first->statistics().memoryHits, 1u);
  EXPECT_EQ(first->statistics().diskMisses.at("absent"), 4u) << "two sources, two IRs";
  EXPECT_EQ(statistics.cacheDirectory, folder.path);
}

TEST_F(RuntimeTest, KernelsNobodyHoldsDieButForTheLatest) {
  options.recentKernels = 2;
  auto runtime = makeRuntime();
  auto get = [&](const char *source) { return runtime->getKernel(fakeRequest(source)); };
  std::shared_ptr<const Kernel> held = get("addValue 1").kernel;
  std::weak_ptr<const Kernel> second = get("addValue 2").kernel, third = get("addValue 3").kernel;
  EXPECT_FALSE(second.expired());
  EXPECT_EQ(get("addValue 2").origin, Origin::Memory) << "the latest now";
  std::weak_ptr<const Kernel> fourth = get("addValue 4").kernel;
  EXPECT_TRUE(third.expired());
  EXPECT_FALSE(second.expired());
  EXPECT_FALSE(fourth.expired());
  EXPECT_EQ(get("addValue 1").origin, Origin::Memory) << "somebody holds it";
  EXPECT_EQ(get("addValue 3").origin, Origin::Disk);
  EXPECT_EQ(launchOne(*get("addValue 3").kernel), 3);
  runtime->clearMemory();
  EXPECT_TRUE(second.expired() && fourth.expired());
  EXPECT_EQ(launchOne(*held), 1);
  // Entries of what is gone are swept.
  for (int value = 0; value < 3000; ++value)
    ASSERT_TRUE(get(("addValue " + std::to_string(value)).c_str()).kernel);
  EXPECT_EQ(launchOne(*get("addValue 2999").kernel), 2999);
}

TEST_F(RuntimeTest, AnotherBuildOfTheCompilerCompilesAgain) {
  makeRuntime()->getKernel(fakeRequest("addValue 7"));
  compiler->id = "next build";
  EXPECT_EQ(makeRuntime()->getKernel(fakeRequest("addValue 7")).origin, Origin::Compiled);
}

TEST_F(RuntimeTest, EqualIrIsNotCompiledAgain) {
  auto request = [](const char *source) {
    KernelRequest made = fakeRequest("addValue 7");
    made.sourceDigest = source;
    return made;
  };
  auto first = makeRuntime();
  EXPECT_EQ(first->getKernel(request("one")).origin, Origin::Compiled);
  EXPECT_EQ(first->getKernel(request("two")).origin, Origin::SameIr);
  EXPECT_EQ(first->getKernel(request("")).origin, Origin::SameIr) << "capturing C++ kernel";
  auto second = makeRuntime();
  KernelResult result = second->getKernel(request("three"));
  EXPECT_EQ(result.origin, Origin::SameIr) << "by the IR's file";
  EXPECT_EQ(launchOne(*result.kernel), 7);
  EXPECT_EQ(makeRuntime()->getKernel(request("three")).origin, Origin::Disk);
  EXPECT_EQ(makeRuntime()->getKernel(request("")).origin, Origin::SameIr);
}

TEST_F(RuntimeTest, WhatIsSaidOfEqualIrNamesThePlacesOfEachSource) {
  auto request = [](const char *source) {
    KernelRequest made = fakeRequest("addValue 7");
    made.sourceDigest = source;
    return made;
  };
  int line = 10;
  compiler->body = [&](const CompileRequest &compile) {
    CompileResult result;
    result.irDigest = "equal";
    result.places.resize(2);
    result.places[1].file = "k.py";
    result.places[1].line = line;
    if (compile.hasIr(result.irDigest))
      return result;
    result.image = testImage("addValue", 7);
    result.image->remarks = {result.places[1]};
    result.image->remarks[0].operation = 1;
    return result;
  };
  auto runtime = makeRuntime();
  KernelResult first = runtime->getKernel(request("one"));
  line = 20;
  KernelResult second = runtime->getKernel(request("two"));
  ASSERT_TRUE(first.kernel && second.kernel);
  EXPECT_EQ(second.origin, Origin::SameIr);
  EXPECT_EQ(first.kernel->image().remarks[0].line, 10);
  EXPECT_EQ(second.kernel->image().remarks[0].line, 20);
  EXPECT_EQ(launchOne(*second.kernel), 7);
  // And from the disk.
  auto later = makeRuntime();
  EXPECT_EQ(later->getKernel(request("one")).kernel->image().remarks[0].line, 10);
  EXPECT_EQ(later->getKernel(request("two")).kernel->image().remarks[0].line, 20);
  EXPECT_EQ(compiler->compileCount, 2);
}

/// A host whose kernels read one global.
struct OneGlobal final : HostReads {
  bool isInterrupted = false;
  bool wasInterrupted() override { return isInterrupted; }
  std::string value = "64";
  std::vector<RecordedRead> recorded() override { return {{"BLOCK", value}}; }
  bool hold(const std::vector<RecordedRead> &reads) override {
    EXPECT_EQ(reads.size(), 1u);
    EXPECT_EQ(reads[0].question, "BLOCK");
    return reads[0].answer == value;
  }
};

TEST_F(RuntimeTest, ReadsAreCheckedOnEveryHit) {
  compiler->body = [](const CompileRequest &) {
    CompileResult result;
    result.image = testImage("addValue", 5);
    return result;
  };
  OneGlobal host;
  KernelRequest request = fakeRequest("k");
  request.reads = &host;
  auto first = makeRuntime();
  EXPECT_EQ(first->getKernel(request).origin, Origin::Compiled);
  EXPECT_EQ(first->getKernel(request).origin, Origin::Memory);
  EXPECT_EQ(makeRuntime()->getKernel(request).origin, Origin::Disk);
  host.value = "128";
  EXPECT_EQ(first->getKernel(request).origin, Origin::Compiled);
  EXPECT_EQ(makeRuntime()->getKernel(request).origin, Origin::Disk);
  host.value = "64";
  EXPECT_EQ(makeRuntime()->getKernel(request).origin, Origin::Compiled);
  request.reads = nullptr;
  EXPECT_EQ(makeRuntime()->getKernel(request).origin, Origin::Compiled) << "nobody can tell";
}

TEST_F(RuntimeTest, NothingIsKeptOfAnInterruptedRequest) {
  OneGlobal host;
  compiler->body = [&](const CompileRequest &) {
    CompileResult result;
    result.image = testImage("addValue", 5);
    return result;
  };
  KernelRequest request = fakeRequest("k");
  request.reads = &host;
  auto runtime = makeRuntime();
  // While it is evaluated.
  host.isInterrupted = true;
  KernelResult result = runtime->getKernel(request);
  ASSERT_FALSE(result.kernel);
  EXPECT_EQ(result.status.error().kind, Error::Kind::Interrupted);
  host.isInterrupted = false;
  EXPECT_EQ(makeRuntime()->getKernel(request).origin, Origin::Compiled) << "the disk had it";
  EXPECT_EQ(runtime->getKernel(request).origin, Origin::Disk) << "the memory had it";
  // While it is asked for what was read: that says nothing of the kernel in memory.
  host.isInterrupted = true;
  host.value = "interrupted";
  EXPECT_EQ(runtime->getKernel(request).status.error().kind, Error::Kind::Interrupted);
  host.isInterrupted = false;
  host.value = "64";
  EXPECT_EQ(runtime->getKernel(request).origin, Origin::Memory);
}

TEST_F(RuntimeTest, DamageIsAMissAndIsReplaced) {
  makeRuntime()->getKernel(fakeRequest("addValue 7"));
  (void)!std::system(("for f in " + folder.path +
                      "/*.kernel; do "
                      "printf xx | dd of=$f bs=1 seek=4000 conv=notrunc 2>/dev/null; done")
                         .c_str());
  auto second = makeRuntime();
  KernelResult result = second->getKernel(fakeRequest("addValue 7"));
  EXPECT_EQ(result.origin, Origin::Compiled);
  EXPECT_EQ(launchOne(*result.kernel), 7);
  EXPECT_EQ(second->statistics().diskMisses.at("checksum mismatch"), 2u)
      << "both names of the file";
  EXPECT_EQ(makeRuntime()->getKernel(fakeRequest("addValue 7")).origin, Origin::Disk);
}

TEST_F(RuntimeTest, CodeForAProcessorThatThisOneIsNotIsNotLaunched) {
  backends::KernelImage image = testImage("addValue");
  image.targetName = "riscv64:any";
  compiler->body = [&](const CompileRequest &) {
    CompileResult result;
    result.image = image;
    return result;
  };
  KernelResult result = makeRuntime()->getKernel(fakeRequest("k"));
  ASSERT_TRUE(result.kernel) << "it can be looked at";
  int64_t out = 0;
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(&out)};
  Status status = result.kernel->launch({1}, slots);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(out, 0);
  EXPECT_EQ(status.error().kind, Error::Kind::Machine);
  EXPECT_EQ(
      status.error().message,
      "fake: compiled for riscv64:any, which this machine cannot run: the code is for riscv64 "
      "processors");
}

TEST_F(RuntimeTest, ThreadsThatWantOneVariantCompileItOnce) {
  compiler->body = [](const CompileRequest &) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CompileResult result;
    result.image = testImage("addValue", 5);
    return result;
  };
  auto shared = makeRuntime();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      KernelResult result = shared->getKernel(fakeRequest("k"));
      good += result.kernel && launchOne(*result.kernel) == 5;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(compiler->compileCount, 1);
}

TEST_F(RuntimeTest, WaitersGetTheErrorToo) {
  compiler->body = [](const CompileRequest &) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CompileResult result;
    lang::Diagnostic diagnostic;
    diagnostic.message = "load: mask has another shape";
    result.diagnostics = {diagnostic};
    return result;
  };
  auto shared = makeRuntime();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      KernelResult result = shared->getKernel(fakeRequest("k"));
      good += !result.kernel && result.status.error().kind == Error::Kind::Kernel &&
              result.status.error().message == "load: mask has another shape";
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 4);
}

TEST_F(RuntimeTest, ACompileThatWantsItselfIsAnError) {
  auto shared = makeRuntime();
  Status inner;
  compiler->body = [&](const CompileRequest &) {
    inner = std::move(shared->getKernel(fakeRequest("k")).status);
    CompileResult result;
    result.image = testImage("addValue");
    return result;
  };
  EXPECT_TRUE(shared->getKernel(fakeRequest("k")).kernel);
  ASSERT_FALSE(inner.ok());
  EXPECT_EQ(inner.error().message, "fake: launched while this very variant is being compiled");
}

TEST_F(RuntimeTest, ForkDuringACompileLeavesTheChildAbleToCompile) {
  options.cacheWaitSeconds = 0.1; // the parent, which lives, holds the claim
  auto shared = makeRuntime();
  std::atomic<bool> inCompile{false}, mayFinish{false};
  pid_t parent = ::getpid();
  compiler->body = [&](const CompileRequest &) {
    if (::getpid() == parent) {
      inCompile = true;
      while (!mayFinish)
        std::this_thread::yield();
    }
    CompileResult result;
    result.image = testImage("addValue", 5);
    return result;
  };
  std::thread other([&] { shared->getKernel(fakeRequest("k")); });
  while (!inCompile)
    std::this_thread::yield();
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    KernelResult result = shared->getKernel(fakeRequest("k"));
    ::_exit(result.kernel && launchOne(*result.kernel) == 5 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  mayFinish = true;
  other.join();
}

TEST_F(RuntimeTest, InternalErrorsNameTheReproducer) {
  compiler->body = [](const CompileRequest &) {
    CompileResult result;
    result.internalError = "cannot select: t1 = foo";
    result.reproducer = "/tmp/repro.mlir";
    return result;
  };
  KernelResult result = makeRuntime()->getKernel(fakeRequest("k"));
  ASSERT_FALSE(result.kernel);
  EXPECT_EQ(result.status.error().kind, Error::Kind::Internal);
  EXPECT_EQ(result.status.error().text(),
            "fake: cannot select: t1 = foo\n"
            "  help: this is a fault of the compiler, not of the kernel\n"
            "  reproducer: /tmp/repro.mlir");
}

TEST_F(RuntimeTest, SealedRuntimesDoNotCompile) {
  auto shared = makeRuntime();
  EXPECT_TRUE(shared->getKernel(fakeRequest("addValue 1")).kernel);
  shared->seal();
  EXPECT_TRUE(shared->getKernel(fakeRequest("addValue 1")).kernel);
  KernelResult result = shared->getKernel(fakeRequest("addValue 2"));
  ASSERT_FALSE(result.kernel);
  EXPECT_EQ(result.status.error().message, "fake: sealed, and no variant fits: its source, or "
                                           "something that it refers to, changed");
}

/// Of one source, with an integer and a constant.
static KernelRequest variantOf(bool isDivisible, int64_t block) {
  KernelRequest request = fakeRequest("addValue 1");
  request.signature.parameters = {
      {"n", std::nullopt, lang::DType::scalar(lang::ScalarKind::Int32), isDivisible},
      {"BLOCK", lang::Constant::integer(block), {}, false}};
  return request;
}

TEST_F(RuntimeTest, ASealedRuntimeNamesTheArgumentThatChanged) {
  auto shared = makeRuntime();
  for (int64_t block : {32, 64})
    EXPECT_TRUE(shared->getKernel(variantOf(false, block)).kernel);
  shared->seal();
  EXPECT_TRUE(shared->getKernel(variantOf(false, 32)).kernel);
  KernelRequest other = variantOf(true, 64);
  other.options.warpCount = 8;
  KernelResult result = shared->getKernel(other);
  ASSERT_FALSE(result.kernel);
  EXPECT_EQ(result.status.error().parameter, 0);
  EXPECT_EQ(result.status.error().text(),
            "fake: sealed, and no variant fits: n: i32:16 instead of i32, "
            "num_warps: 8 instead of 4\n"
            "  help: precompile it before seal(): n: i32:16, BLOCK = 64; "
            "num_warps=8");
  EXPECT_EQ(compiler->compileCount, 2);
  // What is on disk needs no compile.
  options.cacheDirectory = folder.path;
  auto later = makeRuntime();
  later->seal();
  EXPECT_EQ(later->getKernel(variantOf(false, 64)).origin, Origin::Disk);
  result = later->getKernel(variantOf(false, 128));
  EXPECT_EQ(result.status.error().message,
            "fake: sealed, and no variant fits: BLOCK: 128 instead of 64");
}

TEST_F(RuntimeTest, CompilesAreReportedWithTheirReason) {
  std::vector<CompileEvent> events;
  auto shared = makeRuntime();
  shared->setCompileListener([&](const CompileEvent &event) { events.push_back(event); });
  shared->getKernel(variantOf(false, 64));
  shared->getKernel(variantOf(false, 64));
  EXPECT_EQ(shared->getKernel(variantOf(true, 64)).reason, "n: i32:16 instead of i32");
  ASSERT_EQ(events.size(), 1u) << "the second has the IR of the first";
  EXPECT_EQ(events[0].kernelName, "fake");
  EXPECT_EQ(events[0].variantName, "fake");
  EXPECT_EQ(events[0].target, "cpu");
  EXPECT_EQ(events[0].variant, "n: i32, BLOCK = 64");
  EXPECT_EQ(events[0].reason, "the first variant");
  EXPECT_EQ(events[0].cacheMiss, "absent");
  EXPECT_TRUE(events[0].succeeded);
  EXPECT_GT(events[0].seconds, 0);
  compiler->body = [](const CompileRequest &) {
    CompileResult result;
    result.diagnostics.emplace_back().message = "wrong kernel";
    return result;
  };
  shared->getKernel(variantOf(false, 128));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events[1].succeeded);
  EXPECT_EQ(events[1].reason, "BLOCK: 128 instead of 64");
  events[1].seconds = 0.0123;
  EXPECT_EQ(events[1].text(), "failed to compile fake for cpu in 12.3 ms: BLOCK: 128 instead of 64 "
                              "[n: i32, BLOCK = 128] (disk cache: absent)");
}

TEST_F(RuntimeTest, AMissingOrForeignCompilerLibraryIsExplained) {
  compiler = nullptr;
  options.compilerLibrary = "/nowhere/libsectile-compiler.so";
  KernelResult result = makeRuntime()->getKernel(fakeRequest("k"));
  ASSERT_FALSE(result.kernel);
  EXPECT_EQ(result.status.error().kind, Error::Kind::Machine);
  EXPECT_EQ(result.status.error().message, "compiler: /nowhere/libsectile-compiler.so is missing, "
                                           "and a kernel has to be compiled");
  EXPECT_NE(result.status.error().help.find("SECTILE_COMPILER_LIBRARY"), std::string::npos);

  options.compilerLibrary = SECTILE_STUB_COMPILER;
  result = makeRuntime()->getKernel(fakeRequest("k"));
  ASSERT_FALSE(result.kernel);
  EXPECT_NE(result.status.error().message.find("is of another build than the runtime"),
            std::string::npos);

  options.compilerLibrary = SECTILE_TEST_KERNELS;
  result = makeRuntime()->getKernel(fakeRequest("k"));
  ASSERT_FALSE(result.kernel);
  EXPECT_NE(result.status.error().message.find("is not a compiler library"), std::string::npos);
}

TEST_F(RuntimeTest, UnknownBackends) {
  KernelRequest request = fakeRequest("k");
  request.options.backend = "tpu";
  EXPECT_EQ(makeRuntime()->getKernel(request).status.error().text(),
            "backend: there is no 'tpu'\n  help: use 'cpu', 'cuda' or 'hip'");
}

TEST_F(RuntimeTest, RunsEveryProgramOfAGrid) {
  auto kernel = kernelOf(testImage("addValue", 1));
  std::vector<int64_t> out(7 * 11 * 13, 0);
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(out.data())};
  ASSERT_TRUE(kernel->launch({7, 11, 13}, slots).ok());
  EXPECT_EQ(out, std::vector<int64_t>(out.size(), 1));
}

TEST_F(RuntimeTest, EmptyAndImpossibleGrids) {
  auto kernel = kernelOf(testImage("addValue", 1));
  EXPECT_TRUE(kernel->launch({0}, nullptr).ok());
  EXPECT_TRUE(kernel->launch({5, 0, 3}, nullptr).ok());
  EXPECT_EQ(kernel->launch({-1}, nullptr).error().text(), "fake: grid axis x is negative: -1");
  EXPECT_EQ(kernel->launch({1, int64_t{1} << 31}, nullptr).error().text(),
            "fake: grid axis y has 2147483648 programs, at most 2147483647 are possible\n"
            "  help: use larger blocks, or spread the programs over several axes");
  EXPECT_EQ(kernel->launch({INT32_MAX, INT32_MAX, INT32_MAX}, nullptr).error().text(),
            "fake: the grid has more than 2^63 programs\n  help: use larger blocks");
}

backends::KernelImage trapImage(backends::TrapSite::Kind kind) {
  backends::KernelImage image = testImage("trapAt");
  image.arguments.push_back({"n", lang::DType::scalar(lang::ScalarKind::Int64), 1, false});
  image.arguments.push_back({"x", lang::DType::pointer(lang::ScalarKind::Float32), 2, false});
  backends::TrapSite site;
  site.kind = kind;
  site.file = "kernels.py";
  site.function = "softmax";
  site.line = 17;
  site.column = 9;
  site.sourceLine = "    x = tl.load(ptr + i)";
  image.trapSites = {site};
  return image;
}

TEST_F(RuntimeTest, AccessesOutOfBoundsAreLocated) {
  backends::KernelImage image = trapImage(backends::TrapSite::Kind::Load);
  image.trapSites[0].argument = 2;
  auto kernel = kernelOf(image);
  std::vector<int64_t> out(1000, 0);
  uint64_t address = 0x10000;
  auto launch = [&](uint64_t offending) {
    uint64_t slots[] = {reinterpret_cast<uintptr_t>(out.data()), 13, offending};
    slots[2] = offending;
    // What was passed as x.
    uint64_t ranges[] = {0, 0, 0, 0, address, address + 400};
    return kernel->launch({10, 100}, slots, ranges);
  };
  Status status = launch(address);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, Error::Kind::Trap);
  // Index 0: the test kernel passes the same word as pointer and as address.
  EXPECT_EQ(
      status.error().message,
      "load: out of bounds in program (3, 1, 0) of fake: index 0 of argument 'x', which has 100 "
      "elements");
  std::string text = status.error().text();
  EXPECT_NE(text.find("kernels.py:17:9"), std::string::npos) << text;
  EXPECT_NE(text.find("x = tl.load(ptr + i)"), std::string::npos) << text;
  EXPECT_NE(text.find("help: mask the access"), std::string::npos) << text;
  EXPECT_EQ(kernel->launch({10}, nullptr).error().message,
            "fake: a kernel that checks bounds needs the extents of its arguments");
}

TEST_F(RuntimeTest, FailedAssertionsStopTheLaunch) {
  backends::KernelImage image = trapImage(backends::TrapSite::Kind::Assertion);
  image.trapSites[0].message = "n must be even";
  auto kernel = kernelOf(image);
  std::vector<int64_t> out(100, 0);
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(out.data()), 0, 0};
  Status status = kernel->launch({100}, slots);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "assertion failed in program (0, 0, 0) of fake: n must be even");
  EXPECT_EQ(out[0], 0);
  slots[1] = 1000; // nobody
  EXPECT_TRUE(kernel->launch({100}, slots).ok()) << "the next launch is whole";
}

TEST_F(RuntimeTest, ReadOnlyArraysAreNotStoredTo) {
  auto kernel = kernelOf(testImage("addValue", 1));
  Specializer specializer("fake", {{"out"}});
  int64_t out = 0;
  lang::DType dtype = lang::DType::pointer(lang::ScalarKind::Int64);
  ArgumentValue writable = ArgumentValue::pointer(dtype, &out),
                readOnly = ArgumentValue::pointer(dtype, &out, true);
  BoundArguments bound;
  ASSERT_TRUE(specializer.bind({&readOnly, 1}, bound).ok());
  Status status = kernel->launch({1}, bound);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(),
            "fake: argument 'out' is read-only, and the kernel stores to it\n"
            "  help: pass a writable copy");
  EXPECT_EQ(status.error().parameter, 0);
  EXPECT_EQ(out, 0);
  ASSERT_TRUE(specializer.bind({&writable, 1}, bound).ok());
  EXPECT_TRUE(kernel->launch({1}, bound).ok());
  EXPECT_EQ(out, 1);
}

TEST_F(RuntimeTest, PrintsProgramsInOrder) {
  backends::KernelImage image = testImage("printProgram");
  image.printSites = {{"x", false, {{lang::DType::scalar(lang::ScalarKind::Int32), {2}, ""}}}};
  auto kernel = kernelOf(image);
  std::mutex mutex;
  std::string text;
  runtime->setPrintHandler([&](std::string_view part) {
    std::lock_guard lock(mutex);
    text += part;
  });
  ASSERT_TRUE(kernel->launch({1}, nullptr).ok());
  EXPECT_EQ(text, "pid (0, 0, 0) x: i32[2] [ 0 -7]\n");
  text.clear();
  // More than once: the first launch runs on one thread.
  for (int round = 0; round < 20; ++round) {
    text.clear();
    ASSERT_TRUE(kernel->launch({300, 20}, nullptr).ok());
    std::string expected;
    for (int program = 0; program < 6000; ++program) {
      std::string number = std::to_string(program);
      expected += "pid (" + std::to_string(program % 300) + ", " + std::to_string(program / 300) +
                  ", 0) x: i32[2] [" +
                  (number.size() == 1 ? " " + number + " -7"
                                      : number + std::string(number.size() - 1, ' ') + "-7") +
                  "]\n";
    }
    ASSERT_EQ(text, expected);
  }
}

TEST_F(RuntimeTest, EveryThreadHasScratchOfItsOwn) {
  backends::KernelImage image = testImage("useScratch");
  image.scratchBytes = 8192;
  auto kernel = kernelOf(image);
  std::vector<int64_t> out(2000, -1);
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(out.data())};
  for (int round = 0; round < 5; ++round)
    ASSERT_TRUE(kernel->launch({2000}, slots).ok());
  for (int64_t i = 0; i < 2000; ++i)
    ASSERT_EQ(out[i], i * 1024);
}

TEST_F(RuntimeTest, HugeScratchIsAnErrorWithTheRemedy) {
  backends::KernelImage image = testImage("addValue");
  image.scratchBytes = uint64_t{1} << 50;
  compiler->body = [&](const CompileRequest &) {
    CompileResult result;
    result.image = image;
    return result;
  };
  KernelResult result = makeRuntime()->getKernel(fakeRequest("k"));
  ASSERT_FALSE(result.kernel);
  EXPECT_NE(result.status.error().text().find("use smaller blocks"), std::string::npos);
}

TEST_F(RuntimeTest, ManyKernelsStayApart) {
  // The loader knows libraries by name; each memory file must be another one.
  options.cacheDirectory = "";
  auto shared = makeRuntime();
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (int i = 0; i < 600; ++i) {
    KernelResult result = shared->getKernel(fakeRequest("addValue " + std::to_string(i)));
    ASSERT_TRUE(result.kernel) << result.status.error().text();
    kernels.push_back(result.kernel);
  }
  for (int i = 0; i < 600; ++i)
    ASSERT_EQ(launchOne(*kernels[i]), i);
  // Unloaded and loaded again.
  kernels.clear();
  shared->clearMemory();
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(
        launchOne(*shared->getKernel(fakeRequest("addValue " + std::to_string(1000 + i))).kernel),
        1000 + i);
}

TEST_F(RuntimeTest, WorksWithoutADisk) {
  options.cacheDirectory = "";
  auto shared = makeRuntime();
  EXPECT_EQ(shared->getKernel(fakeRequest("addValue 3")).origin, Origin::Compiled);
  EXPECT_EQ(shared->getKernel(fakeRequest("addValue 3")).origin, Origin::Memory);
  EXPECT_FALSE(shared->statistics().diskDisabled.empty());
}

} // namespace
