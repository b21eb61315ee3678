/* What an archive of kernels costs a C program; benchmarks/aot.py compiles and runs it.
 *
 *   aot ARCHIVE cpu|cuda [CUBIN]      prints "name value" lines, times in nanoseconds
 *
 * CUBIN: the code of one variant, for launches by the driver alone.
 */
#define _GNU_SOURCE
#include <sectile/c.h>

#include <dlfcn.h>
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

/*-- NVIDIA's driver ---------------------------------------------------------------------------*/

typedef int (*Call)();
static void *driver;
static Call of_driver(const char *name) {
  Call call = (Call)dlsym(driver, name);
  must(call != NULL, name);
  return call;
}

/*-- Measurements --------------------------------------------------------------------------------*/

enum { CALLS = 1000, BATCHES = 51, WORDS = 1 << 16 };
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

/* The median over batches of calls. */
#define EACH(name, statement)                                                                      \
  do {                                                                                             \
    double times[BATCHES];                                                                         \
    int batch, call;                                                                               \
    for (batch = 0; batch < BATCHES; ++batch) {                                                    \
      double start = now();                                                                        \
      for (call = 0; call < CALLS; ++call)                                                         \
        statement;                                                                                 \
      times[batch] = (now() - start) / CALLS;                                                      \
      finish();                                                                                    \
    }                                                                                              \
    printf("%s %.1f\n", name, median(times, BATCHES));                                             \
  } while (0)

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
    const sectile_type types[] = {SECTILE_F16, SECTILE_F64, SECTILE_I32, SECTILE_I64, SECTILE_BF16,
                                  SECTILE_I8,  SECTILE_I16, SECTILE_U8};
    for (i = 0; i < 8; ++i) {
      double start = now();
      must(!launch(kernel, types[i], 3), "launch");
      times[count++] = now() - start;
      finish();
    }
    printf("first %.1f\n", median(times, count));
  }

  EACH("launch", must(!launch(kernel, SECTILE_F32, 3), "launch"));
  {
    sectile_bound *bound = NULL;
    sectile_arg args[4];
    sectile_grid grid = {1, 1, 1};
    args[0] = sectile_pointer(SECTILE_F32, memory);
    args[1] = sectile_pointer(SECTILE_F32, memory + 8 * WORDS / 2);
    args[2] = sectile_integer(3);
    args[3] = sectile_integer(16);
    must(!sectile_bind(kernel, device, NULL, &grid, args, 4, &bound), "bind");
    EACH("run", must(!sectile_run(bound), "run"));
    sectile_release(bound);
  }
  if (is_gpu && argc > 3) {
    void *module = NULL, *function = NULL;
    void *out = memory, *x = memory + 8 * WORDS / 2;
    int32_t n = 3;
    void *parameters[] = {&out, &x, &n};
    Call load = of_driver("cuModuleLoad"), start_kernel = of_driver("cuLaunchKernel");
    double start = now();
    must(!load(&module, argv[3]), "cuModuleLoad");
    printf("driver_load %.1f\n", now() - start);
    must(!of_driver("cuModuleGetFunction")(&function, module, "add"), "cuModuleGetFunction");
    EACH("driver", must(!start_kernel(function, 1u, 1u, 1u, (unsigned)atoi(argv[4]), 1u, 1u, 0u, NULL,
                                      parameters, NULL),
                        "cuLaunchKernel"));
  }
  sectile_close(archive);
  return 0;
}
