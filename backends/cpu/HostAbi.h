//===-- HostAbi.h - how compiled host code is called ------------------------------------------===//
// Plain C, shared by the code generator and the driver. A kernel is one exported function that runs
// a range of programs of the grid (x fastest); it has no undefined symbol: what it needs of the
// runtime it reaches through `HostServices`.
#pragma once

#include <cstdint>

namespace sectile::cpu {

inline constexpr uint32_t kHostAbiVersion = 3;
inline constexpr const char *kEntryPoint = "sectile_kernel";
/// Alignment of the scratch memory handed to a kernel, in bytes.
inline constexpr uint64_t kScratchAlignment = 64;

struct HostServices;

/// One per thread and call. The code generator addresses fields by byte offset: keep the order.
struct HostCall {
  /// One 8-byte slot per kernel argument: the pointer, or the number in its low bytes.
  const uint64_t *arguments;
  int32_t gridX, gridY, gridZ;
  int32_t reserved;
  /// scratchBytes of the image, aligned to kScratchAlignment.
  uint8_t *scratch;
  const HostServices *services;
  /// Opaque to the kernel, handed back to services.
  void *launch;
  /// Checked kernels: [begin, end) in bytes of every argument; 0, 0 for scalars.
  const uint64_t *argumentRanges;
  /// Looked at before each program but the first and in the rounds of loops: where it is not zero,
  /// services->attend is called. Never null.
  const uint32_t *attention;
};

/// Symbol of kernels that use tile registers: they may be loaded only where the system lets them
/// (TilePermission.h).
inline constexpr const char *kTileRegistersSymbol = "sectile_uses_tile_registers";

/// Runs programs [first, last) of the linear grid. Returns 0, or 1 when it called trap, or attend
/// reported that the launch is to stop.
using HostKernel = int32_t (*)(const HostCall *call, int64_t first, int64_t last);

struct HostServices {
  /// A failed assertion or an access out of bounds at trapSites[site]. `address`: first offending
  /// one.
  void (*trap)(void *launch, int32_t site, int64_t program, uint64_t address);
  /// One device_print: `data` holds each operand's elements, row-major, one after another, each
  /// operand aligned to 8 bytes.
  void (*print)(void *launch, int32_t site, int64_t program, const void *data);
  /// Not zero: the launch stops. Touches no memory that kernels do.
  int32_t (*attend)(void *launch);
  /// Nanoseconds of the system's monotonic clock.
  int64_t (*nanoseconds)();
  /// The number of the processor that the thread runs on.
  int32_t (*processor)();
};

} // namespace sectile::cpu
