//===-- TileText.h - pieces of tile IR for tests ----------------------------------------------===//
// Row-major tiles read from and written to dense arrays.
//
//   kernelText("%x: !tile.ptr<f32>, %o: !tile.ptr<f32>",
//              loadTile("v", "x", {5, 17}, "f32") + "..." + storeTile("r", "o", {5, 17}, "f32"))
#pragma once

#include <string>
#include <vector>

namespace sectile::testing {

using Shape = std::vector<int64_t>;

inline std::string tileType(const Shape &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

inline int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// %name: the tile of pointers into a dense row-major array.
inline std::string pointerTile(const std::string &name, const std::string &array,
                               const Shape &shape, const std::string &element) {
  std::string text, sum;
  std::string full = tileType(shape, "i32");
  int64_t stride = elementCount(shape);
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    stride /= shape[dim];
    std::string prefix = "%" + name + "_d" + std::to_string(dim);
    std::string extent = std::to_string(shape[dim]), current = prefix;
    Shape now{shape[dim]};
    text += prefix + " = tile.arange 0, " + extent + " : " + tileType(now, "i32") + "\n";
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (axis == dim)
        continue;
      Shape next = now;
      next.insert(next.begin() + axis, 1);
      std::string expanded = prefix + "_e" + std::to_string(axis);
      text += expanded + " = tile.expand_dims " + current + " {axis = " + std::to_string(axis) +
              " : i32} : " + tileType(now, "i32") + " -> " + tileType(next, "i32") + "\n";
      current = expanded;
      now = next;
    }
    if (shape.size() > 1) {
      text += prefix + "_b = tile.broadcast " + current + " : " + tileType(now, "i32") + " -> " +
              full + "\n";
      current = prefix + "_b";
    }
    text += prefix + "_c = arith.constant dense<" + std::to_string(stride) + "> : " + full + "\n";
    text += prefix + "_m = arith.muli " + current + ", " + prefix + "_c : " + full + "\n";
    if (sum.empty()) {
      sum = prefix + "_m";
    } else {
      text += prefix + "_s = arith.addi " + sum + ", " + prefix + "_m : " + full + "\n";
      sum = prefix + "_s";
    }
  }
  std::string pointers = tileType(shape, "!tile.ptr<" + element + ">");
  text += "%" + name + "_base = tile.splat %" + array + " : !tile.ptr<" + element + "> -> " +
          pointers + "\n";
  text += "%" + name + " = tile.ptr_add %" + name + "_base, " + sum + " : " + pointers + ", " +
          full + "\n";
  return text;
}

inline std::string loadTile(const std::string &name, const std::string &array, const Shape &shape,
                            const std::string &element) {
  return pointerTile(name + "_p", array, shape, element) + "%" + name + " = tile.load %" + name +
         "_p : " + tileType(shape, "!tile.ptr<" + element + ">") + "\n";
}

inline std::string storeTile(const std::string &value, const std::string &array, const Shape &shape,
                             const std::string &element) {
  return pointerTile(value + "_o", array, shape, element) + "tile.store %" + value + "_o, %" +
         value + " : " + tileType(shape, "!tile.ptr<" + element + ">") + "\n";
}

inline std::string kernelText(const std::string &arguments, const std::string &body) {
  return "func.func @k(" + arguments + ") attributes {tile.kernel} {\n" + body + "return\n}\n";
}

inline std::string pointer(const std::string &name, const std::string &element) {
  return "%" + name + ": !tile.ptr<" + element + ">";
}

} // namespace sectile::testing
