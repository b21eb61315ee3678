// What the back ends say of the code they make: where, how wide, why.
#include "backends/Backend.h"
#include "jit/compiler/CompileDriver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sectile;
using jit::CompileDriver;
using jit::CompileRequest;
using jit::CompileResult;
using lang::Remark;
using testing::HasSubstr;

namespace {

CompileResult compile(const std::string &text, const std::string &backend, bool isKnown = false) {
  CompileDriver driver("test-build",
                       [](llvm::StringRef name) { return backends::createBackend(name); });
  CompileRequest request;
  request.tileText = text;
  request.options.backend = backend;
  if (backend == "cuda")
    request.options.arch = "sm_90a";
  request.hasIr = [=](const std::string &) { return isKnown; };
  CompileResult result = driver.compile(request);
  EXPECT_TRUE(result.image || isKnown) << lang::render(result.diagnostics);
  return result;
}

/// out[i] = in[i * stride] where i < n; `align`: of both arrays, `more` of n.
std::string copyKernel(const std::string &stride, const std::string &align, const std::string &more,
                       int line = 10) {
  auto at = [&](int offset) {
    return " loc(\"copy.py\":" + std::to_string(line + offset) + ":5)\n";
  };
  return "func.func @copy(%out: !tile.ptr<f32> {tile.name = \"out\"" + align +
         "}, %in: !tile.ptr<f32> {tile.name = \"in\"" + align + "}, %n: i32 {tile.name = \"n\"" +
         more +
         "}) attributes {tile.kernel} {\n"
         "%i = tile.arange 0, 1024 : tensor<1024xi32>\n"
         "%s = arith.constant dense<" +
         stride +
         "> : tensor<1024xi32>\n"
         "%j = arith.muli %i, %s : tensor<1024xi32>\n"
         "%ns = tile.splat %n : i32 -> tensor<1024xi32>\n"
         "%m = arith.cmpi slt, %i, %ns : tensor<1024xi32>\n"
         "%ins = tile.splat %in : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>\n"
         "%outs = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>\n"
         "%p = tile.ptr_add %ins, %j : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>\n"
         "%q = tile.ptr_add %outs, %i : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>\n"
         "%x = tile.load %p, %m : tensor<1024x!tile.ptr<f32>>" +
         at(0) + "tile.store %q, %x, %m : tensor<1024x!tile.ptr<f32>>" + at(1) + "return\n}\n";
}

const std::string kAligned = ", tile.divisibility = 16 : i64", kMultiple = kAligned;

const Remark &remark(const CompileResult &result, const std::string &kind) {
  static const Remark none;
  if (result.image)
    for (const Remark &each : result.image->remarks)
      if (each.kind == kind)
        return each;
  ADD_FAILURE() << "nothing is said of kind " << kind;
  return none;
}

int64_t number(const Remark &remark, const std::string &name) {
  auto found = remark.numbers.find(name);
  return found == remark.numbers.end() ? -100 : found->second;
}

TEST(Remarks, of_accesses_on_a_gpu) {
  CompileResult wide = compile(copyKernel("1", kAligned, kMultiple), "cuda");
  const Remark &load = remark(wide, "load");
  EXPECT_EQ(load.text, "");
  EXPECT_EQ(number(load, "bytes"), 16);
  EXPECT_EQ(number(load, "element_bytes"), 4);
  EXPECT_EQ(number(load, "argument"), 1);
  EXPECT_EQ(number(load, "is_masked"), 1);
  EXPECT_EQ(load.file, "copy.py");
  EXPECT_EQ(load.line, 10);
  EXPECT_EQ(load.column, 5);
  EXPECT_EQ(number(remark(wide, "store"), "argument"), 0);
  EXPECT_EQ(remark(wide, "store").line, 11);

  auto why = [](const std::string &text) {
    CompileResult result = compile(text, "cuda");
    const Remark &load = remark(result, "load");
    return std::to_string(number(load, "bytes")) + " bytes: " + load.text;
  };
  EXPECT_EQ(why(copyKernel("1", kAligned, "")), "4 bytes: the mask may change at every element");
  EXPECT_EQ(why(copyKernel("1", ", tile.divisibility = 8 : i64", kMultiple)),
            "8 bytes: addresses are known to be multiples of 8 bytes only");
  EXPECT_EQ(why(copyKernel("2", kAligned, kMultiple)), "4 bytes: elements are 2 apart");
}

TEST(Remarks, of_shared_memory) {
  // A print without operands takes part, too.
  CompileResult result =
      compile("func.func @say(%p: !tile.ptr<f32>) attributes {tile.kernel} {\n"
              "tile.print \"here\" {hex = false, isSigned = array<i32>}\nreturn\n}\n",
              "cuda");
  const Remark &scratch = remark(result, "shared-scratch");
  EXPECT_EQ(scratch.text, "print");
  EXPECT_GT(number(scratch, "bytes"), 0);
}

TEST(Remarks, of_accesses_and_loops_on_the_cpu) {
  CompileResult wide = compile(copyKernel("1", kAligned, ""), "cpu");
  const Remark &load = remark(wide, "load"), &nest = remark(wide, "nest");
  EXPECT_EQ(load.text, "");
  EXPECT_EQ(load.line, 10);
  EXPECT_EQ(number(load, "argument"), 1);
  int64_t lanes = number(nest, "lanes");
  EXPECT_GE(lanes, 4);
  EXPECT_EQ(number(load, "bytes"), 4 * lanes);
  EXPECT_THAT(nest.text, HasSubstr("loops over 1024, vectors of " + std::to_string(lanes)));
  EXPECT_THAT(nest.text, HasSubstr("without masks up to where the row's mask ends"));

  CompileResult strided = compile(copyKernel("3", kAligned, ""), "cpu");
  EXPECT_EQ(remark(strided, "load").text, "lanes are 3 elements apart");
  EXPECT_EQ(number(remark(strided, "load"), "bytes"), 4);
  EXPECT_EQ(remark(strided, "store").text, "");
}

TEST(Remarks, name_operations_by_which_equal_ir_finds_its_places) {
  CompileResult made = compile(copyKernel("1", kAligned, ""), "cpu");
  CompileResult elsewhere = compile(copyKernel("1", kAligned, "", 70), "cpu", /*isKnown=*/true);
  EXPECT_EQ(made.irDigest, elsewhere.irDigest);
  EXPECT_TRUE(made.places.empty());
  const Remark &store = remark(made, "store");
  ASSERT_GE(store.operation, 0);
  ASSERT_LT(size_t(store.operation), elsewhere.places.size());
  EXPECT_EQ(store.line, 11);
  EXPECT_EQ(elsewhere.places[size_t(store.operation)].line, 71);
}

} // namespace
