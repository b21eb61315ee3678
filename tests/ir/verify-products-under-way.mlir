// DIAGNOSTICS: --verify-layouts=warps=4,wgmma=true

// A product may be under way while other operations run; only a wait, or the next product, takes what it gives.
#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @right(%x: !half, %c: !sum, %n: i32) {
  %a = tile.buffer_alloc : !buffer
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
  %t = tile.dot_async %x, %a, %s instruction = "wgmma.m64n64k16.f32.f16.f16" : !half * !buffer -> !sum
  tile.dot_wait 1 : () -> ()
  %done = tile.dot_wait 0, %t : (!sum) -> !sum
  %u = scf.for %k = %zero to %n step %one iter_args(%sum = %done) -> (!sum) : i32 {
    %v = tile.dot_async %a, %a, %sum instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
    scf.yield %v : !sum
  }
  %w = tile.dot_wait 0, %u : (!sum) -> !sum
  %r = arith.addf %w, %w : !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @used_early(%c: !sum) {
  %a = tile.buffer_alloc : !buffer
  // expected-error @below {{'tile.dot_async' op is used before it is waited for, by 'arith.addf'}}
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
  %r = arith.addf %s, %c : !sum
  %w = tile.dot_wait 0, %s : (!sum) -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @used_behind_a_loop(%c: !sum, %n: i32) {
  %a = tile.buffer_alloc : !buffer
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %u = scf.for %k = %zero to %n step %one iter_args(%sum = %c) -> (!sum) : i32 {
    // expected-error @below {{'tile.dot_async' op is used before it is waited for, by 'arith.negf'}}
    %v = tile.dot_async %a, %a, %sum instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
    scf.yield %v : !sum
  }
  %r = arith.negf %u : !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @used_in_the_next_round(%c: !sum, %n: i32) {
  %a = tile.buffer_alloc : !buffer
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %u = scf.for %k = %zero to %n step %one iter_args(%sum = %c) -> (!sum) : i32 {
    %r = arith.negf %sum : !sum
    // expected-error @below {{'tile.dot_async' op is used before it is waited for, by 'arith.negf'}}
    %v = tile.dot_async %a, %a, %r instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
    scf.yield %v : !sum
  }
  %w = tile.dot_wait 0, %u : (!sum) -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @lhs_under_way(%c: !sum) {
  %a = tile.buffer_alloc : !buffer
  %i = arith.constant dense<0.0> : tensor<64x64xf16, #acc>
  // expected-error @below {{'tile.dot_async' op is used before it is waited for, by 'arith.truncf'}}
  %s = tile.dot_async %i, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !half * !buffer -> !sum
  %h = arith.truncf %s : !sum to !half
  %t = tile.dot_async %h, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !half * !buffer -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @unknown(%c: !sum) {
  %a = tile.buffer_alloc : !buffer
  // expected-error @below {{layouts: there is no instruction "wgmma.m64n40k16.f32.f16.f16"}}
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n40k16.f32.f16.f16" : !buffer * !buffer -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
#other = #tile.layout<64x64, register = [(0, 1) (0, 2) (8, 0) (16, 0) (32, 0)], lane = [(0, 4) (0, 8) (0, 16) (0, 32) (1, 0)], warp = [(2, 0) (4, 0)]>
func.func @accumulator(%c: tensor<64x64xf32, #other>) {
  %a = tile.buffer_alloc : !buffer
  // expected-error @below {{layouts: the accumulator is none of "wgmma.m64n64k16.f32.f16.f16"}}
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> tensor<64x64xf32, #other>
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
#plain = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0)]>
func.func @without_swizzle(%c: !sum) {
  %a = tile.buffer_alloc : !buffer
  %b = tile.buffer_alloc : !tile.buffer<1, [64, 64], f16, #plain>
  // expected-error @below {{layouts: its instruction cannot read '!tile.buffer<1, [64, 64], f16, <64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0)]>>'}}
  %s = tile.dot_async %a, %b, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !tile.buffer<1, [64, 64], f16, #plain> -> !sum
  return
}

// -----

// Bytes that are contiguous along the depth as a lhs are not as a rhs.
#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xi32, #acc>
!buffer = !tile.buffer<1, [64, 64], i8, #rows>
func.func @bytes_across_the_depth(%c: !sum) {
  %a = tile.buffer_alloc : !buffer
  // expected-error @below {{layouts: its instruction cannot read '!tile.buffer<1, [64, 64], i8, <64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 0) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>>'}}
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k32.s32.s8.s8" : !buffer * !buffer -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
#other = #tile.layout<64x64, register = [(0, 1) (0, 2) (8, 0) (16, 0) (32, 0)], lane = [(0, 4) (0, 8) (0, 16) (0, 32) (1, 0)], warp = [(2, 0) (4, 0)]>
func.func @registers(%x: tensor<64x64xf16, #other>, %c: !sum) {
  %a = tile.buffer_alloc : !buffer
  // expected-error @below {{layouts: the operand in registers does not fit the accumulator}}
  %s = tile.dot_async %x, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : tensor<64x64xf16, #other> * !buffer -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @of_other_elements(%c: !sum) {
  %a = tile.buffer_alloc : !buffer
  // expected-error @below {{layouts: its instruction does not multiply '!tile.buffer<1, [64, 64], f16,}}
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.bf16.bf16" : !buffer * !buffer -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
#deep = #tile.shared_layout<64x8, offset = [(1, 0) (2, 0) (4, 0) (8, 0) (16, 0) (32, 0) (8, 1) (16, 2) (32, 4)]>
#wide = #tile.shared_layout<8x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32)]>
func.func @of_half_an_instruction(%c: !sum) {
  %a = tile.buffer_alloc : !tile.buffer<1, [64, 8], f16, #deep>
  %b = tile.buffer_alloc : !tile.buffer<1, [8, 64], f16, #wide>
  // expected-error @below {{layouts: its instruction does not multiply '!tile.buffer<1, [64, 8], f16,}}
  %s = tile.dot_async %a, %b, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !tile.buffer<1, [64, 8], f16, #deep> * !tile.buffer<1, [8, 64], f16, #wide> -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @carried_from_outside(%c: !sum, %n: i32) -> !sum {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = tile.buffer_alloc : !buffer
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
  %r = scf.for %i = %zero to %n step %one iter_args(%before = %s) -> (!sum) : i32 {
    %next = tile.dot_async %a, %a, %before instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
    scf.yield %next : !sum
  }
  %w = tile.dot_wait 0, %r : (!sum) -> !sum
  return %w : !sum
}

// -----

// Behind a wait of its round nothing of the round before is under way: its registers may be written anew.
#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @left_operand(%x: !half, %c: !sum, %n: i32) {
  %a = tile.buffer_alloc : !buffer
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %u:3 = scf.for %k = %zero to %n step %one iter_args(%p = %c, %q = %c, %r = %c) -> (!sum, !sum, !sum) : i32 {
    %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
    %s1 = tile.dot_wait 0, %s : (!sum) -> !sum
    %h = arith.truncf %s1 : !sum to !half
    %v = tile.dot_async %h, %a, %p instruction = "wgmma.m64n64k16.f32.f16.f16" : !half * !buffer -> !sum
    %w = tile.dot_async %x, %a, %q instruction = "wgmma.m64n64k16.f32.f16.f16" : !half * !buffer -> !sum
    %y = arith.negf %x : !half
    // expected-error @below {{'tile.dot_async' op goes on into the next round, which writes the registers of its left operand before it has waited}}
    %z = tile.dot_async %y, %a, %r instruction = "wgmma.m64n64k16.f32.f16.f16" : !half * !buffer -> !sum
    scf.yield %v, %w, %z : !sum, !sum, !sum
  }
  %e:3 = tile.dot_wait 0, %u#0, %u#1, %u#2 : (!sum, !sum, !sum) -> (!sum, !sum, !sum)
  return
}

// -----

// Both sides of a branch write them behind the wait, or one of them does not.
#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @left_operand_of_a_branch(%c: !sum, %n: i32, %isWhole: i1) {
  %a = tile.buffer_alloc : !buffer
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %u:2 = scf.for %k = %zero to %n step %one iter_args(%p = %c, %q = %c) -> (!sum, !sum) : i32 {
    %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" : !buffer * !buffer -> !sum
    %s1 = tile.dot_wait 0, %s : (!sum) -> !sum
    %t = scf.if %isWhole -> (!sum) {
      scf.yield %s1 : !sum
    } else {
      %r = arith.negf %s1 : !sum
      scf.yield %r : !sum
    }
    %h = arith.truncf %t : !sum to !half
    %v = tile.dot_async %h, %a, %p instruction = "wgmma.m64n64k16.f32.f16.f16" : !half * !buffer -> !sum
    %m = scf.if %isWhole -> (!sum) {
      scf.yield %s1 : !sum
    } else {
      scf.yield %c : !sum
    }
    %i = arith.truncf %m : !sum to !half
    // expected-error @below {{'tile.dot_async' op goes on into the next round, which writes the registers of its left operand before it has waited}}
    %w = tile.dot_async %i, %a, %q instruction = "wgmma.m64n64k16.f32.f16.f16" : !half * !buffer -> !sum
    scf.yield %v, %w : !sum, !sum
  }
  %e:2 = tile.dot_wait 0, %u#0, %u#1 : (!sum, !sum) -> (!sum, !sum)
  return
}

// -----

// Of a part of the depth: whole instructions.
#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @of_a_part(%c: !sum) {
  %a = tile.buffer_alloc : !buffer
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" depth = [16, 64] : !buffer * !buffer -> !sum
  // expected-error @below {{layouts: its depth is not one of whole instructions, of 16}}
  %t = tile.dot_async %a, %a, %s instruction = "wgmma.m64n64k16.f32.f16.f16" depth = [16, 40] : !buffer * !buffer -> !sum
  %w = tile.dot_wait 0, %t : (!sum) -> !sum
  return
}

// -----

#acc = #tile.layout<64x64, register = [(0, 1) (8, 0) (0, 8) (0, 16) (0, 32)], lane = [(0, 2) (0, 4) (1, 0) (2, 0) (4, 0)], warp = [(16, 0) (32, 0)]>
#rows = #tile.shared_layout<64x64, offset = [(0, 1) (0, 2) (0, 4) (0, 8) (0, 16) (0, 32) (1, 8) (2, 16) (4, 32) (8, 0) (16, 0) (32, 0)]>
!sum = tensor<64x64xf32, #acc>
!buffer = !tile.buffer<1, [64, 64], f16, #rows>
func.func @of_too_much(%c: !sum) {
  %a = tile.buffer_alloc : !buffer
  // expected-error @below {{'tile.dot_async' op depth is a part of the inner extent, which is 64}}
  %s = tile.dot_async %a, %a, %c instruction = "wgmma.m64n64k16.f32.f16.f16" depth = [32, 80] : !buffer * !buffer -> !sum
  return
}
