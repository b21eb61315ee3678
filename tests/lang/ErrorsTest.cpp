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

/// The same mistakes, advised on in C++.
TEST(ErrorsInCpp, RemediesAreWrittenInCpp) {
  auto advice = [](auto build) {
    KernelBuilder k{"*fp32", "*kfp32", "i32", "fp32", "u32", "*i1", "*fp16", "*i8"};
    k.sema.words = kCppWords;
    build(k);
    return k.sink.all().empty() ? "" : k.sink.all().front().help;
  };
  EXPECT_EQ(advice([](K &k) { k.binary(Add, k.tile("i32", {8}), k.tile("i32", {16})); }),
            "extents broadcast only if they are equal or one; to combine every pair, write "
            "x[{all, none}] and y[{none, all}]");
  EXPECT_EQ(advice([](K &k) { k.call("arange", {k.number(0), k[2]}); }),
            "declare the parameter as `Const<int> c`");
  EXPECT_EQ(advice([](K &k) { k.call("exp", {k.tile("fp16", {4})}); }),
            "cast first, for example with to<f32>(x)");
  EXPECT_EQ(advice([](K &k) { k.binary(Add, k[0], k[3]); }),
            "cast the offset, for example with to<i64>(...)");
  EXPECT_EQ(advice([](K &k) { k.binary(BinaryOperator::Power, k[3], k.number(2)); }),
            "use pow(x, y), or multiply for small integer exponents");
  EXPECT_EQ(advice([](K &k) { (void)k.sema.condition(k.tile("i1", {4}), "if_"); }),
            "choose element by element with where, or combine the elements first, for example with "
            "max");
  EXPECT_EQ(advice([](K &k) {
              Operand half = k.tile("fp16", {4, 4});
              k.call("dot", {half, half, k.tile("i32", {4, 4})});
            }),
            "make the accumulator f32, as in zeros<f32>({4, 4}), and cast the result");
}

INSTANTIATE_TEST_SUITE_P(Language, Errors, testing::ValuesIn(kRefusals),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
