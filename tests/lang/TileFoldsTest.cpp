// What canonicalization makes of tile operations: before and after.
#include "lang/tile/TileDialect.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;

namespace {

struct Rewrite {
  const char *name, *before, *after;
};

class TileFolds : public testing::TestWithParam<Rewrite> {};

constexpr const char *kArguments =
    "%x: f32, %i: i32, %p: !tile.ptr<f32>, %t: tensor<8xf32>, %m: tensor<4x8xf32>, %k: i64, "
    "%ps: tensor<8x!tile.ptr<f32>>, %j: tensor<8xi32>, %w: tensor<8x2xf32>";

std::string canonical(const std::string &body) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<sectile::tile::TileDialect>();
  std::string text = std::string("func.func @f(") + kArguments + ") {\n" + body + "  return\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "does not parse: " + text;
  PassManager passes(&context);
  passes.addPass(createCanonicalizerPass());
  if (failed(passes.run(*module)))
    return "canonicalization failed";
  std::string printed, result, line;
  OpPrintingFlags flags;
  llvm::raw_string_ostream stream(printed);
  module->print(stream, flags);
  // Without the function around it.
  std::istringstream lines(printed);
  while (std::getline(lines, line))
    if (line.starts_with("    ") && line != "    return")
      result += line.substr(4) + "\n";
  return result;
}

TEST_P(TileFolds, rewrites) {
  EXPECT_EQ(canonical(GetParam().before), GetParam().after);
}

// A print keeps a value alive.
const Rewrite kRewrites[] = {
    {"splat_of_constant", R"(%c = arith.constant 1.5 : f32
%a = tile.splat %c : f32 -> tensor<8xf32>
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)",
     R"(%cst = arith.constant dense<1.500000e+00> : tensor<8xf32>
tile.print "", %cst {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)"},
    {"shapes_of_splat", R"(%a = tile.splat %x : f32 -> tensor<8xf32>
%b = tile.expand_dims %a {axis = 0 : i32} : tensor<8xf32> -> tensor<1x8xf32>
%c = tile.broadcast %b : tensor<1x8xf32> -> tensor<4x8xf32>
%d = tile.transpose %c [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
%e = tile.reshape %d : tensor<8x4xf32> -> tensor<32xf32>
tile.print "", %e {hex = false, isSigned = array<i32: 0>} : tensor<32xf32>
)",
     R"(%0 = tile.splat %arg0 : f32 -> tensor<32xf32>
tile.print "", %0 {hex = false, isSigned = array<i32: 0>} : tensor<32xf32>
)"},
    {"elementwise_on_splats", R"(%a = tile.splat %i : i32 -> tensor<8xi32>
%c = arith.constant dense<3> : tensor<8xi32>
%b = arith.muli %a, %c : tensor<8xi32>
%d = arith.cmpi slt, %b, %a : tensor<8xi32>
tile.print "", %d {hex = false, isSigned = array<i32: 0>} : tensor<8xi1>
)",
     R"(%c3_i32 = arith.constant 3 : i32
%0 = arith.muli %arg1, %c3_i32 : i32
%1 = arith.cmpi slt, %0, %arg1 : i32
%2 = tile.splat %1 : i1 -> tensor<8xi1>
tile.print "", %2 {hex = false, isSigned = array<i32: 0>} : tensor<8xi1>
)"},
    {"division_on_splats", R"(%a = tile.splat %i : i32 -> tensor<8xi32>
%c = arith.constant dense<3> : tensor<8xi32>
%b = arith.divsi %c, %a : tensor<8xi32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<8xi32>
)",
     R"(%c3_i32 = arith.constant 3 : i32
%0 = arith.divsi %c3_i32, %arg1 : i32
%1 = tile.splat %0 : i32 -> tensor<8xi32>
tile.print "", %1 {hex = false, isSigned = array<i32: 0>} : tensor<8xi32>
)"},
    {"fast_math_stays", R"(%a = tile.splat %x : f32 -> tensor<8xf32>
%b = math.exp %a fastmath<afn> : tensor<8xf32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)",
     R"(%0 = math.exp %arg0 fastmath<afn> : f32
%1 = tile.splat %0 : f32 -> tensor<8xf32>
tile.print "", %1 {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)"},
    {"pointer_of_splats", R"(%a = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
%b = tile.splat %i : i32 -> tensor<8xi32>
%c = tile.ptr_add %a, %b : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
tile.print "", %c {hex = false, isSigned = array<i32: 0>} : tensor<8x!tile.ptr<f32>>
)",
     R"(%0 = tile.ptr_add %arg2, %arg1 : !tile.ptr<f32>, i32
%1 = tile.splat %0 : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
tile.print "", %1 {hex = false, isSigned = array<i32: 0>} : tensor<8x!tile.ptr<f32>>
)"},
    {"not_only_splats", R"(%a = tile.splat %x : f32 -> tensor<8xf32>
%b = arith.addf %a, %t : tensor<8xf32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)",
     R"(%0 = tile.splat %arg0 : f32 -> tensor<8xf32>
%1 = arith.addf %0, %arg3 : tensor<8xf32>
tile.print "", %1 {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)"},
    {"transposes_merge", R"(%a = tile.transpose %m [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
%b = tile.transpose %a [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<4x8xf32>
)",
     R"(tile.print "", %arg4 {hex = false, isSigned = array<i32: 0>} : tensor<4x8xf32>
)"},
    {"reshapes_merge", R"(%a = tile.reshape %m : tensor<4x8xf32> -> tensor<32xf32>
%b = tile.reshape %a : tensor<32xf32> -> tensor<2x16xf32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<2x16xf32>
)",
     R"(%0 = tile.reshape %arg4 : tensor<4x8xf32> -> tensor<2x16xf32>
tile.print "", %0 {hex = false, isSigned = array<i32: 0>} : tensor<2x16xf32>
)"},
    {"broadcasts_merge", R"(%a = tile.reshape %t : tensor<8xf32> -> tensor<1x1x8xf32>
%b = tile.broadcast %a : tensor<1x1x8xf32> -> tensor<1x4x8xf32>
%c = tile.broadcast %b : tensor<1x4x8xf32> -> tensor<2x4x8xf32>
tile.print "", %c {hex = false, isSigned = array<i32: 0>} : tensor<2x4x8xf32>
)",
     R"(%0 = tile.reshape %arg3 : tensor<8xf32> -> tensor<1x1x8xf32>
%1 = tile.broadcast %0 : tensor<1x1x8xf32> -> tensor<2x4x8xf32>
tile.print "", %1 {hex = false, isSigned = array<i32: 0>} : tensor<2x4x8xf32>
)"},
    {"flip_twice", R"(%a = tile.flip %m {axis = 1 : i32} : tensor<4x8xf32>
%b = tile.flip %a {axis = 1 : i32} : tensor<4x8xf32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<4x8xf32>
)",
     R"(tile.print "", %arg4 {hex = false, isSigned = array<i32: 0>} : tensor<4x8xf32>
)"},
    {"flip_of_two_axes", R"(%a = tile.flip %m {axis = 1 : i32} : tensor<4x8xf32>
%b = tile.flip %a {axis = 0 : i32} : tensor<4x8xf32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<4x8xf32>
)",
     R"(%0 = tile.flip %arg4 {axis = 1 : i32} : tensor<4x8xf32>
%1 = tile.flip %0 {axis = 0 : i32} : tensor<4x8xf32>
tile.print "", %1 {hex = false, isSigned = array<i32: 0>} : tensor<4x8xf32>
)"},
    {"split_of_join", R"(%a = tile.join %t, %t : tensor<8xf32> -> tensor<8x2xf32>
%b, %c = tile.split %a : tensor<8x2xf32> -> tensor<8xf32>
tile.print "", %c {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)",
     R"(tile.print "", %arg3 {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)"},
    {"join_of_split", R"(%b, %c = tile.split %w : tensor<8x2xf32> -> tensor<8xf32>
%a = tile.join %b, %c : tensor<8xf32> -> tensor<8x2xf32>
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : tensor<8x2xf32>
)",
     R"(tile.print "", %arg8 {hex = false, isSigned = array<i32: 0>} : tensor<8x2xf32>
)"},
    {"join_of_swapped_split", R"(%b, %c = tile.split %w : tensor<8x2xf32> -> tensor<8xf32>
%a = tile.join %c, %b : tensor<8xf32> -> tensor<8x2xf32>
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : tensor<8x2xf32>
)",
     R"(%lhs, %rhs = tile.split %arg8 : tensor<8x2xf32> -> tensor<8xf32>
%0 = tile.join %rhs, %lhs : tensor<8xf32> -> tensor<8x2xf32>
tile.print "", %0 {hex = false, isSigned = array<i32: 0>} : tensor<8x2xf32>
)"},
    {"offset_of_zero", R"(%c = arith.constant dense<0> : tensor<8xi32>
%a = tile.ptr_add %ps, %c : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : tensor<8x!tile.ptr<f32>>
)",
     R"(tile.print "", %arg6 {hex = false, isSigned = array<i32: 0>} : tensor<8x!tile.ptr<f32>>
)"},
    {"constant_offsets_merge", R"(%c = arith.constant dense<3> : tensor<8xi32>
%d = arith.constant dense<4> : tensor<8xi32>
%a = tile.ptr_add %ps, %c : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
%b = tile.ptr_add %a, %d : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<8x!tile.ptr<f32>>
)",
     R"(%cst = arith.constant dense<7> : tensor<8xi32>
%0 = tile.ptr_add %arg6, %cst : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
tile.print "", %0 {hex = false, isSigned = array<i32: 0>} : tensor<8x!tile.ptr<f32>>
)"},
    {"overflowing_offsets_stay", R"(%c = arith.constant 2147483647 : i32
%a = tile.ptr_add %p, %c : !tile.ptr<f32>, i32
%b = tile.ptr_add %a, %c : !tile.ptr<f32>, i32
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : !tile.ptr<f32>
)",
     R"(%c2147483647_i32 = arith.constant 2147483647 : i32
%0 = tile.ptr_add %arg2, %c2147483647_i32 : !tile.ptr<f32>, i32
%1 = tile.ptr_add %0, %c2147483647_i32 : !tile.ptr<f32>, i32
tile.print "", %1 {hex = false, isSigned = array<i32: 0>} : !tile.ptr<f32>
)"},
    {"pointer_casts", R"(%a = tile.ptr_cast %p : !tile.ptr<f32> -> !tile.ptr<i32>
%b = tile.ptr_cast %a : !tile.ptr<i32> -> !tile.ptr<i64>
%c = tile.ptr_cast %b : !tile.ptr<i64> -> !tile.ptr<f32>
tile.print "", %c {hex = false, isSigned = array<i32: 0>} : !tile.ptr<f32>
)",
     R"(tile.print "", %arg2 {hex = false, isSigned = array<i32: 0>} : !tile.ptr<f32>
)"},
    {"pointer_to_integer_and_back", R"(%a = tile.ptr_to_int %p : !tile.ptr<f32> -> i64
%b = tile.int_to_ptr %a : i64 -> !tile.ptr<f32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : !tile.ptr<f32>
)",
     R"(tile.print "", %arg2 {hex = false, isSigned = array<i32: 0>} : !tile.ptr<f32>
)"},
    {"load_under_true", R"(%y = arith.constant true
%a = tile.load %p, %y, %x : !tile.ptr<f32>
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : f32
)",
     R"(%0 = tile.load %arg2 : !tile.ptr<f32>
tile.print "", %0 {hex = false, isSigned = array<i32: 0>} : f32
)"},
    {"load_under_false", R"(%y = arith.constant false
%a = tile.load %p, %y, %x : !tile.ptr<f32>
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : f32
)",
     R"(tile.print "", %arg0 {hex = false, isSigned = array<i32: 0>} : f32
)"},
    {"store_under_true", R"(%y = arith.constant dense<true> : tensor<8xi1>
tile.store %ps, %t, %y : tensor<8x!tile.ptr<f32>>
)",
     R"(tile.store %arg6, %arg3 : tensor<8x!tile.ptr<f32>>
)"},
    {"store_under_false", R"(%y = arith.constant dense<false> : tensor<8xi1>
tile.store %ps, %t, %y : tensor<8x!tile.ptr<f32>>
)",
     R"()"},
    {"arange_of_one", R"(%a = tile.arange 7, 8 : tensor<1xi32>
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : tensor<1xi32>
)",
     R"(%cst = arith.constant dense<7> : tensor<1xi32>
tile.print "", %cst {hex = false, isSigned = array<i32: 0>} : tensor<1xi32>
)"},
    {"reduce_of_one",
     R"(%e = tile.expand_dims %t {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
%a = tile.reduce(%e) axis 1 : (tensor<8x1xf32>) -> tensor<8xf32> {
^bb0(%l: f32, %r: f32):
  %s = arith.addf %l, %r : f32
  tile.yield %s : f32
}
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)",
     R"(tile.print "", %arg3 {hex = false, isSigned = array<i32: 0>} : tensor<8xf32>
)"},
    {"scan_of_one", R"(%e = tile.expand_dims %t {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
%a = tile.scan(%e) axis 1 reverse false : (tensor<8x1xf32>) -> tensor<8x1xf32> {
^bb0(%l: f32, %r: f32):
  %s = arith.addf %l, %r : f32
  tile.yield %s : f32
}
tile.print "", %a {hex = false, isSigned = array<i32: 0>} : tensor<8x1xf32>
)",
     R"(%0 = tile.expand_dims %arg3 {axis = 1 : i32} : tensor<8xf32> -> tensor<8x1xf32>
tile.print "", %0 {hex = false, isSigned = array<i32: 0>} : tensor<8x1xf32>
)"},
    {"hints_merge", R"(%a = tile.hint %j {divisibility = array<i64: 16>} : tensor<8xi32>
%b = tile.hint %a {contiguity = array<i64: 8>} : tensor<8xi32>
tile.print "", %b {hex = false, isSigned = array<i32: 0>} : tensor<8xi32>
)",
     R"(%0 = tile.hint %arg7 {contiguity = array<i64: 8>, divisibility = array<i64: 16>} : tensor<8xi32>
tile.print "", %0 {hex = false, isSigned = array<i32: 0>} : tensor<8xi32>
)"},
    {"known_conditions", R"(%y = arith.constant true
tile.assume %y : i1
tile.assert %y, "x" : i1
)",
     R"()"},
};

INSTANTIATE_TEST_SUITE_P(TileDialect, TileFolds, testing::ValuesIn(kRewrites),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
