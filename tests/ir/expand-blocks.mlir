// PIPELINE: --expand-blocks --canonicalize --cse

// An offset that may be negative is compared with both ends of the array.
// CHECK-LABEL: func.func @load
func.func @load(%p: !tile.ptr<f32>, %o: !tile.ptr<f32>, %i: i64, %n: i64, %s: i64) attributes {tile.kernel} {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK-DAG: %[[FAR:.*]] = arith.constant 1073741824 : i64
  // CHECK-DAG: %[[NAN:.*]] = arith.constant dense<0x7FC00000> : tensor<16xf32>
  // CHECK: %[[START:.*]] = arith.muli %arg2, %arg4
  // CHECK: %[[K:.*]] = tile.arange 0, 16
  // CHECK: %[[WIDE:.*]] = arith.extsi %[[K]]
  // CHECK: %[[STRIDE:.*]] = tile.splat %arg4
  // CHECK: %[[WITHIN:.*]] = arith.muli %[[WIDE]], %[[STRIDE]]
  // CHECK: %[[LEFT:.*]] = arith.subi %arg3, %arg2
  // CHECK: %[[SOME:.*]] = arith.maxsi %[[LEFT]], %[[ZERO]]
  // CHECK: %[[END:.*]] = arith.minsi %[[SOME]], %[[FAR]]
  // CHECK: %[[END32:.*]] = arith.trunci %[[END]]
  // CHECK: %[[ENDS:.*]] = tile.splat %[[END32]]
  // CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[K]], %[[ENDS]]
  // CHECK: arith.subi %[[ZERO]], %arg2
  // CHECK: %[[ABOVE:.*]] = arith.cmpi sge, %[[K]]
  // CHECK: %[[MASK:.*]] = arith.andi %[[ABOVE]], %[[BELOW]]
  // CHECK: %[[FIRST:.*]] = tile.ptr_add %arg0, %[[START]]
  // CHECK: %[[FIRSTS:.*]] = tile.splat %[[FIRST]]
  // CHECK: %[[PLACES:.*]] = tile.ptr_add %[[FIRSTS]], %[[WITHIN]]
  // CHECK: tile.load %[[PLACES]], %[[MASK]], %[[NAN]] cache = cg
  %x = tile.block_load %p[%i] of [%n] by [%s] checked = [true] padding = nan cache = cg : !tile.ptr<f32> -> tensor<16xf32>
  %k = tile.arange 0, 16 : tensor<16xi32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %q = tile.ptr_add %os, %k : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  tile.store %q, %x : tensor<16x!tile.ptr<f32>>
  return
}

// A program number is not negative: one comparison. What is not checked has no mask.
// CHECK-LABEL: func.func @store
func.func @store(%p: !tile.ptr<f32>, %n: i64, %s: i64) attributes {tile.kernel} {
  %one = arith.constant 1 : i64
  %pid = tile.program_id 0
  %i = arith.extsi %pid : i32 to i64
  %x = arith.constant dense<1.0> : tensor<4x8xf32>
  // CHECK: arith.cmpi slt
  // CHECK-NOT: arith.cmpi
  // CHECK: tile.store %{{.*}}, %{{.*}}, %{{.*}} evict = evict_first : tensor<4x8x!tile.ptr<f32>>
  tile.block_store %x, %p[%i, %i] of [%n, %n] by [%s, %one] checked = [true, false] evict = evict_first : tensor<4x8xf32>, !tile.ptr<f32>
  // CHECK: tile.store %{{[0-9]*}}, %{{[a-z0-9_]*}} : tensor<4x8x!tile.ptr<f32>>
  tile.block_store %x, %p[%i, %i] of [%n, %n] by [%s, %one] checked = [false, false] : tensor<4x8xf32>, !tile.ptr<f32>
  // CHECK: tile.atomic_rmw fadd, relaxed, gpu
  tile.block_reduce fadd, %x, %p[%i, %i] of [%n, %n] by [%s, %one] checked = [true, true] : tensor<4x8xf32>, !tile.ptr<f32>
  return
}

// What is left of an array from an offset of 32 bits on, which is not negative, has 32 bits.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%p: !tile.ptr<f32>, %n: i32, %s: i64) attributes {tile.kernel} {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[PID:.*]] = tile.program_id 0
  // CHECK-DAG: %[[K:.*]] = tile.arange 0, 16
  // CHECK-DAG: %[[MOST:.*]] = arith.maxsi %arg1, %[[ZERO]] : i32
  // CHECK: %[[LEFT:.*]] = arith.subi %[[MOST]], %[[PID]] : i32
  // CHECK: %[[LEFTS:.*]] = tile.splat %[[LEFT]]
  // CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[K]], %[[LEFTS]] : tensor<16xi32>
  // CHECK: tile.store %{{.*}}, %{{.*}}, %[[MASK]]
  %pid = tile.program_id 0
  %i = arith.extsi %pid : i32 to i64
  %end = arith.extsi %n : i32 to i64
  %x = arith.constant dense<1.0> : tensor<16xf32>
  tile.block_store %x, %p[%i] of [%end] by [%s] checked = [true] : tensor<16xf32>, !tile.ptr<f32>
  return
}

// Blocks that lie in the array whatever runs have no mask; of the second loop's the last one may leave it.
// CHECK-LABEL: func.func @inside
func.func @inside(%p: !tile.ptr<f32>) attributes {tile.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rounds = arith.constant 4 : i32
  %wide = arith.constant 16 : i32
  %s = arith.constant 1 : i64
  %n = arith.constant 64 : i64
  %batches = arith.constant 4 : i64
  %x = arith.constant dense<1.0> : tensor<16xf32>
  // CHECK: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK: tile.store %{{[0-9]*}}, %{{[a-z0-9_]*}} : tensor<16x!tile.ptr<f32>>
  scf.for %k = %zero to %rounds step %one : i32 {
    %first = arith.muli %k, %wide : i32
    %b = arith.extsi %k : i32 to i64
    %i = arith.extsi %first : i32 to i64
    tile.block_store %x, %p[%b, %i] of [%batches, %n] by [%n, %s] checked = [true, true] : tensor<16xf32>, !tile.ptr<f32>
  }
  // CHECK: scf.for
  // CHECK: arith.cmpi slt
  // CHECK: tile.store %{{[0-9]*}}, %{{[a-z0-9_]*}}, %{{[0-9]*}} : tensor<16x!tile.ptr<f32>>
  %more = arith.constant 5 : i32
  scf.for %k = %zero to %more step %one : i32 {
    %first = arith.muli %k, %wide : i32
    %i = arith.extsi %first : i32 to i64
    tile.block_store %x, %p[%i] of [%n] by [%s] checked = [true] : tensor<16xf32>, !tile.ptr<f32>
  }
  return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%p: !tile.ptr<f32>, %m: i64, %n: i64, %j: i64) attributes {tile.kernel} {
  %one = arith.constant 1 : i64
  %r = tile.arange 0, 8 : tensor<8xi32>
  // CHECK: arith.cmpi sge, %{{.*}} : tensor<8x1xi64>
  // CHECK: arith.cmpi slt, %{{.*}} : tensor<8x1xi64>
  // CHECK: tile.load %{{.*}}, %{{.*}} : tensor<8x16x!tile.ptr<f32>>
  %x = tile.block_gather %r, %p[%j] of [%m, %n] by [%n, %one] checked = [true, true] : tensor<8xi32>, !tile.ptr<f32> -> tensor<8x16xf32>
  // CHECK: tile.store
  tile.block_scatter %x, %r, %p[%j] of [%m, %n] by [%n, %one] checked = [true, true] : tensor<8x16xf32>, tensor<8xi32>, !tile.ptr<f32>
  return
}

// The block has extent one along what comes before the tile's axes: there one comparison is for all of it.
// CHECK-LABEL: func.func @batch
func.func @batch(%p: !tile.ptr<f32>, %o: !tile.ptr<f32>, %b: i64, %n: i64, %s: i64) attributes {tile.kernel} {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK-DAG: arith.muli %arg2, %arg4
  // CHECK-DAG: %[[BELOW:.*]] = arith.cmpi slt, %arg2, %arg3 : i64
  // CHECK-DAG: %[[ABOVE:.*]] = arith.cmpi sge, %arg2, %[[ZERO]] : i64
  // CHECK: %[[INSIDE:.*]] = arith.andi %[[ABOVE]], %[[BELOW]] : i1
  // CHECK: %[[MASK:.*]] = tile.splat %[[INSIDE]]
  // CHECK: tile.load %{{.*}}, %[[MASK]] : tensor<16x!tile.ptr<f32>>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %x = tile.block_load %p[%b, %zero] of [%n, %n] by [%s, %one] checked = [true, false] : !tile.ptr<f32> -> tensor<16xf32>
  %k = tile.arange 0, 16 : tensor<16xi32>
  %os = tile.splat %o : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
  %q = tile.ptr_add %os, %k : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
  tile.store %q, %x : tensor<16x!tile.ptr<f32>>
  return
}
