// cache_stress [processes] [rounds]: the disk cache under many processes, some killed at random
// moments. Prints one line; exits with 1 on any error or wrong result.
#include "tests/jit/CacheStress.h"

#include <cstdio>

int main(int count, char **arguments) {
  sectile::jit::test::CacheStressOptions options;
  options.processes = count > 1 ? std::atoi(arguments[1]) : 16;
  options.rounds = count > 2 ? std::atoi(arguments[2]) : 200;
  options.maximalSeconds = 600;
  auto start = std::chrono::steady_clock::now();
  sectile::jit::test::CacheStressResult result = sectile::jit::test::runCacheStress(options);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%d processes x %d rounds in %.1f s: %lld rounds, %lld disk hits, %lld compiles, %d "
              "killed, %lld times damaged: %lld errors, %lld wrong results, %d crashes\n",
              options.processes, options.rounds, seconds, static_cast<long long>(result.rounds),
              static_cast<long long>(result.diskHits), static_cast<long long>(result.compiles),
              result.killed, static_cast<long long>(result.damaged),
              static_cast<long long>(result.errors), static_cast<long long>(result.wrong),
              result.crashed);
  return result.errors || result.wrong || result.crashed;
}
