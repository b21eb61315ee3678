// Prints and assertions need the record buffer between device and host, which is not made yet.
#include "backends/gpu/GpuEmitter.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

LogicalResult GpuEmitter::emitPrint(PrintOp op) {
  fail(op, "device_print is not supported on GPUs yet; run the kernel on CPU arrays to see values");
  return failure();
}

LogicalResult GpuEmitter::emitAssert(AssertOp op) {
  fail(op, "device_assert is not supported on GPUs yet; run the kernel on CPU arrays to check it");
  return failure();
}

} // namespace sectile::gpu
