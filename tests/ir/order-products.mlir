// PIPELINE: --order-products=warps=4

!b = !tile.buffer<1, [64, 64], f16, <64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>>
!h = tensor<64x64xf16>
!s = tensor<64x64xf32>

// Products that only add to what the loop carries are waited for in the next round, by a wait behind the last of this
// round's.
// CHECK-LABEL: func.func @carried
// CHECK: %[[H:.*]] = math.exp
// CHECK: scf.for {{.*}} iter_args(%[[P:[a-z0-9]*]] = %{{.*}}, %[[Q:[a-z0-9]*]] = %{{.*}}, %[[R:[a-z0-9]*]] = %{{.*}})
// CHECK-NEXT: %[[ONE:.*]] = tile.dot_async %{{.*}}, %{{.*}}, %[[P]] instruction = "wgmma.m64n64k16.f32.f16.f16" :
// CHECK-NEXT: %[[TWO:.*]] = tile.dot_async %[[H]], %{{.*}}, %[[Q]]
// CHECK-NEXT: %[[THREE:.*]] = tile.dot_async %{{.*}}, %{{.*}}, %[[R]]
// CHECK-NEXT: tile.dot_wait 3 : () -> ()
// CHECK-NEXT: scf.yield %[[ONE]], %[[TWO]], %[[THREE]]
// CHECK-NEXT: }
// CHECK-NEXT: tile.dot_wait 0, %{{.*}}#0, %{{.*}}#1, %{{.*}}#2
func.func @carried(%l: !h, %n: i32) -> (!s, !s, !s) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !s
  %x = tile.buffer_alloc : !b
  %h = math.exp %l : !h
  %r:3 = scf.for %k = %zero to %n step %step iter_args(%p = %none, %q = %none, %t = %none) -> (!s, !s, !s) : i32 {
    %a = tile.dot_async %x, %x, %p instruction = "wgmma.m64n64k16.f32.f16.f16" lasting : !b * !b -> !s
    %a1 = tile.dot_wait 0, %a : (!s) -> !s
    %b = tile.dot_async %h, %x, %q instruction = "wgmma.m64n64k16.f32.f16.f16" lasting : !h * !b -> !s
    %b1 = tile.dot_wait 0, %b : (!s) -> !s
    %c = tile.dot_async %x, %x, %t instruction = "wgmma.m64n64k16.f32.f16.f16" lasting : !b * !b -> !s
    %c1 = tile.dot_wait 0, %c : (!s) -> !s
    scf.yield %a1, %b1, %c1 : !s, !s, !s
  }
  return %r#0, %r#1, %r#2 : !s, !s, !s
}

// A product reads registers until it is done: one whose left operand is computed in each round, from nothing that a wait
// gives, is waited for in its round. The third one begins before what the second one takes is computed.
// CHECK-LABEL: func.func @written_by_the_round
// CHECK: scf.for {{.*}} iter_args(%[[P:[a-z0-9]*]] = %{{.*}}, %[[Q:[a-z0-9]*]] = %{{.*}}, %[[R:[a-z0-9]*]] = %{{.*}})
// CHECK-NEXT: %[[ONE:.*]] = tile.dot_async %{{.*}}, %{{.*}}, %[[P]] instruction = "wgmma.m64n64k16.f32.f16.f16" :
// CHECK-NEXT: %[[THREE:.*]] = tile.dot_async %{{.*}}, %{{.*}}, %[[R]] instruction = "wgmma.m64n64k16.f32.f16.f16" :
// CHECK-NEXT: %[[H:.*]] = math.exp
// CHECK-NEXT: %[[TWO:.*]] = tile.dot_async %[[H]], %{{.*}}, %[[Q]] instruction = "wgmma.m64n64k16.f32.f16.f16" :
// CHECK-NEXT: %[[DONE:.*]] = tile.dot_wait 0, %[[TWO]]
// CHECK-NEXT: scf.yield %[[ONE]], %[[DONE]], %[[THREE]]
func.func @written_by_the_round(%l: !h, %n: i32) -> (!s, !s, !s) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !s
  %x = tile.buffer_alloc : !b
  %r:3 = scf.for %k = %zero to %n step %step iter_args(%p = %none, %q = %none, %t = %none) -> (!s, !s, !s) : i32 {
    %a = tile.dot_async %x, %x, %p instruction = "wgmma.m64n64k16.f32.f16.f16" lasting : !b * !b -> !s
    %a1 = tile.dot_wait 0, %a : (!s) -> !s
    %h = math.exp %l : !h
    %b = tile.dot_async %h, %x, %q instruction = "wgmma.m64n64k16.f32.f16.f16" lasting : !h * !b -> !s
    %b1 = tile.dot_wait 0, %b : (!s) -> !s
    %c = tile.dot_async %x, %x, %t instruction = "wgmma.m64n64k16.f32.f16.f16" lasting : !b * !b -> !s
    %c1 = tile.dot_wait 0, %c : (!s) -> !s
    scf.yield %a1, %b1, %c1 : !s, !s, !s
  }
  return %r#0, %r#1, %r#2 : !s, !s, !s
}

// Sums that the round computes with: the second product begins before what starts copies waits, and the first one's sums
// are added under it. The wait for it stays behind that (`pinned`).
// CHECK-LABEL: func.func @added_by_the_round
// CHECK: scf.for {{.*}} iter_args(%[[SUM:[a-z0-9]*]] = %{{.*}})
// CHECK: tile.mbarrier_wait %[[FULL:.*]][%{{.*}}], %{{.*}} :
// CHECK-NEXT: %[[ONE:.*]] = tile.dot_async
// CHECK-NEXT: %[[TWO:.*]] = tile.dot_async
// CHECK-NEXT: tile.mbarrier_wait %{{.*}} of_copies
// CHECK-NEXT: %[[A:.*]] = tile.dot_wait 1, %[[ONE]] :
// CHECK-NEXT: %[[B:.*]] = arith.addf %[[SUM]], %[[A]]
// CHECK-NEXT: %[[C:.*]] = tile.dot_wait 0 pinned, %[[TWO]] :
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[B]], %[[C]]
// CHECK-NEXT: scf.yield %[[D]]
func.func @added_by_the_round(%n: i32) -> !s {
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !s
  %x = tile.buffer_alloc : !b
  %full = tile.mbarrier_alloc : !tile.mbarriers<2>
  %over = tile.mbarrier_alloc : !tile.mbarriers<2>
  %r = scf.for %k = %zero to %n step %step iter_args(%sum = %none) -> (!s) : i32 {
    tile.mbarrier_wait %full[%zero], %zero : !tile.mbarriers<2>
    %a = tile.dot_async %x, %x, %none instruction = "wgmma.m64n64k16.f32.f16.f16" : !b * !b -> !s
    tile.mbarrier_wait %over[%zero], %zero of_copies : !tile.mbarriers<2>
    %a1 = tile.dot_wait 0, %a : (!s) -> !s
    %a2 = arith.addf %sum, %a1 : !s
    %b = tile.dot_async %x, %x, %none instruction = "wgmma.m64n64k16.f32.f16.f16" : !b * !b -> !s
    %b1 = tile.dot_wait 0, %b : (!s) -> !s
    %b2 = arith.addf %a2, %b1 : !s
    scf.yield %b2 : !s
  }
  return %r : !s
}

// A wait does not pass that of a later product, which would have waited for both: they stand in their products' order.
// CHECK-LABEL: func.func @used_together
// CHECK: scf.for
// CHECK-NEXT: %[[ONE:.*]] = tile.dot_async
// CHECK-NEXT: %[[TWO:.*]] = tile.dot_async
// CHECK-NEXT: %[[A:.*]] = tile.dot_wait 1, %[[ONE]] :
// CHECK-NEXT: %[[B:.*]] = tile.dot_wait 0, %[[TWO]] :
// CHECK-NEXT: arith.addf %[[A]], %[[B]]
func.func @used_together(%n: i32) -> (!s, !s) {
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !s
  %x = tile.buffer_alloc : !b
  %r:2 = scf.for %k = %zero to %n step %step iter_args(%p = %none, %q = %none) -> (!s, !s) : i32 {
    %a = tile.dot_async %x, %x, %p instruction = "wgmma.m64n64k16.f32.f16.f16" : !b * !b -> !s
    %a1 = tile.dot_wait 0, %a : (!s) -> !s
    %b = tile.dot_async %x, %x, %q instruction = "wgmma.m64n64k16.f32.f16.f16" : !b * !b -> !s
    %b1 = tile.dot_wait 0, %b : (!s) -> !s
    %c = arith.addf %a1, %b1 : !s
    scf.yield %b1, %c : !s, !s
  }
  return %r#0, %r#1 : !s, !s
}
