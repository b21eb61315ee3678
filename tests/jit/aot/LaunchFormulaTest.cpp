// Formulas of launches: what is evaluated, and what is refused before it is.
#include "jit/aot/LaunchFormula.h"

#include "gtest/gtest.h"

using namespace sectile::jit;

namespace {

using Kind = LaunchFormula::Kind;

std::optional<int64_t> evaluate(std::vector<LaunchFormula::Step> steps,
                                std::vector<std::optional<int64_t>> arguments = {}) {
  LaunchFormula formula{std::move(steps)};
  EXPECT_TRUE(formula.isWellFormed(arguments.size()));
  return formula.evaluate([&](size_t index) { return arguments[index]; });
}

TEST(LaunchFormula, divisions_round_down) {
  for (auto [a, b, quotient, rest, up] :
       {std::tuple{7, 2, 3, 1, 4}, {-7, 2, -4, 1, -3}, {7, -2, -4, -1, -3}, {-8, -2, 4, 0, 4}}) {
    EXPECT_EQ(evaluate({{Kind::Constant, a}, {Kind::Constant, b}, {Kind::FloorDivide}}), quotient);
    EXPECT_EQ(evaluate({{Kind::Constant, a}, {Kind::Constant, b}, {Kind::Modulo}}), rest);
    EXPECT_EQ(evaluate({{Kind::Constant, a}, {Kind::Constant, b}, {Kind::CeilDivide}}), up);
  }
}

TEST(LaunchFormula, what_is_undefined_has_no_value) {
  for (Kind kind : {Kind::FloorDivide, Kind::Modulo, Kind::CeilDivide})
    EXPECT_EQ(evaluate({{Kind::Constant, 1}, {Kind::Constant, 0}, {kind}}), std::nullopt);
  for (Kind kind : {Kind::FloorDivide, Kind::CeilDivide})
    EXPECT_EQ(evaluate({{Kind::Constant, INT64_MIN}, {Kind::Constant, -1}, {kind}}), std::nullopt);
  EXPECT_EQ(evaluate({{Kind::Constant, 1}, {Kind::Constant, -1}, {Kind::ShiftLeft}}), std::nullopt);
  EXPECT_EQ(evaluate({{Kind::Constant, (int64_t(1) << 62) + 1}, {Kind::NextPowerOf2}}),
            std::nullopt);
  EXPECT_EQ(evaluate({{Kind::Argument, 0}, {Kind::Constant, 1}, {Kind::Add}}, {std::nullopt}),
            std::nullopt);
}

TEST(LaunchFormula, a_branch_not_taken_may_be_undefined) {
  // 1 // n if n else 5
  std::vector<LaunchFormula::Step> steps = {{Kind::Constant, 1}, {Kind::Argument, 0},
                                            {Kind::FloorDivide}, {Kind::Constant, 5},
                                            {Kind::Argument, 0}, {Kind::Select}};
  EXPECT_EQ(evaluate(steps, {0}), 5);
  EXPECT_EQ(evaluate(steps, {1}), 1);
  EXPECT_EQ(evaluate(steps, {std::nullopt}), std::nullopt);
}

TEST(LaunchFormula, what_does_not_fit_has_no_value) {
  for (Kind kind : {Kind::Add, Kind::Multiply})
    EXPECT_EQ(evaluate({{Kind::Constant, INT64_MAX}, {Kind::Constant, 2}, {kind}}), std::nullopt);
  EXPECT_EQ(evaluate({{Kind::Constant, INT64_MIN}, {Kind::Constant, 1}, {Kind::Subtract}}),
            std::nullopt);
  EXPECT_EQ(evaluate({{Kind::Constant, INT64_MIN}, {Kind::Negate}}), std::nullopt);
  for (int64_t by : {63, 64, 1000})
    EXPECT_EQ(evaluate({{Kind::Constant, 1}, {Kind::Constant, by}, {Kind::ShiftLeft}}),
              std::nullopt);
  EXPECT_EQ(evaluate({{Kind::Constant, 3}, {Kind::Constant, 62}, {Kind::ShiftLeft}}), std::nullopt);
  EXPECT_EQ(evaluate({{Kind::Constant, 1}, {Kind::Constant, 62}, {Kind::ShiftLeft}}), int64_t(1)
                                                                                          << 62);
  EXPECT_EQ(evaluate({{Kind::Constant, 0}, {Kind::Constant, 99}, {Kind::ShiftLeft}}), 0);
  EXPECT_EQ(evaluate({{Kind::Constant, -5}, {Kind::Constant, 99}, {Kind::ShiftRight}}), -1);
  EXPECT_EQ(evaluate({{Kind::Constant, INT64_MIN}, {Kind::Constant, -1}, {Kind::Modulo}}), 0);
}

TEST(LaunchFormula, truth_values_are_told_from_numbers) {
  auto isTruth = [](std::vector<LaunchFormula::Step> steps) {
    return LaunchFormula{std::move(steps)}.isTruth();
  };
  EXPECT_TRUE(isTruth({{Kind::Constant, 1}, {Kind::Constant, 2}, {Kind::Equal}}));
  EXPECT_TRUE(isTruth({{Kind::Constant, 1}, {Kind::Not}}));
  EXPECT_FALSE(isTruth({{Kind::Constant, 1}}));
  EXPECT_FALSE(isTruth({{Kind::Constant, 1}, {Kind::Not}, {Kind::Negate}}));
  EXPECT_FALSE(isTruth({{Kind::Constant, 1},
                        {Kind::Not},
                        {Kind::Constant, 2},
                        {Kind::Constant, 1},
                        {Kind::Select}}));
}

TEST(LaunchFormula, malformed_ones_are_found) {
  auto isWellFormed = [](std::vector<LaunchFormula::Step> steps) {
    return LaunchFormula{std::move(steps)}.isWellFormed(1);
  };
  EXPECT_TRUE(isWellFormed({{Kind::Argument, 0}}));
  EXPECT_FALSE(isWellFormed({}));
  EXPECT_FALSE(isWellFormed({{Kind::Argument, 1}}));
  EXPECT_FALSE(isWellFormed({{Kind::Argument, -1}}));
  EXPECT_FALSE(isWellFormed({{Kind::Constant, 1}, {Kind::Add}}));
  EXPECT_FALSE(isWellFormed({{Kind::Constant, 1}, {Kind::Constant, 1}}));
  EXPECT_FALSE(isWellFormed({{static_cast<Kind>(200)}}));
  std::vector<LaunchFormula::Step> deep(LaunchFormula::kMostNumbers + 1, {Kind::Constant, 1});
  for (size_t i = 0; i < LaunchFormula::kMostNumbers; ++i)
    deep.push_back({Kind::Add});
  EXPECT_FALSE(isWellFormed(deep));
  deep.erase(deep.begin());
  deep.pop_back();
  EXPECT_TRUE(isWellFormed(deep));
}

} // namespace
