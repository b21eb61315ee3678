// PIPELINE: --expand-reductions --canonicalize --cse

// Neighbours are combined, and what is odd comes last: 5 elements are 2 + 1 + 1 pairs.
// CHECK-LABEL: func.func @odd
func.func @odd(%x: tensor<5xi32>, %p: !tile.ptr<i32>) attributes {tile.kernel} {
  // CHECK: %[[LAST:.*]] = tile.gather {{.*}} -> tensor<1xi32>
  // CHECK: tile.assert {{.*}} : tensor<2xi1>
  // CHECK: tile.assert {{.*}} : tensor<1xi1>
  // CHECK: arith.cmpi slt, %{{.*}}, %[[LAST]] : tensor<1xi32>
  // CHECK: tile.assert {{.*}} : tensor<1xi1>
  // CHECK-NOT: tile.assert
  // CHECK: tile.reduce
  // CHECK-NEXT: ^bb0(%[[FIRST:.*]]: i32, %{{.*}}: i32):
  // CHECK-NEXT: tile.yield %[[FIRST]]
  %s = tile.reduce(%x) axis 0 : (tensor<5xi32>) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %less = arith.cmpi slt, %a, %b : i32
    tile.assert %less, "sorted" : i1
    %c = arith.addi %a, %b : i32
    tile.yield %c : i32
  }
  tile.store %p, %s : !tile.ptr<i32>
  return
}

// A scan of 4 elements: two pairs, then two.
// CHECK-LABEL: func.func @scan
func.func @scan(%x: tensor<8x4xi32>, %ps: tensor<8x4x!tile.ptr<i32>>) attributes {tile.kernel} {
  // CHECK-NOT: tile.scan
  // CHECK: tile.assert {{.*}} : tensor<8x2xi1>
  // CHECK: tile.assert {{.*}} : tensor<8x2xi1>
  // CHECK-NOT: tile.assert
  %s = tile.scan(%x) axis 1 reverse false : (tensor<8x4xi32>) -> tensor<8x4xi32> {
  ^bb0(%a: i32, %b: i32):
    %less = arith.cmpi slt, %a, %b : i32
    tile.assert %less, "sorted" : i1
    %c = arith.addi %a, %b : i32
    tile.yield %c : i32
  }
  tile.store %ps, %s : tensor<8x4x!tile.ptr<i32>>
  return
}

// Nothing is expanded that has no effects.
// CHECK-LABEL: func.func @pure
func.func @pure(%x: tensor<8xi32>, %p: !tile.ptr<i32>) attributes {tile.kernel} {
  // CHECK-NOT: tile.gather
  // CHECK: tile.reduce
  %s = tile.reduce(%x) axis 0 : (tensor<8xi32>) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tile.yield %c : i32
  }
  tile.store %p, %s : !tile.ptr<i32>
  return
}

// What has effects in branches has them for the elements that take these; an assertion holds elsewhere.
// CHECK-LABEL: func.func @branches
func.func @branches(%x: tensor<2xi32>, %ptrs: tensor<2x!tile.ptr<i32>>, %p: !tile.ptr<i32>) attributes {tile.kernel} {
  // CHECK-DAG: %[[ALL:.*]] = arith.constant dense<true> : tensor<1xi1>
  // CHECK-DAG: %[[THREE:.*]] = arith.constant dense<3> : tensor<1xi32>
  // CHECK: %[[LESS:.*]] = arith.cmpi slt
  // CHECK: %[[SMALL:.*]] = arith.cmpi slt, %{{.*}}, %[[THREE]]
  // CHECK: %[[BOTH:.*]] = arith.andi %[[LESS]], %[[SMALL]]
  // CHECK: tile.store %{{.*}}, %{{.*}}, %[[BOTH]]
  // CHECK: %[[NOT:.*]] = arith.xori %[[LESS]], %[[ALL]]
  // CHECK: %[[MASK:.*]] = arith.andi %[[NOT]], %[[SMALL]]
  // CHECK: tile.atomic_rmw add, {{.*}}, %[[MASK]]
  // CHECK: %[[ELSEWHERE:.*]] = arith.ori %{{.*}}, %[[SMALL]]
  // CHECK: tile.assert %[[ELSEWHERE]]
  %s, %q = tile.reduce(%x, %ptrs) axis 0 : (tensor<2xi32>, tensor<2x!tile.ptr<i32>>) -> (i32, !tile.ptr<i32>) {
  ^bb0(%a: i32, %pa: !tile.ptr<i32>, %b: i32, %pb: !tile.ptr<i32>):
    %three = arith.constant 3 : i32
    %less = arith.cmpi slt, %a, %b : i32
    %small = arith.cmpi slt, %a, %three : i32
    scf.if %less {
      scf.if %small {
        tile.store %pa, %b : !tile.ptr<i32>
      }
    } else {
      %old = tile.atomic_rmw add, relaxed, gpu, %pb, %a, %small : !tile.ptr<i32>
      tile.assert %small, "small" : i1
    }
    tile.yield %a, %pa : i32, !tile.ptr<i32>
  }
  tile.store %p, %s : !tile.ptr<i32>
  return
}
