//===-- GpuTarget.h - what a GPU offers, and how its instructions are written -----------------===//
// The seam between the code generation all GPUs share (GpuEmitter.h) and one maker's instructions.
// Everything takes an IRBuilder and emits LLVM IR before its insertion point; values are scalars of
// one thread. No caller may assume 32 lanes, nor that every thread of the block takes part in a
// barrier: each barrier gets the number of its threads.
//
//   llvm::Value *partner = target.shuffleXor(builder, value, 16);
//   target.barrier(builder, threads, Ordered::Shared);
#pragma once

#include "backends/common/MathTarget.h"
#include "backends/gpu/GpuAbilities.h"
#include "backends/plain/CompileOptions.h"
#include "lang/layout/SharedBanks.h"
#include "lang/tile/SourcePlace.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/gpu/GpuShape.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace sectile::gpu {

/// Address spaces are LLVM's for NVPTX and AMDGPU alike.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// One access of one thread to global memory: a scalar, or a vector of neighbouring elements of at
/// most `GpuFacts::maxAccessBytes`, aligned to its size.
struct GlobalAccess {
  llvm::Value *address = nullptr; // ptr addrspace(1)
  /// Of a target that has buffers, in the place of the address: the start of a buffer, the same in
  /// all lanes (ptr addrspace(1)), and the bytes behind it, below 2^31 where the access happens.
  llvm::Value *buffer = nullptr, *offset = nullptr; // i32
  /// A constant that is added to the offset.
  int32_t constantOffset = 0;
  /// The type of memory elements: iN, half, bfloat, float, double, ptr addrspace(1), or a vector of
  /// them.
  llvm::Type *type = nullptr;
  /// i1, true where the access happens; null means always true.
  llvm::Value *predicate = nullptr;
  tile::CacheModifier cache = tile::CacheModifier::None;
  tile::EvictionPolicy eviction = tile::EvictionPolicy::Normal;
  bool isVolatile = false;
};

/// The memory that a barrier orders. Where global memory costs more, its accesses run on past a
/// barrier that guards scratch.
enum class Ordered : uint8_t { Shared, All };

struct AtomicAccess {
  llvm::Value *address = nullptr; // ptr addrspace(1)
  llvm::Value *predicate = nullptr;
  tile::MemorySemantic semantic = tile::MemorySemantic::AcquireRelease;
  tile::MemoryScope scope = tile::MemoryScope::Device;
  /// The memory is the ordinary memory of the GPU that runs the kernel.
  bool isDeviceMemory = false;
};

/// Numbers of a GPU. None has a default: a target says them all.
struct GpuFacts {
  unsigned laneCount;          // of a warp; a power of two
  unsigned maxThreadsPerBlock; // a power of two
  int64_t maxSharedBytes;      // per block, dynamic
  unsigned maxAccessBytes;     // of one thread's access to global memory
  int64_t registerWords;       // 32-bit registers that the programs of a multiprocessor share
  int64_t threadWords;         // 32-bit registers that a thread may have
  optimizer::LineCycles lineCycles;
};

/// What is not pure here is right for every GPU.
class GpuTarget : public GpuFacts {
public:
  virtual ~GpuTarget() = default;

  /// What messages call it: "sm_90a".
  virtual llvm::StringRef name() const = 0;
  /// "nvptx64-nvidia-cuda".
  virtual llvm::StringRef triple() const = 0;
  /// Calling convention, thread bounds and attributes of the kernel function.
  virtual void declareKernel(llvm::Function &kernel, unsigned threads,
                             const backends::CompileOptions &options) const = 0;
  virtual const backends::MathTarget &math() const = 0;

  //-- Where a thread is; i32
  virtual llvm::Value *threadIndex(llvm::IRBuilderBase &builder) const = 0;
  /// i1: true in one lane of each warp, whose lanes are all here, and always in the same; not
  /// necessarily the first. Assemblers that start what one thread starts in a loop over those that
  /// may see that it is one.
  virtual llvm::Value *oneLane(llvm::IRBuilderBase &builder) const;
  virtual llvm::Value *programIndex(llvm::IRBuilderBase &builder, unsigned axis) const = 0;
  virtual llvm::Value *programCount(llvm::IRBuilderBase &builder, unsigned axis) const = 0;

  //-- For programs that watch themselves
  /// Nanoseconds, i64; read anew each time, by each thread for itself.
  virtual llvm::Value *clock(llvm::IRBuilderBase &builder) const = 0;
  /// The number of the multiprocessor, i32.
  virtual llvm::Value *processor(llvm::IRBuilderBase &builder) const = 0;

  //-- Between the lanes of a warp, all of which take part. `value`: any scalar of up to 64 bits
  virtual llvm::Value *shuffleXor(llvm::IRBuilderBase &builder, llvm::Value *value,
                                  unsigned mask) const = 0;
  /// From the lane `source` (i32).
  virtual llvm::Value *shuffleFrom(llvm::IRBuilderBase &builder, llvm::Value *value,
                                   llvm::Value *source) const = 0;
  /// One instruction that combines an i32 of all lanes, each of which gets the result; null where
  /// there is none. `kind` is one of integers.
  virtual llvm::Value *combineLanes(llvm::IRBuilderBase &builder, tile::RmwKind kind,
                                    llvm::Value *value) const {
    return nullptr;
  }
  //-- Among threads of the block
  /// A barrier of `threads`: what they did to the memory that is `ordered` before it is seen by all
  /// of them behind it. `barrier` (i32) is the number of a team's, from 1 on; null: they are
  /// the whole block.
  virtual void barrier(llvm::IRBuilderBase &builder, unsigned threads, Ordered ordered,
                       llvm::Value *barrier = nullptr) const = 0;
  /// Keeps the instructions before it before those behind it. A target whose assembler decides
  /// that, or that has nothing to say so with, emits nothing.
  virtual void scheduleBarrier(llvm::IRBuilderBase &builder) const {}
  /// A vote of `threads`, which meet as at a barrier; i1: true in every one of them if `truth` is
  /// true in any. `scratch` has the bytes that votes take (ptr addrspace(3); null: they take none);
  /// one vote may follow another at once.
  virtual llvm::Value *anyThread(llvm::IRBuilderBase &builder, llvm::Value *truth, unsigned threads,
                                 llvm::Value *scratch, llvm::Value *barrier = nullptr) const = 0;
  /// Ends the device's context, from any thread, for an assertion that does not hold; what follows
  /// in this block of code is not reached.
  virtual void failAssertion(llvm::IRBuilderBase &builder, llvm::StringRef message,
                             const lang::SourcePlace &place) const = 0;
  /// Bytes of shared memory that votes of so many warps take, all of them the same.
  virtual int64_t voteBytes(int64_t warps) const = 0;
  virtual layout::SharedBanks sharedBanks() const = 0;

  //-- What not every GPU can do; null: this one cannot
  virtual const AsyncCopies *asyncCopies() const { return nullptr; }
  virtual const MatrixProducts *matrixProducts() const { return nullptr; }
  virtual const BufferProducts *bufferProducts() const { return nullptr; }
  virtual const TensorCopies *tensorCopies() const { return nullptr; }
  virtual const MatrixLoads *matrixLoads() const { return nullptr; }
  virtual const Tf32Rounding *tf32Rounding() const { return nullptr; }
  virtual const DependentLaunches *dependentLaunches() const { return nullptr; }

  /// Whether text for the assembler that kernels carry (inline_asm_elementwise) is this target's.
  virtual bool takesAssembly() const = 0;

  //-- Global memory
  /// Whether accesses may be given by a buffer and an offset (optimizer/gpu/BufferAccesses.h).
  virtual bool hasBuffers() const { return false; }
  /// Whether a number for the whole program is loaded once for all lanes, where nothing can change
  /// it while the kernel runs. The launch's arguments are then taken to be apart for such loads.
  virtual bool hasScalarLoads() const { return false; }
  /// `other` (of the access's type; null: zeros) where the predicate is false.
  virtual llvm::Value *load(llvm::IRBuilderBase &builder, const GlobalAccess &access,
                            llvm::Value *other) const = 0;
  virtual void store(llvm::IRBuilderBase &builder, const GlobalAccess &access,
                     llvm::Value *value) const = 0;
  /// LLVM's name of a scope. "" is the whole system, which is every scope and more.
  virtual llvm::StringRef syncScope(tile::MemoryScope scope) const { return ""; }
  /// Orders the thread's accesses to memory before and after it, as others in the scope see them.
  virtual void fence(llvm::IRBuilderBase &builder, tile::MemoryScope scope) const;
  /// How many neighbours one instruction may combine into memory, each of them atomically.
  virtual unsigned atomicWidth(tile::RmwKind kind, mlir::Type element) const { return 1; }
  /// Whether the combination has an instruction that is right for memory of the GPU's own alone,
  /// and takes a loop elsewhere.
  virtual bool wantsDeviceMemory(tile::RmwKind kind, mlir::Type element,
                                 tile::MemoryScope scope) const {
    return false;
  }
  /// What was there before. Runs under the access's predicate already. The defaults are LLVM's
  /// atomic instructions, which it expands where the hardware has none. `value` is a vector where
  /// there are several neighbours; unless `isUsed`, the result may be null.
  virtual llvm::Value *atomicRmw(llvm::IRBuilderBase &builder, const AtomicAccess &access,
                                 tile::RmwKind kind, llvm::Value *value, mlir::Type element,
                                 bool isUsed) const;
  virtual llvm::Value *atomicCas(llvm::IRBuilderBase &builder, const AtomicAccess &access,
                                 llvm::Value *expected, llvm::Value *desired,
                                 mlir::Type element) const;

protected:
  explicit GpuTarget(const GpuFacts &facts) : GpuFacts(facts) {}
};

} // namespace sectile::gpu
