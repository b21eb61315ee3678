#include "lang/tile/KernelText.h"

#include "lang/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::HasSubstr;
using testing::Not;

namespace sectile {
namespace {

struct KernelText : testing::Test {
  std::string textOf(llvm::StringRef source) {
    context.loadDialect<tile::TileDialect>();
    auto module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    std::string text = tile::kernelText(*module);
    auto again = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(again) << text;
    if (again)
      EXPECT_EQ(tile::kernelText(*again), text);
    return text;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(KernelText, arguments_have_their_names) {
  std::string text = textOf(R"(
    func.func @k(%a: i32 {tile.name = "x"}, %b: i32 {tile.name = "BLOCK_N"}) -> i32 {
      %c = arith.addi %a, %b : i32
      return %c : i32
    })");
  EXPECT_THAT(text, HasSubstr(R"(@k(%x: i32 {tile.name = "x"}, %BLOCK_N: i32)"));
  EXPECT_THAT(text, HasSubstr("arith.addi %x, %BLOCK_N : i32"));
}

TEST_F(KernelText, names_that_are_taken_or_no_names_stay_numbers) {
  std::string text = textOf(R"(
    func.func @k(%a: i32 {tile.name = "c7_i32"}, %b: i32 {tile.name = "größe"}, %c: i32,
                 %d: i32 {tile.name = "x"}, %e: i32 {tile.name = "x"},
                 %f: i32 {tile.name = "arg0"}, %g: i32 {tile.name = "1st"}) -> i32 {
      %seven = arith.constant 7 : i32
      %h = arith.addi %a, %seven : i32
      return %h : i32
    })");
  for (const char *number : {"%arg0: i32", "%arg1: i32", "%arg2: i32", "%x: i32", "%arg4: i32",
                             "%arg5: i32", "%arg6: i32", "arith.addi %arg0, %c7_i32"})
    EXPECT_THAT(text, HasSubstr(number));
}

TEST_F(KernelText, strings_are_not_touched) {
  std::string text = textOf(R"(
    func.func @k(%a: i32 {tile.name = "x"}) -> i32 attributes {note = "%arg0 and \22%arg0"} {
      return %a : i32
    })");
  EXPECT_THAT(text, HasSubstr(R"(note = "%arg0 and \22%arg0")"));
  EXPECT_THAT(text, HasSubstr("return %x : i32"));
}

TEST_F(KernelText, functions_number_their_own) {
  std::string text = textOf(R"(
    func.func @k(%a: i32 {tile.name = "x"}) -> i32 {
      return %a : i32
    }
    func.func @l(%a: i32 {tile.name = "y"}) -> i32 {
      return %a : i32
    })");
  EXPECT_THAT(text, Not(HasSubstr("%x")));
  EXPECT_THAT(text, HasSubstr("@l(%arg0: i32"));
}

} // namespace
} // namespace sectile
