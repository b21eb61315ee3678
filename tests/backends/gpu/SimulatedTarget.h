//===-- SimulatedTarget.h - a GPU whose instructions are calls into the test ------------------===//
// What a back end writes as instructions of its GPU is written here as calls through a table of
// functions, which SimulatedGpu.h fills: thread numbers, shuffles, barriers, global accesses. So
// the code that all GPUs share runs on the CPU, with any number of lanes and banks.
#pragma once

#include "backends/gpu/GpuTarget.h"

namespace sectile::testing {

/// What simulated code calls. One entry per slot of the table, in this order.
enum class SimulatedCall : unsigned {
  ThreadIndex,   // () -> i32
  ProgramIndex,  // (i32 axis) -> i32
  ProgramCount,  // (i32 axis) -> i32
  Exchange,      // (i64 value, i32 source lane, i32 site) -> i64
  Barrier,       // (i32 threads, i32 orders all memory, i32 barrier, i32 site)
  AnyThread,     // (i32 truth, i32 threads, i32 barrier, i32 site) -> i32
  FailAssertion, // (ptr message)
  Global,        // (ptr address, i32 bytes, i32 is written, i32 predicate, i32 site)
  Shared,        // (ptr address, i32 bytes, i32 is written, i32 site)
  Matrix,        // (ptr fragments, ptr instruction, i32 site)
  AsyncCopy,     // (ptr shared, ptr global, i32 bytes, i32 of them valid)
  AsyncCommit,   // ()
  AsyncWait,     // (i32 pending)
  LoadMatrices,  // (ptr row, i32 matrices, i32 is transposed, ptr words, i32 site): 16 or 8 for
                 // reads of sixteen lanes that transpose elements of so many bits
  Clock,         // () -> i64
  ProductBegin,  // ()
  // (ptr words of sums and of a's registers, ptr instruction, i64 a, i64 b, i64 a's place,
  //  i64 b's place, i32 site): addresses, 0 where registers hold it
  ProductStart,
  ProductCommit, // ()
  ProductWait,   // (ptr words, i32 how many, i32 pending)
  ProxyFence,    // (i32 is of global memory too)
  BarrierInit,   // (ptr barrier, i32 arrivals, i32 predicate)
  BarrierEnd,    // (ptr barrier, i32 predicate)
  BarrierExpect, // (ptr barrier, i64 bytes, i32 predicate)
  BarrierArrive, // (ptr barrier, i32 predicate)
  BarrierWait,   // (ptr barrier, i32 parity, i32 predicate)
  // (ptr shared, ptr map, ptr coordinates of i32, i32 how many, ptr barrier, i32 predicate)
  TensorCopy,
  // (ptr shared, ptr map, ptr coordinates of i32, i32 how many, i32 predicate)
  TensorStore,
  StoresCommit, // ()
  StoresWait,   // (i32 are written, i32 pending)
  MapsClaim,    // (i32 how many, i32 is in the first warp) -> i64 address
  // (ptr map, ptr shared, ptr array: SimulatedArray, i32 is the first time, i32 is in the first
  // warp)
  MapEdit,
  MapFence,    // (ptr map, i32 is in the first warp)
  MapsRelease, // (ptr maps, i32 how many, i32 is the first thread)
  Count
};

/// Which abilities a simulated GPU has; they are NVIDIA's: cp.async, mma.sync, ldmatrix (of 32
/// lanes only) and cvt.rna.tf32.
struct SimulatedAbilities {
  bool asyncCopies = false, matrixProducts = false, matrixLoads = false, tf32Rounding = false;
  /// A chip of AMD's, whose matrix instructions there are instead of mma.sync, with as many lanes.
  const char *chip = "";
  /// They are as the chip's manual describes them, not as products of tiles take them.
  bool asInManual = false;
  /// Votes go by way of shared memory, as on GPUs without a barrier that reduces.
  bool votesInSharedMemory = false;
  /// wgmma, of 32 lanes only.
  bool bufferProducts = false;
  /// cp.async.bulk.tensor and mbarrier.
  bool tensorCopies = false;
  /// Blocks may have a producer beside their program.
  bool producers = false;
  /// Where there are products of buffers, two programs may share a block and multiply by turns.
  bool turns = true;
  /// Where there are copies, those of a warp go behind each other, as AMD's do.
  bool copiesOfWarps = false;
  static constexpr SimulatedAbilities all() { return {true, true, true, true}; }
};

class SimulatedTarget final : public gpu::GpuTarget {
public:
  explicit SimulatedTarget(unsigned lanes = 32, SimulatedAbilities abilities = {},
                           layout::SharedBanks banks = {});
  ~SimulatedTarget() override;

  llvm::StringRef name() const override { return "the simulated GPU"; }
  llvm::StringRef triple() const override { return "x86_64-unknown-linux-gnu"; }
  void declareKernel(llvm::Function &kernel, unsigned threads,
                     const backends::CompileOptions &options) const override;
  const backends::MathTarget &math() const override { return *mathTarget; }

  llvm::Value *threadIndex(llvm::IRBuilderBase &builder) const override;
  llvm::Value *programIndex(llvm::IRBuilderBase &builder, unsigned axis) const override;
  llvm::Value *programCount(llvm::IRBuilderBase &builder, unsigned axis) const override;
  llvm::Value *clock(llvm::IRBuilderBase &builder) const override;
  /// There is one multiprocessor, 0.
  llvm::Value *processor(llvm::IRBuilderBase &builder) const override {
    return builder.getInt32(0);
  }
  llvm::Value *shuffleXor(llvm::IRBuilderBase &builder, llvm::Value *value,
                          unsigned mask) const override;
  llvm::Value *shuffleFrom(llvm::IRBuilderBase &builder, llvm::Value *value,
                           llvm::Value *source) const override;
  void barrier(llvm::IRBuilderBase &builder, unsigned threads, gpu::Ordered ordered,
               llvm::Value *barrier) const override;
  void failAssertion(llvm::IRBuilderBase &builder, llvm::StringRef message,
                     const sectile::lang::SourcePlace &place) const override;
  llvm::Value *anyThread(llvm::IRBuilderBase &builder, llvm::Value *truth, unsigned threads,
                         llvm::Value *scratch, llvm::Value *barrier) const override;
  /// A word for each warp.
  int64_t voteBytes(int64_t warps) const override {
    return abilities.votesInSharedMemory ? 4 * warps : 0;
  }
  layout::SharedBanks sharedBanks() const override { return banks; }
  bool takesAssembly() const override { return false; }
  /// AMD's chips have them.
  bool hasBuffers() const override { return *abilities.chip != 0; }
  const gpu::AsyncCopies *asyncCopies() const override;
  const gpu::MatrixProducts *matrixProducts() const override;
  const gpu::BufferProducts *bufferProducts() const override;
  const gpu::TensorCopies *tensorCopies() const override;
  const gpu::MatrixLoads *matrixLoads() const override;
  const gpu::Tf32Rounding *tf32Rounding() const override;
  llvm::Value *load(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                    llvm::Value *other) const override;
  void store(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
             llvm::Value *value) const override;

private:
  llvm::Value *guarded(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access,
                       bool isWritten) const;

  std::unique_ptr<backends::MathTarget> mathTarget;
  SimulatedAbilities abilities;
  std::unique_ptr<gpu::MatrixProducts> products;
  std::unique_ptr<gpu::AsyncCopies> copies;
  layout::SharedBanks banks;
};

/// The matrix instructions that go with `abilities`.
std::unique_ptr<gpu::MatrixProducts> simulatedProducts(const SimulatedAbilities &abilities);

/// The copies of `target`, of single lanes or of warps.
std::unique_ptr<gpu::AsyncCopies> simulatedCopies(const SimulatedTarget &target, bool areOfWarps);

/// Where an access takes place. What a buffer does not reach is no memory.
llvm::Value *globalAddress(llvm::IRBuilderBase &builder, const gpu::GlobalAccess &access);

/// `count` of a type, for the time of the function; and a pointer as plain code takes it.
llvm::Value *localArray(llvm::IRBuilderBase &builder, llvm::Type *type, unsigned count);
llvm::Value *plainPointer(llvm::IRBuilderBase &builder, llvm::Value *pointer);

/// Calls slot `which` of the module's table.
llvm::CallInst *emitSimulatedCall(llvm::IRBuilderBase &builder, SimulatedCall which,
                                  llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments);

/// The table, one per module.
llvm::GlobalVariable *simulatedTable(llvm::Module &module);

/// A number that no other call has: tells instructions apart at run time.
llvm::ConstantInt *nextSite(llvm::Module &module);

} // namespace sectile::testing
