/* Calls every kernel of kernels.py from C99, and compares with double. argv[1]: the archive, or
 * none for the one that is linked. */
#include "nn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 9, COLUMNS = 300, M = 50, N = 70, K = 33 };

/* Arrays begin at multiples of 16 bytes. */
typedef union floats {
  float at[8192];
  long double alignment;
} floats;
typedef union halves {
  uint16_t at[8192];
  long double alignment;
} halves;

static floats x, y, z, bias;
static halves narrow, narrow_out;
static uint32_t state = 1;

static float random_number(void) {
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 16777216.0f * 4.0f - 2.0f;
}
static void fill(float *array, int count) {
  int i;
  for (i = 0; i < count; ++i)
    array[i] = random_number();
}
static float of_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float number;
  memcpy(&number, &wide, sizeof number);
  return number;
}

static int failed(const char *what) {
  printf("%s: %s\n", what, sectile_error_text());
  return 1;
}
static int check(const char *what, double worst, double allowed) {
  if (worst <= allowed)
    return 0;
  printf("%s: error %g, allowed %g\n", what, worst, allowed);
  return 1;
}

static int try_softmax(const nn_kernels *nn) {
  int row, i, wide;
  double worst = 0;
  sectile_grid grid = {ROWS, 1, 1};
  fill(x.at, ROWS * COLUMNS);
  for (i = 0; i < ROWS * COLUMNS; ++i) {
    uint32_t bits;
    memcpy(&bits, &x.at[i], sizeof bits);
    narrow.at[i] = (uint16_t)(bits >> 16);
  }
  if (nn_softmax(nn, sectile_cpu(), NULL, grid, SECTILE_F32, y.at, x.at, COLUMNS, COLUMNS) ||
      nn_softmax(nn, sectile_cpu(), NULL, grid, SECTILE_BF16, narrow_out.at, narrow.at, COLUMNS,
                 COLUMNS))
    return failed("softmax");
  for (wide = 0; wide < 2; ++wide, worst = 0) {
    for (row = 0; row < ROWS; ++row) {
      double sum = 0;
      for (i = row * COLUMNS; i < (row + 1) * COLUMNS; ++i)
        sum += exp(wide ? (double)x.at[i] : (double)of_bf16(narrow.at[i]));
      for (i = row * COLUMNS; i < (row + 1) * COLUMNS; ++i)
        worst = fmax(worst, fabs(wide ? exp((double)x.at[i]) / sum - (double)y.at[i]
                                      : exp((double)of_bf16(narrow.at[i])) / sum -
                                            (double)of_bf16(narrow_out.at[i])));
    }
    if (check("softmax", worst, wide ? 1e-7 : 1e-4))
      return 1;
  }
  return 0;
}

static int try_layer_norm(const nn_kernels *nn) {
  int row, i, has_bias;
  fill(x.at, ROWS * COLUMNS);
  fill(bias.at, COLUMNS);
  for (has_bias = 0; has_bias < 2; ++has_bias) {
    double worst = 0;
    if (nn_layer_norm(nn, sectile_cpu(), NULL, y.at, x.at, has_bias ? bias.at : NULL, ROWS, COLUMNS,
                      1e-5f))
      return failed("layer_norm");
    for (row = 0; row < ROWS; ++row) {
      const float *in = &x.at[row * COLUMNS];
      double mean = 0, square = 0;
      for (i = 0; i < COLUMNS; ++i)
        mean += (double)in[i] / (double)COLUMNS;
      for (i = 0; i < COLUMNS; ++i)
        square += ((double)in[i] - mean) * ((double)in[i] - mean) / (double)COLUMNS;
      for (i = 0; i < COLUMNS; ++i)
        worst = fmax(worst,
                     fabs(((double)in[i] - mean) / sqrt(square + 1e-5) +
                          (has_bias ? (double)bias.at[i] : 0) - (double)y.at[row * COLUMNS + i]));
    }
    if (check("layer_norm", worst, 2e-6))
      return 1;
  }
  return 0;
}

static int try_matmul(const nn_kernels *nn) {
  int i, j, k;
  double worst = 0;
  fill(x.at, M * K);
  fill(y.at, K * N);
  if (nn_matmul(nn, sectile_cpu(), NULL, z.at, x.at, y.at, M, N, K))
    return failed("matmul");
  for (i = 0; i < M; ++i)
    for (j = 0; j < N; ++j) {
      double sum = 0;
      for (k = 0; k < K; ++k)
        sum += (double)x.at[i * K + k] * (double)y.at[k * N + j];
      worst = fmax(worst, fabs(sum - (double)z.at[i * N + j]));
    }
  return check("matmul", worst, 3e-5);
}

/* A block that begins in row 2, column 16 of a matrix of 7 x 20 numbers in rows of 24. */
static int try_descriptors(const nn_kernels *nn) {
  enum { TALL = 7, WIDE = 20, ROW = 24 };
  const int64_t shape[2] = {TALL, WIDE};
  sectile_descriptor in = sectile_descriptor_of(SECTILE_F32, x.at, 2, shape), out = in;
  int i, j;
  out.base = y.at;
  in.strides[0] = out.strides[0] = ROW;
  in.bytes = out.bytes = TALL * ROW * sizeof(float);
  fill(x.at, TALL * ROW);
  for (i = 0; i < TALL * ROW; ++i)
    y.at[i] = 7;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in))
    return failed("twice");
  for (i = 0; i < TALL; ++i)
    for (j = 0; j < ROW; ++j) {
      const int is_inside = i >= 2 && j >= 16 && j < WIDE;
      const float expected = is_inside ? 2 * x.at[i * ROW + j] : 7;
      if (memcmp(&y.at[i * ROW + j], &expected, sizeof expected))
        return printf("twice: [%d, %d]\n", i, j), 1;
    }
  in.strides[0] = 21;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL ||
      sectile_error_argument() != 1 ||
      !strstr(sectile_error_text(), "twice: argument 'x': strides[0] is 21 elements, 84 bytes"))
    return failed("twice with unaligned rows");
  in.strides[0] = ROW;
  in.bytes -= (ROW - WIDE) * sizeof(float) + 1;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL ||
      !strstr(sectile_error_text(), "reaches from element 0 to 163 of base, which has 163"))
    return failed("twice beyond its array");
  in.bytes = 0;
  in.block_shape[0] = 8, in.block_shape[1] = 32;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL ||
      !strstr(sectile_error_text(),
              "blocks and padding, only for fp64[8, 16] nan, fp32[8, 16] nan"))
    return failed("twice with other blocks");
  in.block_shape[1] = 16, in.pads_with_nan = 1;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in))
    return failed("twice with its blocks");
  in.pads_with_nan = 0;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL)
    return failed("twice with zeros outside");
  in.block_shape[0] = 0;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL)
    return failed("twice with half a block");
  in.block_shape[1] = 0;
  out.pads_with_nan = 1;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL)
    return failed("twice with a padding that is not there");
  out.pads_with_nan = 0;
  in.shape[0] = INT64_MAX, in.bytes = 64;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL ||
      !strstr(sectile_error_text(), "to 2^63 or beyond of base"))
    return failed("twice of a huge array");
  in.shape[0] = TALL, in.bytes = 0;
  in.rank = 1;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL)
    return failed("twice with one dimension");
  in.rank = 6;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL ||
      !strstr(sectile_error_text(), "its rank is 6, not 1 to 5"))
    return failed("twice with six dimensions");
  in.size = 0;
  if (nn_twice(nn, sectile_cpu(), NULL, &out, &in) != SECTILE_ERROR_CALL ||
      nn_twice(nn, sectile_cpu(), NULL, &out, NULL) != SECTILE_ERROR_CALL)
    return failed("twice with nothing");
  return 0;
}

/* A chain of loads and stores whose order matters where the arrays share memory. */
static int try_overlaps(const nn_kernels *nn) {
  const int64_t length = 31;
  int i, is_described;
  for (is_described = 0; is_described < 2; ++is_described) {
    sectile_descriptor out = sectile_descriptor_of(SECTILE_F32, y.at, 1, &length),
                       kept = sectile_descriptor_of(SECTILE_F32, y.at + 4, 1, &length),
                       in = sectile_descriptor_of(SECTILE_F32, x.at, 1, &length);
    float expected[64];
    for (i = 0; i < 64; ++i)
      x.at[i] = (float)i, expected[i] = y.at[i] = (float)(100 + i);
    {
      int turn, at;
      for (turn = 0; turn < 3; ++turn) {
        float v[16], s[16];
        memcpy(v, x.at, sizeof v);
        memcpy(s, expected + 4, sizeof s);
        for (at = 0; at < 16; ++at)
          expected[at] = v[at] + s[at];
        memcpy(expected + 4, v, sizeof v);
      }
    }
    if (is_described
            ? nn_chain(nn, sectile_cpu(), NULL, &out, &in, &kept, 3)
            : nn_chain_of_arrays(nn, sectile_cpu(), NULL, y.at, 124, x.at, 124, y.at + 4, 124, 3))
      return failed("chain");
    if (memcmp(expected, y.at, sizeof expected))
      return printf("chain: %d\n", is_described), 1;
  }
  return 0;
}

static int try_numbers(const nn_kernels *nn) {
  union {
    uint64_t at[2];
    long double alignment;
  } out = {{0, 0}};
  if (nn_wide(nn, sectile_cpu(), NULL, out.at, 5, 3, 0.5) || out.at[0] != 5 + 3 + 1)
    return failed("wide");
  if (nn_wide(nn, sectile_cpu(), NULL, out.at, UINT64_MAX - 9, 3, 0.5) ||
      out.at[0] != UINT64_MAX - 5)
    return failed("wide beyond int64_t");
  return 0;
}

static int try_bounds(const nn_kernels *nn) {
  fill(x.at, 64);
  memset(y.at, 0, sizeof y.at);
  if (nn_checked(nn, sectile_cpu(), NULL, y.at, 256, x.at, 256, 5) ||
      nn_checked(nn, sectile_cpu(), NULL, y.at, SECTILE_UNKNOWN_BYTES, x.at, UINT64_MAX - 5, 5))
    return failed("checked");
  if (memcmp(x.at, y.at, 256))
    return puts("checked: wrong"), 1;
  if (nn_checked(nn, sectile_cpu(), NULL, y.at, 256, x.at, 252, 5) != SECTILE_ERROR_TRAP ||
      !strstr(sectile_error_text(), "index 63 of argument 'x', which has 63 elements"))
    return failed("checked beyond its array");
  if (nn_checked(nn, sectile_cpu(), NULL, y.at, 0, x.at, 256, 5) != SECTILE_ERROR_TRAP ||
      !strstr(sectile_error_text(), "index 0 of argument 'out', which has 0 elements") ||
      nn_checked(nn, sectile_cpu(), NULL, y.at, 256, x.at, 0, 5) != SECTILE_ERROR_TRAP ||
      !strstr(sectile_error_text(), "index 0 of argument 'x', which has 0 elements"))
    return failed("checked of an empty array");
  return 0;
}

static int try_errors(nn_kernels *nn) {
  union {
    int32_t at[4];
    long double alignment;
  } out = {{0}};
  sectile_grid grid = {1, 1, 1};
  if (nn_delete(nn, sectile_cpu(), NULL, out.at, 5, "down", 1))
    return failed("delete");
  if (out.at[0] != -4)
    return printf("delete: %d\n", (int)out.at[0]), 1;
  if (nn_softmax(nn, sectile_cpu(), NULL, grid, SECTILE_F64, y.at, x.at, 5, 5) !=
          SECTILE_ERROR_CALL ||
      sectile_error_argument() != 0 || !strstr(sectile_error_text(), "out: *fp64:16 instead of"))
    return failed("an error was expected");
  nn_close(nn);
  if (nn_delete(nn, sectile_cpu(), NULL, out.at, 5, "down", 1) != SECTILE_ERROR_CLOSED)
    return failed("the archive is closed");
  return 0;
}

int main(int argc, char **argv) {
  nn_kernels nn;
#ifdef LINKED
  (void)argc, (void)argv;
  if (nn_open_linked(&nn))
#else
  if (nn_open(&nn, argc > 1 ? argv[1] : "nn.sectile"))
#endif
    return failed("open");
  if (try_softmax(&nn) || try_layer_norm(&nn) || try_matmul(&nn) || try_descriptors(&nn) ||
      try_bounds(&nn) || try_overlaps(&nn) || try_numbers(&nn) || try_errors(&nn))
    return 1;
  puts("correct: true");
  return 0;
}
