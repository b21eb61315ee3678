// Whole kernels, compiled by LLVM for every chip, linked by LLD and run: results against the
// host's.
#include "Assemble.h"
#include "Machine.h"
#include "Numbers.h"
#include "TestKernels.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace sectile::amdisa {
namespace {

class AmdIsaKernel : public ::testing::TestWithParam<ChipUnderTest> {
protected:
  /// What is wrong with the run, or "".
  std::string run(const std::string &ir, const Shape &shape, std::vector<Argument> arguments) {
    auto object = compile(ir, GetParam().name);
    if (!object)
      return llvm::toString(object.takeError());
    auto linked = link(*object, "kernel");
    if (!linked)
      return llvm::toString(linked.takeError());
    auto loaded = CodeObject::load(*linked);
    if (!loaded)
      return llvm::toString(loaded.takeError());
    auto done = amdisa::run(**loaded, "kernel", shape, arguments, buffers);
    return done ? "" : llvm::toString(done.takeError());
  }

  template <class T>
  Argument array(std::vector<T> &values) {
    buffers.add(values.data(), values.size() * sizeof(T));
    return Argument::of(values.data());
  }

  std::vector<float> randomFloats(size_t count, float spread = 4) {
    std::uniform_real_distribution<float> distribution(-spread, spread);
    std::vector<float> values(count);
    for (float &value : values)
      value = distribution(random);
    return values;
  }

  Buffers buffers;
  std::mt19937 random{17};
};

TEST_P(AmdIsaKernel, adds_what_lies_inside) {
  constexpr int n = 1000;
  std::vector<float> x = randomFloats(n), y = randomFloats(n), out(n, -1);
  ASSERT_EQ(run(addKernel(), {.groups = {4, 1, 1}, .items = {256, 1, 1}},
                {array(x), array(y), array(out), Argument::of(n)}),
            "");
  for (int i = 0; i < n; ++i)
    EXPECT_EQ(out[i], x[i] + y[i]) << i;
}

TEST_P(AmdIsaKernel, names_lane_and_address_of_an_access_outside) {
  std::vector<float> x = randomFloats(255), y = randomFloats(256), out(256);
  std::string problem = run(addKernel(), {.groups = {1, 1, 1}, .items = {256, 1, 1}},
                            {array(x), array(y), array(out), Argument::of(256)});
  EXPECT_NE(problem.find("kernel, work-group (0, 0, 0), wave "), std::string::npos) << problem;
  EXPECT_NE(problem.find("global_load"), std::string::npos) << problem;
  EXPECT_NE(problem.find(GetParam().lanes == 64 ? "lane 63" : "lane 31"), std::string::npos)
      << problem;
  EXPECT_NE(problem.find("is byte 1020 of a buffer of 1020 bytes"), std::string::npos) << problem;
}

TEST_P(AmdIsaKernel, softmax) {
  std::vector<float> x = randomFloats(3 * 256), out(3 * 256);
  ASSERT_EQ(run(softmaxKernel(GetParam().lanes), {.groups = {3, 1, 1}, .items = {256, 1, 1}},
                {array(x), array(out)}),
            "");
  for (int row = 0; row < 3; ++row) {
    double sum = 0;
    for (int i = 0; i < 256; ++i)
      sum += std::exp(double(x[row * 256 + i]));
    for (int i = 0; i < 256; ++i) {
      double expected = std::exp(double(x[row * 256 + i])) / sum;
      EXPECT_NEAR(out[row * 256 + i], expected, expected * 4e-6) << row << " " << i;
    }
  }
}

TEST_P(AmdIsaKernel, transposes_through_lds) {
  std::vector<int32_t> x(16 * 48), out(3 * 256);
  std::iota(x.begin(), x.end(), 1000);
  ASSERT_EQ(run(transposeKernel(), {.groups = {3, 1, 1}, .items = {256, 1, 1}},
                {array(x), array(out), Argument::of(48)}),
            "");
  for (int tile = 0; tile < 3; ++tile)
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 16; ++column)
        EXPECT_EQ(out[tile * 256 + column * 16 + row], x[row * 48 + tile * 16 + column]);
}

TEST_P(AmdIsaKernel, loops_and_divides_in_double) {
  std::vector<float> x = randomFloats(1024);
  std::vector<double> out(256);
  ASSERT_EQ(run(loopKernel(), {.items = {256, 1, 1}}, {array(x), array(out), Argument::of(37)}),
            "");
  for (int i = 0; i < 256; ++i) {
    double sum = 0;
    for (int j = 0; j < 37; ++j)
      sum += double(x[(i * 7 + j * 5) % 1024]) / (j + 1);
    EXPECT_EQ(out[i], sum) << i;
  }
}

TEST_P(AmdIsaKernel, counts_by_atomics) {
  constexpr int n = 700;
  std::vector<uint8_t> bytes(n);
  std::vector<int32_t> counters(256), expected(256);
  std::vector<float> total(1);
  float sum = 0;
  for (uint8_t &byte : bytes) {
    byte = uint8_t(random() % 64);
    ++expected[byte];
    sum += byte;
  }
  ASSERT_EQ(run(histogramKernel(), {.groups = {3, 1, 1}, .items = {256, 1, 1}},
                {array(bytes), array(counters), array(total), Argument::of(n)}),
            "");
  EXPECT_EQ(counters, expected);
  EXPECT_EQ(total[0], sum);
}

TEST_P(AmdIsaKernel, multiplies_matrices_with_one_k_at_a_time) {
  unsigned rows = GetParam().lanes == 64 ? 32 : 16, k = 48;
  std::string kernel = matrixKernel(GetParam());
  for (unsigned hot : {0u, 1u, 2u, 5u, 7u, 8u, 12u, 19u, 35u, 47u}) {
    std::vector<uint16_t> a(rows * k), b(rows * k);
    std::vector<float> d(rows * rows, -1);
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned i = 0; i < k; ++i) {
        a[row * k + i] = halfFromFloat(float(row * k + i));
        b[row * k + i] = halfFromFloat(i == hot ? float(row + 1) : 0);
      }
    buffers = {};
    ASSERT_EQ(run(kernel, {.items = {GetParam().lanes, 1, 1}},
                  {array(a), array(b), array(d),
                   Argument::of(int32_t(k / (GetParam().lanes == 64 ? 8 : 16)))}),
              "");
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < rows; ++column)
        EXPECT_EQ(d[row * rows + column], halfToFloat(a[row * k + hot]) * float(column + 1))
            << hot << " " << row << " " << column;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, AmdIsaKernel, ::testing::ValuesIn(kChips),
                         [](const auto &chip) { return std::string(chip.param.name); });

} // namespace
} // namespace sectile::amdisa
