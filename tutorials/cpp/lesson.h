//===-- lesson.h - what all lessons need besides Sectile ----------------------------------===//
// Random data, a stop watch, and the comparison with a reference. Nothing here is part of Sectile.
//
// Lessons run on the first GPU, or else on the CPU. To stay on the CPU beside a GPU:
//   CUDA_VISIBLE_DEVICES= build/tutorials/01_vector_add
#pragma once

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sectile/device.h>
#include <string>
#include <vector>

namespace lesson {

/// `--quick`: small sizes, no timing.
inline bool isQuick(int argc, char **argv) {
  return argc > 1 && !std::strcmp(argv[1], "--quick");
}

/// Normally distributed numbers, the same in every run.
inline std::vector<float> randomNumbers(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(generator);
  return numbers;
}

/// Seconds one call takes: the best of several, after a first one that may compile. Launches on a
/// GPU are queued, so many go into one measurement there.
template <class Work>
double secondsOf(sectile::Device device, const Work &work) {
  using Clock = std::chrono::steady_clock;
  const int calls = device.isGpu() ? 20 : 1;
  work();
  device.synchronize();
  double best = 1e30, total = 0;
  for (int round = 0; round < 100 && (round < 3 || total < 0.5); ++round) {
    auto start = Clock::now();
    for (int call = 0; call < calls; ++call)
      work();
    device.synchronize();
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds / calls);
    total += seconds;
  }
  return best;
}

/// Of a plain loop, on one thread of the CPU.
template <class Work>
double secondsOf(const Work &work) {
  return secondsOf(sectile::Device::cpu(), work);
}

/// Keeps the optimiser from dropping a plain loop whose result nobody reads.
inline void keep(const void *data) {
  asm volatile("" : : "r"(data) : "memory");
}

/// The largest difference from the float64 reference, relative to the largest reference; NaN if one
/// is.
inline double errorOf(const std::vector<float> &got, const std::vector<double> &expected) {
  double difference = 0, scale = 0;
  for (size_t index = 0; index < expected.size(); ++index) {
    double here = std::abs(double(got[index]) - expected[index]);
    if (std::isnan(here))
      return here;
    difference = std::max(difference, here);
    scale = std::max(scale, std::abs(expected[index]));
  }
  return difference / scale;
}

/// Prints the verdict; ends the lesson when the result is wrong.
inline void check(const std::string &what, double error, double tolerance) {
  if (!(error <= tolerance)) {
    std::printf("%s: WRONG, off by %.1e of the largest element (allowed: %.1e)\n", what.c_str(),
                error, tolerance);
    std::exit(1);
  }
  std::printf("%s: within %.1e of the float64 result\n", what.c_str(), error);
}

} // namespace lesson
