//===-- BuildId.h - which build of Sectile this is --------------------------------------------===//
// A digest of every source file of the compiler and the runtime, of LLVM's version and of the C++
// compiler and its flags, made by BuildId.cmake during the build. Both libraries carry it: they may
// exchange C++ types only when it is the same, and code of another build is never taken from a
// cache.
#pragma once

namespace sectile::jit {

/// 64 hexadecimal digits.
const char *buildId();
/// "0.1.0".
const char *version();

} // namespace sectile::jit
