//===-- DescriptorTest.cpp - descriptors of arrays as arguments of C++ launches ---------------===//
#include <algorithm>
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sectile/sectile.h>

using namespace sectile;
using testing::HasSubstr;

namespace {

/// Numbers that begin at a multiple of 64 bytes, as allocations of vectors may not.
struct Numbers {
  explicit Numbers(size_t count, float first = 0) : held(count + 16) {
    while (reinterpret_cast<uintptr_t>(held.data() + shift) % 64 != 0)
      ++shift;
    numbers = std::span(held).subspan(shift, count);
    std::iota(numbers.begin(), numbers.end(), first);
  }
  std::vector<float> held;
  size_t shift = 0;
  std::span<float> numbers;
};

const auto twice = kernel("twice", {"x", "out"},
                          [](TensorDescriptorOf<const f32, 2> x, TensorDescriptorOf<f32, 2> out) {
                            auto i = program_id(0) * x.block_shape(0);
                            loop(range(0, x.shape(1), x.block_shape(1)),
                                 [&](i32 j) { out.store({i, j}, x.load({i, j}) * 2); });
                          });

TEST(CppDescriptor, ReadsAndWritesBlocks) {
  for (int rows : {1, 16, 37}) {
    Numbers x(size_t(rows) * 64), out(size_t(rows) * 80, -7);
    std::ranges::fill(out.numbers, -1.0f);
    twice.launch({cdiv(rows, 16)}, HostDescriptor(x.numbers, {rows, 64}, {16, 32}),
                 HostDescriptor(out.numbers, {rows, 64}, {80, 1}, {16, 32}));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < 80; ++j)
        ASSERT_EQ(out.numbers[i * 80 + j], j < 64 ? 2 * x.numbers[i * 64 + j] : -1.0f)
            << i << ", " << j << " of " << rows;
  }
}

TEST(CppDescriptor, SizesAreArgumentsAndBlocksConstants) {
  auto copy = kernel("copy", [](TensorDescriptorOf<f32, 1> x, TensorDescriptorOf<f32, 1> out) {
    out.store({0}, x.load({0}));
  });
  Numbers x(64), out(64);
  auto launch = [&](int count, int block, const char *padding) {
    copy.launch({1}, HostDescriptor(x.numbers, {count}, {block}, padding),
                HostDescriptor(out.numbers, {64}, {block}));
  };
  launch(50, 64, "zero");
  EXPECT_EQ(out.numbers[49], 49);
  EXPECT_EQ(out.numbers[50], 0);
  launch(51, 64, "zero");
  EXPECT_EQ(out.numbers[50], 50);
  EXPECT_EQ(copy.variants().size(), 1u);
  launch(50, 64, "nan");
  EXPECT_TRUE(std::isnan(out.numbers[50]));
  EXPECT_EQ(copy.variants().size(), 2u);
  launch(50, 32, "zero");
  EXPECT_EQ(copy.variants().size(), 3u);
}

TEST(CppDescriptor, IsBoundAndReplaced) {
  Numbers x(64), y(64, 100), out(64);
  auto run = twice.bind({1}, HostDescriptor(x.numbers, {4, 16}, {4, 16}),
                        HostDescriptor(out.numbers, {4, 16}, {4, 16}));
  run();
  EXPECT_EQ(out.numbers[3], 6);
  run.set<0>(HostDescriptor(y.numbers, {4, 16}, {4, 16}));
  run();
  EXPECT_EQ(out.numbers[3], 206);
  run.set<1>(HostDescriptor(x.numbers, {4, 16}, {4, 16}));
  run();
  EXPECT_EQ(x.numbers[3], 206);
}

TEST(CppDescriptor, IsCompiledAhead) {
  auto fill = kernel("fill", [](i32 n, TensorDescriptorOf<f32, 2> out, Const<int> VALUE) {
    out.store({0, 0}, full<f32>({4, 16}, float(VALUE)) + to<f32>(n));
  });
  Numbers out(64);
  HostDescriptor described(out.numbers, {4, 16}, {4, 16});
  EXPECT_EQ(fill.precompile(oneOf(anyValue, 1), described, oneOf(Const{1}, Const{2})).size(), 4u);
  fill.launch({1}, 5, described, Const{2});
  EXPECT_EQ(fill.variants().size(), 4u);
  EXPECT_EQ(out.numbers[63], 7);
  try {
    fill.precompile(anyValue, anyValue, Const{1});
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("takes a descriptor, not a kind"));
  }
}

TEST(CppDescriptor, KnowsWhatItDescribes) {
  auto look = kernel("look", [](TensorDescriptorOf<f32, 3> x, Ptr<i64> out) {
    EXPECT_EQ(x.block_shape(2), 16);
    EXPECT_EQ(x.dtype(), dtypeOf<f32>);
    for (int dim = 0; dim < 3; ++dim) {
      store(out + dim, x.shape(dim));
      store(out + 3 + dim, x.stride(dim));
    }
  });
  Numbers x(256);
  std::vector<int64_t> out(6);
  look.launch({1}, HostDescriptor(x.numbers, {2, 3, 5}, {128, 16, 1}, {1, 1, 16}), out);
  EXPECT_THAT(out, testing::ElementsAre(2, 3, 5, 128, 16, 1));

  auto beyond =
      kernel("beyond", [](TensorDescriptorOf<f32, 3> x, Ptr<i64> out) { store(out, x.shape(3)); });
  try {
    beyond.launch({1}, HostDescriptor(x.numbers, {2, 3, 5}, {128, 16, 1}, {1, 1, 16}), out);
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no dimension 3, it has 3"));
    EXPECT_THAT(error.what(), HasSubstr("DescriptorTest.cpp"));
  }
}

TEST(CppDescriptor, OfConstElementsIsOnlyRead) {
  auto wrong =
      kernel("wrong", [](TensorDescriptorOf<const f32, 1> x) { x.store({0}, zeros<f32>({16})); });
  Numbers x(16);
  const std::span<const float> constant = x.numbers;
  try {
    wrong.launch({1}, HostDescriptor(constant, {16}, {16}));
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Kernel);
    EXPECT_THAT(error.what(), HasSubstr("const"));
  }
}

struct Refusal {
  const char *name;
  std::function<void(std::span<float>)> make;
  const char *message;
};
void PrintTo(const Refusal &refusal, std::ostream *stream) {
  *stream << refusal.name;
}
class CppDescriptorRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(CppDescriptorRefusal, NamesArgumentValueAndRule) {
  Numbers x(64);
  try {
    GetParam().make(x.numbers);
    FAIL() << "was accepted";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::Call);
    EXPECT_EQ(std::string(error.what()).substr(0, std::string(error.what()).find('\n')),
              GetParam().message);
  }
}

#define REFUSAL(name, message, ...)                                                                \
  Refusal {                                                                                        \
    name, [](std::span<float> x) { __VA_ARGS__; }, message                                         \
  }
INSTANTIATE_TEST_SUITE_P(
    All, CppDescriptorRefusal,
    testing::Values(
        REFUSAL("extent", "HostDescriptor: shape [4, 0] should be positive numbers",
                HostDescriptor(x, {4, 0}, {4, 1}, {2, 4})),
        REFUSAL("block", "HostDescriptor: block_shape [2, -4] should be positive numbers",
                HostDescriptor(x, {4, 4}, {2, -4})),
        REFUSAL("last_stride", "HostDescriptor: the last of strides [4, 2] should be 1",
                HostDescriptor(x, {4, 4}, {4, 2}, {2, 4})),
        REFUSAL("stride",
                "HostDescriptor: strides[0] is 9 elements, 36 bytes, and should be a multiple of "
                "16 bytes",
                HostDescriptor(x, {4, 9}, {2, 4})),
        REFUSAL("length",
                "HostDescriptor: shape [5, 16] with strides [16, 1] reaches from element 0 to 79 "
                "of base, which has 64 elements",
                HostDescriptor(x, {5, 16}, {2, 4})),
        REFUSAL("below",
                "HostDescriptor: shape [2, 16] with strides [-16, 1] reaches from element -16 to "
                "15 of base, which has 64 elements",
                HostDescriptor(x, {2, 16}, {-16, 1}, {2, 4})),
        REFUSAL("padding", "HostDescriptor: padding 'one' is neither 'zero' nor 'nan'",
                HostDescriptor(x, {64}, {64}, "one")),
        REFUSAL("null", "HostDescriptor: base is null",
                HostDescriptor(static_cast<float *>(nullptr), {64}, {64})),
        REFUSAL("nan_of_integers",
                "HostDescriptor: padding 'nan' is for floating-point numbers, not for i32",
                auto none = kernel("none", [](TensorDescriptorOf<i32, 1>) {});
                none.launch({1},
                            HostDescriptor(reinterpret_cast<int *>(x.data()), {64}, {64}, "nan")))),
    [](const auto &info) { return info.param.name; });

TEST(CppDescriptor, RefusesAnUnalignedBase) {
  Numbers x(64);
  try {
    HostDescriptor(x.numbers.subspan(1), {32}, {32});
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("HostDescriptor: base begins at address 0x"));
    EXPECT_THAT(error.what(),
                HasSubstr("which is no multiple of 16 bytes\n  help: begin the view"));
  }
}

} // namespace
