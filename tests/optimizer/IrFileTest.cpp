// One test case per tests/ir/*.mlir file. A file says on its first lines what is checked:
//
//   // PIPELINE: --canonicalize --cse   the passes to run; CHECK lines match the output
//   // DIAGNOSTICS                      every part (split at "// -----") says what it expects:
//                                       // expected-error @below {{...}}
//   // DIAGNOSTICS: --verify-layouts    the same of parts that verify, when passes have run
#include "lang/tile/TileDialect.h"
#include "optimizer/Pipeline.h"
#include "optimizer/gpu/Pipeline.h"

#include "llvm/FileCheck/FileCheck.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace {

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// What follows `// KEY:` on a line of its own.
std::optional<StringRef> directive(StringRef text, StringRef key) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.consume_front("// ") && line.consume_front(key))
      return line.trim(" :");
    text = rest;
  }
  return std::nullopt;
}

/// Adds "--canonicalize --assign-layouts=warps=4,matrix=true".
void addPasses(OpPassManager &passes, StringRef pipeline) {
  SmallVector<StringRef> words;
  pipeline.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [name, values] = word.ltrim('-').split('=');
    std::string options = values.str(), problem;
    std::replace(options.begin(), options.end(), ',', ' ');
    const PassRegistryEntry *entry = PassPipelineInfo::lookup(name);
    if (!entry)
      entry = PassInfo::lookup(name);
    ASSERT_TRUE(entry) << "unknown pass " << word.str();
    auto report = [&](const Twine &message) {
      problem = message.str();
      return failure();
    };
    ASSERT_TRUE(succeeded(entry->addToPipeline(passes, options, report))) << word.str() << problem;
  }
}

std::string runPipeline(StringRef text, StringRef pipeline) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << diagnostics;
  if (!module)
    return {};
  PassManager passes(&context, ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
  passes.enableVerifier(true);
  addPasses(passes, pipeline);
  EXPECT_TRUE(succeeded(passes.run(*module))) << diagnostics;
  std::string output;
  llvm::raw_string_ostream(output) << *module;
  return output;
}

void checkOutput(const std::string &text, const std::string &output) {
  llvm::FileCheckRequest request;
  request.CheckPrefixes = {"CHECK"};
  request.EnableVarScope = true;
  llvm::FileCheck check(request);
  llvm::SourceMgr sources;
  std::string complaints;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *to) {
        llvm::raw_string_ostream out(*static_cast<std::string *>(to));
        diagnostic.print(nullptr, out, /*ShowColors=*/false);
      },
      &complaints);
  llvm::SmallString<0> checkStorage, inputStorage;
  auto checkBuffer = llvm::MemoryBuffer::getMemBuffer(text, "checks");
  auto inputBuffer = llvm::MemoryBuffer::getMemBuffer(output, "output");
  StringRef checks = check.CanonicalizeFile(*checkBuffer, checkStorage);
  StringRef input = check.CanonicalizeFile(*inputBuffer, inputStorage);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(checks, "checks"), llvm::SMLoc());
  ASSERT_FALSE(check.readCheckFile(sources, sources.getMemoryBuffer(1)->getBuffer())) << complaints;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(input, "output"), llvm::SMLoc());
  EXPECT_TRUE(check.checkInput(sources, sources.getMemoryBuffer(2)->getBuffer()))
      << complaints << "\n"
      << output;
}

void checkDiagnostics(StringRef text, StringRef pipeline) {
  SmallVector<StringRef> parts;
  text.split(parts, "// -----");
  for (StringRef part : parts) {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    context.loadDialect<sectile::tile::TileDialect>();
    context.printOpOnDiagnostic(false);
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(part, "part"), llvm::SMLoc());
    std::string complaints;
    llvm::raw_string_ostream out(complaints);
    SourceMgrDiagnosticVerifierHandler handler(sources, &context, out);
    auto module = parseSourceFile<ModuleOp>(sources, &context);
    PassManager passes(&context, ModuleOp::getOperationName(), OpPassManager::Nesting::Implicit);
    addPasses(passes, pipeline);
    if (module && !pipeline.empty())
      (void)passes.run(*module);
    EXPECT_TRUE(succeeded(handler.verify())) << complaints << part.str();
  }
}

class IrFile : public testing::Test {
public:
  explicit IrFile(std::string path) : path(std::move(path)) {}
  void TestBody() override {
    std::string text = readFile(path);
    if (auto pipeline = directive(text, "PIPELINE"))
      checkOutput(text, runPipeline(text, *pipeline));
    else if (auto pipeline = directive(text, "DIAGNOSTICS"))
      checkDiagnostics(text, *pipeline);
    else
      FAIL() << path << " has neither a PIPELINE nor a DIAGNOSTICS line";
  }

private:
  std::string path;
};

/// Registered before main(), one by one, so that each file can be run by its name.
const bool registered = [] {
  sectile::optimizer::registerPasses();
  sectile::optimizer::registerGpuPasses();
  std::error_code error;
  std::vector<std::string> paths;
  for (llvm::sys::fs::directory_iterator it(SECTILE_SOURCE_DIR "/tests/ir", error), end;
       it != end && !error; it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".mlir")
      paths.push_back(it->path());
  llvm::sort(paths);
  for (const std::string &path : paths)
    testing::RegisterTest("IrFile", llvm::sys::path::stem(path).str().c_str(), nullptr, nullptr,
                          path.c_str(), 1,
                          [path]() -> testing::Test * { return new IrFile(path); });
  return !paths.empty();
}();

TEST(IrFiles, are_found) {
  EXPECT_TRUE(registered) << SECTILE_SOURCE_DIR "/tests/ir";
}

TEST(IrFiles, a_wrong_expectation_fails) {
  EXPECT_NE(directive("// PIPELINE: --cse\n", "PIPELINE"), std::nullopt);
  llvm::FileCheckRequest request;
  request.CheckPrefixes = {"CHECK"};
  llvm::FileCheck check(request);
  llvm::SourceMgr sources;
  sources.setDiagHandler([](const llvm::SMDiagnostic &, void *) {});
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer("// CHECK: tile.dot\n"),
                             llvm::SMLoc());
  ASSERT_FALSE(check.readCheckFile(sources, sources.getMemoryBuffer(1)->getBuffer()));
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer("tile.splat\n"), llvm::SMLoc());
  EXPECT_FALSE(check.checkInput(sources, sources.getMemoryBuffer(2)->getBuffer()));
}

} // namespace
