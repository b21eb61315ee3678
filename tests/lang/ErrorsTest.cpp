// What the language refuses, in which words, and what it advises.
#include "tests/lang/KernelBuilder.h"

using namespace sectile::lang;

namespace {

struct Refusal {
  const char *name;
  std::function<void(KernelBuilder &)> build;
  const char *expected;
};

class Errors : public testing::TestWithParam<Refusal> {};

// Parameters: a *fp32, b *kfp32, c i32, d fp32, e u32, f *i1, g *fp16, h *i8.
TEST_P(Errors, says_what_is_wrong) {
  KernelBuilder k{"*fp32", "*kfp32", "i32", "fp32", "u32", "*i1", "*fp16", "*i8"};
  GetParam().build(k);
  EXPECT_EQ(k.errors(), std::string(GetParam().expected) + "\n");
  for (const Diagnostic &diagnostic : k.sink.all()) {
    EXPECT_EQ(diagnostic.range.line, 3);
    EXPECT_FALSE(diagnostic.message.ends_with("."));
  }
}

using K = KernelBuilder;
constexpr BinaryOperator Add = BinaryOperator::Add;

const Refusal kRefusals[] = {
#include "tests/lang/Refusals.inc"
};

INSTANTIATE_TEST_SUITE_P(Language, Errors, testing::ValuesIn(kRefusals),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
