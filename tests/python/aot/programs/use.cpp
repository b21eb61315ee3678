// Calls the kernels of kernels.py from C++17, without exceptions and RTTI, too.
#include "nn.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

using sectile::aot::Bf16;

struct alignas(16) Storage {
  float x[2048], y[2048];
  Bf16 narrow[2048], out[2048];
  int32_t answer[4];
} storage;

int failed(const nn::Kernels::Status &status) {
  std::printf("%d: %s (argument %d)\n", status.code(), status.text(), status.argument());
  return 1;
}

int run() {
  nn::Kernels kernels;
  if (auto status = kernels.open("nothing.sectile"); status.ok() || !status.text()[0])
    return failed(status);
#ifdef LINKED
  auto opened = kernels.openLinked();
#else
  auto opened = kernels.open("nn.sectile");
#endif
  if (!opened.ok())
    return failed(opened);

  for (int i = 0; i < 1000; ++i) {
    storage.x[i] = float(i * 7919 % 100) / 10;
    uint32_t bits;
    std::memcpy(&bits, &storage.x[i], sizeof bits);
    storage.narrow[i].bits = uint16_t(bits >> 16);
  }
  if (auto status = kernels.softmax({}, {10}, storage.y, storage.x, 100, 100); !status.ok())
    return failed(status);
  if (auto status = kernels.softmax({sectile_cpu()}, 10, storage.out, storage.narrow, 100, 100);
      !status.ok())
    return failed(status);
  for (int row = 0; row < 10; ++row) {
    double sum = 0;
    for (int i = 0; i < 100; ++i)
      sum += std::exp(double(storage.x[row * 100 + i]));
    for (int i = 0; i < 100; ++i)
      if (std::fabs(std::exp(double(storage.x[row * 100 + i])) / sum -
                    double(storage.y[row * 100 + i])) > 1e-6)
        return std::printf("row %d\n", row), 1;
  }
  if (auto status = kernels.delete_({}, storage.answer, 5, "up", 0);
      !status.ok() || storage.answer[0] != 6)
    return failed(status);

  // Rows without gaps: of 7 x 20 numbers, a block that begins in row 2, column 16.
  sectile_descriptor in = sectile::aot::describe(storage.x, {7, 20}),
                     out = sectile::aot::describe(storage.y, {7, 20});
  storage.y[3 * 20 + 18] = 0;
  if (auto status = kernels.twice({}, out, in);
      !status.ok() || std::fabs(storage.y[3 * 20 + 18] - 2 * storage.x[3 * 20 + 18]) > 0)
    return failed(status);
  if (auto status = kernels.checked({}, storage.y, 256, storage.x, 252, 5);
      status.code() != SECTILE_ERROR_TRAP)
    return failed(status);

  auto refused = kernels.softmax({}, {1}, storage.y + 1, storage.x, 100, 100);
  if (refused.ok() || refused.argument() != 0)
    return failed(refused);
#if defined(__cpp_exceptions)
  try {
    refused.orThrow();
    return 1;
  } catch (const std::runtime_error &error) {
    if (std::strcmp(error.what(), refused.text()) != 0)
      return 1;
  }
#endif
  kernels.close();
  return kernels.delete_({}, storage.answer, 5, "up", 0).ok();
}

} // namespace

int main() {
  if (run())
    return 1;
  std::puts("correct: true");
  return 0;
}
