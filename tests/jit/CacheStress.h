//===-- CacheStress.h - many processes on one cache folder, some killed -----------------------===//
// Each process, in every round, wants a random variant through a runtime of its own (so the disk is
// read), launches it and checks what it computed. Some damage or delete a file now and then. The
// parent kills processes at random moments and starts others. The cap is small, so files are
// evicted all along.
#pragma once

#include "FakeCompiler.h"

#include <chrono>
#include <random>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <vector>

namespace sectile::jit::test {

struct CacheStressOptions {
  int processes = 4;
  int rounds = 20;
  int variants = 24;
  double maximalSeconds = 60;
};

struct CacheStressResult {
  /// Rounds finished, launches that gave another value, kernels that could not be had.
  int64_t rounds = 0, wrong = 0, errors = 0;
  int64_t diskHits = 0, compiles = 0, damaged = 0;
  int killed = 0, crashed = 0;
};

inline CacheStressResult runCacheStress(const CacheStressOptions &options) {
  struct Shared {
    std::atomic<int64_t> rounds, wrong, errors, diskHits, compiles, damaged;
  };
  auto *shared = static_cast<Shared *>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  TemporaryFolder folder;
  testBinary(0); // read once, before the forks
  auto work = [&](unsigned seed) {
    std::minstd_rand random(seed);
    for (int round = 0; round < options.rounds; ++round) {
      RuntimeOptions runtimeOptions;
      runtimeOptions.cacheDirectory = folder.path;
      runtimeOptions.cacheBytes = uint64_t(options.variants) * 16384;
      runtimeOptions.compiler = std::make_shared<FakeCompiler>();
      runtimeOptions.threadCount = 1;
      Runtime runtime(runtimeOptions);
      for (int step = 0; step < 4; ++step) {
        int variant = static_cast<int>(random() % options.variants);
        KernelResult result = runtime.getKernel(fakeRequest("addValue " + std::to_string(variant)));
        if (!result.kernel) {
          ++shared->errors;
          continue;
        }
        shared->diskHits += result.origin == KernelResult::Origin::Disk;
        shared->compiles += result.origin == KernelResult::Origin::Compiled;
        int64_t out = 0;
        uint64_t slots[] = {reinterpret_cast<uintptr_t>(&out)};
        if (!result.kernel->launch({1}, slots).ok() || out != variant)
          ++shared->wrong;
      }
      if (random() % 16 == 0) {
        // What a failing disk or an interrupted copy does.
        std::string pattern = folder.path + "/*" + "0123456789abcdef"[random() % 16] + ".kernel";
        std::string command = random() % 2 ? "truncate -s 3000 " : "rm -f ";
        (void)!std::system((command + pattern + " 2>/dev/null").c_str());
        ++shared->damaged;
      }
      ++shared->rounds;
    }
  };

  CacheStressResult result;
  std::minstd_rand random(12345);
  std::vector<pid_t> running;
  int started = 0;
  auto start = [&] {
    pid_t child = ::fork();
    if (child == 0) {
      work(static_cast<unsigned>(::getpid()));
      ::_exit(0);
    }
    running.push_back(child);
    ++started;
  };
  for (int i = 0; i < options.processes; ++i)
    start();
  auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(options.maximalSeconds);
  while (!running.empty()) {
    bool late = std::chrono::steady_clock::now() > deadline;
    for (size_t i = 0; i < running.size();) {
      int status = 0;
      if (::waitpid(running[i], &status, WNOHANG) == 0) {
        if (late)
          ::kill(running[i], SIGKILL);
        ++i;
        continue;
      }
      bool wasKilled = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      result.crashed += !wasKilled && status != 0;
      running.erase(running.begin() + static_cast<long>(i));
      if (wasKilled && !late)
        start();
    }
    ::usleep(3000);
    if (!running.empty() && random() % 8 == 0 && started < 4 * options.processes) {
      ::kill(running[random() % running.size()], SIGKILL);
      ++result.killed;
    }
  }
  result.rounds = shared->rounds;
  result.wrong = shared->wrong;
  result.errors = shared->errors;
  result.diskHits = shared->diskHits;
  result.compiles = shared->compiles;
  result.damaged = shared->damaged;
  ::munmap(shared, sizeof(Shared));
  return result;
}

} // namespace sectile::jit::test
