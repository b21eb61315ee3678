//===-- LaunchFormula.h - numbers that follow from the arguments of a launch ------------------===//
// An archive keeps how constants and the grid are chosen, so that a program without Python chooses
// as the kernel's author did:
//
//   choose={"BLOCK": lambda columns: 512 if columns <= 512 else 1024}
//
//   [Constant 512, Constant 1024, Argument 3, Constant 512, LessOrEqual, Select]
//
// Postfix notation: numbers go on a stack, operations take theirs from it. All are of 64 bits with
// a sign; what does not fit, or is divided by zero, is no number, which a branch that is not taken
// may be. // and % round down, as Python's do.
#pragma once

#include "jit/Api.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sectile::jit {

struct SECTILE_API LaunchFormula {
  // name, numbers that it takes from the stack
#define SECTILE_FORMULA_STEPS(step)                                                                \
  step(Constant, 0)     /* `value` */                                                              \
      step(Argument, 0) /* that of parameter number `value` */                                     \
      step(Add, 2) step(Subtract, 2) step(Multiply, 2) step(FloorDivide, 2) step(Modulo, 2)        \
          step(CeilDivide, 2) /* cdiv(a, b) */                                                     \
      step(Minimum, 2) step(Maximum, 2) step(ShiftLeft, 2) step(ShiftRight, 2) step(Less, 2)       \
          step(LessOrEqual, 2) step(Equal, 2) step(NotEqual, 2)                                    \
              step(And, 2) /* of truth values, 0 and 1 */                                          \
      step(Or, 2) step(Not, 1) step(Negate, 1)                                                     \
          step(NextPowerOf2, 1) /* the least power of two that is not below it */                  \
      step(Select, 3)           /* a if condition else b: a, b and the condition lie on the stack */

  enum class Kind : uint8_t {
#define SECTILE_STEP(name, count) name,
    SECTILE_FORMULA_STEPS(SECTILE_STEP)
#undef SECTILE_STEP
  };
  struct Step {
    Kind kind = Kind::Constant;
    int64_t value = 0;
    friend bool operator==(const Step &, const Step &) = default;
  };
  /// The most numbers that may lie on the stack, and the most steps.
  static constexpr size_t kMostNumbers = 32, kMostSteps = 4096;

  std::vector<Step> steps;

  bool isEmpty() const { return steps.empty(); }
  /// Whether it gives a truth value, as Python's expression would. It is well-formed.
  bool isTruth() const;
  /// Whether it leaves one number, and its arguments are among `parameterCount` parameters. Only
  /// such formulas are evaluated.
  bool isWellFormed(size_t parameterCount) const;
  /// `argument` returns the integer given for a parameter; nullopt where there is none, and then
  /// what depends on it is none, either. nullopt also for what is divided by zero.
  std::optional<int64_t>
  evaluate(const std::function<std::optional<int64_t>(size_t)> &argument) const;

  /// The names of the steps, in the order of their numbers, and how many numbers each takes.
  struct StepName {
    const char *name;
    int takes;
  };
  static const std::vector<StepName> &stepNames();

  friend bool operator==(const LaunchFormula &, const LaunchFormula &) = default;
};

} // namespace sectile::jit
