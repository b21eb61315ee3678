//===-- BuildId.h - which build of a program this is --------------------------------------===//
// The linker's build id of the executable or shared library that contains an address, in
// hexadecimal. It names the source of C++ kernels in cache keys. Empty when there is none (linked
// without
// --build-id): nothing is known of the source then. Plain C++, part of libsectile.so.
#pragma once

#include "jit/Api.h"

#include <string>

namespace sectile::cpp {

SECTILE_API std::string buildIdOf(const void *address);

} // namespace sectile::cpp
