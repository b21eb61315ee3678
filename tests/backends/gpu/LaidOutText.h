//===-- LaidOutText.h - pieces of laid-out tile IR for tests ----------------------------------===//
// TileText.h for tiles of a given layout: dense row-major arrays read and written in it.
//
//   kernelText("%x: !tile.ptr<f32>, ...",
//              loadLaidOut("v", "x", layout, "f32") + ... + storeLaidOut("r", "o", other, "f32"))
#pragma once

#include "../TileText.h"
#include "lang/layout/Builders.h"
#include "lang/layout/LayoutText.h"

namespace sectile::testing {

/// "tensor<8x16xf32, #tile.layout<...>>"
inline std::string laidOut(const layout::TileLayout &layout, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t extent : layout.shape())
    text += std::to_string(extent) + "x";
  return text + element + ", #tile.layout<" + layout::print(layout) + ">>";
}

inline std::string pointersLaidOut(const std::string &name, const std::string &array,
                                   const layout::TileLayout &layout, const std::string &element) {
  std::string text, sum, full = laidOut(layout, "i32");
  int64_t stride = 1;
  for (int64_t extent : layout.shape())
    stride *= extent;
  for (int dim = 0; dim < layout.rank(); ++dim) {
    int64_t extent = layout.shape()[dim];
    stride /= extent;
    layout::TileLayout now = layout;
    for (int axis = layout.rank(); axis-- > 0;)
      if (axis != dim)
        now = layout::sliceOf(now, axis);
    std::string prefix = "%" + name + "_d" + std::to_string(dim), current = prefix;
    text +=
        prefix + " = tile.arange 0, " + std::to_string(extent) + " : " + laidOut(now, "i32") + "\n";
    for (int axis = 0; axis < layout.rank(); ++axis) {
      if (axis == dim)
        continue;
      layout::TileLayout next = layout::expandDims(now, axis);
      std::string expanded = prefix + "_e" + std::to_string(axis);
      text += expanded + " = tile.expand_dims " + current + " {axis = " + std::to_string(axis) +
              " : i32} : " + laidOut(now, "i32") + " -> " + laidOut(next, "i32") + "\n";
      current = expanded;
      now = next;
    }
    if (layout.rank() > 1) {
      text += prefix + "_b = tile.broadcast " + current + " : " + laidOut(now, "i32") + " -> " +
              full + "\n";
      current = prefix + "_b";
    }
    text += prefix + "_c = arith.constant dense<" + std::to_string(stride) + "> : " + full + "\n" +
            prefix + "_m = arith.muli " + current + ", " + prefix + "_c : " + full + "\n";
    if (!sum.empty())
      text += prefix + "_s = arith.addi " + sum + ", " + prefix + "_m : " + full + "\n";
    sum = prefix + (sum.empty() ? "_m" : "_s");
  }
  std::string pointers = laidOut(layout, "!tile.ptr<" + element + ">");
  return text + "%" + name + "_base = tile.splat %" + array + " : !tile.ptr<" + element + "> -> " +
         pointers + "\n%" + name + " = tile.ptr_add %" + name + "_base, " + sum + " : " + pointers +
         ", " + full + "\n";
}

inline std::string loadLaidOut(const std::string &name, const std::string &array,
                               const layout::TileLayout &layout, const std::string &element) {
  return pointersLaidOut(name + "_p", array, layout, element) + "%" + name + " = tile.load %" +
         name + "_p : " + laidOut(layout, "!tile.ptr<" + element + ">") + "\n";
}

inline std::string storeLaidOut(const std::string &value, const std::string &array,
                                const layout::TileLayout &layout, const std::string &element) {
  return pointersLaidOut(value + "_o", array, layout, element) + "tile.store %" + value + "_o, %" +
         value + " : " + laidOut(layout, "!tile.ptr<" + element + ">") + "\n";
}

} // namespace sectile::testing
