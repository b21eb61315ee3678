//===-- LayoutDrawing.h - layouts described in words, and drawn as tables -----------------===//
// What `sectile layout` reads and prints. A description is a kind, a shape, an element type and
// options:
//
//   blocked 128x64 f16 warps=4 order=1,0 size=1,8 threads=4,8 lanes=32
//   accumulator 64x64 f16 warps=2,2          (of mma.sync; f16 is the type of its operands)
//   operand-a 64x32 f16 warps=2,2 kwidth=8   operand-b 32x64 f16 warps=2,2
//   operand-a 64x32 f16 gfx942               (of AMD's first for such operands, or by its name:)
//   accumulator 64x64 gfx942:mfma.m32n32k8.f32.f16.f16
//   shared 64x64 f16 swizzle=128             or vector=8 perphase=1 maxphase=8, or padding=8
//   #tile.layout<128, register = [1 2], ...> #tile.shared_layout<...>
//
// Options may be left out: `size` is then 16 bytes along the fastest axis, threads and warps fill
// the axes in order.
#pragma once

#include "lang/layout/SharedLayout.h"

#include <variant>

namespace sectile::layout {

struct DescribedLayout {
  std::variant<TileLayout, SharedLayout> layout;
  unsigned elementBits = 32;
};

/// nullopt, and `problem`, when the description is not understood.
std::optional<DescribedLayout> parseDescription(llvm::StringRef text, std::string &problem);

struct DrawingSettings {
  int64_t maxRows = 16, maxColumns = 12; // cells
};

/// Which warp, lane and registers hold each element (of rank above 2: of the first matrix).
std::string draw(const TileLayout &layout, const DrawingSettings &settings = {});
/// The offset and the bank of each element, and the bank conflicts of common accesses.
std::string draw(const SharedLayout &layout, unsigned elementBits,
                 const DrawingSettings &settings = {});
/// How a tile gets from one layout to another.
std::string drawConversion(const TileLayout &source, const TileLayout &destination,
                           unsigned elementBits);

} // namespace sectile::layout
