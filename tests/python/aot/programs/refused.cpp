// Calls the functions of c.h while memory is refused: at the first allocation of a call, at the
// second one, ... until the call gets all that it needs. Nothing may throw, end the process, or
// stay locked, and in the end everything works.
#include "nn.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static thread_local long granted = -1; // allocations until one is refused; below 0: all are granted
static thread_local bool wasRefused = false;
static std::atomic<bool> isAllRefused{false}; // to all threads

static void *allocate(std::size_t size, std::size_t alignment = 0) {
  if (granted == 0 || isAllRefused.load(std::memory_order_relaxed)) {
    wasRefused = true;
    return nullptr;
  }
  if (granted > 0)
    --granted;
  if (alignment)
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return std::malloc(size ? size : 1);
}
static void *allocateOrThrow(std::size_t size, std::size_t alignment = 0) {
  if (void *made = allocate(size, alignment))
    return made;
  throw std::bad_alloc();
}
void *operator new(std::size_t size) {
  return allocateOrThrow(size);
}
void *operator new[](std::size_t size) {
  return allocateOrThrow(size);
}
void *operator new(std::size_t size, std::align_val_t alignment) {
  return allocateOrThrow(size, std::size_t(alignment));
}
void *operator new[](std::size_t size, std::align_val_t alignment) {
  return allocateOrThrow(size, std::size_t(alignment));
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  return allocate(size);
}
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept {
  return allocate(size);
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete[](void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

static int refusals = 0;

/// Makes the call with ever more memory, until it gets what it needs; then it has to return
/// `expected`.
template <class Call>
static void withLittleMemory(const char *what, sectile_status expected, const Call &call) {
  for (long count = 0;; ++count) {
    granted = count;
    wasRefused = false;
    const sectile_status status = call();
    granted = -1;
    if (status == expected)
      return; // perhaps in spite of a refusal, where memory was not needed
    if (!wasRefused || status != SECTILE_ERROR_RESOURCES ||
        !std::strstr(sectile_error_text(), "no more memory")) {
      std::printf("%s, %ld allocations: %d, %s\n", what, count, int(status), sectile_error_text());
      std::exit(1);
    }
    ++refusals;
    if (count > 100000) {
      std::printf("%s: there is no end\n", what);
      std::exit(1);
    }
  }
}

int main() {
  alignas(16) static float x[100], y[100];
  for (int i = 0; i < 100; ++i)
    x[i] = float(i) * 0.01f;
  size_t size = 0;
  const void *bytes = nn_archive_data(&size);
  sectile_archive *archive = nullptr;
  withLittleMemory("open", SECTILE_OK,
                   [&] { return sectile_open_memory(bytes, size, "nn", &archive); });
  withLittleMemory("open a file", SECTILE_ERROR_MACHINE, [&] {
    sectile_archive *none = nullptr;
    return sectile_open("/a/file/that/is/not/there/and/has/a/long/name", &none);
  });
  const sectile_kernel *softmax = sectile_find(archive, "softmax");
  withLittleMemory("find", SECTILE_ERROR_CALL, [&]() -> sectile_status {
    if (sectile_find(archive, "a_kernel_that_is_not_there"))
      return SECTILE_OK;
    return std::strstr(sectile_error_text(), "no kernel 'a_kernel") ? SECTILE_ERROR_CALL
                                                                    : SECTILE_ERROR_RESOURCES;
  });

  const auto launch = [&](sectile_type type, int64_t columns) {
    const sectile_grid grid = {1, 1, 1};
    const sectile_arg args[] = {sectile_pointer(type, y), sectile_pointer(type, x),
                                sectile_integer(100), sectile_integer(columns), sectile_left_out()};
    return sectile_launch(softmax, sectile_cpu(), nullptr, &grid, args, 5);
  };
  withLittleMemory("first launch", SECTILE_OK, [&] { return launch(SECTILE_F32, 100); });
  withLittleMemory("another variant", SECTILE_OK, [&] { return launch(SECTILE_F32, 96); });
  withLittleMemory("no variant", SECTILE_ERROR_CALL, [&] { return launch(SECTILE_F64, 100); });
  withLittleMemory("no choice", SECTILE_ERROR_CALL, [&] {
    const sectile_arg args[] = {sectile_text("a text that is no constant of the archive's")};
    return sectile_launch(softmax, sectile_cpu(), nullptr, nullptr, args, 1);
  });
  withLittleMemory("facts", SECTILE_OK, [&] {
    sectile_variant_info info = {};
    info.size = sizeof info;
    return sectile_get_variant(softmax, 0, &info);
  });
  sectile_bound *bound = nullptr;
  withLittleMemory("bind", SECTILE_OK, [&] {
    const sectile_grid grid = {1, 1, 1};
    const sectile_arg args[] = {sectile_pointer(SECTILE_F32, y), sectile_pointer(SECTILE_F32, x),
                                sectile_integer(100), sectile_integer(100), sectile_integer(128)};
    return sectile_bind(softmax, sectile_cpu(), nullptr, &grid, args, 5, &bound);
  });
  // Kernels that print, on several threads: what one prints waits for those before it.
  const sectile_kernel *prints = sectile_find(archive, "prints");
  const auto print = [&](int64_t programs) {
    const sectile_arg args[] = {sectile_pointer(SECTILE_F32, x), sectile_integer(programs)};
    return sectile_launch(prints, sectile_cpu(), nullptr, nullptr, args, 2);
  };
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  withLittleMemory("prints", SECTILE_OK, [&] { return print(333); });
  for (int i = 0; i < 20; ++i) {
    isAllRefused = true;
    const sectile_status status = print(333);
    isAllRefused = false;
    if (status != SECTILE_ERROR_RESOURCES)
      return std::printf("all refused: %d, %s\n", int(status), sectile_error_text()), 1;
    if (launch(SECTILE_F32, 100) != SECTILE_OK || print(77) != SECTILE_OK)
      return std::printf("afterwards: %s\n", sectile_error_text()), 1;
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal)
    if (sigismember(&before, signal) != sigismember(&after, signal))
      return std::printf("signal %d stays blocked\n", signal), 1;
  std::memset(y, 0, sizeof y);
  withLittleMemory("run", SECTILE_OK, [&] { return sectile_run(bound); });
  double sum = 0, exact = 0;
  for (int i = 0; i < 100; ++i) {
    sum += double(y[i]);
    exact += std::exp(double(x[i]));
  }
  if (std::fabs(sum - 1) > 1e-5 || std::fabs(double(y[7]) - std::exp(double(x[7])) / exact) > 1e-6)
    return std::puts("the result is wrong"), 1;
  sectile_release(bound);
  granted = 0; // nothing more
  sectile_close(archive);
  granted = -1;
  withLittleMemory("closed", SECTILE_ERROR_CLOSED, [&] { return launch(SECTILE_F32, 100); });
  if (refusals < 20)
    return std::printf("only %d refusals\n", refusals), 1;
  std::fputs("\ncorrect: true\n", stdout);
  return 0;
}
