// Example 11 in C++17: calls kernels that were written in Python and compiled into this program.
#include "nn.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  nn::Kernels nn;
  if (auto status = nn.openLinked(); !status.ok())
    return std::puts(status.text()), 1;

  constexpr int rows = 64, columns = 781;
  std::vector<float> x(rows * columns), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i * 7919 % 1000) / 100;
  if (auto status = nn.softmax({sectile_cpu()}, y.data(), x.data(), rows, columns); !status.ok())
    return std::puts(status.text()), 1;

  double worst = 0;
  for (int row = 0; row < rows; ++row) {
    const float *in = &x[row * columns], *out = &y[row * columns];
    double sum = 0;
    for (int i = 0; i < columns; ++i)
      sum += std::exp(double(in[i]));
    for (int i = 0; i < columns; ++i)
      worst = std::fmax(worst, std::fabs(std::exp(double(in[i])) / sum - double(out[i])));
  }
  std::printf("correct: %s\n", worst < 1e-6 ? "true" : "false");
  return worst < 1e-6 ? 0 : 1;
}
