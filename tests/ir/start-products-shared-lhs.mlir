// PIPELINE: --expand-blocks --canonicalize --cse --assign-layouts=warps=4,wgmma=true --start-products=warps=4,wgmma=true --verify-layouts=warps=4,wgmma=true

// A lhs that is loaded and transposed, and stored as well, may get its layout from the store: what is put between the
// load and the transpose then leaves the product what it was, one that reads a buffer or registers of its instruction.
// CHECK-LABEL: func.func @transposed_and_stored
// CHECK-DAG: tile.transpose
// CHECK-DAG: tile.dot{{(_async)?}} %
// CHECK: tile.store
// CHECK: tile.store
// CHECK: return
func.func @transposed_and_stored(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
  %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %copy: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %n: i64) attributes {tile.kernel} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %width = arith.constant 64 : i64
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = tile.block_load %a[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %y = tile.block_load %b[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : !tile.ptr<f16> -> tensor<64x64xf16>
  %xt = tile.transpose %x [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
  %s = tile.dot %xt, %y, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  tile.block_store %s, %out[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : tensor<64x64xf32>, !tile.ptr<f32>
  tile.block_store %xt, %copy[%zero, %zero] of [%n, %width] by [%width, %one] checked = [false, false] : tensor<64x64xf16>, !tile.ptr<f16>
  return
}
