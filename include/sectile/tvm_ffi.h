/*===-- tvm_ffi.h - kernels of an archive as functions of Apache TVM's FFI --------------------===//
 * What `sectile aot --shared` compiles into its library, so that
 *
 *   nn = tvm_ffi.load_module("libnn.so")
 *   nn.softmax(y, x, 781, 781)            # arrays of torch, JAX, NumPy, ...
 *
 * launches a kernel on the device of its arrays, in that device's current stream. The structures
 * are those of apache-tvm-ffi 0.1 (tvm/ffi/c_api.h) and DLPack 1; its library is in the process
 * that loads ours, and is not linked.
 *===------------------------------------------------------------------------------------------===*/
#ifndef SECTILE_TVM_FFI_H
#define SECTILE_TVM_FFI_H

#include <sectile/c.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TVMFFIAny */
typedef struct sectile_ffi_value {
  int32_t type_index;
  uint32_t small_length;
  union {
    int64_t integer;
    double number;
    void *pointer;
    const char *text;
    char small[8];
    struct {
      uint8_t code, bits;
      uint16_t lanes;
    } type;
  } value;
} sectile_ffi_value;

/* DLTensor */
typedef struct sectile_ffi_tensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t dimensions;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } type;
  const int64_t *shape, *strides;
  uint64_t byte_offset;
} sectile_ffi_tensor;

extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message)
    __attribute__((weak));
extern void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) __attribute__((weak));

static inline int sectile_ffi_fail(const char *kind, const char *text) {
  if (TVMFFIErrorSetRaisedFromCStr)
    TVMFFIErrorSetRaisedFromCStr(kind, text);
  return -1;
}

/* Of an argument, by the number of its parameter. */
static inline int sectile_ffi_refuse(const char *kind, const sectile_kernel *kernel,
                                     size_t parameter, const char *why) {
  char text[512];
  sectile_parameter_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  if (sectile_get_parameter(kernel, parameter, &info) != SECTILE_OK)
    return sectile_ffi_fail("RuntimeError", sectile_error_text());
  snprintf(text, sizeof text, "%s: argument '%s' %s", sectile_kernel_name(kernel), info.name, why);
  return sectile_ffi_fail(kind, text);
}

/* 0: kernels do not know it. */
static inline sectile_type sectile_ffi_type(uint8_t code, uint8_t bits, uint16_t lanes) {
  if (lanes != 1)
    return 0;
  switch (code) {
  case 0:
    return bits == 8    ? SECTILE_I8
           : bits == 16 ? SECTILE_I16
           : bits == 32 ? SECTILE_I32
           : bits == 64 ? SECTILE_I64
                        : 0;
  case 1:
    return bits == 1    ? SECTILE_BOOL
           : bits == 8  ? SECTILE_U8
           : bits == 16 ? SECTILE_U16
           : bits == 32 ? SECTILE_U32
           : bits == 64 ? SECTILE_U64
                        : 0;
  case 2:
    return bits == 16 ? SECTILE_F16 : bits == 32 ? SECTILE_F32 : bits == 64 ? SECTILE_F64 : 0;
  case 4:
    return bits == 16 ? SECTILE_BF16 : 0;
  case 6:
    return bits == 8 ? SECTILE_BOOL : 0;
  case 10:
    return SECTILE_F8E4M3;
  case 11:
    return SECTILE_F8E4M3FNUZ;
  case 12:
    return SECTILE_F8E5M2;
  case 13:
    return SECTILE_F8E5M2FNUZ;
  default:
    return 0;
  }
}

/* The bytes from the first element to behind the last; SECTILE_UNKNOWN_BYTES where strides go
 * backwards. */
static inline uint64_t sectile_ffi_bytes(const sectile_ffi_tensor *tensor) {
  uint64_t last = 0, step = 1;
  int32_t i;
  for (i = tensor->dimensions - 1; i >= 0; --i) {
    if (tensor->shape[i] == 0)
      return 0;
    if (tensor->strides && tensor->strides[i] < 0)
      return SECTILE_UNKNOWN_BYTES;
    last +=
        (uint64_t)(tensor->shape[i] - 1) * (tensor->strides ? (uint64_t)tensor->strides[i] : step);
    step *= (uint64_t)tensor->shape[i];
  }
  return (last + 1) * ((tensor->type.bits + 7u) / 8u);
}

/* What the function of a kernel does with one of its parameters. */
enum {
  SECTILE_FFI_FIXED = 0,  /* it is none of the function's: `fixed` has its argument */
  SECTILE_FFI_PASSED = 1, /* the type in `fixed` is what a number is converted to; 0: as it is */
  SECTILE_FFI_DESCRIBED =
      2 /* an array is passed as a tensor descriptor, with the archive's blocks */
};

/* Launches `kernel` on the archive's grid with the values for those of its parameters that are
 * passed. `forms` and `fixed` have `parameter_count` entries. */
static inline int sectile_ffi_call(const sectile_kernel *kernel, const unsigned char *forms,
                                   const sectile_arg *fixed, size_t parameter_count,
                                   const sectile_ffi_value *values, int32_t count,
                                   sectile_ffi_value *result) {
  enum { kMost = 256, kMostDescribed = 16 };
  sectile_arg args[kMost];
  sectile_descriptor described[kMostDescribed];
  size_t described_count = 0;
  char texts[kMost][8];
  sectile_device device = {SECTILE_CPU, 0};
  int has_device = 0;
  void *stream = NULL;
  int32_t next = 0;
  size_t i;
  sectile_status status;
  if (parameter_count > kMost)
    return sectile_ffi_fail("ValueError", "more than 256 parameters");
  for (i = 0; i < parameter_count; ++i) {
    const sectile_ffi_value *value;
    const sectile_ffi_tensor *tensor = NULL;
    if (forms[i] == SECTILE_FFI_FIXED) {
      args[i] = fixed[i];
      continue;
    }
    if (next == count)
      return sectile_ffi_refuse("TypeError", kernel, i, "is missing");
    value = &values[next++];
    switch (value->type_index) {
    case 0: /* None */
      args[i] = sectile_none();
      break;
    case 1:
      if (fixed[i].kind == SECTILE_ARG_FLOAT)
        args[i] = sectile_float(fixed[i].type, (double)value->value.integer);
      else
        args[i] = sectile_integer_of(fixed[i].kind == SECTILE_ARG_INTEGER ? fixed[i].type : 0,
                                     value->value.integer);
      break;
    case 2:
      args[i] = sectile_truth(value->value.integer != 0);
      break;
    case 3:
      args[i] = sectile_float(fixed[i].kind == SECTILE_ARG_FLOAT ? fixed[i].type : 0,
                              value->value.number);
      break;
    case 5:
      args[i] = sectile_type_arg(sectile_ffi_type(value->value.type.code, value->value.type.bits,
                                                  value->value.type.lanes));
      break;
    case 7: /* DLTensor * */
      tensor = (const sectile_ffi_tensor *)value->value.pointer;
      break;
    case 8: /* const char * */
      args[i] = sectile_text(value->value.text);
      break;
    case 11: /* a text of up to seven bytes */
      memcpy(texts[i], value->value.small, 7);
      texts[i][value->small_length < 7 ? value->small_length : 7] = 0;
      args[i] = sectile_text(texts[i]);
      break;
    case 65: /* an object: a header of 24 bytes, then a pointer to the bytes */
      args[i] = sectile_text(*(const char *const *)((const char *)value->value.pointer + 24));
      break;
    case 70: /* an object: a header of 24 bytes, then a DLTensor */
      tensor = (const sectile_ffi_tensor *)((const char *)value->value.pointer + 24);
      break;
    default:
      return sectile_ffi_refuse("TypeError", kernel, i, "is neither an array nor a number");
    }
    if (forms[i] == SECTILE_FFI_DESCRIBED && !tensor)
      return sectile_ffi_refuse("TypeError", kernel, i,
                                "is no array, and the kernel reads it by blocks");
    if (tensor) {
      const int32_t place = tensor->device.type;
      sectile_device where = {SECTILE_CPU, 0};
      sectile_type type =
          sectile_ffi_type(tensor->type.code, tensor->type.bits, tensor->type.lanes);
      if (!type)
        return sectile_ffi_refuse("TypeError", kernel, i, "has a dtype that kernels do not know");
      if (place == 2 || place == 13)
        where.kind = SECTILE_CUDA;
      else if (place == 10)
        where.kind = SECTILE_HIP;
      else if (place != 1 && place != 3 && place != 11)
        return sectile_ffi_refuse("ValueError", kernel, i,
                                  "is on a device that kernels do not know");
      where.index = where.kind == SECTILE_CPU ? 0 : tensor->device.id;
      if (has_device && (where.kind != device.kind || where.index != device.index))
        return sectile_ffi_refuse("ValueError", kernel, i,
                                  "is on another device than those before it");
      if (!has_device && where.kind != SECTILE_CPU && TVMFFIEnvGetStream)
        stream = TVMFFIEnvGetStream(place, tensor->device.id);
      device = where;
      has_device = 1;
      if (forms[i] == SECTILE_FFI_DESCRIBED) {
        sectile_descriptor *made = &described[described_count];
        int32_t dimension;
        if (described_count++ == kMostDescribed)
          return sectile_ffi_refuse("ValueError", kernel, i,
                                    "is a tensor descriptor more than the 16 that are passed");
        if (tensor->dimensions < 1 || tensor->dimensions > 5)
          return sectile_ffi_refuse("ValueError", kernel, i, "is no array of 1 to 5 dimensions");
        *made = sectile_descriptor_of(type, (const char *)tensor->data + tensor->byte_offset,
                                      tensor->dimensions, tensor->shape);
        for (dimension = 0; tensor->strides && dimension < tensor->dimensions; ++dimension)
          made->strides[dimension] = tensor->strides[dimension];
        args[i] = sectile_described(made);
        continue;
      }
      /* An array without elements may have no address; it is an array all the same. */
      args[i] = tensor->data ? sectile_array(type, (const char *)tensor->data + tensor->byte_offset,
                                             sectile_ffi_bytes(tensor))
                             : sectile_pointer(type, (const void *)(uintptr_t)4096);
    }
  }
  if (next != count) {
    char text[256];
    snprintf(text, sizeof text, "%s: %d arguments are given, and %d are passed",
             sectile_kernel_name(kernel), (int)count, (int)next);
    return sectile_ffi_fail("TypeError", text);
  }
  status = sectile_launch(kernel, device, stream, NULL, args, parameter_count);
  if (status != SECTILE_OK)
    return sectile_ffi_fail(status == SECTILE_ERROR_CALL ? "TypeError" : "RuntimeError",
                            sectile_error_text());
  memset(result, 0, sizeof *result);
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif
