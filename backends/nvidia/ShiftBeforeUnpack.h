//===-- ShiftBeforeUnpack.h - a way round a fault of ptxas ------------------------------------===//
// The instruction that widens two e4m3 takes the upper half of a register by itself:
//
//   F2FP.F16.E4M3.UNPACK_B R9, R2.H1
//
// Where ptxas (12.8 to 13.0, for every chip that has it) finds out late that R2 is zero, as in a
// load that is masked off altogether, it makes `UNPACK_B R9, 8` of that: two numbers whose bits are
// 8 and 0. A half that is shifted down by an instruction of its own is folded rightly.
//
// Runs on optimised code, which says where halves come from. What a load without a mask brings is
// not known to anybody, and keeps the free selection of the half.
#pragma once

#include "llvm/IR/Module.h"

namespace sectile::nvidia {

void shiftBeforeUnpack(llvm::Module &module);

} // namespace sectile::nvidia
