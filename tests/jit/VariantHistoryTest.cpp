// What sets a variant apart is said by comparison with the nearest.
#include "jit/runtime/VariantHistory.h"

#include "gtest/gtest.h"

using namespace sectile;
using namespace sectile::jit;

namespace {

lang::KernelSignature signature(int64_t block, bool isAligned = false,
                                std::optional<int64_t> n = {}) {
  lang::KernelSignature result;
  result.kernelName = "add";
  result.parameters = {{"x", std::nullopt, lang::DType::pointer(lang::ScalarKind::Float32), true},
                       {"n", std::nullopt, lang::DType::scalar(lang::ScalarKind::Int32), isAligned},
                       {"BLOCK", lang::Constant::integer(block), {}, false}};
  if (n)
    result.parameters[1] = {"n", lang::Constant::integer(*n), {}, false};
  return result;
}

backends::CompileOptions options(int warps = 4) {
  backends::CompileOptions result;
  result.warpCount = warps;
  return result;
}

TEST(VariantHistory, ComparesWithTheNearestVariant) {
  VariantHistory history;
  auto text = [&](const lang::KernelSignature &what, int warps = 4, const char *source = "s") {
    return history.compare(source, what, options(warps)).text();
  };
  EXPECT_EQ(text(signature(64)), "the first variant");
  history.add("s", signature(64), options());
  history.add("s", signature(128, true), options());
  EXPECT_EQ(text(signature(64)),
            "compiled before, but its code or the text of its stages was not kept");
  EXPECT_EQ(text(signature(64, true)), "n: i32:16 instead of i32") << "nearer than another BLOCK";
  EXPECT_EQ(text(signature(64, false, 1)), "n: 1 instead of i32");
  EXPECT_EQ(text(signature(128, true), 8), "num_warps: 8 instead of 4");
  EXPECT_EQ(text(signature(32, true), 8), "BLOCK: 32 instead of 128, num_warps: 8 instead of 4");
  EXPECT_EQ(text(signature(256)), "BLOCK: 256 instead of 64");
  history.add("s", signature(32), options());
  EXPECT_EQ(text(signature(32, true)), "n: i32:16 instead of i32");
  EXPECT_EQ(text(signature(64), 4, "other"), "its source, or something that it refers to, changed");
  lang::KernelSignature other = signature(64);
  other.kernelName = "mul";
  EXPECT_EQ(text(other), "the first variant");
}

TEST(VariantHistory, NamesMatterWhereNothingElseDiffers) {
  VariantHistory history;
  auto named = [](lang::KernelSignature what, const char *name) {
    what.variantName = name;
    return what;
  };
  auto text = [&](const lang::KernelSignature &what) {
    return history.compare("s", what, options()).text();
  };
  history.add("s", named(signature(64), "add_64"), options());
  EXPECT_EQ(text(named(signature(32), "add_32")), "BLOCK: 32 instead of 64");
  EXPECT_EQ(text(named(signature(64), "sum_64")), "name: sum_64 instead of add_64");
  EXPECT_EQ(text(signature(64)), "name: add instead of add_64");
  history.add("s", signature(64), options());
  EXPECT_EQ(text(signature(64)),
            "compiled before, but its code or the text of its stages was not kept");
}

TEST(VariantHistory, BackEndAndProcessorAreOneTarget) {
  VariantHistory history;
  auto of = [](const char *backend, const char *arch) {
    backends::CompileOptions result = options();
    result.backend = backend;
    result.arch = arch;
    return result;
  };
  history.add("s", signature(64), of("cpu", ""));
  auto text = [&](const backends::CompileOptions &what) {
    return history.compare("s", signature(64), what).text();
  };
  EXPECT_EQ(text(of("cuda", "sm_90a")), "target: cuda:sm_90a instead of cpu");
  EXPECT_EQ(text(of("cpu", "x86-64-v3")), "target: cpu:x86-64-v3 instead of cpu");
  EXPECT_EQ(describe(of("cuda", "sm_90a")), "");
}

TEST(VariantHistory, ComparesTuplesItemByItem) {
  auto point = std::make_shared<lang::TupleClass>(lang::TupleClass{"Point", {"x", "y"}});
  auto made = [&](bool isAligned, std::optional<int64_t> y, lang::TupleClassRef tupleClass) {
    lang::KernelSignature result = signature(64);
    lang::KernelParameter &pair = result.parameters[1];
    lang::KernelParameter first = signature(64, isAligned).parameters[1];
    lang::KernelParameter second = signature(64, false, y).parameters[1];
    pair = {"n", {}, {}, false, {{first, second}}, tupleClass};
    for (size_t i = 0; i < 2; ++i)
      (*pair.items)[i].name = lang::itemName("n", tupleClass, i);
    return result;
  };
  VariantHistory history;
  history.add("s", made(false, {}, nullptr), options());
  auto text = [&](const lang::KernelSignature &what) {
    return history.compare("s", what, options()).text();
  };
  EXPECT_EQ(text(made(false, {}, nullptr)),
            "compiled before, but its code or the text of its stages was not kept");
  EXPECT_EQ(text(made(true, {}, nullptr)), "n[0]: i32:16 instead of i32");
  EXPECT_EQ(text(made(false, 1, nullptr)), "n[1]: 1 instead of i32");
  EXPECT_EQ(text(made(false, {}, point)), "n: Point(x=i32, y=i32) instead of (i32, i32)");
  EXPECT_EQ(text(signature(64)), "n: i32 instead of (i32, i32)");
  history.add("s", made(false, {}, point), options());
  EXPECT_EQ(text(made(true, {}, point)), "n.x: i32:16 instead of i32");
}

TEST(VariantHistory, SaysWhichParameterIsAnother) {
  VariantHistory history;
  history.add("s", signature(64), options());
  VariantDifference difference = history.compare("s", signature(64, true), options(8));
  ASSERT_EQ(difference.changes.size(), 2u);
  EXPECT_EQ(difference.changes[0].parameter, 1);
  EXPECT_EQ(difference.changes[1].parameter, -1) << "an option";
}

TEST(VariantHistory, DescribesWhatIsUnusual) {
  EXPECT_EQ(describe(signature(64, true)), "x: *fp32:16, n: i32:16, BLOCK = 64");
  EXPECT_EQ(describe(options()), "");
  EXPECT_EQ(describe(options(8)), "num_warps=8");
}

} // namespace
