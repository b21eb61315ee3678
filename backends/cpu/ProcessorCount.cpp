// How many threads this process may keep busy.
#include "backends/cpu/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sstream>
#include <unistd.h>

namespace sectile::cpu {
namespace {

/// Pseudo files report no size: read until the end. "" when there is none.
std::string readFile(const std::string &path) {
  std::string content;
  if (FILE *file = std::fopen(path.c_str(), "re")) {
    char buffer[1024];
    while (size_t count = std::fread(buffer, 1, sizeof buffer, file))
      content.append(buffer, count);
    std::fclose(file);
  }
  return content;
}

/// "max" or a number, in microseconds; 0 for no limit or nonsense (version 1 says -1).
double number(const std::string &text) {
  double value = std::strtod(text.c_str(), nullptr);
  return value > 0 ? value : 0;
}

double quotaOfVersion2(const std::string &folder) {
  std::istringstream fields(readFile(folder + "/cpu.max"));
  std::string quota, period;
  fields >> quota >> period;
  return number(period) > 0 ? number(quota) / number(period) : 0;
}

double quotaOfVersion1(const std::string &folder) {
  double period = number(readFile(folder + "/cpu.cfs_period_us"));
  return period > 0 ? number(readFile(folder + "/cpu.cfs_quota_us")) / period : 0;
}

/// The tightest limit from the group up to the root. In a container the path may not exist below
/// the mount point, which is then the container's own group: the walk ends there.
double tightest(const std::string &root, std::string path, double (*quota)(const std::string &)) {
  double least = 0;
  for (;;) {
    if (double found = quota(root + path); found > 0)
      least = least > 0 ? std::min(least, found) : found;
    size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.empty())
      return least;
    path.resize(slash);
  }
}

} // namespace

unsigned cgroupQuota(const std::string &membership, const std::string &mountPoint) {
  double least = 0;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    // hierarchy:controllers:path
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/")
      path.clear();
    double found = 0;
    if (controllers == ",,") {
      found = tightest(mountPoint, path, quotaOfVersion2);
    } else if (controllers.find(",cpu,") != std::string::npos) {
      std::string hierarchy = controllers.substr(1, controllers.size() - 2);
      found = tightest(mountPoint + "/" + hierarchy, path, quotaOfVersion1);
      if (found == 0)
        found = tightest(mountPoint + "/cpu", path, quotaOfVersion1);
    }
    if (found > 0)
      least = least > 0 ? std::min(least, found) : found;
  }
  return static_cast<unsigned>(std::ceil(std::min(least, 1e6)));
}

unsigned usableThreadCount(unsigned requested) {
  if (requested > 0)
    return std::min(requested, 4096u);
  unsigned count = 0;
  // Machines with more than 1024 CPUs need a larger set.
  for (int cpus = 1024; cpus <= 1 << 18 && count == 0; cpus *= 4) {
    cpu_set_t *set = CPU_ALLOC(cpus);
    size_t size = CPU_ALLOC_SIZE(cpus);
    CPU_ZERO_S(size, set);
    if (::sched_getaffinity(0, size, set) == 0)
      count = CPU_COUNT_S(size, set);
    CPU_FREE(set);
  }
  if (count == 0)
    count = static_cast<unsigned>(std::max(1l, ::sysconf(_SC_NPROCESSORS_ONLN)));
  if (unsigned quota = cgroupQuota(readFile("/proc/self/cgroup"), "/sys/fs/cgroup"))
    count = std::min(count, quota);
  return std::max(1u, count);
}

} // namespace sectile::cpu
