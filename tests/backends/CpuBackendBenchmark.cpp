// Figures, not checks: sectile_tests --gtest_also_run_disabled_tests
// --gtest_filter='*CpuBackendBenchmark*'
#include "HostKernelHarness.h"
#include "KernelTexts.h"

#include <chrono>
#include <cstdio>
#include <map>

using namespace sectile::testing;

namespace {

using Clock = std::chrono::steady_clock;

/// Of this thread: other work on the machine does not count.
double cpuMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

double sinceMilliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

TEST(CpuBackendBenchmark, DISABLED_compile_times) {
  for (auto [name, text] :
       {std::pair<const char *, const char *>{"vector add", kVectorAdd}, {"softmax", kSoftmax}})
    for (int block : {1024, 65536}) {
      std::map<std::string, double> best;
      double bestTotal = 1e9;
      for (int repeat = 0; repeat < 8; ++repeat) {
        std::map<std::string, double> steps;
        double start = cpuMilliseconds();
        HostKernelUnderTest kernel(
            withBlock(text, block), {}, {},
            [&](llvm::StringRef step, double seconds) { steps[step.str()] += seconds * 1e3; });
        ASSERT_TRUE(kernel.compiled()) << kernel.diagnostics();
        double total = cpuMilliseconds() - start;
        if (total < bestTotal) {
          bestTotal = total;
          best = steps;
        }
      }
      std::printf("%-12s %6d: %5.2f ms of processor time, all; by the clock:", name, block,
                  bestTotal);
      for (auto &[step, milliseconds] : best)
        std::printf("  %s %.2f", step.c_str(), milliseconds);
      std::printf("\n");
    }
}

TEST(CpuBackendBenchmark, DISABLED_run_times) {
  auto measure = [](const char *name, double perRun, auto run) {
    double best = 1e9;
    auto start = Clock::now();
    while (sinceMilliseconds(start) < 200) {
      auto before = Clock::now();
      run();
      best = std::min(best, sinceMilliseconds(before));
    }
    std::printf("%-28s %8.3f us\n", name, best * 1e3 / perRun);
  };
  {
    HostKernelUnderTest kernel(withBlock(kSoftmax, 1024));
    int rows = 64, n = 1000, stride = 1024;
    std::vector<float> x(rows * stride, 0.5f), out(rows * stride);
    measure("softmax 1000 of 1024", rows, [&] {
      kernel.run({rows}, {argument(x), argument(out), argument(stride), argument(n)});
    });
  }
  {
    HostKernelUnderTest kernel(withBlock(kSoftmax, 65536));
    int rows = 4, n = 65000, stride = 65536;
    std::vector<float> x(rows * stride, 0.5f), out(rows * stride);
    measure("softmax 65000 of 65536", rows, [&] {
      kernel.run({rows}, {argument(x), argument(out), argument(stride), argument(n)});
    });
  }
  for (int n : {16000, 16384}) {
    HostKernelUnderTest kernel(withBlock(kVectorAdd, 1024));
    std::vector<float> x(n, 0.5f), y(n, 1), out(n);
    int programs = (n + 1023) / 1024;
    measure("vector add, a block of 1024", programs, [&] {
      kernel.run({programs}, {argument(x), argument(y), argument(out), argument(n)});
    });
  }
}

} // namespace
