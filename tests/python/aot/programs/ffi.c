/* Calls a library of `sectile aot --shared` as TVM's FFI does, with structures and functions of its
 * own: the package need not be there. argv[1]: the library. */
#include <dlfcn.h>
#include <sectile/tvm_ffi.h>
#include <stdio.h>

enum { M = 5, N = 7, K = 3 };
static char raised[1024];

__attribute__((visibility("default"))) void TVMFFIErrorSetRaisedFromCStr(const char *kind,
                                                                         const char *message) {
  snprintf(raised, sizeof raised, "%s: %s", kind, message);
}

static union {
  float at[M * N + 8];
  long double alignment;
} a, b, c;
static int64_t shapes[3][2] = {{M, N}, {M, K}, {K, N}};

static sectile_ffi_tensor tensor_of(float *data, const int64_t *shape, uint8_t bits) {
  sectile_ffi_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device.type = 1;
  tensor.dimensions = 2;
  tensor.type.code = 2;
  tensor.type.bits = bits;
  tensor.type.lanes = 1;
  tensor.shape = shape;
  return tensor;
}
static sectile_ffi_value integer(int64_t number) {
  sectile_ffi_value value;
  memset(&value, 0, sizeof value);
  value.type_index = 1;
  value.value.integer = number;
  return value;
}

int main(int argc, char **argv) {
  int i, j, k;
  void *library = dlopen(argc > 1 ? argv[1] : "./libnn.so", RTLD_NOW);
  int (*matmul)(void *, const sectile_ffi_value *, int32_t, sectile_ffi_value *);
  sectile_ffi_tensor tensors[3];
  /* The library gives an object: a header of 24 bytes, then the tensor. */
  struct {
    char header[24];
    sectile_ffi_tensor tensor;
  } object;
  sectile_ffi_value values[7], result;
  if (!library)
    return puts(dlerror()), 1;
  *(void **)&matmul = dlsym(library, "__tvm_ffi_matmul");
  for (i = 0; i < M * K; ++i)
    a.at[i] = (float)(i % 5) - 1.5f;
  for (i = 0; i < K * N; ++i)
    b.at[i] = (float)(i % 7) * 0.5f;
  tensors[0] = tensor_of(c.at, shapes[0], 32);
  tensors[1] = tensor_of(a.at, shapes[1], 32);
  memset(&object, 0, sizeof object);
  object.tensor = tensor_of(b.at, shapes[2], 32);
  for (i = 0; i < 2; ++i) {
    values[i] = integer(0);
    values[i].type_index = 7;
    values[i].value.pointer = &tensors[i];
  }
  values[2] = integer(0);
  values[2].type_index = 70;
  values[2].value.pointer = &object;
  values[3] = integer(M);
  values[4] = integer(N);
  values[5] = integer(K);
  if (matmul(NULL, values, 6, &result))
    return puts(raised), 1;
  for (i = 0; i < M; ++i)
    for (j = 0; j < N; ++j) {
      float sum = 0;
      for (k = 0; k < K; ++k)
        sum += a.at[i * K + k] * b.at[k * N + j];
      if (sum != c.at[i * N + j])
        return printf("%d %d: %g %g\n", i, j, (double)sum, (double)c.at[i * N + j]), 1;
    }
  if (matmul(NULL, values, 5, &result) != -1 ||
      !strstr(raised, "TypeError: matmul: argument 'k' is missing"))
    return puts(raised), 1;
  values[6] = integer(1);
  if (matmul(NULL, values, 7, &result) != -1 ||
      !strstr(raised, "matmul: 7 arguments are given, and 6 are passed"))
    return puts(raised), 1;
  tensors[1].type.bits = 64;
  if (matmul(NULL, values, 6, &result) != -1 ||
      !strstr(raised, "TypeError: matmul: nn has no variant for these arguments: a: *fp64:16"))
    return puts(raised), 1;

  /* An array as a tensor descriptor, and a parameter that the archive knows: only two are passed.
   */
  {
    static union {
      float at[7 * 20];
      long double alignment;
    } from, to;
    static int64_t tall[2] = {7, 20};
    int (*twice)(void *, const sectile_ffi_value *, int32_t, sectile_ffi_value *);
    *(void **)&twice = dlsym(library, "__tvm_ffi_twice");
    for (i = 0; i < 7 * 20; ++i)
      from.at[i] = (float)i;
    tensors[0] = tensor_of(to.at, tall, 32);
    tensors[1] = tensor_of(from.at, tall, 32);
    if (twice(NULL, values, 2, &result))
      return puts(raised), 1;
    for (i = 0; i < 7 * 20; ++i)
      if (to.at[i] != (i >= 40 && i % 20 >= 16 ? 2 * (float)i : 0))
        return printf("twice: %d: %g\n", i, (double)to.at[i]), 1;
    /* Numbers become what the kernel takes: 5 a u64, 3 an i64, 1 a double. */
    {
      static union {
        uint64_t at[2];
        long double alignment;
      } numbers;
      static int64_t one[2] = {1, 2};
      int (*wide)(void *, const sectile_ffi_value *, int32_t, sectile_ffi_value *);
      int (*checked)(void *, const sectile_ffi_value *, int32_t, sectile_ffi_value *);
      sectile_ffi_tensor to_numbers = tensor_of((float *)(void *)numbers.at, one, 64);
      sectile_ffi_value given[4];
      to_numbers.type.code = 1;
      given[0] = values[0];
      given[0].value.pointer = &to_numbers;
      given[1] = integer(5);
      given[2] = integer(3);
      given[3] = integer(1);
      *(void **)&wide = dlsym(library, "__tvm_ffi_wide");
      if (wide(NULL, given, 4, &result) || numbers.at[0] != 10)
        return puts(raised), 1;
      /* An array without elements has bounds, too. */
      one[1] = 0;
      tensors[0] = tensor_of(to.at, one, 32);
      given[0].value.pointer = &tensors[0];
      given[1] = values[1];
      given[2] = integer(5);
      *(void **)&checked = dlsym(library, "__tvm_ffi_checked");
      if (checked(NULL, given, 3, &result) != -1 || !strstr(raised, "which has 0 elements"))
        return puts(raised), 1;
    }
    tensors[1].dimensions = 0;
    if (twice(NULL, values, 2, &result) != -1 || !strstr(raised, "1 to 5 dimensions") ||
        twice(NULL, values + 2, 2, &result) != -1)
      return puts(raised), 1;
  }
  puts("correct: true");
  return 0;
}
