// PIPELINE: --assign-layouts=warps=4,matrix=true

// Both x and 2x + 1 go to memory by rows and by columns: x is converted once, 2x + 1 is computed twice.
// CHECK-LABEL: func.func @computed_again
// CHECK: %[[X:.*]] = tile.load
// CHECK-NEXT: %[[C:.*]] = tile.convert_layout %[[X]]
// CHECK-NOT: tile.convert_layout
// CHECK-DAG: arith.mulf %[[X]]
// CHECK-DAG: arith.mulf %[[C]]
// CHECK-NOT: tile.convert_layout
// CHECK: return
func.func @computed_again(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32 {tile.divisibility = 16 : i64}) {
  %i = tile.arange 0, 64 : tensor<64xi32>
  %row = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %rows = tile.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
  %column = tile.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %columns = tile.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %ns = tile.splat %n : i32 -> tensor<64x64xi32>
  %down = arith.muli %rows, %ns : tensor<64x64xi32>
  %across = arith.muli %columns, %ns : tensor<64x64xi32>
  %byRow = arith.addi %down, %columns : tensor<64x64xi32>
  %byColumn = arith.addi %across, %rows : tensor<64x64xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %pr = tile.ptr_add %ps, %byRow : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %pc = tile.ptr_add %ps, %byColumn : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %c2 = arith.constant dense<2.0> : tensor<64x64xf32>
  %c1 = arith.constant dense<1.0> : tensor<64x64xf32>
  %x = tile.load %pr : tensor<64x64x!tile.ptr<f32>>
  %double = arith.mulf %x, %c2 : tensor<64x64xf32>
  %y = arith.addf %double, %c1 : tensor<64x64xf32>
  tile.store %pc, %y : tensor<64x64x!tile.ptr<f32>>
  tile.store %pr, %y : tensor<64x64x!tile.ptr<f32>>
  tile.store %pr, %y : tensor<64x64x!tile.ptr<f32>>
  tile.store %pc, %x : tensor<64x64x!tile.ptr<f32>>
  return
}

// An operand that a loop does not change is converted outside of it; what the loop loads, inside; the
// accumulator keeps the fragments' layout all the way.
// CHECK-LABEL: func.func @invariant
// CHECK: %[[A:.*]] = tile.load
// CHECK: %[[F:.*]] = tile.convert_layout %[[A]]
// CHECK: scf.for
// CHECK: %[[B:.*]] = tile.load
// CHECK: %[[G:.*]] = tile.convert_layout %[[B]]
// CHECK-NOT: tile.convert_layout
// CHECK: tile.dot %[[F]], %[[G]], %{{.*}} instruction = "mma.m16n8k16.f32.f16.f16"
// CHECK-NEXT: scf.yield
func.func @invariant(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
                     %c: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32) {
  %i = tile.arange 0, 64 : tensor<64xi32>
  %row = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %rows = tile.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
  %column = tile.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %columns = tile.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %width = arith.constant dense<64> : tensor<64x64xi32>
  %down = arith.muli %rows, %width : tensor<64x64xi32>
  %offset = arith.addi %down, %columns : tensor<64x64xi32>
  %as = tile.splat %a : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %ap = tile.ptr_add %as, %offset : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %x = tile.load %ap : tensor<64x64x!tile.ptr<f16>>
  %bs = tile.splat %b : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %bp = tile.ptr_add %bs, %offset : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %size = arith.constant 4096 : i32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %start = arith.muli %k, %size : i32
    %starts = tile.splat %start : i32 -> tensor<64x64xi32>
    %bk = tile.ptr_add %bp, %starts : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
    %y = tile.load %bk : tensor<64x64x!tile.ptr<f16>>
    %next = tile.dot %x, %y, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %cs = tile.splat %c : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %cp = tile.ptr_add %cs, %offset : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %cp, %sum : tensor<64x64x!tile.ptr<f32>>
  return
}

// A conversion moves the narrow type: before the cast to f32, after the cast to f16.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[X:.*]] = tile.load
// CHECK-NEXT: tile.convert_layout %[[X]] : tensor<64x64xf16,
// CHECK-NOT: tile.convert_layout
// CHECK: return
func.func @narrow(%p: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %q: !tile.ptr<f32> {tile.divisibility = 16 : i64},
                  %n: i32 {tile.divisibility = 16 : i64}) {
  %i = tile.arange 0, 64 : tensor<64xi32>
  %row = tile.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %rows = tile.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
  %column = tile.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %columns = tile.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %ns = tile.splat %n : i32 -> tensor<64x64xi32>
  %down = arith.muli %rows, %ns : tensor<64x64xi32>
  %across = arith.muli %columns, %ns : tensor<64x64xi32>
  %byRow = arith.addi %down, %columns : tensor<64x64xi32>
  %byColumn = arith.addi %across, %rows : tensor<64x64xi32>
  %ps = tile.splat %p : !tile.ptr<f16> -> tensor<64x64x!tile.ptr<f16>>
  %pr = tile.ptr_add %ps, %byRow : tensor<64x64x!tile.ptr<f16>>, tensor<64x64xi32>
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %qc = tile.ptr_add %qs, %byColumn : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %x = tile.load %pr : tensor<64x64x!tile.ptr<f16>>
  %wide = arith.extf %x : tensor<64x64xf16> to tensor<64x64xf32>
  %y = arith.addf %wide, %wide : tensor<64x64xf32>
  tile.store %qc, %y : tensor<64x64x!tile.ptr<f32>>
  return
}
