//===-- CurrentTrace.h - which kernel this thread records ---------------------------------===//
// One variable for the whole process, whatever executable or plug-in the headers are compiled into,
// so that a function of one library may be called by a kernel of another. In the headers themselves
// it would be a symbol that the dynamic linker makes unique, and a library with such a symbol is
// never unloaded. Plain C++, part of libsectile.so.
#pragma once

#include "jit/Api.h"

#include <cstdint>

namespace sectile::cpp {

/// The detail::Trace (include/sectile/trace.h) of the calling thread; null outside a kernel.
SECTILE_API void *&currentTrace();
/// 1, 2, ...: no two traces of a process share a number.
SECTILE_API uint32_t nextTraceSerial();

} // namespace sectile::cpp
