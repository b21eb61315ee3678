// Lesson 1: adding two vectors.
//
// A kernel describes what *one program* does to *one tile*: here, a run of BLOCK consecutive
// elements. The grid says how many programs run; each learns its number from program_id and works
// out which elements are its own. Programs run in any order and at the same time.
//
// The function given to `kernel` looks like it computes. In truth it runs once, before anything is
// computed, and every operation it performs on tiles is recorded; the recording is compiled for the
// machine at hand and then runs for each program of the grid. Const parameters are plain numbers
// while recording; the others get their values at the launch.
//
// It runs on the GPU if there is one, else on the CPU: a launch goes where its buffers are, and the
// kernel's text is the same.
//
// Run it: build/tutorials/01_vector_add      (the same kernel in Python: 01_vector_add.py)

#include "lesson.h"

#include <sectile/sectile.h>
using namespace sectile;

int main(int argc, char **argv) try {
  auto add = kernel("add", [](Ptr<const f32> x_ptr, Ptr<const f32> y_ptr, Ptr<f32> out_ptr,
                              i32 count, Const<int> BLOCK) {
    // This program's elements: BLOCK consecutive indices. The last tile may reach past the end,
    // so loads and stores carry a mask: where it is false, memory is not touched.
    auto index = program_id(0) * BLOCK + arange(0, BLOCK);
    auto inside = index < count;
    auto x = load(x_ptr + index, inside);
    auto y = load(y_ptr + index, inside);
    store(out_ptr + index, x + y, inside);
  });

  const bool quick = lesson::isQuick(argc, argv);
  const int count = quick ? 98'765 : 10'000'001; // on purpose no multiple of the block
  auto x = lesson::randomNumbers(count, 1), y = lesson::randomNumbers(count, 2);

  const Device device = Device::best(); // the first GPU, or else the CPU
  DeviceBuffer<float> xThere(device, x), yThere(device, y), outThere(device, count);

  // A GPU runs thousands of programs at once; a thread of a CPU does best with long runs of memory.
  const int block = device.isGpu() ? 1024 : 16384;
  // One program for each block. For a Ptr, vectors, spans and plain pointers may be passed, too.
  auto sum = [&] {
    add.launch({cdiv(count, block)}, xThere, yThere, outThere, count, Const{block});
  };
  sum();
  std::vector<float> out = outThere.download(); // waits for the kernel

  std::vector<double> expected(count);
  for (int i = 0; i < count; ++i)
    expected[i] = double(x[i]) + double(y[i]);
  lesson::check("vector add on " + device.description() + ", " + std::to_string(count) +
                    " float32 elements",
                lesson::errorOf(out, expected), 1e-7);
  if (quick)
    return 0;

  double seconds = lesson::secondsOf(device, sum);
  double plainSeconds = lesson::secondsOf([&] {
    for (int i = 0; i < count; ++i)
      out[i] = x[i] + y[i];
    lesson::keep(out.data());
  });
  double gigabytes = 3.0 * 4 * count / 1e9; // two vectors read, one written
  std::printf("  Sectile %5.1f GB/s, plain C++ loop %5.1f GB/s  (%.2fx)\n", gigabytes / seconds,
              gigabytes / plainSeconds, plainSeconds / seconds);
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
