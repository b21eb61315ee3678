// PIPELINE: --buffer-accesses

#line = #tile.layout<256, register = [1 2], lane = [4 8 16 32 64], warp = [128]>
#block = #tile.layout<16x64, register = [(0, 1) (0, 2)], lane = [(0, 4) (0, 8) (0, 16) (0, 32) (1, 0)], warp = [(2, 0) (4, 0) (8, 0)]>
#rows = #tile.layout<16x1, register = [(0, 0) (0, 0)], lane = [(0, 0) (0, 0) (0, 0) (0, 0) (1, 0)], warp = [(2, 0) (4, 0) (8, 0)]>
#columns = #tile.layout<1x64, register = [(0, 1) (0, 2)], lane = [(0, 4) (0, 8) (0, 16) (0, 32) (0, 0)], warp = [(0, 0) (0, 0) (0, 0)]>

// What all elements share goes into the pointer; the range of the rest is known, whatever the pointer is.
// CHECK-LABEL: func.func @start_of_a_program
// CHECK-DAG: %[[I:.*]] = tile.arange 0, 256
// CHECK-DAG: %[[WIDE:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK: %[[BASE:.*]] = tile.ptr_add %arg0, %[[WIDE]] : !tile.ptr<f32>, i64
// CHECK: %[[SPLAT:.*]] = tile.splat %[[BASE]]
// CHECK: %[[AT:.*]] = tile.ptr_add %[[SPLAT]], %[[I]] in_buffer
// CHECK: tile.load %[[AT]]
// CHECK: tile.store %[[AT]]
func.func @start_of_a_program(%p: !tile.ptr<f32>) {
  %program = tile.program_id 0
  %c256 = arith.constant 256 : i32
  %start = arith.muli %program, %c256 : i32
  %starts = tile.splat %start : i32 -> tensor<256xi32, #line>
  %i = tile.arange 0, 256 : tensor<256xi32, #line>
  %o = arith.addi %starts, %i : tensor<256xi32, #line>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #line>
  %at = tile.ptr_add %ps, %o : tensor<256x!tile.ptr<f32>, #line>, tensor<256xi32, #line>
  %x = tile.load %at : tensor<256x!tile.ptr<f32>, #line>
  tile.store %at, %x : tensor<256x!tile.ptr<f32>, #line>
  return
}

// Offsets that begin below zero begin at a pointer further down.
// CHECK-LABEL: func.func @before_the_pointer
// CHECK: %[[I:.*]] = tile.arange 0, 256
// CHECK-DAG: arith.constant -255 : i64
// CHECK: tile.ptr_add %arg0, %{{.*}} : !tile.ptr<f32>, i64
// CHECK: tile.load %{{.*}} : tensor<256x
func.func @before_the_pointer(%p: !tile.ptr<f32>, %n: i32) {
  %i = tile.arange 0, 256 : tensor<256xi32, #line>
  %ns = tile.splat %n : i32 -> tensor<256xi32, #line>
  %o = arith.subi %ns, %i : tensor<256xi32, #line>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #line>
  %at = tile.ptr_add %ps, %o : tensor<256x!tile.ptr<f32>, #line>, tensor<256xi32, #line>
  %x = tile.load %at : tensor<256x!tile.ptr<f32>, #line>
  tile.store %at, %x : tensor<256x!tile.ptr<f32>, #line>
  return
}

// Rows of unknown stride, moved by a loop: the launch says that they fit.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for
// CHECK: %[[BASE:.*]] = tile.ptr_add %arg0, %{{.*}} : !tile.ptr<f16>, i64
// CHECK: %[[SPLAT:.*]] = tile.splat %[[BASE]]
// CHECK: tile.ptr_add %[[SPLAT]], %{{.*}} in_buffer
func.func @rows(%p: !tile.ptr<f16>, %stride: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %r = tile.arange 0, 16 : tensor<16xi32>
  %row = tile.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32, #rows>
  %strides = tile.splat %stride : i32 -> tensor<16x1xi32, #rows>
  %starts = arith.muli %row, %strides : tensor<16x1xi32, #rows>
  %c = tile.arange 0, 64 : tensor<64xi32>
  %column = tile.expand_dims %c {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32, #columns>
  %rows = tile.broadcast %starts : tensor<16x1xi32, #rows> -> tensor<16x64xi32, #block>
  %columns = tile.broadcast %column : tensor<1x64xi32, #columns> -> tensor<16x64xi32, #block>
  %o = arith.addi %rows, %columns : tensor<16x64xi32, #block>
  %ps = tile.splat %p : !tile.ptr<f16> -> tensor<16x64x!tile.ptr<f16>, #block>
  %first = tile.ptr_add %ps, %o : tensor<16x64x!tile.ptr<f16>, #block>, tensor<16x64xi32, #block>
  %end = scf.for %k = %c0 to %n step %c1 iter_args(%moved = %zero) -> (i64) : i32 {
    %m = tile.splat %moved : i64 -> tensor<16x64xi64, #block>
    %at = tile.ptr_add %first, %m : tensor<16x64x!tile.ptr<f16>, #block>, tensor<16x64xi64, #block>
    %x = tile.load %at : tensor<16x64x!tile.ptr<f16>, #block>
    tile.store %at, %x : tensor<16x64x!tile.ptr<f16>, #block>
    %next = arith.addi %moved, %c64 : i64
    scf.yield %next : i64
  }
  return
}

// Neither what is loaded for each lane nor a pointer of each lane's own is known to fit.
// CHECK-LABEL: func.func @loaded
// CHECK: %[[Q:.*]] = tile.ptr_add %{{.*}} in_buffer
// CHECK: %[[O:.*]] = tile.load %[[Q]]
// CHECK: %[[AT:.*]] = tile.ptr_add %{{.*}}, %[[O]] :
// CHECK: tile.load %[[AT]]
func.func @loaded(%p: !tile.ptr<f32>, %q: !tile.ptr<i32>) {
  %i = tile.arange 0, 256 : tensor<256xi32, #line>
  %qs = tile.splat %q : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #line>
  %from = tile.ptr_add %qs, %i : tensor<256x!tile.ptr<i32>, #line>, tensor<256xi32, #line>
  %o = tile.load %from : tensor<256x!tile.ptr<i32>, #line>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #line>
  %at = tile.ptr_add %ps, %o : tensor<256x!tile.ptr<f32>, #line>, tensor<256xi32, #line>
  %x = tile.load %at : tensor<256x!tile.ptr<f32>, #line>
  tile.store %at, %x : tensor<256x!tile.ptr<f32>, #line>
  return
}

// A pointer that lanes find out together may differ from lane to lane for all that LLVM knows.
// CHECK-LABEL: func.func @found_out
// CHECK: tile.load %{{.*}} : tensor<256x
// CHECK-NOT: in_buffer
// CHECK: return
func.func @found_out(%p: !tile.ptr<f32>, %o: tensor<256xi32, #line>) {
  %most = tile.reduce(%o) axis 0 : (tensor<256xi32, #line>) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.maxsi %a, %b : i32
    tile.yield %c : i32
  }
  %start = tile.ptr_add %p, %most : !tile.ptr<f32>, i32
  %i = tile.arange 0, 256 : tensor<256xi32, #line>
  %ps = tile.splat %start : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #line>
  %at = tile.ptr_add %ps, %i : tensor<256x!tile.ptr<f32>, #line>, tensor<256xi32, #line>
  %x = tile.load %at : tensor<256x!tile.ptr<f32>, #line>
  tile.store %at, %x : tensor<256x!tile.ptr<f32>, #line>
  return
}
