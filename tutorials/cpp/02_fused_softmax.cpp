// Lesson 2: softmax in one pass over memory.
//
// Written step by step, softmax reads and writes its matrix several times: maximum, subtract,
// exponential, sum, divide. A kernel holds a row in a tile, does all five there, and touches memory
// twice: one load, one store. Fusing is what makes kernels worth writing.
//
// One program handles one row. The tile is the next power of two above the row's length; the
// surplus elements are loaded as minus infinity, which neither the maximum nor the sum notices.
//
// Run it: build/tutorials/02_fused_softmax   (in Python: 02_fused_softmax.py)

#include "lesson.h"

#include <sectile/sectile.h>
using namespace sectile;

// A kernel without captures may live anywhere; it is compiled at its first launch.
static const auto softmax_rows =
    kernel("softmax_rows", [](Ptr<f32> out_ptr, Ptr<const f32> in_ptr, i32 in_stride,
                              i32 out_stride, i32 columns, Const<int> BLOCK) {
      auto row = program_id(0);
      auto column = arange(0, BLOCK);
      auto inside = column < columns;
      auto x = load(in_ptr + row * in_stride + column, inside, -inf);
      // Subtracting the maximum keeps exp() from overflowing and changes nothing else.
      auto e = exp(x - max(x, 0));
      store(out_ptr + row * out_stride + column, e / sum(e, 0), inside);
    });

static void softmax(const DeviceBuffer<float> &x, DeviceBuffer<float> &out, int rows, int columns) {
  const int block = next_power_of_2(columns);
  // Warps of 32 threads share the row on a GPU, some 16 elements for each thread.
  softmax_rows.with({.num_warps = std::clamp(block / 512, 4, 16)})
      .launch({rows}, out, x, columns, columns, columns, Const{block});
}

/// The same in plain C++, in the precision of `T`.
template <class T>
static void plainSoftmax(const std::vector<float> &x, std::vector<T> &out, int rows, int columns) {
  for (int row = 0; row < rows; ++row) {
    const float *in = &x[size_t(row) * columns];
    T *to = &out[size_t(row) * columns];
    T greatest = in[0], total = 0;
    for (int c = 1; c < columns; ++c)
      greatest = std::max<T>(greatest, in[c]);
    for (int c = 0; c < columns; ++c)
      total += to[c] = std::exp(T(in[c]) - greatest);
    for (int c = 0; c < columns; ++c)
      to[c] /= total;
  }
}

int main(int argc, char **argv) try {
  const bool quick = lesson::isQuick(argc, argv);
  const Device device = Device::best();
  const int rows = quick ? 123 : 4096, columns = 781;
  auto x = lesson::randomNumbers(size_t(rows) * columns, 1);
  DeviceBuffer<float> xThere(device, x), outThere(device, x.size());
  softmax(xThere, outThere, rows, columns);

  std::vector<double> expected(x.size());
  plainSoftmax(x, expected, rows, columns);
  lesson::check("softmax on " + device.description() + ", " + std::to_string(rows) + " x " +
                    std::to_string(columns) + " float32",
                lesson::errorOf(outThere.download(), expected), 1e-6);
  if (quick)
    return 0;

  std::printf("  GB/s           Sectile   plain C++ loop\n");
  for (int width : {256, 781, 1024, 4096}) {
    x = lesson::randomNumbers(size_t(rows) * width, 2);
    xThere = {device, x}, outThere = {device, x.size()};
    std::vector<float> out(x.size());
    double gigabytes = 2.0 * 4 * x.size() / 1e9;
    double ours =
        gigabytes / lesson::secondsOf(device, [&] { softmax(xThere, outThere, rows, width); });
    double plain = gigabytes / lesson::secondsOf([&] { plainSoftmax(x, out, rows, width); });
    std::printf("  %d x %-5d %8.1f %8.1f  (%.1fx)\n", rows, width, ours, plain, ours / plain);
  }
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
