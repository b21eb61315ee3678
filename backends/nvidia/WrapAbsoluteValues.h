//===-- WrapAbsoluteValues.h - a way round a fault of ptxas -----------------------------------===//
// The absolute value of the least number is that number, in the language and in what `abs.s32`
// computes. But ptxas (13.0, for sm_75 to sm_120; the assembler in NVIDIA's driver, too) takes the
// result of `abs` for a number that is not negative:
//
//   abs.s16 %rs2, %rs1;  cvt.s64.s16 %rd3, %rs2;     IABS, and no extension of the 16 bits behind it
//   abs.s32 %r2, %r1;    setp.lt.s32 %p1, %r2, 0;    false
//
// A sum of absolute differences, which `sad.s32 %r2, %r1, 0, 0` is of one number and 0, is defined
// by a difference that wraps, and ptxas assumes nothing of it. It is one instruction (VABSDIFF), as
// IABS is; three on sm_120; of 64 bits it takes as many as `abs`.
//
// The text is changed because nothing earlier stays: LLVM makes `abs` of every other way to write
// it.
#pragma once

#include <string>

namespace sectile::nvidia {

/// Returns the text of a PTX module with `abs` of integers written as `sad`.
std::string wrapAbsoluteValues(std::string ptx);

} // namespace sectile::nvidia
