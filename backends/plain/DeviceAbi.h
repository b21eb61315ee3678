//===-- DeviceAbi.h - how compiled kernels are called on a GPU --------------------------------===//
// Plain C, shared by the code generator of all GPUs and their drivers.
//
// A kernel is an entry point (of PTX) named image.entryPoint, launched with (threads, 1, 1) threads
// per block over a grid of the launch's x, y, z programs, as image.gpu says (GpuLaunch): so many
// threads and so many bytes of dynamic shared memory. With clusterBlocks = n, n blocks in a cluster
// run one program: the grid is n times as long in x. With kHiddenPrograms a block runs several
// programs, and the grid is as long in x as the launch likes, up to the number of programs. With
// kHiddenGrid these are of the whole grid, which then has blocks along x alone, and no more than
// 2^31 - 1 programs.
// Parameters, in this order:
//
//   1. image.arguments, each of its natural type: pointers .u64, i1 as .u8, fp16 and bf16 as their
//      16 bits, fp8 as its 8, all others as they are;
//   2. if hiddenParameters has kHiddenRanges: .u64, the address of [begin, end) in bytes of
//      every argument, two u64 each; 0, 0 for scalars;
//   3. if it has kHiddenRecords: .u64, the address of a RecordBuffer;
//   4. if it has kHiddenPrograms: .u32, the number of programs along x; if it has kHiddenGrid: three
//      .u32, the numbers of programs along x, y and z;
//   5. a tensor map of 128 bytes, aligned to 64, for each of image.tensorMaps.
//
// What 2 and 3 point to lies in pinned host memory, so that it can be read even after the kernel
// has crashed. A launch of such a kernel returns when the kernel is over, and cannot be captured
// into a graph.
//
// A trap: the thread exchanges `stop` from 0 to 1 with atom.cas; if it was 0 the thread fills
// trapSite, trapProgram and trapAddress. Then the program ends; failing accesses are not carried
// out. All threads of a program agree before they leave (a barrier that votes): none is left behind
// at a barrier or in a shuffle. Every program looks at `stop` first (a volatile load by one thread)
// and returns where it is set, and looks again in every round of a `while` loop, which may wait for
// a program that has ended. `trap;` is not used: it would take the device from the whole process,
// as assertions do that are asked to be fatal (CompileOptions::fatalAsserts), which report nothing
// here.
//
// A print: one thread adds the record's size to `cursor` (atom.add, which gives the record's
// place). If place + size <= capacity it writes the RecordHeader there, and all threads of the
// program write the elements behind it (bar.sync in between tells them the place). Otherwise it
// adds 1 to `lost`.
#pragma once

#include <cstdint>

namespace sectile::backends {

/// Stands before the text of inline_asm_elementwise in a kernel's assembly.
inline constexpr const char kOwnAssembly[] = "// inline_asm_elementwise";

inline constexpr uint32_t kDeviceAbiVersion = 1;

enum HiddenParameter : int32_t {
  kHiddenRanges = 1,
  kHiddenRecords = 2,
  kHiddenPrograms = 4,
  kHiddenGrid = 8,
};

/// Everything but `capacity` is zero when the kernel starts.
struct RecordBuffer {
  uint32_t stop;        // 0
  int32_t trapSite;     // 4: index into image.trapSites
  int64_t trapProgram;  // 8: x + gridX (y + gridY z)
  uint64_t trapAddress; // 16: of a checked access, the first offending one
  uint64_t cursor;      // 24: bytes of records asked for
  uint64_t capacity;    // 32: bytes behind this header
  uint64_t lost;        // 40: records there was no room for
  uint64_t reserved[2]; // 48
};
static_assert(sizeof(RecordBuffer) == 64);

/// The header of one device_print in one program. The elements of each operand follow it,
/// row-major, one operand after another, each aligned to 8 bytes.
struct RecordHeader {
  uint32_t site;   // 0: index into image.printSites
  uint32_t bytes;  // 4: of header and elements, a multiple of 8
  int64_t program; // 8
};
static_assert(sizeof(RecordHeader) == 16);

} // namespace sectile::backends
