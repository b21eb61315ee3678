// The full size is benchmarks/cache_stress.cpp.
#include "CacheStress.h"

#include "gtest/gtest.h"

using namespace sectile::jit::test;

TEST(CacheStress, ManyProcessesSomeKilled) {
  CacheStressOptions options;
  options.processes = 8;
  options.rounds = 25;
  CacheStressResult result = runCacheStress(options);
  EXPECT_EQ(result.wrong, 0);
  EXPECT_EQ(result.errors, 0);
  EXPECT_EQ(result.crashed, 0);
  EXPECT_GE(result.rounds, options.processes * options.rounds);
  EXPECT_GT(result.killed, 0);
  EXPECT_GT(result.diskHits, 0) << "processes profit from each other";
}
