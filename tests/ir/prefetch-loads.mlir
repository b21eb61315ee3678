// PIPELINE: --assign-layouts=warps=4 --prefetch-loads

// Row 0 is loaded before the loop if there is one; each turn loads the next row, if that exists, and works
// on what the turn before it loaded.
// CHECK-LABEL: func.func @rows
// CHECK: %[[THERE:.*]] = arith.cmpi
// CHECK: %[[MASK:.*]] = tile.splat %[[THERE]] : i1
// CHECK: %[[FIRST:.*]] = tile.load {{.*}}, %[[MASK]]
// CHECK: scf.for {{.*}} iter_args({{.*}}%[[ROW:[a-z0-9]+]] = %[[FIRST]]
// CHECK: %[[NEXT:.*]] = tile.load
// CHECK: tile.reduce(%[[ROW]])
// CHECK: arith.mulf %[[ROW]]
// CHECK: tile.store
// CHECK: scf.yield {{.*}}%[[NEXT]]
func.func @rows(%in: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %stride = arith.constant 512 : i32
  %i = tile.arange 0, 512 : tensor<512xi32>
  scf.for %row = %zero to %n step %one : i32 {
    %start = arith.muli %row, %stride : i32
    %base = tile.splat %start : i32 -> tensor<512xi32>
    %at = arith.addi %base, %i : tensor<512xi32>
    %ins = tile.splat %in : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %outs = tile.splat %out : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %p = tile.ptr_add %ins, %at : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %q = tile.ptr_add %outs, %at : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %x = tile.load %p : tensor<512x!tile.ptr<f32>>
    %s = tile.reduce(%x) axis 0 : (tensor<512xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %ss = tile.splat %s : f32 -> tensor<512xf32>
    %y = arith.mulf %x, %ss : tensor<512xf32>
    tile.store %q, %y : tensor<512x!tile.ptr<f32>>
  }
  return
}

// What the loop writes may be what the next turn reads.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: tile.load
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: tile.load
// CHECK-NOT: tile.load
// CHECK: return
func.func @in_place(%in: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tile.arange 0, 512 : tensor<512xi32>
  scf.for %row = %zero to %n step %one : i32 {
    %ins = tile.splat %in : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %p = tile.ptr_add %ins, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %x = tile.load %p : tensor<512x!tile.ptr<f32>>
    %s = tile.reduce(%x) axis 0 : (tensor<512xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %ss = tile.splat %s : f32 -> tensor<512xf32>
    tile.store %p, %ss : tensor<512x!tile.ptr<f32>>
  }
  return
}
