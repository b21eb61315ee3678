//===-- ErrorsTest.cpp - what the C++ DSL refuses, with the place -------------------------===//
#include "tests/frontend/cpp/Record.h"
// The whole path, however the compiler was called: the text of a line is read from the file.
#line 5 SECTILE_THIS_FILE

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>

namespace sectile::test {
namespace {
using testing::EndsWith;
using testing::HasSubstr;

/// A kernel of `out` and `n`, and the line that is wrong.
class CppErrors : public ::testing::Test {
protected:
  template <class F>
  void trace(F function) {
    constexpr size_t count = std::tuple_size_v<detail::ParametersOf<F>>;
    if constexpr (count == 1)
      kernel = record({"out"}, function, any);
    else
      kernel = record({"out", "n"}, function, any, any);
  }
  void refused(const std::string &message) {
    EXPECT_EQ(kernel.error, message + " (line " + std::to_string(line) + ")");
    EXPECT_EQ(kernel.ir, "");
  }

  Recorded kernel;
  int line = 0;
};
constexpr const char *kLostUpdate =
    "assignment: the variable was declared outside this body, and the body is traced once, so the "
    "update would be lost";

TEST_F(CppErrors, AssigningAnOuterHandleInALoop) {
  trace([&](Ptr<f32> out, i32 n) {
    Value total = load(out);
    line = __LINE__ + 1;
    loop(range(n), [&](i32) { total = total + 1.0f; });
    store(out, total);
  });
  refused(kLostUpdate);
  EXPECT_THAT(kernel.help, HasSubstr("x = loop(range(n), x"));
}

TEST_F(CppErrors, CompoundAssignmentToAnOuterHandle) {
  trace([&](Ptr<f32> out, i32 n) {
    f32 total = 0;
    if_(n > 1, [&] {
      line = __LINE__ + 1;
      total += 1.0f;
    });
    store(out, total);
  });
  refused(kLostUpdate);
}

TEST_F(CppErrors, AssigningACopyCapturedByALoop) {
  trace([&](Ptr<f32> out, i32 n) {
    Value total = load(out);
    loop(range(n), [total, this](i32) mutable {
      line = __LINE__ + 1;
      total = total * 2.0f;
    });
  });
  refused(kLostUpdate);
}

TEST_F(CppErrors, UsingAValueAfterItsBody) {
  trace([&](Ptr<f32> out, i32 n) {
    std::vector<Value> escaped;
    loop(range(n), [&](i32 i) { escaped.push_back(load(out + i)); });
    line = __LINE__ + 1;
    store(out, escaped[0]);
  });
  refused("value: made inside the body of loop and used after it ended");
  EXPECT_EQ(kernel.help, "return it from the body, and use what loop returns");
}

TEST_F(CppErrors, UsingAConstantAfterItsBody) {
  trace([&](Ptr<f32> out, i32 n) {
    std::optional<i32> chosen(0);
    if_(n > 1, [&] { chosen.emplace(3); }, [&] { chosen.emplace(5); });
    line = __LINE__ + 1;
    store(out, *chosen + n);
  });
  refused("value: made inside the body of if_ and used after it ended");
}

TEST_F(CppErrors, CopiesOfAConstantAreOfItsBody) {
  trace([&](Ptr<f32> out, i32 n) {
    std::vector<Value> escaped;
    loop(range(n), [&](i32) { escaped.push_back(i32(3)); });
    Value copy = escaped[0];
    line = __LINE__ + 1;
    store(out, copy);
  });
  refused("value: made inside the body of loop and used after it ended");
}

TEST_F(CppErrors, OtherBranchIsAnotherBody) {
  trace([&](Ptr<f32> out, i32 n) {
    std::vector<Value> escaped;
    if_(
        n > 1, [&] { escaped.push_back(load(out)); },
        [&] {
          line = __LINE__ + 1;
          store(out, escaped[0]);
        });
  });
  refused("value: made inside the body of if_ and used after it ended");
}

TEST_F(CppErrors, UsingAHandleWithoutAValue) {
  trace([&](Ptr<f32> out) {
    Value x;
    line = __LINE__ + 1;
    store(out, x);
  });
  refused("value: used before it was given one");
}

TEST_F(CppErrors, CombinerUsesAnOuterValue) {
  trace([&](Ptr<f32> out, f32 n) {
    auto x = load(out + arange(0, 16));
    store(out, reduce(x, 0, [&](Value a, Value b) {
            line = __LINE__ + 1;
            return a + b * n;
          }));
  });
  refused("reduce: the combining function uses a value from outside of it");
}

TEST_F(CppErrors, CarriedValueChangesType) {
  trace([&](Ptr<f32> out, i32 n) {
    line = __LINE__ + 1;
    auto x = loop(range(n), 0, [](i32, auto x) { return to<f32>(x); });
    store(out, x);
  });
  refused("loop: carried value 0 is i32 at the start and f32 after one step");
}

TEST_F(CppErrors, BranchesDiffer) {
  trace([&](Ptr<f32> out, i32 n) {
    line = __LINE__ + 1;
    auto x = if_(n > 1, [&] { return n; }, [&] { return load(out); });
    store(out, x);
  });
  refused("if_: value 0 is i32 in one branch and f32 in the other");
}

TEST_F(CppErrors, DeclaredTypeDiffers) {
  trace([&](Ptr<f32> out) {
    line = __LINE__ + 1;
    i32 x = load(out);
    store(out, x);
  });
  refused("variable: declared as i32, but the value is f32");
}

TEST_F(CppErrors, AssignedTypeDiffers) {
  trace([&](Ptr<f32> out) {
    f32 x = load(out);
    line = __LINE__ + 1;
    x = load(out + arange(0, 4));
  });
  refused("assignment: the variable is f32, the value is a tile of f32");
}

TEST_F(CppErrors, ConstantDivisionByZero) {
  auto divide = [&](Ptr<i32> out, i32 n) {
    line = __LINE__ + 1;
    store(out, n / 0);
  };
  kernel = record({"out", "n"}, divide, any, 1);
  refused("operator /: division of a constant by zero");
}

TEST_F(CppErrors, RangeOfFloats) {
  trace([&](Ptr<f32> out, f32 x) {
    line = __LINE__ + 1;
    loop(range(x), [&](Value) { store(out, x); });
  });
  refused("range: bounds and step must be integers, not f32");
}

TEST_F(CppErrors, RangeWithoutStep) {
  trace([&](Ptr<f32> out, i32 n) {
    line = __LINE__ + 1;
    loop(range(0, n, 0), [&](Value) { store(out, 1.0f); });
  });
  refused("range: step is zero");
}

TEST_F(CppErrors, LanguageErrorsHaveTheLineOfTheOperator) {
  trace([&](Ptr<f32> out) {
    auto a = arange(0, 16);
    auto b = arange(0, 8);
    line = __LINE__ + 2;
    auto c = a //
             + b;
    store(out + c, 1.0f);
  });
  EXPECT_THAT(kernel.error, EndsWith("(line " + std::to_string(line) + ")"));
}

TEST_F(CppErrors, RemediesAreWrittenInCpp) {
  trace([&](Ptr<f32> out) {
    line = __LINE__ + 1;
    store(out, arange(0, 16) + arange(0, 8));
  });
  EXPECT_THAT(kernel.help, HasSubstr("write x[{all, none}] and y[{none, all}]"));
}

TEST_F(CppErrors, LeavingWhatIsNoLoop) {
  trace([&](Ptr<f32> out, i32 n) {
    line = __LINE__ + 1;
    break_if(n > 3);
  });
  refused("break_if: stands in the body of kernel, not of a loop");
  trace([&](Ptr<f32> out, i32 n) {
    loop(range(n), [&](i32 i) {
      if_(i > 3, [&] {
        line = __LINE__ + 1;
        continue_if(n > 3);
      });
    });
  });
  refused("continue_if: stands in the body of if_, not of a loop");
  EXPECT_THAT(kernel.help, HasSubstr("write it in the body of the loop itself"));
}

TEST_F(CppErrors, LeavingALoopWithoutItsValues) {
  trace([&](Ptr<f32> out, i32 n) {
    loop(range(n), std::tuple{0, 0.0f}, [&](i32 i, auto a, auto b) {
      line = __LINE__ + 1;
      break_if(n > 3, a);
      return std::tuple{a, b};
    });
  });
  refused("break_if: the loop carries 2 values, and 1 are given");
  trace([&](Ptr<f32> out, i32 n) {
    loop(range(n), 0, [&](i32 i, auto a) {
      line = __LINE__ + 1;
      break_if(n > 3, to<f32>(a));
      return a;
    });
  });
  refused("break_if: carried value 0 is i32 at the start and f32 after one step");
}

TEST_F(CppErrors, IndicesOutOfRange) {
  trace([&](Ptr<f32> out) {
    auto x = zeros<f32>({4, 8});
    line = __LINE__ + 1;
    store(out, x[{1, 8}]);
  });
  refused("index 8 is out of range: dimension 1 has 8 elements");
  trace([&](Ptr<f32> out) {
    auto x = zeros<f32>({4, 8});
    line = __LINE__ + 1;
    store(out, x[-5]);
  });
  refused("index -5 is out of range: dimension 0 has 4 elements");
  trace([&](Ptr<f32> out) {
    line = __LINE__ + 1;
    store(out, zeros<f32>({4})[slice(3, 1)]);
  });
  refused("the slice is empty: dimension 0 has 4 elements");
  trace([&](Ptr<f32> out) {
    line = __LINE__ + 1;
    store(out, zeros<f32>({4})[slice(3, 1, 0)]);
  });
  refused("slice step is zero");
}

TEST_F(CppErrors, IndicesThatAreNone) {
  trace([&](Ptr<f32> out, i32 n) {
    line = __LINE__ + 1;
    store(out, zeros<f32>({4})[n]);
  });
  refused("a tile cannot be indexed by i32");
  EXPECT_THAT(kernel.help, HasSubstr("reached with gather, or sum(where(...))"));
  trace([&](Ptr<f32> out) {
    line = __LINE__ + 1;
    store(out, zeros<f32>({4})[slice(0, 1.5)]);
  });
  refused("the index of a tile must be an integer, not float");
  trace([&](Ptr<f32> out) {
    line = __LINE__ + 1;
    store(out, zeros<f32>({4})[{1, 1}]);
  });
  refused("indexing: too many indices for a tile of 4");
  trace([&](Ptr<f32> out) {
    line = __LINE__ + 1;
    store(out, zeros<f32>({4})[{all, all}]);
  });
  refused("indexing: 2 dimensions in a tile of 4");
  EXPECT_EQ(kernel.help, "write one all per dimension, and none for each new one");
}

TEST_F(CppErrors, PointersAreNotIndexed) {
  trace([&](Ptr<f32> out, i32 n) {
    line = __LINE__ + 1;
    store(out, out[n]);
  });
  refused("a pointer cannot be indexed");
  EXPECT_EQ(kernel.help, "use load(p + i), or store(p + i, value)");
}

TEST_F(CppErrors, TypesAreNamedInCpp) {
  trace([&](Ptr<f32> out) {
    auto half = to<f16>(arange(0, 16));
    line = __LINE__ + 1;
    store(out, exp(half));
  });
  refused("exp: f32 or f64 expected, found f16[16]");
  EXPECT_THAT(kernel.help, HasSubstr("to<f32>(x)"));
  trace([&](Ptr<const f32> out) {
    line = __LINE__ + 1;
    store(out, 1);
  });
  refused("store: the pointer is to constant data: Ptr<const f32>");
}

// `if (x > 0)` asks for a bool: refused by a static_assert, whose text says what to write instead.
static_assert(std::is_constructible_v<bool, Value>);
static_assert(!std::is_convertible_v<Value, bool>);
static_assert(!std::is_constructible_v<int, Value>);

TEST_F(CppErrors, TextShowsFileLineAndCaret) {
  trace([](Ptr<f32> out) { store(out, out + out); });
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

TEST_F(CppErrors, ExceptionsOfTheKernelComeBack) {
  struct Unusual : std::runtime_error {
    using runtime_error::runtime_error;
  };
  int destroyed = 0;
  struct Count {
    int &count;
    ~Count() { ++count; }
  };
  trace([&](Ptr<f32> out, i32 n) {
    Count outer{destroyed};
    loop(range(n), [&](i32 i) {
      Count inner{destroyed};
      if_(i > 1, [&] { throw Unusual("stop"); });
    });
  });
  EXPECT_EQ(destroyed, 2);
  EXPECT_EQ(kernel.ir, "");
  EXPECT_TRUE(kernel.diagnostics.empty());
  ASSERT_TRUE(kernel.thrown);
  EXPECT_THROW(std::rethrow_exception(kernel.thrown), Unusual);
}

TEST_F(CppErrors, SwallowedErrorsStillFailTheKernel) {
  trace([](Ptr<f32> out) {
    try {
      store(out, out + out);
    } catch (const Error &) {
    }
  });
  EXPECT_EQ(kernel.ir, "");
  EXPECT_FALSE(kernel.diagnostics.empty());
}

TEST_F(CppErrors, OperationsOutsideAKernel) {
  EXPECT_THROW(arange(0, 16), Error);
  EXPECT_THROW(program_id(0), Error);
}

TEST_F(CppErrors, ValueOfAnotherKernel) {
  std::vector<Value> kept;
  trace([&](Ptr<f32> out) { kept.push_back(load(out)); });
  trace([&](Ptr<f32> out) {
    line = __LINE__ + 1;
    store(out, kept[0]);
  });
  refused("value: belongs to another kernel");
}

} // namespace
} // namespace sectile::test
