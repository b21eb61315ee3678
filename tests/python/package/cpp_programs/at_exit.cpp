// First launches while static destructors run, and a thread that compiles when main returns.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sectile/sectile.h>
#include <thread>
#include <vector>

using namespace sectile;

static const auto early = kernel("early", [](Ptr<f32> x) { store(x, 41); });

struct Late {
  ~Late() {
    std::vector<float> x(1);
    try {
      early.launch({1}, x); // compiled before
      std::printf("early %g\n", x[0]);
      kernel("late", [](Ptr<f32> x) { store(x, 43); }).launch({1}, x);
      std::printf("late %g\n", x[0]);
    } catch (const Error &error) {
      std::puts(error.what());
    }
    std::fflush(stdout);
  }
};

static void compileForEver(int number) {
  auto many = kernel("many", [](Ptr<f32> x, Const<int> C) {
    auto index = arange(0, 64);
    store(x + index, sin(load(x + index)) * C);
  });
  for (std::vector<float> x(64);; number += 2)
    many.launch({1}, x, Const{number});
}

int main(int, char **arguments) {
  if (std::strcmp(arguments[1], "thread") == 0) {
    std::thread(compileForEver, 0).detach();
    std::thread(compileForEver, 1).detach();
    std::this_thread::sleep_for(std::chrono::microseconds(std::atoi(arguments[2])));
    return 0;
  }
  static Late before;
  std::vector<float> x(1);
  early.launch({1}, x);
  static Late after;
}
