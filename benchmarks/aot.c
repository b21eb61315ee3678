/* What an archive of kernels costs a C program; benchmarks/aot.py compiles and runs it.
 *
 *   aot ARCHIVE cpu|cuda [CUBIN]      prints "name value" lines, times in nanoseconds
 *
 * CUBIN: the code of one variant, for launches by the driver alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sectile/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(double *times, int count) {
  qsort(times, (size_t)count, sizeof *times, ascending);
  return times[count / 2];
}
static void must(int condition, const char *what) {
  if (condition)
    return;
  fprintf(stderr, "%s: %s\n", what, sectile_error_text());
  exit(1);
}

/*-- Kernel::launch: aot_peer.cpp ------------------------------------------------------------------*/

void *peer_bind(const char *archive, int is_gpu, void *out, void *x, long n, long block);
int peer_launch(const void *bound);

/*-- NVIDIA's driver ---------------------------------------------------------------------------*/

typedef int (*Call)();
static void *driver;
static Call of_driver(const char *name) {
  Call call = (Call)dlsym(driver, name);
  must(call != NULL, name);
  return call;
}

/*-- Measurements --------------------------------------------------------------------------------*/

/* So few calls in a batch that a GPU's queue has room for them. */
enum { CALLS = 200, BATCHES = 301, WORDS = 1 << 16 };
static sectile_device device;
static char *memory; /* of the device */
static Call synchronize;

static sectile_status launch(const sectile_kernel *kernel, sectile_type type, int64_t n) {
  sectile_arg args[4];
  sectile_grid grid = {1, 1, 1};
  args[0] = sectile_pointer(type, memory);
  args[1] = sectile_pointer(type, memory + 8 * WORDS / 2);
  args[2] = sectile_integer(n);
  args[3] = sectile_integer(16);
  return sectile_launch(kernel, device, NULL, &grid, args, 4);
}

static void finish(void) {
  if (synchronize)
    synchronize();
}

/* What is compared, in turn: a batch of each, then the next of each. */
typedef struct Contender {
  const char *name;
  int (*call)(void); /* 0 when it worked */
  double times[BATCHES];
} Contender;

static const sectile_kernel *add;
static sectile_bound *bound;
static Call start_kernel, start_kernel_ex, get_current;
static void *function, *parameters[3];
static unsigned threads;

static int launch_once(void) {
  return launch(add, SECTILE_F32, 3);
}
static int run_once(void) {
  return sectile_run(bound);
}
static void *peer;
static int peer_once(void) {
  return peer_launch(peer);
}
static int drive_once(void) {
  return start_kernel(function, 1u, 1u, 1u, threads, 1u, 1u, 0u, NULL, parameters, NULL);
}
/* What the driver is asked for by any program that does not know which device is current. */
static int drive_ex_once(void) {
  struct {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned attribute_count;
  } config = {{1, 1, 1}, {0, 1, 1}, 0, NULL, NULL, 0};
  void *current = NULL;
  config.block[0] = threads;
  return get_current(&current) || start_kernel_ex(&config, function, parameters, NULL);
}

static void compare(Contender *contenders, int count) {
  int batch, call, i;
  for (batch = 0; batch < BATCHES; ++batch)
    for (i = 0; i < count; ++i) {
      double start = now();
      for (call = 0; call < CALLS; ++call)
        must(!contenders[i].call(), contenders[i].name);
      contenders[i].times[batch] = (now() - start) / CALLS;
      finish();
    }
  for (i = 0; i < count; ++i)
    printf("%s %.1f\n", contenders[i].name, median(contenders[i].times, BATCHES));
}

int main(int argc, char **argv) {
  double times[101];
  int i, count = 0;
  sectile_archive *archive = NULL;
  const sectile_kernel *kernel;
  const int is_gpu = argc > 2 && !strcmp(argv[2], "cuda");
  device = is_gpu ? sectile_cuda(0) : sectile_cpu();
  if (is_gpu) {
    void *context = NULL;
    unsigned long long address = 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    must(driver != NULL, "libcuda.so.1");
    of_driver("cuInit")(0);
    of_driver("cuDevicePrimaryCtxRetain")(&context, 0);
    of_driver("cuCtxSetCurrent")(context);
    must(!of_driver("cuMemAlloc_v2")(&address, (size_t)(8 * WORDS)), "cuMemAlloc");
    memory = (char *)(uintptr_t)address;
    synchronize = of_driver("cuCtxSynchronize");
  } else {
    must(!posix_memalign((void **)&memory, 64, 8 * WORDS), "posix_memalign");
    memset(memory, 0, 8 * WORDS);
  }

  for (i = 0; i < 101; ++i) {
    double start = now();
    must(!sectile_open(argv[1], &archive), "open");
    times[i] = now() - start;
    if (i < 100)
      sectile_close(archive);
  }
  printf("open %.1f\n", median(times, 101));
  kernel = sectile_find(archive, "add");
  printf("variants %zu\n", sectile_variant_count(kernel));

  must(!launch(kernel, SECTILE_F32, 3), "launch"); /* the driver and the threads are there */
  finish();
  {
    const sectile_type types[] = {SECTILE_F16,  SECTILE_F64, SECTILE_I32, SECTILE_I64,
                                  SECTILE_BF16, SECTILE_I8,  SECTILE_I16, SECTILE_U8};
    for (i = 0; i < 8; ++i) {
      double start = now();
      must(!launch(kernel, types[i], 3), "launch");
      times[count++] = now() - start;
      finish();
    }
    printf("first %.1f\n", median(times, count));
  }

  {
    static Contender contenders[] = {
        {"launch", launch_once, {0}},      {"kernel", peer_once, {0}},
        {"run", run_once, {0}},            {"driver", drive_once, {0}},
        {"driver_ex", drive_ex_once, {0}},
        {"driver_again", drive_once, {0}}, /* how far two figures of one thing are apart */
    };
    const int has_driver = is_gpu && argc > 4;
    sectile_arg args[4];
    sectile_grid grid = {1, 1, 1};
    static void *out, *x;
    static int32_t n = 3;
    add = kernel;
    args[0] = sectile_pointer(SECTILE_F32, memory);
    args[1] = sectile_pointer(SECTILE_F32, memory + 8 * WORDS / 2);
    args[2] = sectile_integer(n);
    args[3] = sectile_integer(16);
    must(!sectile_bind(kernel, device, NULL, &grid, args, 4, &bound), "bind");
    peer = peer_bind(argv[1], is_gpu, memory, memory + 8 * WORDS / 2, n, 16);
    must(peer && !peer_launch(peer), "Kernel::launch");
    if (has_driver) {
      void *module = NULL;
      Call load = of_driver("cuModuleLoad");
      double start = now();
      must(!load(&module, argv[3]), "cuModuleLoad");
      printf("driver_load %.1f\n", now() - start);
      must(!of_driver("cuModuleGetFunction")(&function, module, "add"), "cuModuleGetFunction");
      start_kernel = of_driver("cuLaunchKernel");
      start_kernel_ex = of_driver("cuLaunchKernelEx");
      get_current = of_driver("cuCtxGetCurrent");
      threads = (unsigned)atoi(argv[4]);
      out = memory;
      x = memory + 8 * WORDS / 2;
      parameters[0] = &out;
      parameters[1] = &x;
      parameters[2] = &n;
    }
    compare(contenders, has_driver ? 6 : 3);
    sectile_release(bound);
  }
  sectile_close(archive);
  return 0;
}
