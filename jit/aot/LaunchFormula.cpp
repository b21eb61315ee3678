#include "jit/aot/LaunchFormula.h"

#include <algorithm>
#include <array>
#include <bit>

namespace sectile::jit {
namespace {

using Kind = LaunchFormula::Kind;
using Number = std::optional<int64_t>;

constexpr int kTakes[] = {
#define SECTILE_STEP(name, count) count,
    SECTILE_FORMULA_STEPS(SECTILE_STEP)
#undef SECTILE_STEP
};

/// Whether a division is by zero, or its result no int64.
bool isUndivided(int64_t a, int64_t b) {
  return b == 0 || (a == INT64_MIN && b == -1);
}
int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
/// What __builtin_add_overflow and the like return, as a number that may be none.
template <class Operation>
Number unlessOverflown(Operation operation) {
  int64_t result = 0;
  return operation(&result) ? Number() : result;
}

Number apply(Kind kind, int64_t a, int64_t b) {
  switch (kind) {
  case Kind::Add:
    return unlessOverflown([&](int64_t *sum) { return __builtin_add_overflow(a, b, sum); });
  case Kind::Subtract:
    return unlessOverflown([&](int64_t *rest) { return __builtin_sub_overflow(a, b, rest); });
  case Kind::Multiply:
    return unlessOverflown([&](int64_t *product) { return __builtin_mul_overflow(a, b, product); });
  case Kind::FloorDivide:
    return isUndivided(a, b) ? Number() : floorDivide(a, b);
  case Kind::CeilDivide:
    return isUndivided(a, b) ? Number() : floorDivide(a, b) + (a % b != 0);
  case Kind::Modulo:
    if (b == 0 || b == -1)
      return b == 0 ? Number() : 0;
    return a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b;
  case Kind::Minimum:
    return std::min(a, b);
  case Kind::Maximum:
    return std::max(a, b);
  case Kind::ShiftLeft:
    if (b < 0 || (b > 62 && a != 0))
      return std::nullopt;
    return a == 0 ? Number(0) : unlessOverflown([&](int64_t *product) {
      return __builtin_mul_overflow(a, int64_t(1) << b, product);
    });
  case Kind::ShiftRight:
    return b < 0 ? Number() : a >> std::min<int64_t>(b, 63);
  case Kind::Less:
    return a < b;
  case Kind::LessOrEqual:
    return a <= b;
  case Kind::Equal:
    return a == b;
  case Kind::NotEqual:
    return a != b;
  default:
    return std::nullopt;
  }
}

/// Python's `and` and `or` of truth values: what the first decides does not depend on the second.
Number connect(Number a, Number b, bool deciding) {
  if (a && (*a != 0) == deciding)
    return deciding;
  if (!a || !b)
    return std::nullopt;
  return *b != 0;
}

Number nextPowerOf2(int64_t number) {
  if (number < 0 || number > int64_t(1) << 62)
    return std::nullopt;
  return number == 0 ? 1 : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(number)));
}

} // namespace

const std::vector<LaunchFormula::StepName> &LaunchFormula::stepNames() {
  static const auto &names = *new std::vector<StepName>{
#define SECTILE_STEP(name, count) {#name, count},
      SECTILE_FORMULA_STEPS(SECTILE_STEP)
#undef SECTILE_STEP
  };
  return names;
}

bool LaunchFormula::isWellFormed(size_t parameterCount) const {
  if (steps.size() > kMostSteps)
    return false;
  size_t held = 0;
  for (const Step &step : steps) {
    if (step.kind > Kind::Select)
      return false;
    if (step.kind == Kind::Argument &&
        (step.value < 0 || static_cast<uint64_t>(step.value) >= parameterCount))
      return false;
    const auto taken = static_cast<size_t>(kTakes[static_cast<size_t>(step.kind)]);
    if (held < taken)
      return false;
    held += 1 - taken;
    if (held > kMostNumbers)
      return false;
  }
  return held == 1;
}

bool LaunchFormula::isTruth() const {
  std::array<bool, kMostNumbers> stack{};
  size_t held = 0;
  for (const Step &step : steps) {
    held -= static_cast<size_t>(kTakes[static_cast<size_t>(step.kind)]);
    stack[held] = step.kind == Kind::Select ? stack[held] && stack[held + 1]
                                            : (step.kind >= Kind::Less && step.kind <= Kind::Not);
    ++held;
  }
  return stack[0];
}

std::optional<int64_t>
LaunchFormula::evaluate(const std::function<std::optional<int64_t>(size_t)> &argument) const {
  std::array<Number, kMostNumbers> stack;
  size_t held = 0;
  for (const Step &step : steps) {
    held -= static_cast<size_t>(kTakes[static_cast<size_t>(step.kind)]);
    Number &a = stack[held]; // also the place of the result
    switch (step.kind) {
    case Kind::Constant:
      a = step.value;
      break;
    case Kind::Argument:
      a = argument(static_cast<size_t>(step.value));
      break;
    case Kind::And:
      a = connect(a, stack[held + 1], false);
      break;
    case Kind::Or:
      a = connect(a, stack[held + 1], true);
      break;
    case Kind::Not:
      a = a ? Number(*a == 0) : Number();
      break;
    case Kind::Negate:
      a = a && *a != INT64_MIN ? Number(-*a) : Number();
      break;
    case Kind::NextPowerOf2:
      a = a ? nextPowerOf2(*a) : Number();
      break;
    case Kind::Select: {
      const Number condition = stack[held + 2];
      a = !condition ? Number() : *condition != 0 ? a : stack[held + 1];
      break;
    }
    default: {
      const Number b = stack[held + 1];
      a = a && b ? apply(step.kind, *a, *b) : Number();
      break;
    }
    }
    ++held;
  }
  return held == 1 ? stack[0] : Number();
}

} // namespace sectile::jit
