//===-- LoadedAddress.h - arrays of which the host knows nothing ------------------------------===//
#pragma once

#include "lang/tile/TileDialect.h"

namespace sectile::tile {

/// Whether the address is one that the kernel has loaded, or made of numbers, or lies at a distance
/// of such a one.
inline bool isLoadedAddress(mlir::Value address) {
  mlir::Operation *op = address.getDefiningOp();
  while (mlir::isa_and_present<PtrAddOp, PtrCastOp, HintOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return mlir::isa_and_present<IntToPtrOp, LoadOp>(op);
}

} // namespace sectile::tile
