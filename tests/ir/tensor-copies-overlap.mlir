// PIPELINE: --expand-blocks=keep-blocks=true --canonicalize --cse --assign-layouts=warps=8,wgmma=true --start-products=warps=8,wgmma=true --pipeline-loops=warps=8,async=lanes,maps=16,wgmma=true,shared=232448,overlap=true --drop-blocks --stage-stores=maps=16,shared=232448,overlap=true --canonicalize --cse

// Any two arguments may share memory: what the kernel writes to one may be what it reads through the other, which the
// engine would not see.
// CHECK-LABEL: func.func @product
// CHECK-NOT: tile.tensor_copy
// CHECK: scf.for
// CHECK: tile.load
// CHECK: tile.load
// CHECK-NOT: tile.tensor_copy
func.func @product(%a: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: !tile.ptr<f16> {tile.divisibility = 16 : i64},
    %c: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %m: i32, %k: i32, %n: i32) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %step = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : tensor<128x256xf32>
  %rows = arith.extsi %m : i32 to i64
  %depth = arith.extsi %k : i32 to i64
  %columns = arith.extsi %n : i32 to i64
  %x = tile.program_id 0
  %y = tile.program_id 1
  %tall = arith.constant 128 : i32
  %wide = arith.constant 256 : i32
  %i = arith.muli %x, %tall : i32
  %j = arith.muli %y, %wide : i32
  %i64 = arith.extsi %i : i32 to i64
  %j64 = arith.extsi %j : i32 to i64
  %sum = scf.for %d = %zero to %k step %step iter_args(%acc = %none) -> (tensor<128x256xf32>) : i32 {
    %d64 = arith.extsi %d : i32 to i64
    %l = tile.block_load %a[%i64, %d64] of [%rows, %depth] by [%depth, %one] checked = [true, true]
       : !tile.ptr<f16> -> tensor<128x64xf16>
    %r = tile.block_load %b[%d64, %j64] of [%depth, %columns] by [%columns, %one] checked = [true, true]
       : !tile.ptr<f16> -> tensor<64x256xf16>
    %next = tile.dot %l, %r, %acc : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  }
  tile.block_store %sum, %c[%i64, %j64] of [%rows, %columns] by [%columns, %one] checked = [true, true]
     : tensor<128x256xf32>, !tile.ptr<f32>
  return
}
