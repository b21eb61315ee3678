// runtime: what the runtime itself costs, kernels that do nothing aside. One table, times in
// nanoseconds.
#include "jit/launch/Specialization.h"
#include "tests/jit/FakeCompiler.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using namespace sectile;
using namespace sectile::jit;
using Clock = std::chrono::steady_clock;

namespace {

/// Median over batches, per call.
double nanoseconds(int callsPerBatch, const std::function<void()> &call) {
  std::vector<double> batches;
  for (int batch = 0; batch < 101; ++batch) {
    auto start = Clock::now();
    for (int i = 0; i < callsPerBatch; ++i)
      call();
    batches.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
                      callsPerBatch);
  }
  std::nth_element(batches.begin(), batches.begin() + 50, batches.end());
  return batches[50];
}

void row(const char *what, double nanoseconds) {
  std::printf("%-58s %10.0f\n", what, nanoseconds);
}

} // namespace

int main() {
  test::TemporaryFolder folder;
  RuntimeOptions options;
  options.cacheDirectory = folder.path;
  options.compiler = std::make_shared<test::FakeCompiler>();
  Runtime runtime(options);
  std::shared_ptr<const Kernel> kernel = runtime.getKernel(test::fakeRequest("addValue 0")).kernel;

  std::vector<int64_t> data(1 << 20);
  std::vector<ParameterPolicy> policies;
  std::vector<ArgumentValue> values;
  for (int i = 0; i < 8; ++i) {
    policies.push_back({"x" + std::to_string(i)});
    values.push_back(i < 4 ? ArgumentValue::pointer(lang::DType::pointer(lang::ScalarKind::Float32),
                                                    data.data() + i)
                           : ArgumentValue::integer(i * 100));
  }
  Specializer specializer("k", policies);
  KernelTable table;
  {
    BoundArguments bound;
    (void)specializer.bind(values, bound);
    bound.addOption(4);
    table.insert(bound, kernel);
  }
  row("specialise 8 arguments and find the kernel", nanoseconds(1000, [&] {
        BoundArguments bound;
        (void)specializer.bind(values, bound);
        bound.addOption(4);
        if (!table.find(bound))
          std::abort();
      }));
  uint64_t slots[] = {reinterpret_cast<uintptr_t>(data.data())};
  auto launch = [&](int64_t programs) {
    return [&, programs] {
      if (!kernel->launch({programs}, slots).ok())
        std::abort();
    };
  };
  row("launch, 1 program", nanoseconds(1000, launch(1)));
  row("launch, 2 programs that do nothing", nanoseconds(1000, launch(2)));
  row("launch, 1000 programs that do nothing", nanoseconds(100, launch(1000)));
  row("launch, 100,000 programs that do nothing, back to back", nanoseconds(10, launch(100'000)));
  row("the same after 1 ms of idleness, the pause not counted",
      nanoseconds(1, [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        launch(100'000)();
      }) - nanoseconds(1, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }));
  row("get a kernel from memory",
      nanoseconds(100, [&] { (void)runtime.getKernel(test::fakeRequest("addValue 0")); }));
  row("get a kernel from disk, new runtime", nanoseconds(1, [&] {
        Runtime fresh(options);
        if (fresh.getKernel(test::fakeRequest("addValue 0")).origin != KernelResult::Origin::Disk)
          std::abort();
      }));
  return 0;
}
