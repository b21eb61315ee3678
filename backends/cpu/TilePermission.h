//===-- TilePermission.h - the system's leave to use tile registers (AMX) ---------------------===//
// Linux gives a process the 8 KiB of tile registers only when it asks (arch_prctl,
// Documentation/arch/x86/xstate.rst), because every signal's frame grows by them. Asked for when a
// kernel is compiled for a processor that has them, and when a kernel that uses them is loaded.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

namespace sectile::cpu {

/// Asks once for the process; false where the system, or a small signal stack, forbids it.
inline bool mayUseTileRegisters() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const bool isGranted = ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return isGranted;
#else
  return false;
#endif
}

} // namespace sectile::cpu
