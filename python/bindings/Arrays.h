//===-- Arrays.h - where an array's elements are ----------------------------------------------===//
// One function per protocol that shows memory, fastest first: NumPy's own struct, DLPack's exchange
// table (torch), `data_ptr()`, `__array_interface__`, `__dlpack__`, the buffer protocol.
#pragma once

#include "Arguments.h"

namespace sectile::bindings {

/// How objects of one Python type are read.
enum class ArrayProtocol : uint8_t {
  None,
  Numpy,
  DlpackExchange,
  TorchExchange, // the same, of tensors that may be views with another sign
  DataPointer,
  ArrayInterface,
  CudaArrayInterface,
  Dlpack,
  Buffer,
};

/// Decided by the type and, where only instances show a protocol, by `object`. With an exchange
/// table `table` is set to the type's function table.
ArrayProtocol arrayProtocolOf(PyObject *object, const void *&table);

/// Throws an ArgumentError when the array cannot be passed (dtype, device, byte order).
void readArray(ArrayProtocol protocol, const void *table, PyObject *object, const ReadArgument &how,
               HeldResources &held, jit::ArgumentValue &result);

/// The scalar kind behind "float32", "torch.bfloat16", "float8_e4m3fn", "bool" ...; Void when there
/// is none.
lang::ScalarKind scalarKindOf(const std::string &name);

void clearArrayCaches();

} // namespace sectile::bindings
