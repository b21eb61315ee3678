//===-- BuildId.h - which build of a program this is --------------------------------------===//
// The linker's build id of the executable or shared library that contains an address, and how far
// from its beginning the address lies: "4be0...91+0x41d8". It names one thing of one build, in
// cache keys the source of a C++ kernel. Empty when there is no build id (linked without
// --build-id): nothing is known of the source then. Plain C++, part of libsectile.so.
#pragma once

#include "jit/Api.h"

#include <string>

namespace sectile::cpp {

SECTILE_API std::string placeInBuild(const void *address);

} // namespace sectile::cpp
