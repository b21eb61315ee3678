// PIPELINE: --drop-unit-axes --canonicalize

// A matrix of a batch is a matrix, and what is made of it before the kernel says so.
// CHECK-LABEL: func.func @load
func.func @load(%p: !tile.ptr<f16>, %o: !tile.ptr<f32>, %b: i64, %m: i64, %n: i64, %s: i64, %t: i64) attributes {tile.kernel} {
  %one = arith.constant 1 : i64
  %two = arith.constant dense<2.0> : tensor<1x32x64xf32>
  // The batch comes first; the array's axes otherwise keep their order.
  // CHECK: %[[X:.*]] = tile.block_load %arg0[%arg2, %arg3, %arg4] of[%arg4, %arg2, %arg3] by[%arg6, %arg5, %{{.*}}] checked = [false, true, true] padding = nan
  // CHECK-SAME: -> tensor<64x32xf16>
  // CHECK: %[[TURNED:.*]] = tile.transpose %[[X]] [1, 0]
  // CHECK: %[[WIDE:.*]] = arith.extf %[[TURNED]] : tensor<32x64xf16>
  // CHECK: %[[Y:.*]] = arith.mulf %[[WIDE]], %{{.*}} : tensor<32x64xf32>
  // CHECK: %[[SQUARE:.*]] = arith.mulf %[[Y]], %[[Y]]
  // CHECK: tile.block_store %[[SQUARE]]
  %x = tile.block_load %p[%m, %b, %n] of [%b, %n, %m] by [%s, %t, %one] checked = [true, false, true] padding = nan
    : !tile.ptr<f16> -> tensor<64x1x32xf16>
  %u = tile.transpose %x [1, 2, 0] : tensor<64x1x32xf16> -> tensor<1x32x64xf16>
  %w = arith.extf %u : tensor<1x32x64xf16> to tensor<1x32x64xf32>
  %y = arith.mulf %w, %two : tensor<1x32x64xf32>
  %q = arith.mulf %y, %y : tensor<1x32x64xf32>
  %z = tile.reshape %q : tensor<1x32x64xf32> -> tensor<32x64xf32>
  tile.block_store %z, %o[%m, %n] of [%m, %n] by [%s, %one] checked = [true, true] : tensor<32x64xf32>, !tile.ptr<f32>
  return
}

// What is stored is computed as a matrix, whichever way it gets its other axes.
// CHECK-LABEL: func.func @store
func.func @store(%p: !tile.ptr<f16>, %b: i64, %m: i64, %s: i64, %x: tensor<64x32xf32>, %y: tensor<64x32xf32>) attributes {tile.kernel} {
  %one = arith.constant 1 : i64
  // CHECK: %[[SUM:.*]] = arith.addf %arg4, %arg5 : tensor<64x32xf32>
  // CHECK: %[[CUT:.*]] = arith.truncf %[[SUM]]
  // CHECK: tile.block_store %[[CUT]], %arg0[%arg1, %arg2, %{{.*}}] of[%arg1, %arg2, %{{.*}}] by
  %t = tile.reshape %x : tensor<64x32xf32> -> tensor<1x64x32xf32>
  %u = tile.expand_dims %y {axis = 0 : i32} : tensor<64x32xf32> -> tensor<1x64x32xf32>
  %v = arith.addf %t, %u : tensor<1x64x32xf32>
  %z = arith.truncf %v : tensor<1x64x32xf32> to tensor<1x64x32xf16>
  tile.block_store %z, %p[%b, %m, %one] of [%b, %m, %one] by [%s, %s, %one] checked = [true, true, true]
    : tensor<1x64x32xf16>, !tile.ptr<f16>
  return
}

// What wants all axes has them from a reshape; two axes stay, and the last one.
// CHECK-LABEL: func.func @whole
func.func @whole(%p: !tile.ptr<f32>, %m: i64, %s: i64) -> (tensor<1x64xf32>, tensor<1x1x64xf32>, tensor<1x32x1xf32>) {
  %one = arith.constant 1 : i64
  // CHECK: %[[X:.*]] = tile.block_load {{.*}} -> tensor<32x64xf32>
  // CHECK: %[[BEHIND:.*]] = tile.reshape %[[X]] : tensor<32x64xf32> -> tensor<1x32x64xf32>
  // CHECK: tile.reduce{{.*}}%[[BEHIND]]
  %x = tile.block_load %p[%m, %m, %m] of [%m, %m, %m] by [%s, %s, %one] checked = [true, true, true]
    : !tile.ptr<f32> -> tensor<1x32x64xf32>
  %r = "tile.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }) : (tensor<1x32x64xf32>) -> tensor<1x64xf32>
  // CHECK: tile.block_load {{.*}} -> tensor<1x64xf32>
  %y = tile.block_load %p[%m, %m, %m] of [%m, %m, %m] by [%s, %s, %one] checked = [true, true, true]
    : !tile.ptr<f32> -> tensor<1x1x64xf32>
  // CHECK: tile.block_load {{.*}} -> tensor<32x1xf32>
  %z = tile.block_load %p[%m, %m, %m] of [%m, %m, %m] by [%s, %s, %one] checked = [true, true, true]
    : !tile.ptr<f32> -> tensor<1x32x1xf32>
  return %r, %y, %z : tensor<1x64xf32>, tensor<1x1x64xf32>, tensor<1x32x1xf32>
}
