//===-- NarrowExchanges.h - numbers are narrowed before threads exchange them ------------------===//
//   %y = convert_layout %x : f32                  %n = truncf %x : f32 to f16
//   %z = truncf %y : f32 to f16            =>     %z = convert_layout %n : f16
//
// Half of the bytes go through shared memory, and what is stored then comes from the exchange
// itself, so that it may be a copy engine's (StageStores). Layouts are chosen for nodes, not for
// places of conversions: where a tile is split into halves that are narrowed and stored apart
// (EPILOGUE_SUBTILE of Triton's tutorial 9) one conversion of the whole looks cheaper than one of
// each half, and here becomes two.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sectile::optimizer {

/// --narrow-exchanges
std::unique_ptr<mlir::Pass> createNarrowExchanges();

} // namespace sectile::optimizer
