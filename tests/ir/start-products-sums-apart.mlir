// PIPELINE: --expand-blocks --canonicalize --cse --assign-layouts=warps=4,wgmma=true --start-products=warps=4,wgmma=true --verify-layouts=warps=4,wgmma=true

// Sums of fp8 lose digits in the instruction. Of 64 products each they are computed apart, from zeros, and then added to
// the accumulator. Two parts are left to order-products.
// CHECK-LABEL: func.func @of_parts
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32
// CHECK: %[[S:.*]] = tile.dot_async %[[A:.*]], %[[B:.*]], %[[ZERO]] instruction = "wgmma.m64n64k32.f32.e4m3.e4m3" depth = [0, 64] :
// CHECK-NEXT: %[[P:.*]] = tile.dot_wait 0, %[[S]] :
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[ACC:.*]], %[[P]] :
// CHECK-NEXT: %[[T:.*]] = tile.dot_async %[[A]], %[[B]], %[[ZERO]] instruction = "wgmma.m64n64k32.f32.e4m3.e4m3" depth = [64, 128] :
// CHECK-NEXT: %[[Q:.*]] = tile.dot_wait 0, %[[T]] :
// CHECK-NEXT: %[[ALL:.*]] = arith.addf %[[SUM]], %[[Q]] :
// CHECK-NOT: tile.dot
// CHECK: return
func.func @of_parts(%a: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %depth = arith.constant 128 : i64
  %width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %depth] by [%depth, %one] checked = [false, false] : !tile.ptr<f8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %y = tile.block_load %b[%zero, %zero] of [%n, %depth] by [%depth, %one] checked = [false, false] : !tile.ptr<f8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %yt = tile.transpose %y [1, 0] : tensor<64x128xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
  %c = tile.block_load %out[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : !tile.ptr<f32> -> tensor<64x64xf32>
  %s = tile.dot %x, %yt, %c {maxImpreciseAcc = 95 : i32} : tensor<64x128xf8E4M3FN> * tensor<128x64xf8E4M3FN> -> tensor<64x64xf32>
  tile.block_store %s, %out[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// More than two parts take turns: each begins behind the sum of those before, as a wait for nothing has it.
// CHECK-LABEL: func.func @in_turns
// CHECK: %[[S:.*]] = tile.dot_async %{{.*}} depth = [0, 32] :
// CHECK-NEXT: %[[P:.*]] = tile.dot_wait 0, %[[S]] :
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %{{.*}}, %[[P]] :
// CHECK-NEXT: tile.dot_wait 0 pinned : () -> ()
// CHECK-NEXT: %[[T:.*]] = tile.dot_async %{{.*}} depth = [32, 64] :
// CHECK-NEXT: %[[Q:.*]] = tile.dot_wait 0, %[[T]] :
// CHECK-NEXT: arith.addf %[[SUM]], %[[Q]] :
// CHECK-NEXT: tile.dot_wait 0 pinned : () -> ()
// CHECK-NEXT: tile.dot_async %{{.*}} depth = [64, 96] :
// CHECK: tile.dot_async %{{.*}} depth = [96, 128] :
// CHECK: return
func.func @in_turns(%a: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %depth = arith.constant 128 : i64
  %width = arith.constant 64 : i64
  %x = tile.block_load %a[%zero, %zero] of [%n, %depth] by [%depth, %one] checked = [false, false] : !tile.ptr<f8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %y = tile.block_load %b[%zero, %zero] of [%n, %depth] by [%depth, %one] checked = [false, false] : !tile.ptr<f8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %yt = tile.transpose %y [1, 0] : tensor<64x128xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
  %c = tile.block_load %out[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : !tile.ptr<f32> -> tensor<64x64xf32>
  %s = tile.dot %x, %yt, %c {maxImpreciseAcc = 32 : i32} : tensor<64x128xf8E4M3FN> * tensor<128x64xf8E4M3FN> -> tensor<64x64xf32>
  tile.block_store %s, %out[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// The whole depth may lose digits, and the accumulator is zero: there is nothing to add to.
// CHECK-LABEL: func.func @to_zeros
// CHECK: tile.dot_async %{{.*}}, %{{.*}}, %{{.*}} instruction = "wgmma.m64n64k32.f32.e4m3.e4m3" :
// CHECK-NOT: arith.addf
// CHECK: return
func.func @to_zeros(%a: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %depth = arith.constant 128 : i64
  %width = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %depth] by [%depth, %one] checked = [false, false] : !tile.ptr<f8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %y = tile.block_load %b[%zero, %zero] of [%n, %depth] by [%depth, %one] checked = [false, false] : !tile.ptr<f8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %yt = tile.transpose %y [1, 0] : tensor<64x128xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
  %s = tile.dot %x, %yt, %none {maxImpreciseAcc = 128 : i32} : tensor<64x128xf8E4M3FN> * tensor<128x64xf8E4M3FN> -> tensor<64x64xf32>
  tile.block_store %s, %out[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}

// Fewer than an instruction adds: one of single warps, whose sums have all digits.
// CHECK-LABEL: func.func @of_none
// CHECK: tile.dot %{{.*}} instruction = "mma
// CHECK-NOT: tile.dot_async
// CHECK: return
func.func @of_none(%a: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %depth = arith.constant 128 : i64
  %width = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %depth] by [%depth, %one] checked = [false, false] : !tile.ptr<f8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %y = tile.block_load %b[%zero, %zero] of [%n, %depth] by [%depth, %one] checked = [false, false] : !tile.ptr<f8E4M3FN> -> tensor<64x128xf8E4M3FN>
  %yt = tile.transpose %y [1, 0] : tensor<64x128xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
  %s = tile.dot %x, %yt, %none {maxImpreciseAcc = 31 : i32} : tensor<64x128xf8E4M3FN> * tensor<128x64xf8E4M3FN> -> tensor<64x64xf32>
  tile.block_store %s, %out[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : tensor<64x64xf32>, !tile.ptr<f32>
  return
}
