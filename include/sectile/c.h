/*===-- c.h - kernels of an archive, launched from C -----------------------------------------===//
 *   sectile_archive *nn;
 *   if (sectile_open("nn.sectile", &nn) != SECTILE_OK)
 *     return puts(sectile_error_text()), 1;
 *   const sectile_kernel *softmax = sectile_find(nn, "softmax");
 *   sectile_arg args[] = {sectile_pointer(SECTILE_F32, y), sectile_pointer(SECTILE_F32, x),
 *                         sectile_integer(781), sectile_integer(781), sectile_integer(1024)};
 *   sectile_grid grid = {rows, 1, 1};
 *   sectile_status status = sectile_launch(softmax, sectile_cpu(), NULL, &grid, args, 5);
 *
 * `sectile aot kernels.py` makes archives, and a header with one typed function for each kernel.
 * C99 and C++; link libsectile.so, or libsectile.a with -lstdc++ -lm -lpthread -ldl. Neither Python
 * nor a compiler is needed, CUDA's and HIP's drivers are loaded when a GPU is asked for.
 *
 * Which variant of a kernel runs follows from the arguments as it does in Python: from the types
 * of pointers, from integers that are 1, divisible by 16 or beyond 32 bits, and addresses that are
 * divisible by 16. Where the archive has none, the error names the argument.
 *
 * Nothing here throws, exits or aborts. All functions may be called by several threads at once;
 * what they do to each other is said below. After fork() a child may launch on the CPU, not on GPUs
 * that its parent used.
 *===------------------------------------------------------------------------------------------===*/
#ifndef SECTILE_C_H
#define SECTILE_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when something here changes its meaning. Functions and fields are only added without. */
#define SECTILE_ABI_VERSION 1

typedef int32_t sectile_status;
enum {
  SECTILE_OK = 0,
  SECTILE_ERROR_CALL = 1,      /* the call is wrong: an argument, the grid, no such variant */
  SECTILE_ERROR_MACHINE = 2,   /* the machine, or a file: no such device, a damaged archive */
  SECTILE_ERROR_RESOURCES = 3, /* the device has less than the kernel needs */
  SECTILE_ERROR_TRAP = 4,     /* the kernel stopped itself: an assertion, an access out of bounds */
  SECTILE_ERROR_INTERNAL = 5, /* a fault of Sectile */
  SECTILE_ERROR_CLOSED = 6    /* the archive of the kernel has been closed */
};

/* What the calling thread's latest call that failed has to say: what was expected, what was found,
 * and the remedy. "" before. Valid until the thread's next call of a function here. */
const char *sectile_error_text(void);
/* The number of the parameter that error is about; -1 when it is about none. */
int32_t sectile_error_argument(void);
/* "call", "machine", ...; never null. */
const char *sectile_status_name(sectile_status status);

/* Of the library at hand: "0.1.0", and its SECTILE_ABI_VERSION. */
const char *sectile_version(void);
int32_t sectile_abi_version(void);

/*-- Devices -----------------------------------------------------------------------------------*/

enum { SECTILE_CPU = 0, SECTILE_CUDA = 1, SECTILE_HIP = 2 };
typedef struct sectile_device {
  int32_t kind;  /* SECTILE_CPU, ... */
  int32_t index; /* among the devices of that kind; 0 for the CPU */
} sectile_device;

/* How many there are; 0 with the reason in sectile_error_text() where there are none. */
sectile_status sectile_device_count(int32_t kind, int32_t *count);

typedef struct sectile_device_info {
  size_t size;           /* set to sizeof(sectile_device_info) by the caller, as for all _info */
  const char *name;      /* "NVIDIA H200"; valid until the process ends, as the next */
  const char *arch;      /* "sm_90a"; "" for the CPU */
  uint64_t memory_bytes; /* 0 for the CPU */
} sectile_device_info;
sectile_status sectile_get_device(sectile_device device, sectile_device_info *info);

/*-- Archives ----------------------------------------------------------------------------------*/

typedef struct sectile_archive sectile_archive;
typedef struct sectile_kernel sectile_kernel;

/* Maps the file and checks its index; code is checked and loaded by the launch that needs it. The
 * file contains code: open it only where you would load it as a library. It must not be written to
 * while it is open; it may be replaced by renaming another. */
sectile_status sectile_open(const char *path, sectile_archive **archive);
/* The same for an archive in memory, which must stay there. `name`: what messages call it. */
sectile_status sectile_open_memory(const void *bytes, size_t size, const char *name,
                                   sectile_archive **archive);
/* Waits for launches that other threads are at; later ones are refused with SECTILE_ERROR_CLOSED.
 * Bound launches that other threads are just giving to a GPU may still get there, and what they
 * need stays until they are released. Kernels that a GPU has not finished yet do finish. Handles of
 * kernels and of bound launches may still be used, and are refused; texts are gone. Null, or closed
 * before: nothing happens. */
void sectile_close(sectile_archive *archive);

/* Kernels in the order of their names. The handles are the archive's. */
size_t sectile_kernel_count(const sectile_archive *archive);
const sectile_kernel *sectile_kernel_at(const sectile_archive *archive, size_t index);
/* Null, with sectile_error_text(), when there is none of that name. */
const sectile_kernel *sectile_find(const sectile_archive *archive, const char *name);
const char *sectile_kernel_name(const sectile_kernel *kernel);
/* Whether the kernel has the parameters that a generated header was made for. */
sectile_status sectile_check_interface(const sectile_kernel *kernel, uint64_t interface);

typedef struct sectile_parameter_info {
  size_t size;
  const char *name;
  const char *annotation;  /* "*fp32", "i64": what arguments are converted to; mostly "" */
  int32_t is_constant;     /* tl.constexpr: part of the code */
  int32_t may_be_left_out; /* sectile_left_out() may be passed */
} sectile_parameter_info;
size_t sectile_parameter_count(const sectile_kernel *kernel);
sectile_status sectile_get_parameter(const sectile_kernel *kernel, size_t index,
                                     sectile_parameter_info *info);

typedef struct sectile_variant_info {
  size_t size;
  const char *signature;            /* "y: *fp32:16, n: i32, BLOCK = 1024" */
  const char *options;              /* what differs from the defaults: "num_warps=8" */
  const char *target;               /* "cpu:x86-64-v3", "cuda:sm_80", "cuda:sm_90+ptx" */
  int32_t registers, spilled_bytes; /* of a GPU's thread; -1: not known */
  uint64_t code_bytes;
} sectile_variant_info;
size_t sectile_variant_count(const sectile_kernel *kernel);
sectile_status sectile_get_variant(const sectile_kernel *kernel, size_t index,
                                   sectile_variant_info *info);

/*-- Launches ----------------------------------------------------------------------------------*/

/* Types of elements. */
typedef int32_t sectile_type;
enum {
  SECTILE_BOOL = 1, /* a byte */
  SECTILE_I8 = 2,
  SECTILE_I16 = 3,
  SECTILE_I32 = 4,
  SECTILE_I64 = 5,
  SECTILE_U8 = 6,
  SECTILE_U16 = 7,
  SECTILE_U32 = 8,
  SECTILE_U64 = 9,
  SECTILE_F8E4M3 = 10, /* OCP e4m3fn */
  SECTILE_F8E4M3FNUZ = 11,
  SECTILE_F8E5M2 = 12,
  SECTILE_F8E5M2FNUZ = 13,
  SECTILE_F8E4B15 = 14,
  SECTILE_F16 = 15,
  SECTILE_BF16 = 16,
  SECTILE_F32 = 17,
  SECTILE_F64 = 18
};
/* "fp32", "bf16"; "" for what is no type. */
const char *sectile_type_name(sectile_type type);

enum {
  SECTILE_ARG_LEFT_OUT = 0,
  SECTILE_ARG_POINTER = 1,
  SECTILE_ARG_INTEGER = 2,
  SECTILE_ARG_UNSIGNED = 3, /* an integer, perhaps beyond int64_t */
  SECTILE_ARG_FLOAT = 4,
  SECTILE_ARG_BOOL = 5,
  SECTILE_ARG_NONE = 6,
  SECTILE_ARG_TEXT = 7,  /* a str, for a constant parameter */
  SECTILE_ARG_TYPE = 8,  /* a dtype, for a constant parameter */
  SECTILE_ARG_TUPLE = 9, /* of the next value.integer arguments */
  SECTILE_ARG_DESCRIPTOR = 10
};
enum {
  SECTILE_ARG_READ_ONLY = 1,
  SECTILE_ARG_BOUNDED = 2 /* `bytes` is known, also where it is 0 */
};
#define SECTILE_UNKNOWN_BYTES UINT64_MAX

/* An array that a kernel reads and writes by blocks: what Python's TensorDescriptor is. */
typedef struct sectile_descriptor {
  size_t size;            /* sizeof(sectile_descriptor) */
  const void *base;       /* a multiple of 16 */
  sectile_type type;      /* of the elements */
  int32_t rank;           /* 1 to 5 */
  uint64_t bytes;         /* that may be accessed from base on; 0: not known */
  int64_t shape[5];       /* the extents, in elements */
  int64_t strides[5];     /* in elements; the last is 1, the others are multiples of 16 bytes */
  int64_t block_shape[5]; /* zeros: those of the archive, where it has one for this type and rank */
  int32_t
      pads_with_nan; /* beyond `shape` elements read as NaN, not 0: variants are told apart by it */
} sectile_descriptor;

/* One argument; the functions below make them. Arguments of constant parameters are integers,
 * floats, truth values, texts, types or none. */
typedef struct sectile_arg {
  uint16_t kind;  /* SECTILE_ARG_POINTER, ... */
  uint16_t flags; /* of pointers: SECTILE_ARG_READ_ONLY refuses kernels that store through them */
  sectile_type type; /* of a pointer: what it points to. Of others 0, or what it is converted to */
  union {
    const void *pointer;
    int64_t integer;
    uint64_t unsigned_integer;
    double number;
    const char *text;
    const sectile_descriptor *descriptor; /* read by the launch, not kept */
  } value;
  /* Of a pointer: the bytes that may be accessed from there on; SECTILE_UNKNOWN_BYTES, or 0 without
   * SECTILE_ARG_BOUNDED: not known. Tells which arrays share memory (those of unknown length do
   * where they begin at the same address, and else count as lying apart), and what kernels that
   * check bounds may touch. */
  uint64_t bytes;
} sectile_arg;

typedef struct sectile_grid {
  int64_t x, y, z; /* programs along each axis; where one is 0 nothing runs */
} sectile_grid;

/* Runs the kernel and returns when it is done; on a GPU when it is in the stream.
 * stream: a CUstream (cudaStream_t) or hipStream_t; null: the default one. Not looked at on the
 *         CPU.
 * grid:   null: as the archive says, where it was exported with one.
 * args:   one for each parameter, in order, and the items of tuples behind theirs. */
sectile_status sectile_launch(const sectile_kernel *kernel, sectile_device device, void *stream,
                              const sectile_grid *grid, const sectile_arg *args, size_t count);

/* A launch that is ready to run again: what is left is the driver's call. The memory must stay
 * where it is. Several threads may run the same one. */
typedef struct sectile_bound sectile_bound;
sectile_status sectile_bind(const sectile_kernel *kernel, sectile_device device, void *stream,
                            const sectile_grid *grid, const sectile_arg *args, size_t count,
                            sectile_bound **bound);
sectile_status sectile_run(const sectile_bound *bound);
sectile_status sectile_run_on(const sectile_bound *bound, void *stream);
/* Not while another thread runs it. Null: nothing happens. */
void sectile_release(sectile_bound *bound);

/*-- What makes arguments ------------------------------------------------------------------------*/

static inline sectile_device sectile_cpu(void) {
  sectile_device device = {SECTILE_CPU, 0};
  return device;
}
static inline sectile_device sectile_cuda(int32_t index) {
  sectile_device device = {SECTILE_CUDA, 0};
  device.index = index;
  return device;
}
static inline sectile_device sectile_hip(int32_t index) {
  sectile_device device = {SECTILE_HIP, 0};
  device.index = index;
  return device;
}
static inline sectile_grid sectile_grid_of(int64_t x, int64_t y, int64_t z) {
  sectile_grid grid = {1, 1, 1};
  grid.x = x;
  grid.y = y;
  grid.z = z;
  return grid;
}
static inline sectile_arg sectile_arg_of(uint16_t kind) {
  sectile_arg arg = {0, 0, 0, {NULL}, 0};
  arg.kind = kind;
  return arg;
}
/* The parameter's default, or how the archive chooses it. */
static inline sectile_arg sectile_left_out(void) {
  return sectile_arg_of(SECTILE_ARG_LEFT_OUT);
}
/* Null is passed as None, as an array that is left out. How long the array is is not known. */
static inline sectile_arg sectile_pointer(sectile_type type, const void *address) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_POINTER);
  arg.type = type;
  arg.value.pointer = address;
  return arg;
}
static inline sectile_arg sectile_array(sectile_type type, const void *address, uint64_t bytes) {
  sectile_arg arg = sectile_pointer(type, address);
  arg.flags = SECTILE_ARG_BOUNDED;
  arg.bytes = bytes;
  return arg;
}
static inline sectile_arg sectile_integer(int64_t number) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_INTEGER);
  arg.value.integer = number;
  return arg;
}
/* Of a type, whatever its value: for parameters whose variants are of that type only. */
static inline sectile_arg sectile_integer_of(sectile_type type, int64_t number) {
  sectile_arg arg = sectile_integer(number);
  arg.type = type;
  return arg;
}
static inline sectile_arg sectile_unsigned(uint64_t number) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_UNSIGNED);
  arg.value.unsigned_integer = number;
  return arg;
}
static inline sectile_arg sectile_unsigned_of(sectile_type type, uint64_t number) {
  sectile_arg arg = sectile_unsigned(number);
  arg.type = type;
  return arg;
}
/* Passed as fp32, as from Python, unless `type` says otherwise (0: it does not). */
static inline sectile_arg sectile_float(sectile_type type, double number) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_FLOAT);
  arg.type = type;
  arg.value.number = number;
  return arg;
}
static inline sectile_arg sectile_truth(int32_t truth) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_BOOL);
  arg.value.integer = truth != 0;
  return arg;
}
static inline sectile_arg sectile_none(void) {
  return sectile_arg_of(SECTILE_ARG_NONE);
}
static inline sectile_arg sectile_text(const char *text) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_TEXT);
  arg.value.text = text;
  return arg;
}
static inline sectile_arg sectile_type_arg(sectile_type type) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_TYPE);
  arg.type = type;
  return arg;
}
/* An array whose rows follow each other without gaps; `shape` has `rank` extents, up to 5. Fields
 * may be changed afterwards. */
static inline sectile_descriptor sectile_descriptor_of(sectile_type type, const void *base,
                                                       int32_t rank, const int64_t *shape) {
  sectile_descriptor made = {sizeof(sectile_descriptor), NULL, 0, 0, 0, {0}, {0}, {0}, 0};
  uint64_t stride = 1;
  int32_t dimension;
  made.base = base;
  made.type = type;
  made.rank = rank;
  for (dimension = rank < 5 ? rank - 1 : 4; dimension >= 0; --dimension) {
    made.shape[dimension] = shape[dimension];
    made.strides[dimension] = (int64_t)stride;
    stride *= (uint64_t)shape[dimension];
  }
  return made;
}
static inline sectile_arg sectile_described(const sectile_descriptor *descriptor) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_DESCRIPTOR);
  arg.value.descriptor = descriptor;
  return arg;
}
/* Of the next `count` arguments. */
static inline sectile_arg sectile_tuple(int64_t count) {
  sectile_arg arg = sectile_arg_of(SECTILE_ARG_TUPLE);
  arg.value.integer = count;
  return arg;
}

#ifdef __cplusplus
}
#endif

#endif
