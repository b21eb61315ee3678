//===-- DebugSites.h - prints, assertions and checked accesses as the image describes them ----===//
// Kernels report a number; the image has its meaning, in the same form for all back ends.
//
//   unsigned site = addTrapSite(image, op, TrapSite::Kind::Load, argument);
//   PrintLayout layout = addPrintSite(image, print);     // image.printSites[layout.site]
#pragma once

#include "backends/plain/KernelImage.h"
#include "lang/tile/TileDialect.h"

#include <optional>

namespace sectile::backends {

/// The index of the new site. `argument`: the one a checked access goes through, where it is known.
unsigned addTrapSite(KernelImage &image, mlir::Operation *op, TrapSite::Kind kind,
                     std::optional<unsigned> argument, llvm::StringRef message = {});

/// Adds the site of a gather, with the message "axis 0, which has 16 elements".
unsigned addGatherSite(KernelImage &image, tile::GatherOp op);

/// How the elements of a print lie in memory (PrintFormat.h): row-major, one operand after another,
/// each aligned to 8 bytes.
struct PrintLayout {
  unsigned site = 0;
  llvm::SmallVector<int64_t> offsets; // of each operand
  int64_t bytes = 0;                  // of all, a multiple of 8
};

PrintLayout addPrintSite(KernelImage &image, tile::PrintOp op);

} // namespace sectile::backends
