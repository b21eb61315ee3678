//===-- RandomKernel.h - random tile kernels --------------------------------------------------===//
// Kernels of every operation on tiles, of any extents, with loops and branches that carry tiles.
// They verify; nobody says that they compute anything of use.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sectile::testing {

mlir::OwningOpRef<mlir::ModuleOp> randomKernel(mlir::MLIRContext &context, unsigned seed);

} // namespace sectile::testing
