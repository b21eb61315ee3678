// Lesson 4: dropout without storing a mask.
//
// Dropout zeroes a random fraction p of its input and scales the rest by 1 / (1 - p). The backward
// pass must zero the same elements; usually that means keeping a mask as large as the input. A
// counter-based generator (Philox: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC
// 2011) makes the n-th number of a seed directly from (seed, n), so the mask can be made again from
// four bytes of seed.
//
// Run it: build/tutorials/04_low_memory_dropout   (in Python: 04_low_memory_dropout.py)

#include "lesson.h"

#include <sectile/sectile.h>
using namespace sectile;

static const auto dropout_tile =
    kernel("dropout_tile", [](Ptr<const f32> x_ptr, Ptr<f32> out_ptr, i32 count, f32 p, i32 seed,
                              Const<int> BLOCK) {
      auto index = program_id(0) * BLOCK + arange(0, BLOCK);
      auto inside = index < count;
      auto x = load(x_ptr + index, inside);
      // The element's own index is the counter: whoever asks for (seed, index) gets the same
      // number.
      auto keep = rand(seed, index) > p;
      store(out_ptr + index, where(keep, x / (1 - p), 0.0), inside);
    });

static std::vector<float> dropout(const DeviceBuffer<float> &x, float p, int seed) {
  DeviceBuffer<float> out(x.device(), x.size());
  const int count = int(x.size());
  dropout_tile.launch({cdiv(count, 1024)}, x, out, count, p, seed, Const{1024});
  return out.download();
}

static int fail(const char *what) {
  std::printf("dropout: WRONG, %s\n", what);
  return 1;
}

int main(int argc, char **argv) try {
  const bool quick = lesson::isQuick(argc, argv);
  const int count = quick ? 50'001 : 5'000'001;
  const float p = 0.3f;
  const Device device = Device::best();
  auto x = lesson::randomNumbers(count, 1);
  DeviceBuffer<float> xThere(device, x);

  auto first = dropout(xThere, p, 123), again = dropout(xThere, p, 123);
  auto other = dropout(xThere, p, 512);
  if (first != again)
    return fail("the same seed must drop the same elements");
  if (first == other)
    return fail("another seed must drop others");

  std::vector<double> expected(count);
  int dropped = 0;
  for (int i = 0; i < count; ++i) {
    dropped += first[i] == 0;
    expected[i] = first[i] == 0 ? 0 : double(x[i]) / (1 - double(p));
  }
  // Five standard deviations of a binomial: a right generator fails here about once in two million.
  const double fraction = double(dropped) / count;
  if (std::abs(fraction - p) > 5 * std::sqrt(p * (1 - p) / count))
    return fail(("dropped a fraction of " + std::to_string(fraction)).c_str());
  lesson::check("dropout on " + device.description() + ", " + std::to_string(count) +
                    " elements, " + std::to_string(fraction) +
                    " of them dropped, reproducible from the seed",
                lesson::errorOf(first, expected), 1e-6);
  if (quick)
    return 0;

  std::vector<float> out(count);
  DeviceBuffer<float> outThere(device, count);
  double gigabytes = 2.0 * 4 * count / 1e9;
  double ours =
      gigabytes / lesson::secondsOf(device, [&] {
        dropout_tile.launch({cdiv(count, 1024)}, xThere, outThere, count, p, 123, Const{1024});
      });
  double plain = gigabytes / lesson::secondsOf([&] {
                   std::minstd_rand generator(123); // far simpler than Philox, and not parallel
                   const double limit = double(p) * generator.max();
                   for (int i = 0; i < count; ++i)
                     out[i] = generator() > limit ? x[i] / (1 - p) : 0;
                   lesson::keep(out.data());
                 });
  std::printf("  Sectile %.1f GB/s, plain C++ loop %.1f GB/s  (%.1fx)\n", ours, plain,
              ours / plain);
} catch (const sectile::Error &error) {
  std::printf("%s\n", error.what());
  return 1;
}
