//===-- GpuAbilities.h - what some GPUs can do, and others do without -------------------------===//
// Each ability is an object that a target hands out, or null where it has none
// (GpuTarget::asyncCopies() and its like). All functions of an ability are pure: a target has it
// whole or not at all, and nobody gets a wrong answer from one that is missing. The passes ask by
// way of optimizer::GpuShape, which `shapeOf` fills (CompileGpuKernel.h), and take another way:
//
//   none of        a kernel then
//   AsyncCopies      loads tiles a round ahead into registers, or where it needs them
//   MatrixProducts   multiplies and adds operands out of shared memory
//   BufferProducts   multiplies fragments that each warp has in registers
//   MatrixLoads      reads fragments by vector loads
//   Tf32Rounding     multiplies and adds f32, whatever precision a product allows
//   TensorCopies     copies by AsyncCopies, each thread its part
//   DependentLaunches  cannot be launched with launch_pdl; gdc_wait and its like are nothing
#pragma once

#include "lang/layout/BufferOperand.h"
#include "lang/layout/MatrixInstruction.h"
#include "lang/layout/SharedLayout.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/gpu/GpuShape.h"

#include "llvm/IR/IRBuilder.h"

namespace sectile::gpu {

struct GlobalAccess;

/// Copies from global to shared memory that run while the thread goes on.
class AsyncCopies {
public:
  virtual ~AsyncCopies() = default;
  /// Never None.
  virtual optimizer::AsyncKind kind() const = 0;
  /// Starts a copy of 4, 8 or 16 bytes, or of zeros where the access does not happen. `shared` is
  /// where the lane's bytes go; of copies of whole warps, where the first lane's do. With
  /// `validBytes` (i32, of single lanes only) so many are copied, and zeros behind them.
  virtual void copy(llvm::IRBuilderBase &builder, llvm::Value *shared, const GlobalAccess &access,
                    unsigned bytes, llvm::Value *validBytes) const = 0;
  /// What reads of buffers are known to be apart from: copies under way, which fill other stages. A
  /// compiler that does not see that would wait for them.
  virtual llvm::AAMDNodes aliasingOfReads(llvm::LLVMContext &context) const = 0;
  /// The thread's copies since the last commit become a group.
  virtual void commit(llvm::IRBuilderBase &builder) const = 0;
  /// Waits until all but the latest `pending` groups of the thread are done; 0 for whole warps.
  virtual void wait(llvm::IRBuilderBase &builder, unsigned pending) const = 0;
};

/// Matrix instructions, of a warp or of several together.
class MatrixProducts {
public:
  virtual ~MatrixProducts() = default;
  /// The instructions for products of these elements, the preferred first. Where f32 may be rounded
  /// to tf32, one that does not round will do. They are of tables that live as long as the program.
  virtual layout::MatrixInstructions instructions(const layout::MatrixElements &elements) const = 0;
  /// Rows and columns of the instructions that are to be taken where a product has as many; 0: the
  /// best.
  virtual int64_t preferredExtent() const { return 0; }
  /// Whether subnormal halves, of f16 and of bf16, are multiplied as the numbers they are.
  virtual bool keepsSubnormals() const = 0;
  /// Steps of the depth whose operands are read out of a buffer together: reads of neighbouring
  /// steps may become one. A power of two.
  virtual int64_t stepsReadTogether(const layout::MatrixInstruction &instruction) const {
    return 1;
  }
  /// One instruction: `acc` + a b, each in the instruction's order of registers; `a` and `b` are
  /// the hardware's first and second operand, so the emitter exchanges them where the instruction
  /// says so. `acc` is of f32, f64 or i32; operands are words of 32 bits, those of Tf32 rounded to
  /// tf32, those of f64 as they are.
  virtual llvm::SmallVector<llvm::Value *, 4> multiply(llvm::IRBuilderBase &builder,
                                                       const layout::MatrixInstruction &instruction,
                                                       llvm::ArrayRef<llvm::Value *> a,
                                                       llvm::ArrayRef<llvm::Value *> b,
                                                       llvm::ArrayRef<llvm::Value *> acc) const = 0;
};

/// Matrix instructions of several warps that read shared memory themselves and run while the warps
/// go on.
class BufferProducts {
public:
  virtual ~BufferProducts() = default;
  /// As MatrixProducts::instructions; wider ones first.
  virtual layout::MatrixInstructions instructions(const layout::MatrixElements &elements) const = 0;
  /// Null when there is none of that name.
  virtual const layout::MatrixInstruction *named(llvm::StringRef name) const = 0;
  /// GpuShape::leastTurnWords.
  virtual int64_t leastTurnWords() const = 0;

  /// An operand of one instruction.
  struct Operand {
    llvm::Value *start = nullptr; // ptr addrspace(3), the same in all the warps; null: in `words`
    int64_t offset = 0;           // from there on, bytes
    layout::BufferOperand place;
    llvm::ArrayRef<llvm::Value *> words; // i32
  };
  /// Stands before products that begin to add to, or take as operands, what other instructions have
  /// made in registers: gives these `values`, made before it.
  virtual llvm::SmallVector<llvm::Value *, 4> begin(llvm::IRBuilderBase &builder,
                                                    llvm::ArrayRef<llvm::Value *> values) const = 0;
  /// Starts `acc` + a b, or a b where `isFresh`: `acc` are zeros then, which nothing need hold.
  /// Nothing but the next product may touch what it gives before a wait has.
  virtual llvm::SmallVector<llvm::Value *, 4> start(llvm::IRBuilderBase &builder,
                                                    const layout::MatrixInstruction &instruction,
                                                    const Operand &a, const Operand &b,
                                                    llvm::ArrayRef<llvm::Value *> acc,
                                                    bool isFresh) const = 0;
  /// The thread's products since the last commit become a group.
  virtual void commit(llvm::IRBuilderBase &builder) const = 0;
  /// Waits until all but the latest `pending` groups are done; gives `values`, with the sums of
  /// those that are. They also keep registers that are read until then. Where `isPinned`, all that
  /// stands in front of it is computed before, whatever it is for.
  virtual llvm::SmallVector<llvm::Value *, 4> wait(llvm::IRBuilderBase &builder, unsigned pending,
                                                   llvm::ArrayRef<llvm::Value *> values,
                                                   bool isPinned) const = 0;
  /// Lets products see what the thread has stored to shared memory.
  virtual void fence(llvm::IRBuilderBase &builder) const = 0;
};

/// An array as a program describes it to the copy engine itself. The first dimension is the
/// outermost; in the last one elements are neighbours.
struct ArrayDescription {
  int64_t elementBytes = 1, swizzleBytes = 128;
  llvm::SmallVector<int64_t, 2> box;
  llvm::Value *base = nullptr;                 // ptr addrspace(1)
  llvm::SmallVector<llvm::Value *, 2> extents; // i64
  llvm::SmallVector<llvm::Value *, 2> strides; // i64, elements; the last is 1
};

/// The warp whose first thread starts all copies.
struct CopyingWarp {
  llvm::Value *isHere;  // i1: whether the thread is one of its
  llvm::Value *isFirst; // i1: whether it is the first of them
  llvm::Value *lane;    // i32
};

/// Registers of threads in a block that has some beside its program.
struct RegisterShares {
  /// Those of a thread of the program, and of one beside it, once both have said so
  /// (TensorCopies::setRegisters); 0: all have what they begin with.
  int64_t ofProgram = 0, ofOthers = 0;
  /// Those that each thread begins with; 0: a block cannot have so many threads.
  int64_t first = 0;
  bool isPossible() const { return first > 0; }
};

/// Copies of boxes of arrays from global to shared memory by an engine of their own. One thread
/// starts them; an object in shared memory, a memory barrier, knows when their bytes have arrived.
class TensorCopies {
public:
  virtual ~TensorCopies() = default;
  /// Says that a parameter of the kernel, of type ptr, is a tensor map that is passed by value
  /// (backends/plain/DeviceAbi.h).
  virtual void declareMap(llvm::Function &kernel, unsigned parameter) const = 0;
  /// Makes 8 bytes of shared memory (ptr addrspace(3), aligned to 8) a memory barrier whose phases
  /// end when so many threads have arrived and all bytes that they have announced are there. Other
  /// threads, and the engine, see it behind `fence` and a barrier of the threads. Where `predicate`
  /// is false the thread does nothing.
  virtual void initBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier, uint32_t arrivals,
                           llvm::Value *predicate) const = 0;
  /// Ends the life of a memory barrier, whose bytes may then be used otherwise.
  virtual void endBarrier(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                          llvm::Value *predicate) const = 0;
  /// Lets the engine, and copies that are started behind a barrier of the threads, see what the
  /// thread has stored to shared memory; where `isGlobal`, to global memory as well.
  virtual void fence(llvm::IRBuilderBase &builder, bool isGlobal) const = 0;
  /// Arrives at the barrier and announces so many bytes, in the threads whose `predicate` (i1) is
  /// true: one.
  virtual void expect(llvm::IRBuilderBase &builder, llvm::Value *barrier, int64_t bytes,
                      llvm::Value *predicate) const = 0;
  /// The warp arrives at the barrier once its threads have come here: one of them, whose
  /// `predicate` is true, for all.
  virtual void arrive(llvm::IRBuilderBase &builder, llvm::Value *barrier,
                      llvm::Value *predicate) const = 0;
  /// Starts the copy of the box at `coordinates` (i32, the outermost dimension first) of the array
  /// that `map` (ptr, of 128 bytes) describes to `shared` (ptr addrspace(3)). Elements outside the
  /// array are zeros. `predicate` as before.
  virtual void copy(llvm::IRBuilderBase &builder, llvm::Value *shared, llvm::Value *map,
                    llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *barrier,
                    llvm::Value *predicate) const = 0;
  /// Waits until the barrier's phase of this parity (i32, 0 for the first) has ended; what copies
  /// have brought is then seen by the thread, and by products that it starts. Where `predicate`,
  /// which is the same in all threads of a warp, is false the thread goes on; null: all wait.
  virtual void wait(llvm::IRBuilderBase &builder, llvm::Value *barrier, llvm::Value *parity,
                    llvm::Value *predicate) const = 0;
  /// Starts the copy of a box in `shared`, which threads have stored behind a `fence` of theirs and
  /// a barrier, to `coordinates` of the array. Elements outside the array are not written.
  /// `predicate` as before.
  virtual void store(llvm::IRBuilderBase &builder, llvm::Value *map,
                     llvm::ArrayRef<llvm::Value *> coordinates, llvm::Value *shared,
                     llvm::Value *predicate) const = 0;
  /// Ends a group of boxes whose copies the thread has started with `store`.
  virtual void commitStores(llvm::IRBuilderBase &builder) const = 0;
  /// Waits until the boxes of all groups of the thread but the last `pending` have been read from
  /// shared memory; with `areWritten`, until they are in global memory, in front of what it starts
  /// later.
  virtual void waitForStores(llvm::IRBuilderBase &builder, bool areWritten,
                             unsigned pending) const = 0;

  /// What the `registers` of a multiprocessor are for the threads of a program, and for `others` of
  /// its block that only start copies, or also edit their maps, where it has the multiprocessor to
  /// itself. A thread of the program wants `wanted` at least, beyond which others may have more
  /// than they need.
  virtual RegisterShares shareRegisters(int64_t registers, int64_t threads, int64_t others,
                                        bool othersEditMaps, int64_t wanted) const = 0;
  /// From here on the thread has so many registers, as all threads of its group of four warps.
  virtual void setRegisters(llvm::IRBuilderBase &builder, int64_t words, bool areMore) const = 0;

  /// Whether programs can describe arrays themselves, by the three functions that follow.
  virtual bool editsMaps() const = 0;
  /// Shared memory that `editMap` writes.
  static constexpr int64_t kEditBytes = 128;
  /// Returns global memory (ptr, of 128 bytes for each map) that no other program has until
  /// `releaseMaps`; what threads of other warps get means nothing. A program has so many `threads`.
  virtual llvm::Value *claimMaps(llvm::IRBuilderBase &builder, unsigned count, unsigned threads,
                                 const CopyingWarp &warp) const = 0;
  /// Makes a map, which copies that the warp starts behind `fenceMap` may go by. Those by the map
  /// that was there have ended. `scratch` (ptr addrspace(3)) is aligned to 128 bytes; where
  /// `isFirst` (i1, null: true) is false it still has what the call before has written, for an
  /// array of the same elements and boxes.
  virtual void editMap(llvm::IRBuilderBase &builder, llvm::Value *map, llvm::Value *scratch,
                       const ArrayDescription &array, llvm::Value *isFirst,
                       const CopyingWarp &warp) const = 0;
  virtual void fenceMap(llvm::IRBuilderBase &builder, llvm::Value *map,
                        const CopyingWarp &warp) const = 0;
  /// Gives back what `claimMaps` has returned for the same numbers. All copies have ended.
  virtual void releaseMaps(llvm::IRBuilderBase &builder, llvm::Value *memory, unsigned count,
                           unsigned threads, const CopyingWarp &warp) const = 0;
};

/// What products of f32 by way of tf32 need besides their instruction.
class Tf32Rounding {
public:
  virtual ~Tf32Rounding() = default;
  /// f32 rounded to tf32, to nearest.
  virtual llvm::Value *round(llvm::IRBuilderBase &builder, llvm::Value *value) const = 0;
};

/// Fragments of matrices out of shared memory, all lanes of a warp together.
class MatrixLoads {
public:
  virtual ~MatrixLoads() = default;
  /// How such loads read the tile out of a buffer; nothing where plain loads have to.
  virtual std::optional<layout::MatrixAccess> access(const layout::TileLayout &tile,
                                                     const layout::SharedLayout &shared,
                                                     unsigned elementBits) const = 0;
  /// What a load gives to a lane.
  struct Kind {
    unsigned words; // of 32 bits
    unsigned elementBits;
    bool isTransposed;
  };
  /// One load, of the row at each lane's address, by all lanes of the warp.
  virtual llvm::SmallVector<llvm::Value *, 4> load(llvm::IRBuilderBase &builder, llvm::Value *row,
                                                   Kind kind) const = 0;
};

/// Launches that begin before the one ahead of them in the stream is done.
class DependentLaunches {
public:
  virtual ~DependentLaunches() = default;
  /// Waits until the launch ahead is done and its writes are seen.
  virtual void wait(llvm::IRBuilderBase &builder) const = 0;
  /// Lets the launch behind begin.
  virtual void launchDependents(llvm::IRBuilderBase &builder) const = 0;
};

} // namespace sectile::gpu
