//===-- RunLine.h - a launch in a line of text ------------------------------------------------===//
//   kernel.hsaco softmax 256 16,1,1 x.bin:4 out.bin:0 i32:17
//
// is a code object, the kernel, work-items and work-groups (each one to three numbers), and the
// arguments in order: a file whose bytes lie that many bytes behind a multiple of 256 and are
// written back, or a number (i1, i8, i16, i32, i64, f32, f64). "x.bin:4+64" is a pointer to byte 64
// of that file; files that are named twice are one array. The word "races" lets waves read what
// another one stores with no barrier between.
#pragma once

#include <string>

namespace sectile::amdisa {

/// "right"; "failed" with the reason when the object cannot be loaded or the line not be read;
/// "wrong" with what the kernel did.
std::string runLine(const std::string &line);

} // namespace sectile::amdisa
