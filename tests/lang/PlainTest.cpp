// DType, Constant and Diagnostics: the part of lang/ the runtime shares.
#include "lang/plain/Constant.h"
#include "lang/plain/DType.h"
#include "lang/plain/DescriptorKind.h"
#include "lang/plain/Diagnostics.h"
#include "lang/plain/KernelSignature.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace sectile::lang;

namespace {

TEST(DType, names_read_back) {
  for (int kind = 1; kind <= int(ScalarKind::Float64); ++kind)
    for (DType dtype : {DType::scalar(ScalarKind(kind)), DType::pointer(ScalarKind(kind)),
                        DType::pointer(ScalarKind(kind), true)})
      EXPECT_EQ(DType::parse(dtype.name()), dtype) << dtype.name();
  EXPECT_EQ(DType::pointer(ScalarKind::Float32, true).name(), "*kfp32");
  EXPECT_EQ(DType::parse("float8_e4m3fn"), DType::scalar(ScalarKind::Float8E4NV));
  EXPECT_EQ(DType::parse("f32"), DType::scalar(ScalarKind::Float32));
  EXPECT_EQ(DType::parse("*f8e4m3"), DType::pointer(ScalarKind::Float8E4NV));
  EXPECT_EQ(DType::scalar(ScalarKind::BFloat16).longName(), "bfloat16");
  EXPECT_EQ(DType::pointer(ScalarKind::Float64).cppName(), "f64");
  EXPECT_EQ(DType::parse("uint8"), DType::scalar(ScalarKind::UInt8));
  EXPECT_EQ(DType::parse("*kint32"), DType::pointer(ScalarKind::Int32, true));
  for (const char *wrong : {"", "*", "**fp32", "fp31", "k", "int", "*k"})
    EXPECT_FALSE(DType::parse(wrong)) << wrong;
}

TEST(DType, sizes_and_kinds) {
  DType boolean = DType::scalar(ScalarKind::Int1), pointer = DType::pointer(ScalarKind::Int8);
  EXPECT_EQ(boolean.bits(), 1u);
  EXPECT_EQ(boolean.bytes(), 1u);
  EXPECT_EQ(pointer.bits(), 64u);
  EXPECT_TRUE(boolean.isBool() && boolean.isIntOrBool() && !boolean.isInt());
  EXPECT_TRUE(!pointer.isInt() && !pointer.isFloat() && pointer.pointee().isSignedInt());
  EXPECT_TRUE(DType::scalar(ScalarKind::Float8E5).isFp8());
  EXPECT_FALSE(DType::scalar(ScalarKind::Float16).isFp8());
  EXPECT_TRUE(DType::scalar(ScalarKind::UInt64).isUnsignedInt());
}

TEST(Kinds, ReadBackAsTheyAreWritten) {
  std::string problem;
  for (const char *text : {"*fp32", "*kfp16:16", "i32", "u64:16", "bf16", "i1"}) {
    auto parsed = parseKind(text, problem);
    ASSERT_TRUE(parsed) << problem;
    EXPECT_EQ(kindText(*parsed), text);
  }
  EXPECT_EQ(kindText(*parseKind("*f32 : 16", problem)), "*fp32:16");
  EXPECT_EQ(kindText(*parseKind("int32:1", problem)), "1");
  KernelParameter pair;
  pair.items = {{*parseKind("*fp32:16", problem), *parseKind("i32:1", problem)}};
  EXPECT_EQ(kindText(pair), "(*fp32:16, 1)");
  for (const char *wrong : {"", "*", "fp31", "void", "fp32:1", "*fp32:1", "i32:8", "i32:16:16"})
    EXPECT_FALSE(parseKind(wrong, problem)) << wrong;
}

TEST(Kinds, DescriptorsReadBackAsTheyAreWritten) {
  std::string problem;
  for (const char *text : {
           "tensordesc<fp16[128, 64]>",
           "tensordesc<kfp32[16]>(i32:16)",
           "tensordesc<i8[1, 2, 3, 4, 5]>(1, i32, i64:16, i32:16, i32)",
           "tensordesc<bf16[8, 16]>(i32, i32:16) strides (i32, 1)",
           "tensordesc<fp64[8, 16]> nan",
           "tensordesc<fp64[8, 16]>(i32, i32) strides (i64:16, 1) nan",
       }) {
    auto parsed = parseDescriptorKind(text, problem);
    ASSERT_TRUE(parsed) << problem;
    // Extents that are what they are without being named are left out.
    std::string written = kindText(*parsed);
    auto again = parseDescriptorKind(written, problem);
    ASSERT_TRUE(again) << problem;
    EXPECT_EQ(kindText(*again), written);
    if (std::string_view(text).find("(i32, i32)") == std::string_view::npos)
      EXPECT_EQ(written, text);
  }
  EXPECT_EQ(
      kindText(*parseDescriptorKind(" tensordesc < fp16 [128,64] > ( i32 , i32:16 ) ", problem)),
      "tensordesc<fp16[128, 64]>(i32, i32:16)");
  EXPECT_EQ(kindText(*parseDescriptorKind("tensordesc<f16[8, 8]>(i32, i32)", problem)),
            "tensordesc<fp16[8, 8]>");
  auto parsed = parseDescriptorKind("tensordesc<fp16[128, 64]>(i32:16, i32)", problem);
  const auto &fields = *parsed->items;
  EXPECT_EQ(kindText(fields[0]), "*fp16:16");
  EXPECT_EQ(kindText(fields[2]), "(i32, 1)"); // rows of an extent that is no multiple
  parsed = parseDescriptorKind("tensordesc<fp16[8, 8]>(i32, i64:16)", problem);
  EXPECT_EQ(kindText((*parsed->items)[2]), "(i64:16, 1)");
  EXPECT_TRUE(isDescriptorKind("tensordesc") && !isDescriptorKind("*fp32"));
}

TEST(Kinds, WrongDescriptorsAreNamed) {
  const std::pair<const char *, const char *> cases[] = {
      {"tensordesc", "does not begin with 'tensordesc<'"},
      {"tensordesc<fp17[8]>", "'fp17' is no dtype"},
      {"tensordesc<*fp16[8]>", "'*fp16' is no dtype"},
      {"tensordesc<void[8]>", "'void' is no dtype"},
      {"tensordesc<fp16>", "'fp16>' is no dtype"},
      {"tensordesc<fp16[8>", "the extents of the blocks"},
      {"tensordesc<fp16[]>", "'' is no extent of a block"},
      {"tensordesc<fp16[8, -8]>", "'-8' is no extent of a block"},
      {"tensordesc<fp16[99999999999999999999]>", "is no extent of a block"},
      {"tensordesc<fp16[1, 2, 3, 4, 5, 6]>", "at most 5 dimensions"},
      {"tensordesc<fp16[8, 8]>(i32)", "1 extents are given, and the blocks have 2"},
      {"tensordesc<fp16[8]>(fp32)", "'fp32' is no integer"},
      {"tensordesc<fp16[8]>(*i32)", "'*i32' is no integer"},
      {"tensordesc<fp16[8]>(i32", "the extents end with no ')'"},
      {"tensordesc<fp16[8]>(i33)", "unknown dtype 'i33'"},
      {"tensordesc<fp16[8, 8]> strides", "the strides, in (...), are missing"},
      {"tensordesc<fp16[8, 8]> strides (i32, i32)", "the last stride is not 1"},
      {"tensordesc<i32[8]> nan", "'nan' is for floating-point numbers"},
      {"tensordesc<fp16[8]> zero", "'zero' is not understood"},
  };
  for (auto [text, expected] : cases) {
    std::string problem;
    EXPECT_FALSE(parseDescriptorKind(text, problem)) << text;
    EXPECT_NE(problem.find(expected), std::string::npos) << text << ": " << problem;
  }
}

TEST(Constant, compares_as_python_does) {
  auto integer = [](Int value) { return Constant::integer(value); };
  EXPECT_TRUE(integer(1).equals(Constant{1.0}));
  EXPECT_TRUE(integer(1).equals(Constant{true}));
  EXPECT_FALSE(integer(2).equals(Constant{true}));
  EXPECT_FALSE(Constant{NAN}.equals(Constant{NAN}));
  // 2^53 + 1 is no double.
  EXPECT_FALSE(integer((Int(1) << 53) + 1).equals(Constant{0x1p53}));
  EXPECT_FALSE(integer(0).equals(Constant{None{}}));
  EXPECT_FALSE(integer(1).equals(Constant{INFINITY}));
  auto pair = Constant::tuple({integer(1), Constant{std::string("x")}});
  EXPECT_TRUE(pair.equals(Constant::tuple({Constant{1.0}, Constant{std::string("x")}})));
  EXPECT_FALSE(pair.equals(Constant::tuple({integer(1)})));
}

TEST(Constant, prints_as_python_does) {
  const std::pair<Constant, const char *> cases[] = {
      {Constant{None{}}, "None"},
      {Constant{true}, "True"},
      {Constant::integer(-(Int(1) << 126) * 2), "-170141183460469231731687303715884105728"},
      {Constant{1.0}, "1.0"},
      {Constant{0.1}, "0.1"},
      {Constant{1e16}, "1e+16"},
      {Constant{123456789012345.0}, "123456789012345.0"},
      {Constant{1e-5}, "1e-05"},
      {Constant{0.0001}, "0.0001"},
      {Constant{-INFINITY}, "-inf"},
      {Constant{-0.0}, "-0.0"},
      {Constant{std::string("it's\n")}, "\"it's\\n\""},
      {Constant{std::string("a\\\"")}, "'a\\\\\"'"},
      {Constant::tuple({}), "()"},
      {Constant::tuple({Constant::integer(1)}), "(1,)"},
      {Constant::tuple({Constant::integer(1), Constant{2.5}}), "(1, 2.5)"},
      {Constant{DType::pointer(ScalarKind::Float16)}, "*fp16"},
      {Constant{ObjectRef{3, "Config"}}, "<Config>"},
  };
  for (const auto &[constant, expected] : cases)
    EXPECT_EQ(constant.repr(), expected);
}

Diagnostic diagnostic(std::string line, int column, int endColumn) {
  Diagnostic result;
  result.message = "dot: inner dimensions differ: lhs is 128x64, rhs is 32x128";
  result.range = {"kernels.py", 17, column, 17, endColumn};
  result.function = "matmul";
  result.sourceLine = std::move(line);
  return result;
}

TEST(Diagnostics, shows_line_caret_callers_and_help) {
  Diagnostic wrong = diagnostic("    acc = tl.dot(a, b, acc)\n", 11, 28);
  wrong.callers = {{"fused", {"kernels.py", 30, 5, 30, 11}}};
  wrong.help = "transpose rhs with tl.trans";
  EXPECT_EQ(render(wrong), R"(dot: inner dimensions differ: lhs is 128x64, rhs is 32x128
  --> kernels.py:17:11, in matmul
   17 |     acc = tl.dot(a, b, acc)
      |           ^^^^^^^^^^^^^^^^^
  called from kernels.py:30:5, in fused
  help: transpose rhs with tl.trans
)");
}

/// The line of carets under a source line.
std::string carets(std::string line, int column, int endColumn) {
  std::string text = render(diagnostic(std::move(line), column, endColumn));
  text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

TEST(Diagnostics, carets_stay_in_place) {
  EXPECT_EQ(carets("x = y", 5, 6), "      |     ^");
  EXPECT_EQ(carets("\tx = y", 6, 7), "      | \t    ^");
  EXPECT_EQ(carets("\u00e9 = y", 6, 7), "      |     ^");  // two bytes, one column
  EXPECT_EQ(carets("\u6f22 = y", 7, 8), "      |      ^"); // three bytes, two columns
  EXPECT_EQ(carets("e\u0301 = y", 7, 8), "      |     ^"); // a combining accent takes none
  EXPECT_EQ(carets("x = y", 99, 120), "      |      ^");   // beyond the line
  EXPECT_EQ(carets("x = y", 0, 0), "      | ^");
  EXPECT_EQ(carets("\xff\xfe = y", 6, 7), "      |      ^"); // not UTF-8
}

TEST(Diagnostics, a_range_of_several_lines_underlines_the_first) {
  Diagnostic wrong = diagnostic("x = load(p,", 5, 3);
  wrong.range.endLine = 18;
  EXPECT_NE(render(wrong).find("      |     ^^^^^^^\n"), std::string::npos) << render(wrong);
}

TEST(Diagnostics, without_a_place_the_message_stands_alone) {
  Diagnostic bare;
  bare.message = "no device";
  EXPECT_EQ(render(bare), "no device\n");
  bare.severity = Diagnostic::Severity::Warning;
  EXPECT_EQ(render({bare, bare}), "warning: no device\n\nwarning: no device\n");
  DiagnosticSink sink;
  sink.report(bare);
  EXPECT_FALSE(sink.hasErrors());
}

TEST(Diagnostics, suggests_the_closest_name) {
  const std::vector<std::string> known = {"load", "store", "program_id", "arange",
                                          "exp",  "exp2",  "mask"};
  EXPECT_EQ(closestName("laod", known), "load");
  EXPECT_EQ(closestName("Load", known), "load");
  EXPECT_EQ(closestName("programid", known), "program_id");
  EXPECT_EQ(closestName("arrange", known), "arange");
  EXPECT_EQ(closestName("maks", known), "mask");
  EXPECT_EQ(closestName("exp3", known), "exp");
  EXPECT_EQ(closestName("frobnicate", known), "");
  EXPECT_EQ(closestName("x", known), "");
  EXPECT_EQ(closestName("", known), "");
  EXPECT_EQ(closestName(std::string(5000, 'a'), known), "");
}

} // namespace
