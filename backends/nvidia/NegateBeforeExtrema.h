//===-- NegateBeforeExtrema.h - a way round a fault of ptxas ----------------------------------===//
// From sm_90 on there is an instruction for the extremum of three signed integers, which cannot
// negate. ptxas (13.0 for sm_90 and sm_100; the assembler in NVIDIA's driver, too) takes it for one
// that can negate its second source, and loses the sign:
//
//   max(max(a, -b), c)     VIMNMX3 R9, R8, R9, R10, !PT      the code of max(max(a, b), c)
//
// with 32 and 16 bits, for minima, too. A negation that is written as the complement plus one stays
// an instruction of its own. It costs one more, and only where its result comes to an extremum.
//
// Runs on optimised code, in which negations have one form.
#pragma once

#include "llvm/IR/Module.h"

namespace sectile::nvidia {

void negateBeforeExtrema(llvm::Module &module);

} // namespace sectile::nvidia
