//===-- GpuShape.h - what layout assignment must know of a GPU --------------------------------===//
// How many threads a kernel has and how they sit together, and which matrix products the warps have
// instructions for. A value, filled by the back end from its target and the launch options.
//
//   GpuShape shape;
//   shape.warpCount = 8;
//   shape.asyncCopies = AsyncKind::PerLane;
#pragma once

#include "lang/layout/MatrixInstruction.h"
#include "lang/layout/SharedBanks.h"
#include "lang/tile/TileDialect.h"

#include <functional>

namespace sectile::optimizer {

/// How copies from global to shared memory run while the thread goes on: not at all; each lane's
/// wherever it likes; or those of a warp behind each other, in the order of its lanes, as many
/// bytes of each as an access has at most (lang/layout/WarpCopies.h).
enum class AsyncKind : uint8_t { None, PerLane, WholeWarps };

/// Cycles that an instruction takes for each line of the cache that its lanes touch. 0: it is not
/// known, and taken that four sectors are touched in a cycle wherever they lie.
struct LineCycles {
  double read = 0, written = 0;
};

/// NVIDIA's. The cache looks one line up in a cycle, and what is written goes on to memory line by
/// line: f32 tiles of 64x32, stored from fragments (8 lines of 32 bytes each an instruction), took
/// 194 us on an H200, and 158 by whole lines behind a conversion (`./dev bench nvidia --only
/// tiles`).
inline constexpr LineCycles kNvidiaLineCycles = {.read = 1, .written = 2};

struct GpuShape {
  int64_t warpCount = 4;          // a power of two
  int64_t laneCount = 32;         // a power of two
  int64_t registerWords = 65536;  // 32-bit registers that the programs of a multiprocessor share
  int64_t threadWords = 255;      // 32-bit registers that a thread may have
  int64_t sharedBytes = 48 << 10; // that a program may have
  layout::SharedBanks sharedBanks = {};
  /// Shared memory that an operation on laid-out tiles takes while it runs. Null: none.
  std::function<int64_t(mlir::Operation *)> scratchBytes;
  int64_t maxAccessBytes = 16; // of one thread's access to global memory
  LineCycles lineCycles = kNvidiaLineCycles;
  /// Neighbours that one instruction of a thread may combine into memory. Null: one, of any kind.
  std::function<int64_t(tile::AtomicRmwOp)> atomicWidth;
  AsyncKind asyncCopies = AsyncKind::None;
  /// Whether stores of neighbours, whose mask ends among them, are better made wide and with a
  /// branch for those few than narrow.
  bool storesPartly = false;
  /// Accesses by one pointer and offsets of 32 bits (BufferAccesses.h).
  bool hasBuffers = false;
  /// Maps of arrays that a kernel may have for the engine that copies their blocks; 0: there is no
  /// such engine.
  int64_t mostTensorMaps = 0;
  /// Whether a program can describe arrays to that engine itself, whose addresses the host does not
  /// know.
  bool editsTensorMaps = false;
  /// The matrix instructions for a product's elements, the preferred first; they outlive all that
  /// is compiled. Null: there are none.
  std::function<layout::MatrixInstructions(tile::DotOp)> matrixInstructions;
  /// Whether the instructions multiply subnormal halves, of f16 and bf16, as the numbers they are.
  bool keepsSubnormals = false;
  /// The instruction of that name that reads shared memory itself; null when the target has none.
  /// Null itself: the target has none at all.
  std::function<const layout::MatrixInstruction *(llvm::StringRef)> bufferInstruction;
  /// Whether a product adds in an order that the number of warps does not change
  /// (numerics="reproducible"): there is one instruction for it, the first of those of single
  /// warps, whatever layouts cost.
  bool fixedOrders = false;
  /// The sums that a thread holds at least, in words, for two programs to share a block and
  /// multiply by turns (TeamTurns.h); 0: they never do.
  int64_t leastTurnWords = 0;
  /// Returns the 32-bit registers that a thread may have in a block of so many programs and a
  /// producer (Producer.h), which may edit maps, where it wants `wanted`; 0: a block cannot have so
  /// many threads. Null: there are no producers.
  std::function<int64_t(int64_t programs, bool editsMaps, int64_t wanted)> wordsBesideProducer;
  /// Whether sums must keep all digits of their type (numerics="strict", "reproducible"). Sums of
  /// fp8 products by several warps together do not, so such products are left to single warps.
  bool exactSums = false;

  bool hasTensorCopy() const { return mostTensorMaps > 0; }
  int64_t threadCount() const { return warpCount * laneCount; }
};

} // namespace sectile::optimizer
