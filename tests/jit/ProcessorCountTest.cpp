// How many threads the process may use: affinity, control groups, the user's word.
#include "FakeCompiler.h"
#include "backends/cpu/ThreadPool.h"
#include "gtest/gtest.h"

#include <fstream>
#include <thread>

using namespace sectile::cpu;

namespace {

void write(const std::string &path, const std::string &content) {
  (void)!std::system(("mkdir -p " + path.substr(0, path.rfind('/'))).c_str());
  std::ofstream(path) << content;
}

TEST(ProcessorCount, ReadsQuotasOfBothCgroupVersions) {
  sectile::jit::test::TemporaryFolder folder;
  const std::string &root = folder.path;
  EXPECT_EQ(cgroupQuota("0::/\n", root), 0u);

  write(root + "/cpu.max", "250000 100000\n");
  EXPECT_EQ(cgroupQuota("0::/\n", root), 3u) << "2.5 CPUs are rounded up";
  write(root + "/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroupQuota("0::/\n", root), 0u);
  write(root + "/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroupQuota("0::/a/b\n", root), 4u);
  write(root + "/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroupQuota("0::/a/b\n", root), 2u) << "the tightest group counts";
  EXPECT_EQ(cgroupQuota("0::/not/visible/here\n", root), 0u);

  write(root + "/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
  write(root + "/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  std::string membership = "5:memory:/job\n4:cpu,cpuacct:/job\n0::/\n";
  EXPECT_EQ(cgroupQuota(membership, root), 3u);
  write(root + "/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cgroupQuota(membership, root), 0u);
  write(root + "/cpu/cpu.cfs_quota_us", "100000\n");
  write(root + "/cpu/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(cgroupQuota("3:cpu:/seen/from/inside/a/container\n", root), 2u);
  EXPECT_EQ(cgroupQuota("nonsense\n:::\n", root), 0u);
}

TEST(ProcessorCount, ARequestWins) {
  EXPECT_EQ(usableThreadCount(3), 3u);
  EXPECT_GE(usableThreadCount(0), 1u);
  EXPECT_LE(usableThreadCount(0), std::max(1u, std::thread::hardware_concurrency()));
}

} // namespace
