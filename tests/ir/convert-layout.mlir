// PIPELINE: --canonicalize

#one = #tile.layout<8, register = [1], lane = [2 4]>
#two = #tile.layout<8, register = [4], lane = [1 2]>
#three = #tile.layout<8, register = [2], lane = [1 4]>

// CHECK-LABEL: func.func @round_trip
// CHECK: tile.convert_layout %{{.*}} : tensor<8xf32, #tile.layout<8, register = [1], lane = [2 4]>> -> tensor<8xf32, #tile.layout<8, register = [4], lane = [1 2]>>
func.func @round_trip(%x: tensor<8xf32, #one>) -> tensor<8xf32, #two> {
  %y = tile.convert_layout %x : tensor<8xf32, #one> -> tensor<8xf32, #two>
  return %y : tensor<8xf32, #two>
}

// To the same layout and back again: nothing. By way of a third: straight.
// CHECK-LABEL: func.func @chains
// CHECK-SAME: %[[X:[a-z0-9]*]]:
// CHECK-NEXT: %[[Z:.*]] = tile.convert_layout %[[X]] : {{.*}}[1], {{.*}} -> {{.*}}[2],
// CHECK-NEXT: return %[[X]], %[[X]], %[[Z]]
func.func @chains(%x: tensor<8xf32, #one>) -> (tensor<8xf32, #one>, tensor<8xf32, #one>, tensor<8xf32, #three>) {
  %same = tile.convert_layout %x : tensor<8xf32, #one> -> tensor<8xf32, #one>
  %y = tile.convert_layout %x : tensor<8xf32, #one> -> tensor<8xf32, #two>
  %back = tile.convert_layout %y : tensor<8xf32, #two> -> tensor<8xf32, #one>
  %z = tile.convert_layout %y : tensor<8xf32, #two> -> tensor<8xf32, #three>
  return %same, %back, %z : tensor<8xf32, #one>, tensor<8xf32, #one>, tensor<8xf32, #three>
}

// What every thread can make for itself is not moved.
// CHECK-LABEL: func.func @makers
// CHECK-NOT: convert_layout
// CHECK-DAG: arith.constant dense<1.000000e+00> : tensor<8xf32, {{.*}}[4]
// CHECK-DAG: arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32, {{.*}}[4]
// CHECK-DAG: tile.arange 0, 8 : tensor<8xi32, {{.*}}[4]
// CHECK-DAG: tile.splat %{{.*}} : f32 -> tensor<8xf32, {{.*}}[4]
// CHECK: return
func.func @makers(%s: f32) -> (tensor<8xf32, #two>, tensor<8xi32, #two>, tensor<8xi32, #two>, tensor<8xf32, #two>) {
  %c = arith.constant dense<1.0> : tensor<8xf32, #one>
  %d = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32, #one>
  %i = tile.arange 0, 8 : tensor<8xi32, #one>
  %x = tile.splat %s : f32 -> tensor<8xf32, #one>
  %c2 = tile.convert_layout %c : tensor<8xf32, #one> -> tensor<8xf32, #two>
  %d2 = tile.convert_layout %d : tensor<8xi32, #one> -> tensor<8xi32, #two>
  %i2 = tile.convert_layout %i : tensor<8xi32, #one> -> tensor<8xi32, #two>
  %x2 = tile.convert_layout %x : tensor<8xf32, #one> -> tensor<8xf32, #two>
  return %c2, %d2, %i2, %x2 : tensor<8xf32, #two>, tensor<8xi32, #two>, tensor<8xi32, #two>, tensor<8xf32, #two>
}

// Folders keep layouts: shapes of constants, accesses with known masks.
// CHECK-LABEL: func.func @laid_out
func.func @laid_out(%p: tensor<8x!tile.ptr<f32>, #one>, %k: tensor<8xi32, #one>) {
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<4.000000e+00> : tensor<8xf32, #tile.layout
  // CHECK: tile.load %{{.*}} : tensor<8x!tile.ptr<f32>, #tile.layout
  // CHECK: tile.store %{{.*}}, %[[C]] : tensor<8x!tile.ptr<f32>, #tile.layout
  %true = arith.constant dense<true> : tensor<8xi1, #one>
  %a = arith.constant dense<1.0> : tensor<8xf32, #one>
  %b = arith.constant dense<3.0> : tensor<8xf32, #one>
  %x = tile.load %p, %true, %a : tensor<8x!tile.ptr<f32>, #one>
  %c = arith.addf %a, %b : tensor<8xf32, #one>
  tile.store %p, %x : tensor<8x!tile.ptr<f32>, #one>
  tile.store %p, %c, %true : tensor<8x!tile.ptr<f32>, #one>
  return
}
