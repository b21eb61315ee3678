// Tensor maps of a launch: what their expressions come to, and the rules of the copy engine.
#include "backends/plain/TensorMap.h"

#include "backends/plain/KernelImage.h"
#include "gtest/gtest.h"

#include <functional>

using namespace sectile;
using namespace sectile::backends;
using Kind = LaunchExpression::Kind;
using Steps = std::vector<LaunchExpression::Step>;

namespace {

/// What a kernel would be passed: a pointer, and numbers of several types.
const std::vector<KernelArgument> kArguments = {
    {"a", lang::DType::pointer(lang::ScalarKind::Float16), 0, false},
    {"i", lang::DType::scalar(lang::ScalarKind::Int32), 1, false},
    {"l", lang::DType::scalar(lang::ScalarKind::Int64), 2, false},
    {"u", lang::DType::scalar(lang::ScalarKind::UInt32), 3, false},
    {"s", lang::DType::scalar(lang::ScalarKind::Int16), 4, false},
    {"b", lang::DType::scalar(lang::ScalarKind::UInt8), 5, false},
};
constexpr int64_t kA = 0, kI = 1, kL = 2, kU = 3, kS = 4, kB = 5;

/// An array of two dimensions, of elements of two bytes: 64 of them in a row.
TensorMap rows(Steps extent, Steps stride) {
  TensorMap map;
  map.argument = 0;
  map.elementBytes = 2;
  map.box = {16, 64};
  map.extents = {{std::move(extent)}, {{{Kind::Constant, 64}}}};
  map.strides = {{std::move(stride)}, {{{Kind::Constant, 1}}}};
  return map;
}

struct Slots {
  uint64_t a = 0x7f00'0000'0000, i = 0, l = 0, u = 0, s = 0, b = 0;
  std::array<uint64_t, 6> words() const { return {a, i, l, u, s, b}; }
};

int64_t valueOf(Steps steps, const Slots &slots = {}) {
  TensorMap map = rows(std::move(steps), {{Kind::Constant, 64}});
  EXPECT_TRUE(areWellFormed({&map, 1}, kArguments));
  return valuesOf(map, kArguments, slots.words().data()).extents[0];
}

TEST(TensorMap, ValuesFollowFromArguments) {
  Slots slots{.i = 300, .l = 1000};
  TensorMap map = rows({{Kind::Argument, kI}}, {{Kind::Argument, kL}});
  TensorMapValues values = valuesOf(map, kArguments, slots.words().data());
  EXPECT_EQ(values.base, 0x7f00'0000'0000u);
  EXPECT_EQ(values.rank, 2u);
  EXPECT_EQ(values.extents, (std::array<int64_t, 5>{300, 64}));
  EXPECT_EQ(values.strides, (std::array<int64_t, 5>{1000, 1}));
  EXPECT_EQ(values, valuesOf(map, kArguments, slots.words().data()));
  slots.l = 1008;
  EXPECT_NE(values, valuesOf(map, kArguments, slots.words().data()));
}

TEST(TensorMap, OperationsTakeTheTopOfTheStack) {
  EXPECT_EQ(valueOf({{Kind::Constant, 7}, {Kind::Constant, 5}, {Kind::Subtract, 0}}), 2);
  EXPECT_EQ(valueOf({{Kind::Constant, 7}, {Kind::Constant, 5}, {Kind::Add, 0}}), 12);
  EXPECT_EQ(valueOf({{Kind::Constant, 7}, {Kind::Constant, -5}, {Kind::Multiply, 0}}), -35);
  // 2 * (10 - (3 + 1))
  EXPECT_EQ(valueOf({{Kind::Constant, 2},
                     {Kind::Constant, 10},
                     {Kind::Constant, 3},
                     {Kind::Constant, 1},
                     {Kind::Add, 0},
                     {Kind::Subtract, 0},
                     {Kind::Multiply, 0}}),
            12);
  Steps deep(LaunchExpression::kMostNumbers, {Kind::Constant, 3});
  deep.resize(2 * LaunchExpression::kMostNumbers - 1, {Kind::Add, 0});
  EXPECT_EQ(valueOf(deep), 3 * int64_t(LaunchExpression::kMostNumbers));
}

TEST(TensorMap, ArithmeticWraps) {
  EXPECT_EQ(valueOf({{Kind::Constant, INT64_MAX}, {Kind::Constant, 1}, {Kind::Add, 0}}), INT64_MIN);
  EXPECT_EQ(valueOf({{Kind::Constant, INT64_MIN}, {Kind::Constant, 1}, {Kind::Subtract, 0}}),
            INT64_MAX);
  EXPECT_EQ(valueOf({{Kind::Constant, int64_t{1} << 62}, {Kind::Constant, 4}, {Kind::Multiply, 0}}),
            0);
  // What a kernel computes in 32 bits: 2^31 - 1 + 1 is negative, and 2^31 without a sign.
  Slots slots{.i = INT32_MAX};
  Steps sum = {{Kind::Argument, kI}, {Kind::Constant, 1}, {Kind::Add, 0}};
  EXPECT_EQ(valueOf(sum, slots), int64_t{1} << 31);
  sum.push_back({Kind::SignExtend, 32});
  EXPECT_EQ(valueOf(sum, slots), INT32_MIN);
  sum.push_back({Kind::ZeroExtend, 32});
  EXPECT_EQ(valueOf(sum, slots), int64_t{1} << 31);
}

TEST(TensorMap, ArgumentsHaveTheSignOfTheirBits) {
  // The rest of a slot is not the argument's.
  Slots slots{.i = 0xabcd'0000'ffff'fffe,
              .l = ~uint64_t{4},
              .u = 0xffff'ffff,
              .s = 0x1234'8000,
              .b = 0x180};
  EXPECT_EQ(valueOf({{Kind::Argument, kI}}, slots), -2);
  EXPECT_EQ(valueOf({{Kind::Argument, kL}}, slots), -5);
  EXPECT_EQ(valueOf({{Kind::Argument, kU}}, slots), -1);
  EXPECT_EQ(valueOf({{Kind::Argument, kU}, {Kind::ZeroExtend, 32}}, slots), 0xffff'ffff);
  EXPECT_EQ(valueOf({{Kind::Argument, kS}}, slots), -32768);
  EXPECT_EQ(valueOf({{Kind::Argument, kB}}, slots), -128);
  EXPECT_EQ(valueOf({{Kind::Argument, kB}, {Kind::ZeroExtend, 8}}, slots), 128);
  slots.a = 0xffff'8000'0000'0010;
  EXPECT_EQ(valueOf({{Kind::Argument, kA}}, slots), int64_t(slots.a)) << "a pointer has 64 bits";
}

TEST(TensorMap, ExtendingKeepsTheLowestBits) {
  const int64_t number = 0x1234'5678'9abc'def1;
  auto extended = [&](Kind kind, int64_t bits) {
    return valueOf({{Kind::Constant, number}, {kind, bits}});
  };
  EXPECT_EQ(extended(Kind::SignExtend, 1), -1);
  EXPECT_EQ(extended(Kind::ZeroExtend, 1), 1);
  EXPECT_EQ(extended(Kind::SignExtend, 16), int64_t(int16_t(0xdef1)));
  EXPECT_EQ(extended(Kind::ZeroExtend, 16), 0xdef1);
  EXPECT_EQ(extended(Kind::SignExtend, 63), number);
  EXPECT_EQ(extended(Kind::ZeroExtend, 63), number);
  EXPECT_EQ(extended(Kind::SignExtend, 64), number);
  EXPECT_EQ(extended(Kind::ZeroExtend, 64), number);
}

/// Why an array of so many rows, so many elements apart, cannot be read.
std::string problem(int64_t extent, int64_t stride, uint64_t base = 0x7f00'0000'0000,
                    int32_t elementBytes = 2) {
  TensorMap map = rows({{Kind::Argument, kL}}, {{Kind::Constant, stride}});
  map.elementBytes = elementBytes;
  Slots slots{.a = base, .l = uint64_t(extent)};
  TensorMapValues values = valuesOf(map, kArguments, slots.words().data());
  std::string text = problemOf(map, kArguments, values);
  EXPECT_EQ(isReadable(map, values), text.empty());
  return text;
}

TEST(TensorMap, BasesAreMultiplesOf16) {
  EXPECT_EQ(problem(10, 64, 0x7f00'0000'0010), "");
  EXPECT_EQ(problem(10, 64, 0x7f00'0000'0008),
            "the base 0x7f0000000008 of 'a' is no multiple of 16 bytes");
  EXPECT_EQ(problem(10, 64, 0x1001), "the base 0x1001 of 'a' is no multiple of 16 bytes");
}

TEST(TensorMap, ExtentsArePositiveAndOf31Bits) {
  EXPECT_EQ(problem(1, 64), "");
  EXPECT_EQ(problem(kLongestAxis, 64), "");
  EXPECT_NE(problem(kLongestAxis + 1, 64), "");
  const std::string tail = " elements, not 1 to 2147418112";
  EXPECT_EQ(problem(0, 64), "dimension 0 of 'a' has 0" + tail);
  EXPECT_EQ(problem(-3, 64), "dimension 0 of 'a' has -3" + tail);
  EXPECT_EQ(problem(int64_t{1} << 31, 64), "dimension 0 of 'a' has 2147483648" + tail);
  EXPECT_EQ(problem(INT64_MIN, 64), "dimension 0 of 'a' has -9223372036854775808" + tail);
  TensorMap map = rows({{Kind::Constant, 8}}, {{Kind::Constant, 64}});
  map.extents[1].steps = {{Kind::Constant, 0}};
  EXPECT_EQ(problemOf(map, kArguments, valuesOf(map, kArguments, Slots().words().data())),
            "dimension 1 of 'a' has 0" + tail)
      << "the last one, too";
  map.extents[1].steps = {{Kind::Constant, kEndlessAxis}};
  EXPECT_EQ(problemOf(map, kArguments, valuesOf(map, kArguments, Slots().words().data())), "")
      << "code may say that an axis ends nowhere; an argument may not";
}

TEST(TensorMap, StridesArePositiveMultiplesOf16Bytes) {
  EXPECT_EQ(problem(10, 8), "") << "rows may overlap";
  EXPECT_EQ(problem(10, 72), "");
  EXPECT_EQ(problem(10, 68), "elements in dimension 0 of 'a' lie 68 elements apart, which are 136 "
                             "bytes and no multiple of 16");
  EXPECT_EQ(problem(10, 68, 0x1000, 4), "");
  EXPECT_EQ(problem(10, 68, 0x1000, 1), "elements in dimension 0 of 'a' lie 68 elements apart, "
                                        "which are 68 bytes and no multiple of 16");
  EXPECT_EQ(problem(10, 0),
            "elements in dimension 0 of 'a' lie 0 elements apart, not in ascending order");
  EXPECT_EQ(problem(10, -64),
            "elements in dimension 0 of 'a' lie -64 elements apart, not in ascending order");
  EXPECT_EQ(problem(10, (int64_t{1} << 39) - 8), "");
  EXPECT_EQ(problem(10, int64_t{1} << 39), "elements in dimension 0 of 'a' lie 549755813888 "
                                           "elements apart, which is not below 2^40 bytes");
  EXPECT_EQ(problem(10, INT64_MAX - 7), "elements in dimension 0 of 'a' lie 9223372036854775800 "
                                        "elements apart, which is not below 2^40 bytes")
      << "which has fewer bits in bytes";
}

TEST(TensorMap, InTheLastDimensionElementsAreNeighbours) {
  TensorMap map = rows({{Kind::Constant, 8}}, {{Kind::Constant, 64}});
  map.strides[1].steps = {{Kind::Argument, kI}};
  auto problemFor = [&](uint64_t stride) {
    return problemOf(map, kArguments, valuesOf(map, kArguments, Slots{.i = stride}.words().data()));
  };
  EXPECT_EQ(problemFor(1), "");
  EXPECT_EQ(problemFor(8), "elements in dimension 1 of 'a' lie 8 elements apart, not side by side");
}

TEST(TensorMap, BoxesAreWhatTheEngineCopies) {
  auto isGood = [](const std::function<void(TensorMap &)> &change) {
    TensorMap map = rows({{Kind::Constant, 8}}, {{Kind::Constant, 64}});
    change(map);
    return areWellFormed({&map, 1}, kArguments);
  };
  EXPECT_TRUE(isGood([](TensorMap &) {}));
  EXPECT_TRUE(isGood([](TensorMap &map) { map.box = {256, 8}; }));
  EXPECT_FALSE(isGood([](TensorMap &map) { map.box = {257, 8}; }));
  EXPECT_FALSE(isGood([](TensorMap &map) { map.box = {0, 8}; }));
  EXPECT_FALSE(isGood([](TensorMap &map) { map.box = {1, 12}; })) << "24 bytes";
  EXPECT_FALSE(isGood([](TensorMap &map) { map.swizzleBytes = 64; })) << "rows of 128 bytes";
  EXPECT_TRUE(isGood([](TensorMap &map) {
    map.swizzleBytes = 64;
    map.box = {16, 32};
  }));
  // One more than the stack holds.
  EXPECT_FALSE(isGood([](TensorMap &map) {
    Steps deep(LaunchExpression::kMostNumbers + 1, {Kind::Constant, 3});
    deep.resize(2 * LaunchExpression::kMostNumbers + 1, {Kind::Add, 0});
    map.extents[0].steps = deep;
  }));
}

} // namespace
