//===-- SplitWideProducts.h - addresses that wgmma does not wait for -------------------------===//
// ptxas does a product `mul.wide` by a constant where its result is used, as a part of an addition
// (IMAD.WIDE), although it stands in front of the loop:
//
//   mul.wide.s32 %rd2, %r59, 16;              loop:
//   loop:                                       IMAD.WIDE R152, R9, 0x10, R22
//     add.s64 %rd53, %rd52, %rd2;               LDGSTS [R177+0x400], [R152.64]
//     cp.async.cg.shared.global ..
//
// While products of several warps are under way these instructions are dear: on an H200 seven of
// them in a round of 128x256x64, two warps to a scheduler, cost 94 of 1,167 cycles. A product of
// two halves (mul.lo, mul.hi) stays where it stands, and the loop adds.
#pragma once

#include <string>

namespace sectile::nvidia {

/// Returns the text of a PTX module with the `mul.wide` of 32 bits by constants written as two
/// products, where it has `wgmma`, but for those in the innermost loops that have it and, where
/// none does, in innermost loops: what a program computes for each of its tiles is in front of the
/// loop of the tile's products. The text itself elsewhere.
std::string splitWideProducts(std::string ptx);

} // namespace sectile::nvidia
