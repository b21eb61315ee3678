// Example 11 without Python: the engine, in C++17, which compiles nothing and has no compiler.
#include <cmath>
#include <cstdio>
#include <sectile/aot.h>

alignas(16) static float x[64 * 781], y[64 * 781];

int main(int, char **argv) {
  sectile_archive *archive = nullptr;
  if (sectile_open(argv[1], &archive) != SECTILE_OK)
    return std::puts(sectile_error_text()), 1;
  for (size_t i = 0; i < 64 * 781; ++i)
    x[i] = float(i * 7919 % 1000) / 100;

  using namespace sectile::aot;
  const float *in = x;
  Grid rows = 64;
  Status status = launch(sectile_find(archive, "softmax"), {}, &rows,
                         {pointer(y), pointer(in), sectile_integer(781), sectile_integer(1024)});
  if (!status.ok())
    return std::puts(status.text()), 1;

  double worst = 0, sum = 0;
  for (int i = 0; i < 781; ++i)
    sum += std::exp(double(x[i]));
  for (int i = 0; i < 781; ++i)
    worst = std::fmax(worst, std::fabs(std::exp(double(x[i])) / sum - double(y[i])));
  std::printf("correct: %s\n", worst < 1e-6 ? "true" : "false");
  sectile_close(archive);
  return worst < 1e-6 ? 0 : 1;
}
