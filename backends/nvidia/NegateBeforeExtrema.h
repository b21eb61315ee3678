//===-- NegateBeforeExtrema.h - a way round a fault of ptxas ----------------------------------===//
// From sm_90 on there is an instruction for the extremum of three signed integers, which cannot
// negate. ptxas (13.0 for sm_90 and sm_100; the assembler in NVIDIA's driver, too) takes it for one
// that can negate its second source, and loses the sign:
//
//   max(max(a, -b), c)     VIMNMX3 R9, R8, R9, R10, !PT      the code of max(max(a, b), c)
//
// with 32 and 16 bits, for minima, too. A negation that is written as the complement plus one stays
// an instruction of its own, one more. It is made in kernels that have signed extrema, and there of
// every negation: LLVM's selection makes them of products by -2, -4 ... and of quotients, too,
// which the code before it does not show.
#pragma once

#include <string>

namespace sectile::nvidia {

/// Returns the text of a PTX module with `neg` of 16 and 32 bits written as `not` and `add`, where
/// it has signed extrema of such numbers; the text itself elsewhere.
std::string negateBeforeExtrema(std::string ptx);

} // namespace sectile::nvidia
