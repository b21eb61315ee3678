//===-- KernelText.h - the text of a kernel, with its arguments by their names ----------------===//
// MLIR numbers what it prints. The arguments of a kernel have names, which its readers know:
//
//   func.func @add(%x_ptr: !tile.ptr<f32> {tile.name = "x_ptr"}, %count: i32 {tile.name = "count"})
//
// The text means the same to a parser. An argument keeps its number whose name is no word of MLIR,
// or one that the text uses already (`%cst`).
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace sectile::tile {

std::string kernelText(mlir::ModuleOp module);

} // namespace sectile::tile
