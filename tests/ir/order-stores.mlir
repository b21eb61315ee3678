// PIPELINE: --assign-layouts=warps=4 --order-stores=warps=4

// Each thread stores what itself has loaded.
// CHECK-LABEL: func.func @in_place
// CHECK: tile.load
// CHECK-NOT: tile.barrier
// CHECK: tile.store
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @in_place(%p: !tile.ptr<f32>) {
  %i = tile.arange 0, 512 : tensor<512xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %pi = tile.ptr_add %ps, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %x = tile.load %pi : tensor<512x!tile.ptr<f32>>
  %y = arith.addf %x, %x : tensor<512xf32>
  tile.store %pi, %y : tensor<512x!tile.ptr<f32>>
  %z = tile.load %pi : tensor<512x!tile.ptr<f32>>
  tile.store %pi, %z : tensor<512x!tile.ptr<f32>>
  return
}

// All warps have the eight elements, and one stores them: before, and what is loaded behind.
// CHECK-LABEL: func.func @copies
// CHECK: tile.load
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
// CHECK: tile.barrier
// CHECK-NEXT: tile.load
// CHECK: return
func.func @copies(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>) {
  %i = tile.arange 0, 8 : tensor<8xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %pi = tile.ptr_add %ps, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %x = tile.load %pi : tensor<8x!tile.ptr<f32>>
  %y = arith.addf %x, %x : tensor<8xf32>
  tile.store %pi, %y : tensor<8x!tile.ptr<f32>>
  %z = tile.load %pi : tensor<8x!tile.ptr<f32>>
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %qi = tile.ptr_add %qs, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  tile.store %qi, %z : tensor<8x!tile.ptr<f32>>
  return
}

// A number that all threads load, and one stores in a branch.
// CHECK-LABEL: func.func @number
// CHECK: tile.load
// CHECK: scf.if
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @number(%p: !tile.ptr<i32>, %q: !tile.ptr<i32>) {
  %zero = arith.constant 0 : i32
  %x = tile.load %p : !tile.ptr<i32>
  %is = arith.cmpi eq, %x, %zero : i32
  scf.if %is {
    %one = arith.constant 1 : i32
    tile.store %p, %one : !tile.ptr<i32>
  }
  return
}

// What a round loads another round stores; other arguments are apart.
// CHECK-LABEL: func.func @rounds
// CHECK: scf.for
// CHECK: tile.load
// CHECK-NOT: tile.barrier
// CHECK: tile.store %{{.*}} : tensor<512x!tile.ptr<f32>
// CHECK: tile.barrier
// CHECK-NEXT: tile.store
func.func @rounds(%p: !tile.ptr<f32>, %q: !tile.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tile.arange 0, 512 : tensor<512xi32>
  scf.for %round = %zero to %n step %one : i32 {
    %pr = tile.ptr_add %p, %round : !tile.ptr<f32>, i32
    %ps = tile.splat %pr : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %pi = tile.ptr_add %ps, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %x = tile.load %pi : tensor<512x!tile.ptr<f32>>
    %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %qi = tile.ptr_add %qs, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    tile.store %qi, %x : tensor<512x!tile.ptr<f32>>
    tile.store %pi, %x : tensor<512x!tile.ptr<f32>>
  }
  return
}

// What a round stores is of other elements than those of any other round.
// CHECK-LABEL: func.func @blocks
// CHECK: scf.for
// CHECK: tile.load
// CHECK-NOT: tile.barrier
// CHECK: return
func.func @blocks(%p: !tile.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %size = arith.constant 512 : i32
  %i = tile.arange 0, 512 : tensor<512xi32>
  scf.for %start = %zero to %n step %size : i32 {
    %pr = tile.ptr_add %p, %start : !tile.ptr<f32>, i32
    %ps = tile.splat %pr : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
    %pi = tile.ptr_add %ps, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
    %x = tile.load %pi : tensor<512x!tile.ptr<f32>>
    %y = arith.addf %x, %x : tensor<512xf32>
    tile.store %pi, %y : tensor<512x!tile.ptr<f32>>
  }
  return
}
