//===-- KernelTexts.h - kernels as tile IR, of any block size ---------------------------------===//
#pragma once

#include <string>

namespace sectile::testing {

/// `text` with BLOCK replaced.
inline std::string withBlock(std::string text, int block) {
  std::string number = std::to_string(block);
  for (size_t at = 0; (at = text.find("BLOCK", at)) != std::string::npos; at += number.size())
    text.replace(at, 5, number);
  return text;
}

inline const char *const kVectorAdd = R"(
func.func @add(%x: !tile.ptr<f32> {tile.name = "x"}, %y: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32)
    attributes {tile.kernel} {
  %size = arith.constant BLOCK : i32
  %pid = tile.program_id 0
  %start = arith.muli %pid, %size : i32
  %i = tile.arange 0, BLOCK : tensor<BLOCKxi32>
  %s = tile.splat %start : i32 -> tensor<BLOCKxi32>
  %o = arith.addi %s, %i : tensor<BLOCKxi32>
  %ns = tile.splat %n : i32 -> tensor<BLOCKxi32>
  %m = arith.cmpi slt, %o, %ns : tensor<BLOCKxi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %xp = tile.ptr_add %xs, %o : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  %xv = tile.load %xp, %m : tensor<BLOCKx!tile.ptr<f32>>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %yp = tile.ptr_add %ys, %o : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  %yv = tile.load %yp, %m : tensor<BLOCKx!tile.ptr<f32>>
  %sum = arith.addf %xv, %yv : tensor<BLOCKxf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %op = tile.ptr_add %os, %o : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  tile.store %op, %sum, %m : tensor<BLOCKx!tile.ptr<f32>>
  return
})";

inline const char *const kSoftmax = R"(
func.func @softmax(%x: !tile.ptr<f32>, %out: !tile.ptr<f32>, %stride: i32, %n: i32) attributes {tile.kernel} {
  %row = tile.program_id 0
  %start = arith.muli %row, %stride : i32
  %xrow = tile.ptr_add %x, %start : !tile.ptr<f32>, i32
  %orow = tile.ptr_add %out, %start : !tile.ptr<f32>, i32
  %i = tile.arange 0, BLOCK : tensor<BLOCKxi32>
  %ns = tile.splat %n : i32 -> tensor<BLOCKxi32>
  %m = arith.cmpi slt, %i, %ns : tensor<BLOCKxi32>
  %xs = tile.splat %xrow : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %xp = tile.ptr_add %xs, %i : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  %inf = arith.constant dense<0xFF800000> : tensor<BLOCKxf32>
  %xv = tile.load %xp, %m, %inf : tensor<BLOCKx!tile.ptr<f32>>
  %max = tile.reduce(%xv) axis 0 : (tensor<BLOCKxf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tile.yield %c : f32
  }
  %maxs = tile.splat %max : f32 -> tensor<BLOCKxf32>
  %d = arith.subf %xv, %maxs : tensor<BLOCKxf32>
  %e = math.exp %d : tensor<BLOCKxf32>
  %sum = tile.reduce(%e) axis 0 : (tensor<BLOCKxf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %sums = tile.splat %sum : f32 -> tensor<BLOCKxf32>
  %r = arith.divf %e, %sums : tensor<BLOCKxf32>
  %os = tile.splat %orow : !tile.ptr<f32> -> tensor<BLOCKx!tile.ptr<f32>>
  %op = tile.ptr_add %os, %i : tensor<BLOCKx!tile.ptr<f32>>, tensor<BLOCKxi32>
  tile.store %op, %r, %m : tensor<BLOCKx!tile.ptr<f32>>
  return
})";

} // namespace sectile::testing
