//===-- CacheProcesses.h - processes that use one cache folder, and faults for them -----------===//
#pragma once

#include "FakeCompiler.h"

#include <csignal>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <vector>

namespace sectile::jit::test {

/// Runs `body` in a child process; 0 when it returned true.
inline int inChild(const std::function<bool()> &body) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// Memory that children write to and the parent reads.
template <class T>
class SharedMemory {
public:
  SharedMemory()
      : value(static_cast<T *>(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedMemory() { ::munmap(value, sizeof(T)); }
  T *operator->() { return value; }

private:
  T *value;
};

enum class Ended { Killed, Finished, NotTraceable };

/// Runs `body` in a child process that is killed (SIGKILL) where its `step`-th system call begins
/// or ends.
inline Ended killedAtStep(int step, const std::function<void()> &body) {
  pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      ::_exit(99);
    ::raise(SIGSTOP);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status))
    return Ended::NotTraceable;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  long forwarded = 0;
  for (int at = 0;;) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, forwarded);
    ::waitpid(child, &status, 0);
    forwarded = 0;
    if (!WIFSTOPPED(status))
      return Ended::Finished;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      forwarded = WSTOPSIG(status);
    } else if (at++ == step) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return Ended::Killed;
    }
  }
}

struct StormResult {
  int64_t compiles = 0, errors = 0, wrong = 0, waits = 0, crashed = 0;
};

/// `processes` begin at one moment on one folder, and each wants all of `kernels` kernels, in an
/// order of its own. A compile takes `compileMilliseconds`.
inline StormResult runStorm(const std::string &folder, int processes, int kernels,
                            int compileMilliseconds, double waitSeconds = 1e6) {
  struct Counts {
    std::atomic<int64_t> ready, go, compiles, errors, wrong, waits;
  };
  SharedMemory<Counts> counts;
  testBinary(0); // read once, before the forks
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    pid_t child = ::fork();
    if (child) {
      children.push_back(child);
      continue;
    }
    auto compiler = std::make_shared<FakeCompiler>();
    compiler->body = [&](const CompileRequest &request) {
      ++counts->compiles;
      ::usleep(static_cast<useconds_t>(compileMilliseconds) * 1000);
      CompileResult result;
      result.irDigest = request.tileText;
      result.image = testImage("addValue", std::atoll(request.tileText.c_str() + 9));
      return result;
    };
    RuntimeOptions options;
    options.cacheDirectory = folder;
    options.cacheWaitSeconds = waitSeconds;
    options.compiler = compiler;
    options.threadCount = 1;
    Runtime runtime(options);
    ++counts->ready;
    while (!counts->go)
      ::usleep(100);
    for (int i = 0; i < kernels; ++i) {
      // Strides that have no divisor in common with the count visit every kernel.
      int stride = 1;
      for (int next = process % kernels + 1; next <= kernels + process % kernels; ++next) {
        int a = next, b = kernels;
        while (b)
          a = std::exchange(b, a % b);
        if (a == 1) {
          stride = next;
          break;
        }
      }
      int kernel = (process + i * stride) % kernels;
      KernelResult result = runtime.getKernel(fakeRequest("addValue " + std::to_string(kernel)));
      int64_t out = 0;
      uint64_t slots[] = {reinterpret_cast<uintptr_t>(&out)};
      if (!result.kernel)
        ++counts->errors;
      else if (!result.kernel->launch({1}, slots).ok() || out != kernel)
        ++counts->wrong;
    }
    counts->waits += static_cast<int64_t>(runtime.statistics().diskWaits);
    ::_exit(0);
  }
  while (counts->ready < processes)
    ::usleep(1000);
  counts->go = 1;
  StormResult result;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    result.crashed += status != 0;
  }
  result.compiles = counts->compiles;
  result.errors = counts->errors;
  result.wrong = counts->wrong;
  result.waits = counts->waits;
  return result;
}

} // namespace sectile::jit::test
