//===-- ErrorsTest.cpp - what the C++ DSL refuses, with the place -------------------------===//
#include "tests/frontend/cpp/Record.h"
// The whole path, however the compiler was called: the text of a line is read from the file.
#line 5 SECTILE_THIS_FILE

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>

namespace sectile::test {
namespace {
using testing::EndsWith;
using testing::HasSubstr;

std::string at(const char *message, int line) {
  return std::string(message) + " (line " + std::to_string(line) + ")";
}
constexpr const char *kLostUpdate =
    "assignment: the variable was declared outside this body, and the body is traced once, so the "
    "update would be lost";

TEST(CppErrors, AssigningAnOuterHandleInALoop) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        Value total = load(out);
        line = __LINE__ + 1;
        loop(range(n), [&](i32) { total = total + 1.0f; });
        store(out, total);
      },
      any, any);
  EXPECT_EQ(kernel.error, at(kLostUpdate, line));
  EXPECT_THAT(kernel.help, HasSubstr("x = loop(range(n), x"));
  EXPECT_EQ(kernel.ir, "");
}

TEST(CppErrors, CompoundAssignmentToAnOuterHandle) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        f32 total = 0;
        if_(n > 1, [&] {
          line = __LINE__ + 1;
          total += 1.0f;
        });
        store(out, total);
      },
      any, any);
  EXPECT_EQ(kernel.error, at(kLostUpdate, line));
}

TEST(CppErrors, AssigningACopyCapturedByALoop) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        Value total = load(out);
        loop(range(n), [total, &line](i32) mutable {
          line = __LINE__ + 1;
          total = total * 2.0f;
        });
      },
      any, any);
  EXPECT_EQ(kernel.error, at(kLostUpdate, line));
}

TEST(CppErrors, UsingAValueAfterItsBody) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        std::vector<Value> escaped;
        loop(range(n), [&](i32 i) { escaped.push_back(load(out + i)); });
        line = __LINE__ + 1;
        store(out, escaped[0]);
      },
      any, any);
  EXPECT_EQ(kernel.error, at("value: made inside the body of loop and used after it ended", line));
  EXPECT_EQ(kernel.help, "return it from the body, and use what loop returns");
}

TEST(CppErrors, OtherBranchIsAnotherBody) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        std::vector<Value> escaped;
        if_(
            n > 1, [&] { escaped.push_back(load(out)); },
            [&] {
              line = __LINE__ + 1;
              store(out, escaped[0]);
            });
      },
      any, any);
  EXPECT_EQ(kernel.error, at("value: made inside the body of if_ and used after it ended", line));
}

TEST(CppErrors, UsingAHandleWithoutAValue) {
  int line = 0;
  Recorded kernel = record(
      {"out"},
      [&](Ptr<f32> out) {
        Value x;
        line = __LINE__ + 1;
        store(out, x);
      },
      any);
  EXPECT_EQ(kernel.error, at("value: used before it was given one", line));
}

TEST(CppErrors, CombinerUsesAnOuterValue) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, f32 n) {
        auto x = load(out + arange(0, 16));
        store(out, reduce(x, 0, [&](Value a, Value b) {
                line = __LINE__ + 1;
                return a + b * n;
              }));
      },
      any, any);
  EXPECT_EQ(kernel.error,
            at("reduce: the combining function uses a value from outside of it", line));
}

TEST(CppErrors, CarriedValueChangesType) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        line = __LINE__ + 1;
        auto x = loop(range(n), 0, [](i32, auto x) { return to<f32>(x); });
        store(out, x);
      },
      any, any);
  EXPECT_EQ(kernel.error,
            at("loop: carried value 0 is i32 at the start and fp32 after one step", line));
}

TEST(CppErrors, BranchesDiffer) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        line = __LINE__ + 1;
        auto x = if_(n > 1, [&] { return n; }, [&] { return load(out); });
        store(out, x);
      },
      any, any);
  EXPECT_EQ(kernel.error, at("if_: value 0 is i32 in one branch and fp32 in the other", line));
}

TEST(CppErrors, DeclaredTypeDiffers) {
  int line = 0;
  Recorded kernel = record(
      {"out"},
      [&](Ptr<f32> out) {
        line = __LINE__ + 1;
        i32 x = load(out);
        store(out, x);
      },
      any);
  EXPECT_EQ(kernel.error, at("variable: declared as i32, but the value is f32", line));
}

TEST(CppErrors, AssignedTypeDiffers) {
  int line = 0;
  Recorded kernel = record(
      {"out"},
      [&](Ptr<f32> out) {
        f32 x = load(out);
        line = __LINE__ + 1;
        x = load(out + arange(0, 4));
      },
      any);
  EXPECT_EQ(kernel.error, at("assignment: the variable is f32, the value is a tile of f32", line));
}

TEST(CppErrors, ConstantDivisionByZero) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<i32> out, i32 n) {
        line = __LINE__ + 1;
        store(out, n / 0);
      },
      any, 1);
  EXPECT_EQ(kernel.error, at("operator /: division of a constant by zero", line));
}

TEST(CppErrors, RangeOfFloats) {
  int line = 0;
  Recorded kernel = record(
      {"out", "x"},
      [&](Ptr<f32> out, f32 x) {
        line = __LINE__ + 1;
        loop(range(x), [&](Value) { store(out, x); });
      },
      any, any);
  EXPECT_EQ(kernel.error, at("range: bounds and step are integers, not fp32", line));
}

TEST(CppErrors, RangeWithoutStep) {
  int line = 0;
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        line = __LINE__ + 1;
        loop(range(0, n, 0), [&](Value) { store(out, 1.0f); });
      },
      any, any);
  EXPECT_EQ(kernel.error, at("range: step is zero", line));
}

TEST(CppErrors, LanguageErrorsHaveTheLineOfTheOperator) {
  int line = 0;
  Recorded kernel = record(
      {"out"},
      [&](Ptr<f32> out) {
        auto a = arange(0, 16);
        auto b = arange(0, 8);
        line = __LINE__ + 2;
        auto c = a //
                 + b;
        store(out + c, 1.0f);
      },
      any);
  EXPECT_THAT(kernel.error, EndsWith("(line " + std::to_string(line) + ")"));
}

TEST(CppErrors, TextShowsFileLineAndCaret) {
  Recorded kernel = record({"out"}, [](Ptr<f32> out) { store(out, out + out); }, any);
  ASSERT_TRUE(kernel.thrown);
  try {
    std::rethrow_exception(kernel.thrown);
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Kernel);
    EXPECT_THAT(error.what(), HasSubstr("ErrorsTest.cpp:"));
    EXPECT_THAT(error.what(), HasSubstr("store(out, out + out)"));
    EXPECT_THAT(error.what(), HasSubstr("^"));
  }
}

TEST(CppErrors, ExceptionsOfTheKernelComeBack) {
  struct Unusual : std::runtime_error {
    using runtime_error::runtime_error;
  };
  int destroyed = 0;
  struct Count {
    int &count;
    ~Count() { ++count; }
  };
  Recorded kernel = record(
      {"out", "n"},
      [&](Ptr<f32> out, i32 n) {
        Count outer{destroyed};
        loop(range(n), [&](i32 i) {
          Count inner{destroyed};
          if_(i > 1, [&] { throw Unusual("stop"); });
        });
      },
      any, any);
  EXPECT_EQ(destroyed, 2);
  EXPECT_EQ(kernel.ir, "");
  EXPECT_TRUE(kernel.diagnostics.empty());
  ASSERT_TRUE(kernel.thrown);
  EXPECT_THROW(std::rethrow_exception(kernel.thrown), Unusual);
}

TEST(CppErrors, SwallowedErrorsStillFailTheKernel) {
  Recorded kernel = record(
      {"out"},
      [](Ptr<f32> out) {
        try {
          store(out, out + out);
        } catch (const Error &) {
        }
      },
      any);
  EXPECT_EQ(kernel.ir, "");
  EXPECT_FALSE(kernel.diagnostics.empty());
}

TEST(CppErrors, OperationsOutsideAKernel) {
  EXPECT_THROW(arange(0, 16), Error);
  EXPECT_THROW(program_id(0), Error);
}

TEST(CppErrors, ValueOfAnotherKernel) {
  std::vector<Value> kept;
  record({"out"}, [&](Ptr<f32> out) { kept.push_back(load(out)); }, any);
  int line = 0;
  Recorded kernel = record(
      {"out"},
      [&](Ptr<f32> out) {
        line = __LINE__ + 1;
        store(out, kept[0]);
      },
      any);
  EXPECT_EQ(kernel.error, at("value: belongs to another kernel", line));
}

} // namespace
} // namespace sectile::test
