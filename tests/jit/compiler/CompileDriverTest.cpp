// The compile driver with a back end made for the test: what becomes a diagnostic, what an internal
// error, and that the process lives on.
#include "jit/compiler/CompileDriver.h"

#include "jit/compiler/Reproducer.h"
#include "lang/tile/TileDialect.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace sectile;
using jit::CompileDriver;
using jit::CompileRequest;
using jit::CompileResult;
using testing::HasSubstr;

namespace {

constexpr const char *kKernel = R"(
func.func @k(%out: !tile.ptr<f32> {tile.name = "out"}, %in: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %x = tile.load %in : !tile.ptr<f32>
  tile.store %out, %x : !tile.ptr<f32>
  return
})";

/// Fails as CompileOptions::injectFailure says; else its code is the name of the kernel.
class FakeBackend final : public backends::Backend {
public:
  llvm::StringRef name() const override { return "fake"; }
  std::string targetName(const backends::CompileOptions &) const override { return "fake"; }
  backends::TargetFacts facts(const backends::CompileOptions &options) const override {
    return {.warpCount = options.warpCount, .cudaCapability = 0, .hasTensorCopies = false};
  }
  mlir::FailureOr<backends::KernelImage> compile(mlir::ModuleOp module,
                                                 const backends::CompileContext &context) override {
    auto function = *module.getOps<mlir::func::FuncOp>().begin();
    const std::string &failure = context.options.injectFailure;
    if (failure == "fatal-error")
      llvm::report_fatal_error("Cannot select: this");
    if (failure == "crash")
      raise(SIGSEGV);
    if (failure == "abort")
      std::abort();
    if (failure == "operation")
      return function.emitOpError("is too much for this back end");
    if (failure == "codegen")
      return function.emitError("code generation failed: no libcall");
    if (failure == "kernel")
      return mlir::emitError(mlir::FileLineColLoc::get(module.getContext(), "k.py", 3, 5),
                             "atomic_add: fp8 has no atomics");
    context.observe("llvm", [&] {
      ++printed;
      return "the llvm text";
    });
    backends::KernelImage image;
    image.variantName = function.getName().str();
    image.binary = "code";
    return image;
  }
  static inline int printed = 0;
};

CompileDriver makeDriver() {
  return CompileDriver("test-build",
                       [](llvm::StringRef name) -> std::unique_ptr<backends::Backend> {
                         if (name == "cpu")
                           return std::make_unique<FakeBackend>();
                         return nullptr;
                       });
}

CompileResult compile(const std::string &failure) {
  CompileDriver driver = makeDriver();
  CompileRequest request;
  request.tileText = kKernel;
  request.options.injectFailure = failure;
  return driver.compile(request);
}

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

class Environment {
public:
  Environment(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name); }

private:
  const char *name;
};

std::string freshFolder() {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("sectile-test", path));
  return std::string(path);
}

TEST(CompileDriver, makes_an_image_with_arguments_and_the_tile_stage) {
  FakeBackend::printed = 0;
  CompileResult result = compile("");
  ASSERT_TRUE(result.image) << lang::render(result.diagnostics) << result.internalError;
  EXPECT_EQ(result.image->binary, "code");
  ASSERT_EQ(result.image->arguments.size(), 3u);
  EXPECT_EQ(result.image->arguments[0].name, "out");
  EXPECT_EQ(result.image->arguments[0].dtype.name(), "*fp32");
  EXPECT_TRUE(result.image->arguments[0].isWritten);
  EXPECT_FALSE(result.image->arguments[1].isWritten);
  EXPECT_EQ(result.image->arguments[2].dtype.name(), "i32");
  EXPECT_THAT(result.image->stages["tile"], HasSubstr("tile.store"));
  EXPECT_EQ(result.image->stages.count("llvm"), 0u);
  EXPECT_EQ(FakeBackend::printed, 0); // text nobody wants is not made
  EXPECT_EQ(result.irDigest.size(), 64u);
  EXPECT_EQ(result.times.back().first, "total");
}

TEST(CompileDriver, tells_the_kernel_from_the_variant_by_name) {
  CompileDriver driver = makeDriver();
  auto compiled = [&](const char *kernel, const char *variant) {
    CompileRequest request;
    request.tileText = kKernel; // whose function is called k
    request.signature.kernelName = kernel;
    request.signature.variantName = variant;
    return driver.compile(request);
  };
  CompileResult text = compiled("", ""), one = compiled("add", "k"), other = compiled("sub", "k");
  ASSERT_TRUE(text.image && one.image && other.image);
  EXPECT_EQ(text.image->kernelName, text.image->variantName);
  EXPECT_EQ(one.image->kernelName, "add");
  EXPECT_EQ(one.image->variantName, text.image->variantName);
  EXPECT_NE(one.irDigest, other.irDigest) << "the image of one would speak of the other";
}

TEST(CompileDriver, keeps_every_stage_when_asked) {
  CompileDriver driver = makeDriver();
  CompileRequest request;
  request.tileText = kKernel;
  request.wantStages = true;
  CompileResult result = driver.compile(request);
  ASSERT_TRUE(result.image);
  EXPECT_EQ(result.image->stages["llvm"], "the llvm text");
  EXPECT_THAT(result.image->stages["tile-optimized"], HasSubstr("tile.store"));
}

TEST(CompileDriver, digests_leave_out_places_and_take_in_signatures) {
  CompileDriver driver = makeDriver();
  CompileRequest request;
  request.tileText = kKernel;
  std::string first = driver.compile(request).irDigest;
  request.tileText = std::string("\n\n\n") + kKernel;
  EXPECT_EQ(driver.compile(request).irDigest, first);
  request.signature.parameters.push_back({"BLOCK", lang::Constant::integer(8), {}, false});
  EXPECT_NE(driver.compile(request).irDigest, first);
}

TEST(CompileDriver, digests_take_in_places_that_the_code_names) {
  CompileDriver driver = makeDriver();
  auto digestOf = [&](const std::string &place, auto change) {
    CompileRequest request;
    request.tileText =
        std::string("func.func @k(%c: i1) attributes {tile.kernel} {\n") + place + "  return\n}";
    change(request.options);
    return driver.compile(request).irDigest;
  };
  const std::string assertion = "tile.assert %c, \"none\" : i1 loc(\"";
  auto asIs = [](backends::CompileOptions &) {};
  EXPECT_NE(digestOf(assertion + "a.py\":1:1)\n", asIs),
            digestOf(assertion + "a.py\":2:1)\n", asIs));
  EXPECT_EQ(digestOf(assertion + "a.py\":1:1)\n", asIs),
            digestOf(assertion + "a.py\":1:1)\n", asIs));

  const std::string plain = "%x = arith.addi %c, %c : i1 loc(\"";
  auto one = plain + "a.py\":1:1)\n", two = plain + "b.py\":1:1)\n";
  EXPECT_EQ(digestOf(one, asIs), digestOf(two, asIs));
  auto checked = [](backends::CompileOptions &options) { options.checkBounds = true; };
  EXPECT_NE(digestOf(one, checked), digestOf(two, checked));
  auto lines = [](backends::CompileOptions &options) { options.backend = "cuda"; };
  EXPECT_NE(digestOf(one, lines), digestOf(two, lines));
}

TEST(CompileDriver, stops_when_the_ir_is_known) {
  CompileDriver driver = makeDriver();
  CompileRequest request;
  request.tileText = kKernel;
  std::string seen;
  request.hasIr = [&](const std::string &digest) {
    seen = digest;
    return true;
  };
  CompileResult result = driver.compile(request);
  EXPECT_FALSE(result.image);
  EXPECT_TRUE(result.diagnostics.empty());
  EXPECT_EQ(result.internalError, "");
  EXPECT_EQ(seen, result.irDigest);
}

TEST(CompileDriver, wrong_kernels_are_diagnostics_with_a_place) {
  CompileResult result = compile("kernel");
  EXPECT_FALSE(result.image);
  EXPECT_EQ(result.internalError, "");
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].message, "atomic_add: fp8 has no atomics");
  EXPECT_EQ(result.diagnostics[0].range.file, "k.py");
  EXPECT_EQ(result.diagnostics[0].range.line, 3);
  EXPECT_EQ(result.diagnostics[0].range.column, 5);
}

TEST(CompileDriver, text_that_does_not_parse_is_a_diagnostic) {
  CompileDriver driver = makeDriver();
  CompileRequest request;
  request.tileText = "func.func @k() {\n  tile.nonsense\n}";
  CompileResult result = driver.compile(request);
  EXPECT_FALSE(result.image);
  EXPECT_EQ(result.internalError, "");
  ASSERT_FALSE(result.diagnostics.empty());
  EXPECT_EQ(result.diagnostics[0].range.line, 2);
}

TEST(CompileDriver, an_unknown_backend_is_a_diagnostic) {
  CompileDriver driver = makeDriver();
  CompileRequest request;
  request.tileText = kKernel;
  request.options.backend = "abacus";
  CompileResult result = driver.compile(request);
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].message, "backend: unknown name 'abacus'");
}

/// Every way in which the compiler can be wrong: an internal error with a reproducer that fails
/// alike, and the next compile works.
class CompilerFailure : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(CompilerFailure, is_survived_and_reproduced) {
  auto [failure, words] = GetParam();
  std::string folder = freshFolder();
  Environment variable("SECTILE_REPRODUCER_DIR", folder);
  CompileResult result = compile(failure);
  EXPECT_FALSE(result.image);
  EXPECT_THAT(result.internalError, HasSubstr(words));
  EXPECT_THAT(result.internalError, HasSubstr("backend: "));
  ASSERT_NE(result.reproducer, "");
  std::string file = readFile(result.reproducer);
  EXPECT_THAT(file, HasSubstr(words));
  EXPECT_THAT(file, HasSubstr("// BUILD: test-build"));
  EXPECT_THAT(file, HasSubstr("tile.store"));

  // The file is a compile request by itself.
  CompileDriver driver = makeDriver();
  CompileRequest again;
  again.tileText = file;
  jit::readOptions(again.tileText, again.options);
  EXPECT_EQ(again.options.injectFailure, failure);
  EXPECT_THAT(driver.compile(again).internalError, HasSubstr(words));
  EXPECT_TRUE(compile("").image);
  (void)llvm::sys::fs::remove_directories(folder);
}

INSTANTIATE_TEST_SUITE_P(
    CompileDriver, CompilerFailure,
    testing::Values(std::pair("fatal-error", "Cannot select: this"),
                    std::pair("crash", "segmentation fault"), std::pair("abort", "abort"),
                    std::pair("operation", "'func.func' op is too much for this back end"),
                    std::pair("codegen", "code generation failed: no libcall")));

TEST(CompileDriver, precisions_of_the_options_are_those_of_products) {
  std::vector<std::string_view> ofProducts = {"default"};
  for (uint32_t i = 0; i <= tile::getMaxEnumValForInputPrecision(); ++i)
    ofProducts.push_back(tile::stringifyInputPrecision(*tile::symbolizeInputPrecision(i)));
  EXPECT_THAT(wordsOf(backends::DotPrecision()), ::testing::ElementsAreArray(ofProducts));
}

TEST(CompileDriver, a_reproducer_has_every_option) {
  backends::CompileOptions options;
  options.backend = "cuda";
  options.arch = "sm_90a";
  options.ptxVersion = 85;
  options.warpCount = 8;
  options.maxRegisters = 64;
  options.checkBounds = options.debug = options.dependentLaunch = true;
  options.sanitizeOverflow = false;
  options.argumentsOverlap = true;
  backends::CompileOptions again;
  jit::readOptions("// OPTIONS: " + jit::spellOptions(options) + "\n", again);
  EXPECT_EQ(again, options);
}

TEST(CompileDriver, crashes_on_one_thread_leave_the_others_alone) {
  std::vector<std::thread> threads;
  std::atomic<int> images = 0, errors = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        CompileResult result = compile(i % 2 ? "" : "fatal-error");
        images += result.image.has_value();
        errors += !result.internalError.empty();
        if (!result.reproducer.empty())
          (void)llvm::sys::fs::remove(result.reproducer);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(images, 20);
  EXPECT_EQ(errors, 20);
}

TEST(CompileDriver, signal_handlers_are_the_processes_own_again) {
  struct sigaction before, after;
  sigaction(SIGSEGV, nullptr, &before);
  compile("crash");
  sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(CompileDriver, dumps_what_the_variable_names) {
  std::string folder = freshFolder();
  {
    Environment variable("SECTILE_DUMP", "tile,llvm:" + folder + "/deep");
    ASSERT_TRUE(compile("").image);
    ASSERT_TRUE(compile("").image);
  }
  EXPECT_THAT(readFile(folder + "/deep/kernel.tile.mlir"), HasSubstr("tile.store"));
  EXPECT_EQ(readFile(folder + "/deep/kernel.llvm.ll"), "the llvm text");
  EXPECT_EQ(readFile(folder + "/deep/kernel-1.llvm.ll"), "the llvm text");
  EXPECT_FALSE(llvm::sys::fs::exists(folder + "/deep/kernel.tile-optimized.mlir"));
  (void)llvm::sys::fs::remove_directories(folder);
}

TEST(CompileDriver, a_dump_that_cannot_be_written_is_noticed) {
  Environment variable("SECTILE_DUMP", "tile:/proc/nowhere");
  CompileResult result = compile("");
  EXPECT_TRUE(result.image);
  EXPECT_TRUE(result.diagnostics.empty()) << "it says nothing of the kernel";
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_THAT(result.notices[0], HasSubstr("SECTILE_DUMP: cannot write /proc/nowhere"));
}

TEST(CompileDriver, stops_after_a_stage) {
  Environment variable("SECTILE_STOP_AFTER", "tile-optimized");
  CompileResult result = compile("crash");
  EXPECT_FALSE(result.image);
  EXPECT_EQ(result.internalError, "");
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].message, "compile: stopped after stage 'tile-optimized'");
  EXPECT_THAT(result.stages["tile-optimized"], HasSubstr("tile.store"));
}

//===-- the command line ----------------------------------------------------------------------===//

std::string runCommand(std::vector<std::string> words, int expectedStatus) {
  std::string folder = freshFolder(), out = folder + "/out";
  words.insert(words.end(), {"-o", out});
  CompileDriver driver = makeDriver();
  testing::internal::CaptureStderr();
  int status = driver.commandLine(words);
  std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, expectedStatus) << errors;
  std::string text = readFile(out);
  (void)llvm::sys::fs::remove_directories(folder);
  return expectedStatus ? errors : text;
}

TEST(CommandLine, opt_runs_passes_in_order) {
  std::string folder = freshFolder(), in = folder + "/in.mlir";
  std::error_code error;
  llvm::raw_fd_ostream(in, error) << R"(func.func @f(%x: f32) -> tensor<4xf32> {
    %a = tile.splat %x : f32 -> tensor<4xf32>
    %b = tile.splat %x : f32 -> tensor<4xf32>
    %c = arith.addf %a, %b : tensor<4xf32>
    return %c : tensor<4xf32>
  })";
  EXPECT_THAT(runCommand({"opt", in}, 0), HasSubstr("arith.addf %0, %1 : tensor<4xf32>"));
  EXPECT_THAT(runCommand({"opt", "--cse", in}, 0), HasSubstr("arith.addf %0, %0 : tensor<4xf32>"));
  EXPECT_THAT(runCommand({"opt", "--cse", "--reorder-broadcast", in}, 0),
              HasSubstr("arith.addf %arg0, %arg0 : f32"));
  EXPECT_THAT(runCommand({"opt", "--no-such-pass", in}, 1),
              HasSubstr("unknown option or pass --no-such-pass"));
  EXPECT_THAT(runCommand({"opt", folder + "/absent"}, 1), HasSubstr("No such file"));
  (void)llvm::sys::fs::remove_directories(folder);
}

TEST(CommandLine, layout_draws) {
  CompileDriver driver = makeDriver();
  testing::internal::CaptureStdout();
  int status = driver.commandLine(
      {"layout", "accumulator 64x64 f16 warps=4,1", "operand-a 64x64 f16 warps=4,1", "--rows=2"});
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(status, 0);
  EXPECT_THAT(text, HasSubstr("#tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8)"));
  EXPECT_THAT(text, HasSubstr("62 more rows"));
  EXPECT_THAT(text, HasSubstr("conversion: within each thread, registers are renamed"));
  for (auto [words, problem] :
       {std::pair(std::vector<std::string>{"layout"}, "expected one description or two"),
        {{"layout", "blocked 4", "blocked 8"}, "between two tiles of one shape"},
        {{"layout", "block 4"}, "'block' is not blocked"},
        {{"layout", "--rows=0"}, "expected a number from 1"}}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(driver.commandLine(words), 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(problem));
    (void)testing::internal::GetCapturedStdout();
  }
}

TEST(CommandLine, compile_prints_a_stage) {
  std::string folder = freshFolder(), in = folder + "/in.mlir";
  std::error_code error;
  llvm::raw_fd_ostream(in, error) << kKernel;
  EXPECT_EQ(runCommand({"compile", "--emit=llvm", in}, 0), "the llvm text");
  EXPECT_EQ(runCommand({"compile", "--emit=object", in}, 0), "code");
  EXPECT_THAT(runCommand({"compile", "--emit=ptx", in}, 1), HasSubstr("has no stage 'ptx'"));
  (void)llvm::sys::fs::remove_directories(folder);
}

} // namespace
