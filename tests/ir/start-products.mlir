// PIPELINE: --expand-blocks --canonicalize --cse --assign-layouts=warps=4,wgmma=true --start-products=warps=4,wgmma=true --verify-layouts=warps=4,wgmma=true

// Loaded operands become buffers, contiguous along the axis along which they are loaded: 128 bytes of a row, whose pieces
// of 16 bytes change places by the number of the row, then those of the next row. The rhs has two such panels. The
// product is started, and all that follows takes what a wait gives.
// CHECK-LABEL: func.func @loaded
// CHECK: %[[X:.*]] = tile.load {{.*}} tensor<64x64x
// CHECK-NEXT: %[[A:.*]] = tile.to_buffer %[[X]] : {{.*}} -> <1, [64, 64], f16, <64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>>
// CHECK: %[[Y:.*]] = tile.load {{.*}} tensor<64x128x
// CHECK-NEXT: %[[B:.*]] = tile.to_buffer %[[Y]] : {{.*}} -> <1, [64, 128], f16, <64x128, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0) (0, 64)]>>
// CHECK-NOT: tile.dot %
// CHECK: %[[S:.*]] = tile.dot_async %[[A]], %[[B]], %{{.*}} instruction = "wgmma.m64n128k16.f32.f16.f16" :
// CHECK-NEXT: %[[R:.*]] = tile.dot_wait 0, %[[S]] :
// CHECK-NOT: %[[S]]
// CHECK: tile.convert_layout %[[R]]
// CHECK: return
func.func @loaded(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x128xf32>
  %x_width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %x_width] by [%x_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %y_width = arith.constant 128 : i64
  %y = tile.block_load %b[%zero, %zero] of [%n, %y_width] by [%y_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x128xf16>
  %s = tile.dot %x, %y, %none : tensor<64x64xf16> * tensor<64x128xf16> -> tensor<64x128xf32>
  %s_width = arith.constant 128 : i64
  tile.block_store %s, %out[%zero, %zero] of [%n, %s_width] by [%s_width, %one] checked = [false, false] : tensor<64x128xf32>, !tile.ptr<f32>
  return
}

// A transposed operand is a view of the buffer of what has been transposed, which has the other axis contiguous, the
// depth: nothing is moved for it.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[X:.*]] = tile.load {{.*}} tensor<64x64x
// CHECK-NEXT: %[[A:.*]] = tile.to_buffer %[[X]] :
// CHECK-NEXT: %[[LHS:.*]] = tile.buffer_view %[[A]] order = [1, 0] : <1, [64, 64], f16, <64x64, offset = [(0, 1) {{.*}}>> -> <1, [64, 64], f16, <64x64, offset = [(1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0) (8, 1) (16, 2) (32, 4) (0, 8) (0, 16) (0, 32)]>>
// CHECK: %[[Y:.*]] = tile.load {{.*}} tensor<128x64x
// CHECK-NEXT: %[[B:.*]] = tile.to_buffer %[[Y]] : {{.*}} -> <1, [128, 64], f16,
// CHECK-NEXT: %[[RHS:.*]] = tile.buffer_view %[[B]] order = [1, 0] : <1, [128, 64], {{.*}} -> <1, [64, 128], f16, <64x128, offset = [(1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0) (8, 1) (16, 2) (32, 4) (0, 8) (0, 16) (0, 32) (0, 64)]>>
// CHECK-NOT: tile.transpose
// CHECK: tile.dot_async %[[LHS]], %[[RHS]], %{{.*}} instruction = "wgmma.m64n128k16.f32.f16.f16" :
// CHECK-NEXT: tile.dot_wait 0
// CHECK-NOT: tile.transpose
// CHECK: return
func.func @transposed(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x128xf32>
  %x_width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %x_width] by [%x_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %xt = tile.transpose %x [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
  %y_width = arith.constant 64 : i64
  %y = tile.block_load %b[%zero, %zero] of [%n, %y_width] by [%y_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<128x64xf16>
  %yt = tile.transpose %y [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
  %s = tile.dot %xt, %yt, %none : tensor<64x64xf16> * tensor<64x128xf16> -> tensor<64x128xf32>
  %s_width = arith.constant 128 : i64
  tile.block_store %s, %out[%zero, %zero] of [%n, %s_width] by [%s_width, %one] checked = [false, false] : tensor<64x128xf32>, !tile.ptr<f32>
  return
}

// A transposed tile that is used otherwise, too, is transposed for that; the product still reads a view of what is
// loaded, in the layout in which it is loaded.
// CHECK-LABEL: func.func @transposed_and_stored
// CHECK: %[[Y:.*]] = tile.load {{.*}} tensor<128x64x
// CHECK: %[[B:.*]] = tile.to_buffer %[[Y]] : tensor<128x64xf16
// CHECK-NEXT: %[[RHS:.*]] = tile.buffer_view %[[B]] order = [1, 0] :
// CHECK: %[[TURNED:.*]] = tile.transpose %
// CHECK: tile.dot_async %{{.*}}, %[[RHS]],
// CHECK: tile.store %{{.*}}, %[[TURNED]]
// CHECK: return
func.func @transposed_and_stored(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64, %copy: !tile.ptr<f16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x128xf32>
  %x_width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %x_width] by [%x_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %y_width = arith.constant 64 : i64
  %y = tile.block_load %b[%zero, %zero] of [%n, %y_width] by [%y_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<128x64xf16>
  %yt = tile.transpose %y [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
  %s = tile.dot %x, %yt, %none : tensor<64x64xf16> * tensor<64x128xf16> -> tensor<64x128xf32>
  %s_width = arith.constant 128 : i64
  tile.block_store %s, %out[%zero, %zero] of [%n, %s_width] by [%s_width, %one] checked = [false, false] : tensor<64x128xf32>, !tile.ptr<f32>
  %yt_width = arith.constant 128 : i64
  tile.block_store %yt, %copy[%zero, %zero] of [%n, %yt_width] by [%yt_width, %one] checked = [false, false] : tensor<64x128xf16>, !tile.ptr<f16>
  return
}

// What is computed stays in registers where the instruction takes it there, as lhs, and is brought to shared memory where
// it does not, as rhs.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: tile.to_buffer
// CHECK: %[[RHS:.*]] = arith.negf %{{.*}} : tensor<64x128xf16
// CHECK-NEXT: %[[B:.*]] = tile.to_buffer %[[RHS]] :
// CHECK-NOT: tile.to_buffer
// CHECK: tile.dot_async %[[LHS:.*]], %[[B]], %{{.*}} instruction = "wgmma.m64n128k16.f32.f16.f16" : tensor<64x64xf16, {{.*}} * <1, [64, 128], f16,
// CHECK: return
func.func @computed(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x128xf32>
  %x_width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %x_width] by [%x_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %y_width = arith.constant 128 : i64
  %y = tile.block_load %b[%zero, %zero] of [%n, %y_width] by [%y_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x128xf16>
  %lhs = arith.addf %x, %x : tensor<64x64xf16>
  %rhs = arith.negf %y : tensor<64x128xf16>
  %s = tile.dot %lhs, %rhs, %none : tensor<64x64xf16> * tensor<64x128xf16> -> tensor<64x128xf32>
  %s_width = arith.constant 128 : i64
  tile.block_store %s, %out[%zero, %zero] of [%n, %s_width] by [%s_width, %one] checked = [false, false] : tensor<64x128xf32>, !tile.ptr<f32>
  return
}

// What comes out of a product is the lhs of the next one, in the same registers, behind a wait.
// CHECK-LABEL: func.func @chain
// CHECK: %[[S:.*]] = tile.dot_async
// CHECK-NEXT: %[[R:.*]] = tile.dot_wait 0, %[[S]]
// CHECK-NEXT: %[[H:.*]] = arith.truncf %[[R]]
// CHECK-NOT: tile.convert_layout
// CHECK: %[[T:.*]] = tile.dot_async %[[H]], %{{.*}}, %{{.*}} instruction = "wgmma.m64n64k16.f32.f16.f16"
// CHECK-NEXT: tile.dot_wait 0, %[[T]]
// CHECK: return
func.func @chain(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x_width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %x_width] by [%x_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %y_width = arith.constant 64 : i64
  %y = tile.block_load %b[%zero, %zero] of [%n, %y_width] by [%y_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %s = tile.dot %x, %y, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %h = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
  %r = tile.dot %h, %y, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %r_width = arith.constant 64 : i64
  tile.block_store %r, %out[%zero, %zero] of [%n, %r_width] by [%r_width, %one] checked = [false, false] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// In a loop each round waits for its product; passes that pipeline the loop may wait later.
// CHECK-LABEL: func.func @rounds
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) ->
// CHECK: %[[S:.*]] = tile.dot_async %{{.*}}, %{{.*}}, %[[SUM]] instruction
// CHECK-NEXT: %[[R:.*]] = tile.dot_wait 0, %[[S]]
// CHECK-NEXT: scf.yield %[[R]]
// CHECK: return
func.func @rounds(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = scf.for %k = %zero to %n step %one iter_args(%sum = %none) -> (tensor<64x64xf32>) : i64 {
    %size = arith.constant 4096 : i64
    %start = arith.muli %k, %size : i64
    %ak = tile.ptr_add %a, %start : !tile.ptr<f16>, i64
    %bk = tile.ptr_add %b, %start : !tile.ptr<f16>, i64
    %x_width = arith.constant 64 : i64
    %x = tile.block_load %ak[%zero, %zero] of [%n, %x_width] by [%x_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
    %y_width = arith.constant 64 : i64
    %y = tile.block_load %bk[%zero, %zero] of [%n, %y_width] by [%y_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
    %next = tile.dot %x, %y, %sum : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %s_width = arith.constant 64 : i64
  tile.block_store %s, %out[%zero, %zero] of [%n, %s_width] by [%s_width, %one] checked = [false, false] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// Four warps have 64 rows at least: this one is of single warps, and stays as it is.
// CHECK-LABEL: func.func @too_few_rows
// CHECK-NOT: tile.to_buffer
// CHECK-NOT: tile.dot_async
// CHECK: tile.dot %{{.*}} instruction = "mma.m16n8k16.f32.f16.f16"
// CHECK-NOT: tile.dot_wait
// CHECK: return
func.func @too_few_rows(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<32x64xf32>
  %x_width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %x_width] by [%x_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<32x64xf16>
  %y_width = arith.constant 64 : i64
  %y = tile.block_load %b[%zero, %zero] of [%n, %y_width] by [%y_width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %s = tile.dot %x, %y, %none : tensor<32x64xf16> * tensor<64x64xf16> -> tensor<32x64xf32>
  %s_width = arith.constant 64 : i64
  tile.block_store %s, %out[%zero, %zero] of [%n, %s_width] by [%s_width, %one] checked = [false, false] : tensor<32x64xf32>, !tile.ptr<f32>
  return
}

// Bytes are read along the depth only: rows of 64 of them, whose pieces change places by half the number of the row. A
// rhs that is loaded along its columns leaves the product to single warps.
// CHECK-LABEL: func.func @bytes
// CHECK: %[[B:.*]] = tile.to_buffer %{{.*}} -> <1, [64, 64], i8, <64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>>
// CHECK: tile.dot_async %{{.*}} instruction = "wgmma.m64n64k32.s32.s8.s8"
// CHECK-NEXT: %[[R:.*]] = tile.dot_wait 0
// CHECK-NOT: tile.dot_async
// CHECK: tile.dot %{{.*}} instruction = "mma.m16n8k32.s32.s8.s8"
// CHECK: return
func.func @bytes(%a: !tile.ptr<i8> {tile.divisibility = 16 : i64}, %b: !tile.ptr<i8> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<i32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0> : tensor<64x64xi32>
  %x_width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %x_width] by [%x_width, %one] checked = [false, false] : !tile.ptr<i8> -> tensor<64x64xi8>
  %y_width = arith.constant 64 : i64
  %y = tile.block_load %b[%zero, %zero] of [%n, %y_width] by [%y_width, %one] checked = [false, false] : !tile.ptr<i8> -> tensor<64x64xi8>
  %yt = tile.transpose %y [1, 0] : tensor<64x64xi8> -> tensor<64x64xi8>
  %s = tile.dot %x, %yt, %none : tensor<64x64xi8> * tensor<64x64xi8> -> tensor<64x64xi32>
  %r = tile.dot %x, %y, %s : tensor<64x64xi8> * tensor<64x64xi8> -> tensor<64x64xi32>
  %r_width = arith.constant 64 : i64
  tile.block_store %r, %out[%zero, %zero] of [%n, %r_width] by [%r_width, %one] checked = [false, false] : tensor<64x64xi32>, !tile.ptr<i32>
  return
}
