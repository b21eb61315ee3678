// The dialect as text: what it refuses, and in which words.
#include "lang/TileDialect.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace {

/// The first diagnostic of parsing and verifying `text`, or "" when it is fine.
std::string firstDiagnostic(llvm::StringRef text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  std::string first;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (first.empty())
      first = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_EQ(bool(module), first.empty()) << first;
  return first;
}

struct Refusal {
  const char *text, *diagnostic;
};

TEST(TileDialect, refuses) {
  const Refusal refusals[] = {
      {"%a = tile.arange 0, 8 : tensor<4xi32>",
       "'tile.arange' op range [0, 8) does not have 4 elements"},
      {"%a = tile.arange 0, 8 : tensor<8xi32>\n"
       "%b = tile.broadcast %a : tensor<8xi32> -> tensor<16xi32>",
       "'tile.broadcast' op extent 8 of dimension 0 cannot become 16"},
      {"%a = tile.arange 0, 8 : tensor<8xi32>\n"
       "%b = tile.expand_dims %a {axis = 0 : i32} : tensor<8xi32> -> tensor<8x1xi32>",
       "'tile.expand_dims' op result should be tensor<1x8xi32>"},
      {"%a = tile.arange 0, 8 : tensor<8xi32>\n"
       "%b = tile.reshape %a : tensor<8xi32> -> tensor<2x3xi32>",
       "'tile.reshape' op changes the number of elements from 8 to 6"},
  };
  for (const Refusal &refusal : refusals)
    EXPECT_EQ(firstDiagnostic(refusal.text), refusal.diagnostic);
}

TEST(TileDialect, round_trips) {
  const char *text = R"(func.func @k(%p: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %i = tile.arange 0, 8 : tensor<8xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %q = tile.ptr_add %ps, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %ns = tile.splat %n : i32 -> tensor<8xi32>
  %m = arith.cmpi slt, %i, %ns : tensor<8xi32>
  %o = arith.constant dense<0.0> : tensor<8xf32>
  %x = tile.load %q, %m, %o cache = cg : tensor<8x!tile.ptr<f32>>
  %s = tile.reduce(%x) axis 0 : (tensor<8xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %old = tile.atomic_rmw fadd, acq_rel, gpu, %p, %s : !tile.ptr<f32>
  tile.store %q, %x, %m evict = evict_first : tensor<8x!tile.ptr<f32>>
  return
})";
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  auto print = [](ModuleOp module) {
    std::string out;
    llvm::raw_string_ostream(out) << module;
    return out;
  };
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  std::string once = print(*module);
  auto again = parseSourceString<ModuleOp>(once, &context);
  ASSERT_TRUE(again);
  EXPECT_EQ(once, print(*again));
  EXPECT_NE(once.find("cache = cg"), std::string::npos);
}

} // namespace
