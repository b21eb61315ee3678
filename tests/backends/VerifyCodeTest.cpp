// Invalid LLVM IR is the compiler's error, found before LLVM trips over it.
#include "TileText.h"
#include "backends/Backend.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/Pipeline.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sectile;

namespace {

struct Compiled {
  bool isGood = false;
  std::string messages;
};

Compiled compile(const char *name, const char *failure) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  context.printOpOnDiagnostic(false);
  Compiled result;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    result.messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      sectile::testing::kernelText(sectile::testing::pointer("in", "f32"),
                                   sectile::testing::loadTile("x", "in", {64}, "f32")),
      &context);
  if (!module || mlir::failed(optimizer::optimize(*module)))
    return result;
  backends::CompileContext compile;
  compile.options.backend = name;
  compile.options.injectFailure = failure;
  compile.verifyCode = true;
  result.isGood = mlir::succeeded(backends::createBackend(name)->compile(*module, compile));
  return result;
}

TEST(VerifyCode, invalid_code_is_told_of_with_its_step) {
  for (const char *name : {"cpu", "cuda"}) {
    Compiled sound = compile(name, "");
    EXPECT_TRUE(sound.isGood) << name << ": " << sound.messages;
    EXPECT_EQ(sound.messages, "");
    Compiled broken = compile(name, "invalid-code");
    EXPECT_FALSE(broken.isGood) << name;
    EXPECT_THAT(
        broken.messages,
        ::testing::StartsWith("code generation failed: LLVM IR is invalid behind 'emit llvm': "
                              "Basic Block in function '"))
        << name;
  }
}

} // namespace
