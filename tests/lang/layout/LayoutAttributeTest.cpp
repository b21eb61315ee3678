// Layouts as encodings of tensor types: text, verification, and survival of MLIR's own passes.
#include "lang/layout/Builders.h"
#include "lang/layout/LayoutText.h"
#include "lang/tile/TileDialect.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sectile;

namespace {

struct Parsed {
  std::string printed, diagnostic;
};

Parsed parseAndRun(const std::string &text, bool optimize = false) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  Parsed result;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (result.diagnostic.empty())
      result.diagnostic = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return result;
  if (optimize) {
    PassManager passes(&context);
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    passes.addNestedPass<func::FuncOp>(createLoopInvariantCodeMotionPass());
    if (failed(passes.run(*module)))
      return result;
  }
  llvm::raw_string_ostream(result.printed) << *module;
  return result;
}

const std::string kLayout =
    "#tile.layout<" + layout::print(layout::blocked({96, 160}, {1, 4}, {4, 8}, {4, 1}, {1, 0})) +
    ">";

TEST(LayoutAttribute, encoding_is_printed_as_it_is_parsed) {
  std::string type = "tensor<96x160xf32, #layout>";
  Parsed parsed = parseAndRun("#layout = " + kLayout + "\nfunc.func private @f(" + type + ")\n");
  EXPECT_EQ(parsed.diagnostic, "");
  EXPECT_NE(parsed.printed.find(kLayout), std::string::npos) << parsed.printed;
  Parsed again = parseAndRun(parsed.printed);
  EXPECT_EQ(again.printed, parsed.printed);
}

TEST(LayoutAttribute, shared_layout_is_printed_as_it_is_parsed) {
  const layout::SharedLayout padded = layout::paddedShared({48, 48}, {1, 0}, 8),
                             inOrder(padded.offsets(), {48, 48}, padded.padding(), {0, 1});
  for (const layout::SharedLayout &shared : {padded, inOrder}) {
    std::string text = "#tile.shared_layout<" + layout::print(shared) + ">";
    EXPECT_EQ(text.find("repeated = [0 1]") != std::string::npos, shared == inOrder);
    Parsed parsed = parseAndRun("module attributes {test.layout = " + text + "} {}");
    EXPECT_NE(parsed.printed.find(text), std::string::npos) << parsed.printed << parsed.diagnostic;
  }
}

TEST(LayoutAttribute, scalar_result_of_a_reduction_has_a_layout) {
  std::string text = "#tile.layout<" +
                     layout::print(layout::sliceOf(layout::blocked({64}, {2}, {32}, {2}, {0}), 0)) +
                     ">";
  EXPECT_EQ(text, "#tile.layout<scalar, lane = [() () () () ()], warp = [()]>");
  Parsed parsed = parseAndRun("func.func private @f(tensor<f32, " + text + ">)\n");
  EXPECT_NE(parsed.printed.find(text), std::string::npos) << parsed.printed << parsed.diagnostic;
}

TEST(LayoutAttribute, layout_of_another_shape_is_refused) {
  Parsed parsed = parseAndRun("func.func private @f(tensor<96x80xf32, " + kLayout + ">)\n");
  EXPECT_EQ(parsed.diagnostic, "layout is of a tile of 96x160, not of 96x80");
}

TEST(LayoutAttribute, what_is_no_layout_is_refused) {
  auto diagnosticOf = [](const std::string &body) {
    return parseAndRun("func.func private @f() attributes {x = #tile.layout<" + body + ">}\n")
        .diagnostic;
  };
  EXPECT_EQ(diagnosticOf("4, lane = [1 2]"), "");
  EXPECT_EQ(diagnosticOf("4, lane = [1 4]"),
            "layout: some elements of the block are held by nobody");
  EXPECT_EQ(diagnosticOf("4, thread = [1 2]"), "layout: expected register, lane, warp or block");
  EXPECT_EQ(diagnosticOf("4, lane = [1], lane = [2]"), "layout: lane is given twice");
  EXPECT_EQ(diagnosticOf("4x4, lane = [(1)]"),
            "layout: expected the coordinates of a bit, one per axis of the shape");
}

TEST(LayoutAttribute, encodings_survive_canonicalize_cse_and_licm) {
  std::string text = R"(
#layout = )" + kLayout +
                     R"(
func.func @f(%x: tensor<96x160xf32, #layout>, %n: index) -> tensor<96x160xf32, #layout> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant dense<0.0> : tensor<96x160xf32, #layout>
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %init) -> (tensor<96x160xf32, #layout>) {
    %a = math.exp %x : tensor<96x160xf32, #layout>
    %b = math.exp %x : tensor<96x160xf32, #layout>
    %c = arith.addf %a, %b : tensor<96x160xf32, #layout>
    %d = arith.cmpf olt, %c, %acc : tensor<96x160xf32, #layout>
    %e = arith.select %d, %c, %acc : tensor<96x160xi1, #layout>, tensor<96x160xf32, #layout>
    scf.yield %e : tensor<96x160xf32, #layout>
  }
  return %sum : tensor<96x160xf32, #layout>
}
)";
  Parsed parsed = parseAndRun(text, /*optimize=*/true);
  ASSERT_EQ(parsed.diagnostic, "");
  EXPECT_EQ(llvm::StringRef(parsed.printed).count("math.exp"), 1u) << parsed.printed;
  EXPECT_LT(parsed.printed.find("math.exp"), parsed.printed.find("scf.for"));
  // Every tensor type still names the layout.
  EXPECT_EQ(llvm::StringRef(parsed.printed).count("tensor<"),
            llvm::StringRef(parsed.printed).count(", #"));
}

TEST(LayoutAttribute, operations_on_tiles_take_laid_out_types) {
  layout::TileLayout matrix = layout::blocked({96, 160}, {1, 4}, {4, 8}, {4, 1}, {1, 0});
  std::string rows = "#tile.layout<" + layout::print(layout::sliceOf(matrix, 1)) + ">";
  std::string column =
      "#tile.layout<" + layout::print(layout::broadcastOperand(matrix, {96, 1})) + ">";
  std::string text = "#m = " + kLayout + "\n#r = " + rows + "\n#c = " + column + R"(
func.func @f(%x: tensor<96x160xf32, #m>, %p: tensor<96x160x!tile.ptr<f32>, #m>, %k: tensor<96x160xi1, #m>) {
  %l = tile.load %p, %k : tensor<96x160x!tile.ptr<f32>, #m>
  %r = tile.reduce(%x) axis 1 : (tensor<96x160xf32, #m>) -> tensor<96xf32, #r> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  %e = tile.expand_dims %r {axis = 1 : i32} : tensor<96xf32, #r> -> tensor<96x1xf32, #c>
  %b = tile.broadcast %e : tensor<96x1xf32, #c> -> tensor<96x160xf32, #m>
  return
}
)";
  Parsed parsed = parseAndRun(text);
  EXPECT_EQ(parsed.diagnostic, "");
}

} // namespace
