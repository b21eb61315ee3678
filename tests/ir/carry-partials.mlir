// PIPELINE: --assign-layouts=warps=4 --carry-partials

// Each thread carries what its registers hold of the rows; lanes meet behind the loop.
// CHECK-LABEL: func.func @scaled
// CHECK: scf.for {{.*}} -> (tensor<{{[0-9x]+}}xf32
// CHECK: [[CUT:%[0-9]+]] = tile.reshape
// CHECK: tile.reduce([[CUT]])
// CHECK: tile.expand_dims
// CHECK: arith.mulf %arg5
// CHECK: arith.addf
// CHECK: scf.yield
// CHECK: tile.reduce(
// CHECK: tile.store
func.func @scaled(%p: !tile.ptr<f32>, %f: f32, %o: !tile.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %i = tile.arange 0, 64 : tensor<64xi32>
  %j = tile.arange 0, 128 : tensor<128xi32>
  %c = arith.constant dense<128> : tensor<64x1xi32>
  %rows = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %starts = arith.muli %rows, %c : tensor<64x1xi32>
  %starts2 = tile.broadcast %starts : tensor<64x1xi32> -> tensor<64x128xi32>
  %columns = tile.expand_dims %j {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
  %columns2 = tile.broadcast %columns : tensor<1x128xi32> -> tensor<64x128xi32>
  %at = arith.addi %starts2, %columns2 : tensor<64x128xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x128x!tile.ptr<f32>>
  %pi = tile.ptr_add %ps, %at : tensor<64x128x!tile.ptr<f32>>, tensor<64x128xi32>
  %factor = tile.splat %f : f32 -> tensor<64xf32>
  %r = scf.for %k = %zero to %n step %one iter_args(%t = %none) -> (tensor<64xf32>) : i32 {
    %x = tile.load %pi : tensor<64x128x!tile.ptr<f32>>
    %s = tile.reduce(%x) axis 1 : (tensor<64x128xf32>) -> tensor<64xf32> {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tile.yield %sum : f32
    }
    %scaled = arith.mulf %t, %factor : tensor<64xf32>
    %next = arith.addf %scaled, %s : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %oi = tile.ptr_add %os, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  tile.store %oi, %r : tensor<64x!tile.ptr<f32>>
  return
}

// A maximum is no sum, what begins with a number of its own has it once, and what the loop looks at is whole.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: tile.reshape
// CHECK: return
func.func @stay(%p: !tile.ptr<f32>, %o: !tile.ptr<f32>, %n: i32, %begin: f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.0 : f32
  %i = tile.arange 0, 1024 : tensor<1024xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %pi = tile.ptr_add %ps, %i : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %r:3 = scf.for %k = %zero to %n step %one iter_args(%t = %none, %u = %begin, %w = %none) -> (f32, f32, f32) : i32 {
    %x = tile.load %pi : tensor<1024x!tile.ptr<f32>>
    %m = tile.reduce(%x) axis 0 : (tensor<1024xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %most = arith.maxnumf %a, %b : f32
      tile.yield %most : f32
    }
    %s = tile.reduce(%x) axis 0 : (tensor<1024xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tile.yield %sum : f32
    }
    %s2 = tile.reduce(%x) axis 0 : (tensor<1024xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %sum2 = arith.addf %a, %b : f32
      tile.yield %sum2 : f32
    }
    %t2 = arith.addf %t, %m : f32
    %u2 = arith.addf %u, %s : f32
    %w2 = arith.addf %w, %s2 : f32
    tile.store %o, %w : !tile.ptr<f32>
    scf.yield %t2, %u2, %w2 : f32, f32, f32
  }
  %all = arith.addf %r#0, %r#1 : f32
  %all2 = arith.addf %all, %r#2 : f32
  tile.store %o, %all2 : !tile.ptr<f32>
  return
}
