#include "KernelCases.h"

#include "Assemble.h"
#include "Numbers.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace sectile::amdisa {
namespace {

/// The buffers and arguments of one launch.
class Launch {
public:
  template <class T>
  Launch &array(std::vector<T> &values) {
    buffers.add(values.data(), values.size() * sizeof(T));
    arguments.push_back(Argument::of(values.data()));
    return *this;
  }
  Launch &number(int32_t value) {
    arguments.push_back(Argument::of(value));
    return *this;
  }
  /// "" or the error.
  std::string run(const CodeObject &object, const Shape &shape) {
    auto done = amdisa::run(object, "kernel", shape, arguments, buffers,
                            {.seed = 1, .maxInstructions = 1'000'000});
    return done ? "" : llvm::toString(done.takeError());
  }
  std::string run(const CodeObject &object, uint32_t groups, uint32_t items) {
    return run(object, {.groups = {groups, 1, 1}, .items = {items, 1, 1}});
  }

private:
  Buffers buffers;
  std::vector<Argument> arguments;
};

std::vector<float> randomFloats(size_t count) {
  std::mt19937 random(uint32_t(count) + 17);
  std::uniform_real_distribution<float> distribution(-4, 4);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(random);
  return values;
}

/// The first element that differs, or "".
template <class T, class U>
std::string compare(const std::vector<T> &found, const std::vector<U> &expected,
                    double relative = 0) {
  for (size_t index = 0; index < expected.size(); ++index) {
    double difference = std::fabs(double(found[index]) - double(expected[index]));
    if (!(difference <= relative * std::fabs(double(expected[index]))))
      return llvm::formatv("wrong: element {0} is {1}, expected {2}", index, double(found[index]),
                           double(expected[index]));
  }
  return "";
}

std::string checkAdd(const CodeObject &object) {
  constexpr int n = 1000;
  std::vector<float> x = randomFloats(n), y = randomFloats(n), out(n, -1), expected(n);
  for (int i = 0; i < n; ++i)
    expected[i] = x[i] + y[i];
  std::string problem = Launch().array(x).array(y).array(out).number(n).run(object, 4, 256);
  return problem.empty() ? compare(out, expected) : problem;
}

std::string checkSoftmax(const CodeObject &object) {
  std::vector<float> x = randomFloats(3 * 256), out(3 * 256), tops(3 * 256), maxima(3 * 256);
  std::vector<double> expected(3 * 256);
  for (int row = 0; row < 3; ++row) {
    auto begin = x.begin() + row * 256;
    std::fill_n(maxima.begin() + row * 256, 256, *std::max_element(begin, begin + 256));
    double sum = 0;
    for (int i = 0; i < 256; ++i)
      sum += std::exp(double(x[row * 256 + i]));
    for (int i = 0; i < 256; ++i)
      expected[row * 256 + i] = std::exp(double(x[row * 256 + i])) / sum;
  }
  std::string problem = Launch().array(x).array(out).array(tops).run(object, 3, 256);
  if (problem.empty())
    problem = compare(tops, maxima);
  return problem.empty() ? compare(out, expected, 4e-6) : problem;
}

std::string checkTranspose(const CodeObject &object) {
  std::vector<int32_t> x(16 * 48), out(3 * 256), expected(3 * 256);
  std::iota(x.begin(), x.end(), 1000);
  for (int tile = 0; tile < 3; ++tile)
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 16; ++column)
        expected[tile * 256 + column * 16 + row] = x[row * 48 + tile * 16 + column];
  std::string problem = Launch().array(x).array(out).number(48).run(object, 3, 256);
  return problem.empty() ? compare(out, expected) : problem;
}

std::string checkLoop(const CodeObject &object) {
  std::vector<float> x = randomFloats(1024);
  std::vector<double> out(256), expected(256);
  for (int i = 0; i < 256; ++i)
    for (int j = 0; j < 37; ++j)
      expected[i] += double(x[(i * 7 + j * 5) % 1024]) / (j + 1);
  std::string problem = Launch().array(x).array(out).number(37).run(object, 1, 256);
  return problem.empty() ? compare(out, expected) : problem;
}

std::string checkHistogram(const CodeObject &object) {
  constexpr int n = 700;
  std::mt19937 random(5);
  std::vector<uint8_t> bytes(n);
  std::vector<int32_t> counters(256), expected(256);
  std::vector<float> total(1), sum(1);
  for (uint8_t &byte : bytes) {
    byte = uint8_t(random() % 64);
    ++expected[byte];
    sum[0] += byte;
  }
  std::string problem =
      Launch().array(bytes).array(counters).array(total).number(n).run(object, 3, 256);
  if (problem.empty())
    problem = compare(counters, expected);
  return problem.empty() ? compare(total, sum) : problem;
}

std::string checkAbi(const CodeObject &object) {
  std::vector<int32_t> out(128 * 12, -1), more(128), expected;
  for (int item = 0; item < 128; ++item)
    more[item] = 5 * item + 3;
  for (int gz = 0; gz < 2; ++gz)
    for (int gy = 0; gy < 3; ++gy)
      for (int gx = 0; gx < 2; ++gx)
        for (int item = 0; item < 128; ++item)
          expected.push_back(1000000 * gz + 100000 * gy + 10000 * gx + 1000 * (item / 32) +
                             100 * (item / 8 % 4) + 10 * (item % 8) + 2 + 7 * (item % 16) +
                             (item % 2 ? item : more[item]));
  std::string problem = Launch().array(out).number(7).array(more).run(
      object, {.groups = {2, 3, 2}, .items = {8, 4, 4}});
  return problem.empty() ? compare(out, expected) : problem;
}

std::string checkHandOver(const CodeObject &object) {
  std::vector<int32_t> exchanged(256, -1), out(256), expected(256);
  for (int item = 0; item < 256; ++item)
    expected[item] = 3 * (255 - item) + 1;
  std::string problem = Launch().array(exchanged).array(out).run(object, 1, 256);
  return problem.empty() ? compare(out, expected) : problem;
}

std::string checkExchange(const CodeObject &object) {
  std::vector<uint32_t> counter(1), count(1);
  std::vector<uint64_t> wide(2);
  std::vector<double> real(2);
  for (int item = 0; item < 2 * 256; ++item)
    count[0] = count[0] * 3 + 1;
  std::string problem = Launch().array(counter).array(wide).array(real).run(object, 2, 256);
  if (problem.empty())
    problem = compare(counter, count);
  if (problem.empty())
    problem = compare(wide, std::vector<uint64_t>{255, 2 * 32640});
  return problem.empty() ? compare(real, std::vector<double>{2 * 32640, -255}) : problem;
}

/// a has a value of its own in every place; b has one k at a time, so that no permutation of k
/// which a and b share, and no exchange of rows and columns, gives the right answer.
std::string checkMatrix(const CodeObject &object, unsigned lanes) {
  unsigned rows = lanes == 64 ? 32 : 16, k = 48;
  for (unsigned hot : {0u, 1u, 2u, 5u, 7u, 8u, 12u, 19u, 35u, 47u}) {
    std::vector<uint16_t> a(rows * k), b(rows * k);
    std::vector<float> d(rows * rows, -1), expected(rows * rows);
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned i = 0; i < k; ++i) {
        a[row * k + i] = halfFromFloat(float(row * k + i));
        b[row * k + i] = halfFromFloat(i == hot ? float(row + 1) : 0);
      }
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < rows; ++column)
        expected[row * rows + column] = float(row * k + hot) * float(column + 1);
    std::string problem = Launch()
                              .array(a)
                              .array(b)
                              .array(d)
                              .number(int32_t(k / (lanes == 64 ? 8 : 16)))
                              .run(object, 1, lanes);
    if (problem.empty())
      problem = compare(d, expected);
    if (!problem.empty())
      return problem;
  }
  return "";
}

} // namespace

std::vector<KernelCase> kernelCases(const ChipUnderTest &chip) {
  unsigned lanes = chip.lanes;
  return {{"add", addKernel(), checkAdd},
          {"softmax", softmaxKernel(lanes), checkSoftmax},
          {"transpose", transposeKernel(), checkTranspose},
          {"loop", loopKernel(), checkLoop},
          {"histogram", histogramKernel(), checkHistogram},
          {"hand over", handOverKernel(), checkHandOver},
          {"abi", abiKernel(), checkAbi, /*isTight=*/false},
          {"exchange", exchangeKernel(), checkExchange, /*isTight=*/false},
          {"matrix", matrixKernel(chip),
           [lanes](const CodeObject &object) { return checkMatrix(object, lanes); }}};
}

std::string checkObject(const KernelCase &test, llvm::Expected<std::string> relocatable) {
  if (!relocatable)
    return llvm::toString(relocatable.takeError());
  auto linked = link(*relocatable, "kernel");
  if (!linked)
    return llvm::toString(linked.takeError());
  auto object = CodeObject::load(*linked);
  return object ? test.check(**object) : llvm::toString(object.takeError());
}

} // namespace sectile::amdisa
