// PIPELINE: --expand-reductions=fix-orders=true --canonicalize --cse

// Sums of floats become a tree over neighbours: 2 + 1 pairs. Those of integers stay.
// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<4xf32>, %n: tensor<4xi32>, %p: !tile.ptr<f32>, %q: !tile.ptr<i32>) attributes {tile.kernel} {
  // CHECK: arith.addf {{.*}} : tensor<2xf32>
  // CHECK: arith.addf {{.*}} : tensor<1xf32>
  // CHECK-NOT: tensor<{{.*}}xf32>) -> f32 {{.*}}addf
  %s = tile.reduce(%x) axis 0 : (tensor<4xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  // CHECK: tile.reduce(%{{.*}}) axis 0 : (tensor<4xi32>) -> i32
  %t = tile.reduce(%n) axis 0 : (tensor<4xi32>) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tile.yield %c : i32
  }
  tile.store %p, %s : !tile.ptr<f32>
  tile.store %q, %t : !tile.ptr<i32>
  return
}
