// The pool: every program exactly once, whoever launches, from wherever.
#include "backends/cpu/ThreadPool.h"

#include "gtest/gtest.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>

using namespace sectile::cpu;

namespace {

struct Counter {
  std::vector<std::atomic<int>> seen;
  std::function<bool(int64_t)> body;
  explicit Counter(int64_t count) : seen(count) {}

  static bool run(void *context, int64_t first, int64_t last) {
    auto &self = *static_cast<Counter *>(context);
    for (int64_t program = first; program < last; ++program) {
      self.seen[program].fetch_add(1);
      if (self.body && !self.body(program))
        return false;
    }
    return true;
  }
  bool allOnce() const {
    for (const std::atomic<int> &count : seen)
      if (count != 1)
        return false;
    return true;
  }
};

bool runsAllOnce(ThreadPool &pool, int64_t count, CostEstimate &estimate) {
  Counter counter(count);
  pool.run(count, estimate, Counter::run, &counter);
  return counter.allOnce();
}

/// Programs that sleep, so that other threads get their turn even on one CPU, and who ran them.
struct SleepingPrograms {
  explicit SleepingPrograms(int64_t count) : counter(count) {
    counter.body = [this](int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      return true;
    };
  }
  void run(ThreadPool &pool, CostEstimate &estimate) {
    pool.run(int64_t(counter.seen.size()), estimate, Counter::run, &counter);
  }

  Counter counter;
  std::mutex mutex;
  std::set<std::thread::id> threads;
};

void spin(std::chrono::microseconds time) {
  auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(ThreadPool, RunsEveryProgramOnce) {
  for (unsigned threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    CostEstimate estimate{0};
    for (int64_t count : {0, 1, 2, 3, 7, 64, 1000, 100'000})
      for (int round = 0; round < 20; ++round)
        ASSERT_TRUE(runsAllOnce(pool, count, estimate)) << threads << " " << count;
  }
}

TEST(ThreadPool, SharesLongPrograms) {
  ThreadPool pool(4);
  CostEstimate estimate{0};
  for (int round = 0; round < 3; ++round) {
    SleepingPrograms programs(64);
    programs.run(pool, estimate);
    EXPECT_TRUE(programs.counter.allOnce());
    EXPECT_GT(programs.threads.size(), 1u) << "round " << round;
    EXPECT_TRUE(programs.threads.contains(std::this_thread::get_id())) << "the caller takes part";
  }
}

TEST(ThreadPool, AWrongEstimateDoesNotKeepOthersOut) {
  ThreadPool pool(4);
  CostEstimate estimate{0.001f}; // programs were very short so far
  SleepingPrograms programs(64);
  programs.run(pool, estimate);
  EXPECT_TRUE(programs.counter.allOnce());
  EXPECT_GT(programs.threads.size(), 1u);
}

TEST(ThreadPool, OneProgramRunsOnTheCaller) {
  ThreadPool pool(8);
  CostEstimate estimate{0};
  Counter counter(1);
  std::thread::id where;
  counter.body = [&](int64_t) {
    where = std::this_thread::get_id();
    return true;
  };
  pool.run(1, estimate, Counter::run, &counter);
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(ThreadPool, FailureStopsTheLaunch) {
  ThreadPool pool(4);
  CostEstimate estimate{0};
  Counter counter(1'000'000);
  counter.body = [&](int64_t program) {
    spin(std::chrono::microseconds(1));
    return program != 0;
  };
  pool.run(1'000'000, estimate, Counter::run, &counter);
  int64_t ran = 0;
  for (const std::atomic<int> &count : counter.seen) {
    EXPECT_LE(count, 1);
    ran += count;
  }
  EXPECT_LT(ran, 900'000);
  EXPECT_TRUE(runsAllOnce(pool, 1000, estimate)) << "the next launch is whole";
}

TEST(ThreadPool, SeveralThreadsLaunchAtOnce) {
  ThreadPool pool(4);
  CostEstimate estimate{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 24; ++i) // more than there are slots
    callers.emplace_back([&, i] {
      for (int round = 0; round < 100; ++round)
        failures += !runsAllOnce(pool, 1 + (i * 37 + round) % 500, estimate);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(failures, 0);
}

TEST(ThreadPool, ProgramsMayLaunch) {
  ThreadPool pool(4);
  CostEstimate outerEstimate{0}, innerEstimate{0};
  std::atomic<int> failures{0};
  for (int round = 0; round < 20; ++round) {
    Counter outer(40);
    outer.body = [&](int64_t program) {
      failures += !runsAllOnce(pool, 50 + program, innerEstimate);
      return true;
    };
    pool.run(40, outerEstimate, Counter::run, &outer);
    failures += !outer.allOnce();
  }
  EXPECT_EQ(failures, 0);
}

TEST(ThreadPool, SurvivesFork) {
  ThreadPool pool(4);
  CostEstimate estimate{0};
  ASSERT_TRUE(runsAllOnce(pool, 1000, estimate));
  pid_t child = ::fork();
  if (child == 0) {
    bool good = true;
    for (int round = 0; round < 50; ++round)
      good = good && runsAllOnce(pool, 1000, estimate);
    // Threads of its own share the work again.
    SleepingPrograms programs(32);
    CostEstimate slow{0};
    programs.run(pool, slow);
    ::_exit(good && programs.counter.allOnce() && programs.threads.size() > 1 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(runsAllOnce(pool, 1000, estimate)) << "the parent goes on";
}

TEST(ThreadPool, ForksWhileOthersLaunch) {
  ThreadPool pool(3);
  CostEstimate estimate{0};
  std::atomic<bool> done{false};
  std::atomic<int> failures{0};
  std::thread launcher([&] {
    while (!done)
      failures += !runsAllOnce(pool, 300, estimate);
  });
  for (int i = 0; i < 10; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      CostEstimate mine{0};
      ::_exit(runsAllOnce(pool, 500, mine) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  done = true;
  launcher.join();
  EXPECT_EQ(failures, 0);
}

} // namespace
