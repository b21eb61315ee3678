//===-- Dlpack.h - DLPack's C structures ------------------------------------------------------===//
// Declared from the specification (DLPack 1.3), only what is read here. Layout is the standard's;
// field names are ours.
#pragma once

#include <cstdint>

namespace sectile::bindings {

inline constexpr int32_t kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLROCM = 10, kDLROCMHost = 11,
                         kDLCUDAManaged = 13;
enum DLTypeCode : uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6,
  kDLFloat8E4M3FN = 10,
  kDLFloat8E4M3FNUZ = 11,
  kDLFloat8E5M2 = 12,
  kDLFloat8E5M2FNUZ = 13,
};
inline constexpr uint64_t kDLReadOnly = 1;

struct DLVersion {
  uint32_t major, minor;
};
struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  DLDevice device;
  int32_t rank;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; // in elements; null: row-major
  uint64_t byteOffset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void *context;
  void (*deleter)(DLManagedTensor *);
};
struct DLManagedTensorVersioned {
  DLVersion version;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *);
  uint64_t flags;
  DLTensor tensor;
};

/// The function table a type offers as `__dlpack_c_exchange_api__`: no capsule, no allocation.
inline constexpr const char *kExchangeCapsuleName = "dlpack_exchange_api";
struct DLPackExchangeAPI {
  struct Header {
    DLVersion version;
    Header *previous;
  } header;
  void *managedTensorAllocator;
  void *managedTensorFromPyObject;
  void *managedTensorToPyObject;
  /// Borrows: the tensor is valid while the object lives. 0 on success, else a Python error is set.
  int (*tensorFromPyObject)(void *object, DLTensor *result);
  /// The stream its library works on at the moment. 0 on success. Null where there is none to ask.
  int (*currentWorkStream)(int32_t deviceType, int32_t device, void **stream);
};

} // namespace sectile::bindings
