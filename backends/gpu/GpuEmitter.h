//===-- GpuEmitter.h - a laid-out tile kernel as LLVM IR of one thread ------------------------===//
// Walks a kernel whose tiles carry layouts (optimizer/gpu/AssignLayouts.h) and emits the code one
// thread runs. A scalar is one LLVM value. A tile is its *registers*: one LLVM value for every
// register index of its layout; registers that hold copies of one element hold the same value.
//
//   tensor<256xf32, blocked 2 per thread, 32 lanes, 4 warps>     two registers: elements 2t, 2t + 1
//
// Invariants:
//   (Copies)  lanes and warps that hold the same element by the layout hold the same number.
//   (Padding) registers beyond the tile's extents hold anything. Ops that cross elements (reduce,
//             scan, dot, store, atomics, reshape, conversions) mask or skip them.
//   (Shared)  an op's scratch in shared memory is free again when the op is done; SharedMemoryPlan
//             says where it lies, and where a barrier must stand between two ops that share bytes.
//
// Narrow floats are held as they are stored (half, bfloat; fp8 as i8) and computed in f32, rounded
// after every operation; LLVM narrows what it can.
#pragma once

#include "backends/DebugSites.h"
#include "backends/common/ElementwiseEmitter.h"
#include "backends/common/EmittedScalars.h"
#include "backends/common/LineInfo.h"
#include "backends/gpu/GpuTarget.h"
#include "backends/gpu/SharedMemoryPlan.h"
#include "backends/plain/KernelImage.h"
#include "lang/layout/TileLayout.h"
#include "lang/tile/SourcePlace.h"
#include "optimizer/IndexAnalysis.h"
#include "optimizer/PointerProvenance.h"

#include "llvm/ADT/DenseMap.h"

namespace sectile::layout {
struct ShufflePlan;
}

namespace sectile::gpu {

/// One value per register of a layout.
using Registers = llvm::SmallVector<llvm::Value *, 8>;

/// What registers hold that no element of the tile lies in. Not poison, which would spread to the
/// elements that share a word or an instruction with it.
inline llvm::Constant *paddingOf(llvm::Type *type) {
  return llvm::Constant::getNullValue(type);
}

/// The values as one vector, or the value itself; and back (EmitMemory.cpp).
llvm::Value *vectorOf(llvm::IRBuilderBase &builder, llvm::ArrayRef<llvm::Value *> values);
llvm::Value *elementOf(llvm::IRBuilderBase &builder, llvm::Value *vector, unsigned lane);
/// Several elements of 32 bits together, as a word.
llvm::Value *wordOf(llvm::IRBuilderBase &builder, llvm::ArrayRef<llvm::Value *> elements);

class GpuEmitter {
public:
  GpuEmitter(mlir::func::FuncOp function, const GpuTarget &target, const SharedMemoryPlan &plan,
             const backends::CompileOptions &options, llvm::LLVMContext &llvmContext,
             backends::KernelImage &image);

  /// Null after an op that has no lowering; the diagnostic has been emitted.
  std::unique_ptr<llvm::Module> emit();

  //-- Values of the kernel ------------------------------------------------------------------------
  llvm::Value *scalar(mlir::Value value);
  void setScalar(mlir::Value value, llvm::Value *emitted) { scalars.set(value, emitted); }
  const Registers &registers(mlir::Value tile);
  void setRegisters(mlir::Value tile, Registers emitted) { tiles[tile] = std::move(emitted); }
  /// A scalar is a tile of one register.
  Registers valuesOf(mlir::Value value);
  void setValues(mlir::Value value, Registers emitted);
  const layout::TileLayout &layoutOf(mlir::Value tile);

  //-- Types ---------------------------------------------------------------------------------------
  /// What a register holds: half, bfloat, float, double, iN, ptr addrspace(1); fp8 as i8.
  llvm::Type *registerType(mlir::Type element);
  /// The same but i8 for truth values.
  llvm::Type *memoryType(mlir::Type element);
  unsigned memoryBytes(mlir::Type element);
  llvm::Value *fromMemory(llvm::Value *value, mlir::Type element);
  llvm::Value *toMemory(llvm::Value *value, mlir::Type element);
  llvm::Constant *constantOf(mlir::Attribute attribute, mlir::Type element);

  //-- Threads and layouts (EmitLayout.cpp) --------------------------------------------------------
  /// Of a program; the block has those of all its teams.
  unsigned threadCount() const { return warpCount * target.laneCount; }
  /// Of the block, those beside its programs included.
  unsigned blockThreads() const;
  /// Within the program's team; i32.
  llvm::Value *threadIndex();
  llvm::Value *laneIndex();
  llvm::Value *warpIndex();
  /// The same, as a value that the assembler knows to be one for all lanes of the warp.
  llvm::Value *uniformWarpIndex();
  /// The number of the team, known to be one for all lanes of the warp.
  llvm::Value *teamIndex();
  /// Where register 0 of this thread lies, one i32 per dimension; made once per layout at the
  /// function's entry.
  llvm::ArrayRef<llvm::Value *> threadCoordinate(const layout::TileLayout &layout);
  /// Where a register lies along a dimension (i32).
  llvm::Value *coordinate(const layout::TileLayout &layout, unsigned reg, unsigned dimension);
  /// The pointer in register `reg` of a tile of pointers, computed from as few pointers per thread
  /// as possible.
  llvm::Value *addressOf(mlir::Value pointers, unsigned reg);
  /// Says where `access` takes place: at the pointer in register `reg`, or in the buffer that
  /// `pointers` lie in.
  void setPlace(GlobalAccess &access, mlir::Value pointers, unsigned reg);
  /// i1: true in the one thread that performs the effect (a store, an atomic) when several hold
  /// copies; null means always true.
  llvm::Value *isFirstCopy(const layout::TileLayout &layout);
  /// i1: whether the register lies within the tile's extents; null means always true.
  llvm::Value *isInside(const layout::TileLayout &layout, unsigned reg);
  llvm::Value *both(llvm::Value *lhs, llvm::Value *rhs); // `and` of conditions that may be null
  /// The number of a register's element, counted row by row (i32).
  llvm::Value *rowMajorNumber(const layout::TileLayout &layout, int reg);
  llvm::Value *isFirstThread();
  /// i1: true in one lane of each warp.
  llvm::Value *isOneLane();

  //-- Shared memory (EmitConvert.cpp) -------------------------------------------------------------
  /// ptr addrspace(3): `offset` bytes into the block's shared memory, or of the team's part of it.
  llvm::Value *sharedAddress(int64_t offset);
  /// A barrier of all threads of the team, which guards scratch.
  void barrier();
  void barrierOfBlock();
  /// One that orders global memory, too.
  void barrierOfAllMemory();
  /// i1: true in all threads of the team if it is in any.
  llvm::Value *anyThread(llvm::Value *truth);
  /// Registers of `value` moved from one layout to another, by way of what is cheapest; `scratch`
  /// is the offset of bytes set aside for it, or -1 when none are needed.
  Registers moveByShuffles(const layout::ShufflePlan &plan, const Registers &values,
                           llvm::Type *type);
  Registers convert(const Registers &values, const layout::TileLayout &from,
                    const layout::TileLayout &to, llvm::Type *type, int64_t scratch);

  //-- Elementwise (EmitTile.cpp) ------------------------------------------------------------------
  /// One op on `count` registers of one thread, or on one register for all of them; narrow floats
  /// go in and out as registers hold them. One list for each result.
  llvm::SmallVector<Registers, 2> emitElementwise(mlir::Operation *op,
                                                  llvm::ArrayRef<Registers> operands, size_t count);
  llvm::SmallVector<llvm::Value *, 2> emitCombiner(mlir::Block &block,
                                                   llvm::ArrayRef<llvm::Value *> arguments);

  //-- Buffers -------------------------------------------------------------------------------------
  llvm::Value *stageAddress(mlir::Value buffer, mlir::Value stage);
  /// Where a buffer, or what a view shows of one, begins.
  llvm::Value *bufferAddress(mlir::Value buffer);
  /// Whether the tile is loaded from a buffer and stays there, because the one `dot` that takes it
  /// reads it step by step. A `dot_async` takes the buffer itself.
  bool isReadByProduct(mlir::Value tile);

  //-- Control flow --------------------------------------------------------------------------------
  mlir::LogicalResult emitBlock(mlir::Block &block);
  /// Emits `then` in a block of its own that runs where `condition` holds, and sets the builder
  /// behind it.
  void emitIf(llvm::Value *condition, llvm::function_ref<void()> then);
  void fail(mlir::Operation *op, llvm::StringRef what);
  bool failed() const { return hasFailed; }

  const optimizer::IndexAnalysis &indexFacts();

  llvm::IRBuilder<> builder;
  const GpuTarget &target;
  const SharedMemoryPlan &plan;
  const backends::CompileOptions &options;
  backends::KernelImage &image;

private:
  mlir::LogicalResult emitOp(mlir::Operation *op);
  void widenEach(llvm::MutableArrayRef<llvm::Value *> values, mlir::Type element);
  void narrowEach(llvm::MutableArrayRef<llvm::Value *> values, mlir::Type element);
  llvm::SmallVector<llvm::Value *, 2> emitOne(mlir::Operation *op,
                                              llvm::ArrayRef<llvm::Value *> operands);
  // EmitControlFlow.cpp
  Registers flatten(mlir::ValueRange values, const llvm::BitVector &inWords = {});
  void distribute(llvm::ArrayRef<llvm::Value *> all, mlir::ValueRange values,
                  const llvm::BitVector &inWords = {});
  llvm::BasicBlock *newBlock(const char *name);
  llvm::SmallVector<llvm::PHINode *, 8> startPhis(llvm::ArrayRef<llvm::Value *> initial,
                                                  llvm::BasicBlock *from);
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitScfIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp op);
  // EmitTile.cpp: arange, splat, constants, broadcast, expand_dims, transpose, reshape, join, split
  void emitElementwiseTile(mlir::Operation *op, llvm::ArrayRef<Registers> operands);
  bool emitTileOp(mlir::Operation *op);
  /// Registers of `to` whose elements are those of `from` at the mapped places; false when the
  /// elements lie in other threads.
  using CoordinateMap = llvm::function_ref<layout::Coordinates(layout::Coordinates)>;
  bool mapRegisters(mlir::Value from, mlir::Value to, CoordinateMap map);
  // EmitMemory.cpp
  mlir::LogicalResult emitLoad(tile::LoadOp op);
  mlir::LogicalResult emitStore(tile::StoreOp op);
  /// How wide the accesses of an operation on tiles are. Null where that is not decided, which
  /// fails.
  tile::AccessAttr decided(mlir::Operation *op, tile::AccessAttr access);
  // AccessRemarks.cpp
  /// Remarks that a thread's accesses are of so many elements, and why not of more.
  void noteAccess(mlir::Operation *op, llvm::StringRef kind, int64_t elements, unsigned maxBytes);
  /// The same of an access by the engine.
  void noteBoxes(mlir::Operation *op, llvm::StringRef kind, mlir::Value map);
  // EmitAtomics.cpp
  mlir::LogicalResult emitAtomic(mlir::Operation *op);
  bool isDeviceMemory(tile::AtomicRmwOp op);
  // EmitReduce.cpp, EmitScan.cpp
  mlir::LogicalResult emitReduce(tile::ReduceOp op);
  mlir::LogicalResult emitScan(tile::ScanOp op);
  // EmitSort.cpp
  mlir::LogicalResult emitSort(tile::SortOp op);
  // EmitMap.cpp
  mlir::LogicalResult emitMap(tile::MapOp op);
  mlir::LogicalResult emitInlineAsm(tile::InlineAsmOp op);
  mlir::LogicalResult emitHistogram(tile::HistogramOp op);
  // EmitConvert.cpp
  mlir::LogicalResult emitConvert(tile::ConvertLayoutOp op);
  // EmitRearrange.cpp: flip, cat, gather; reshape, transpose, join and split that move elements
  // between threads
  mlir::LogicalResult emitRearrangement(mlir::Operation *op);
  void emitFlip(tile::FlipOp op);
  void emitCat(tile::CatOp op);
  void emitGather(tile::GatherOp op);
  void emitReshapeThroughShared(tile::ReshapeOp op);
  /// One element per register of `layout` from a row-major array at `offset` of shared memory:
  /// at(register, axis) says which (i32).
  Registers readRowMajor(const layout::TileLayout &layout, mlir::Type element, int64_t offset,
                         llvm::ArrayRef<int64_t> extents,
                         llvm::function_ref<llvm::Value *(unsigned reg, unsigned axis)> at);
  // EmitDot.cpp
  mlir::LogicalResult emitDot(tile::DotOp op);
  Registers emitMatrixProduct(tile::DotOp op, Registers acc);
  Registers emitMultiplyAdds(tile::DotOp op, Registers acc, mlir::Type inner);
  llvm::Value *castForDot(llvm::Value *value, mlir::Type from, mlir::Type to);
  /// The tile's elements, each once, row-major from `offset` of shared memory on; and back.
  /// `pitch`: elements from one row to the next; 0: they follow each other.
  void storeRowMajor(mlir::Value tile, int64_t offset, int64_t pitch = 0);
  llvm::Value *rowMajorAddress(mlir::Value tile, int reg, int64_t offset, int64_t pitch = 0);
  void loadRowMajor(mlir::Value tile, int64_t offset);
  // EmitBuffers.cpp
  /// Copies, their groups, and waits for them; an error where the target has none of these, which
  /// passes are to ask for (GpuAbilities.h).
  mlir::LogicalResult emitAsync(mlir::Operation *op);
  llvm::Value *countOn(mlir::Value mask, llvm::ArrayRef<int> group);
  mlir::LogicalResult emitAsyncCopy(const AsyncCopies &copies, tile::AsyncCopyOp op);
  mlir::LogicalResult emitBufferLoad(tile::BufferLoadOp op);
  mlir::LogicalResult emitBufferStore(tile::BufferStoreOp op);
  // EmitTensorCopies.cpp
  /// Adds the map to those of the image.
  mlir::LogicalResult describeMap(tile::TensorMapOp op);
  void emitEditedMap(tile::EditedMapOp op, const TensorCopies &copies);
  /// The program's first warp, or in a producer its own.
  CopyingWarp copyingWarp();
  /// Returns how many maps the places have that programs and producers take for theirs.
  unsigned mapsOfPlace();
  /// A copy or a store by the engine, or what is done with memory barriers.
  mlir::LogicalResult emitTensorCopy(mlir::Operation *op);
  /// Calls `visit` with the place in shared memory and the coordinates of each box of a copy, or a
  /// store.
  template <class Op>
  mlir::LogicalResult
  forEachBox(Op op, llvm::function_ref<void(llvm::Value *, llvm::ArrayRef<llvm::Value *>)> visit);
  /// The number of the team's barrier; null where it is the block's.
  llvm::Value *barrierOfTeam();
  /// Emits the producer's region for a thread beside the program (or a warp, of which one starts
  /// the copies, where it edits maps), and sets the builder where the
  /// program begins.
  mlir::LogicalResult emitProducer();
  /// The thread that makes what is of the block.
  llvm::Value *isFirstOfBlock();
  /// ptr addrspace(3): the memory barrier of a stage (i32).
  llvm::Value *memoryBarrier(mlir::Value barriers, llvm::Value *stage);
  // EmitBufferProducts.cpp
  mlir::LogicalResult emitDotAsync(tile::DotAsyncOp op);
  mlir::LogicalResult emitDotWait(tile::DotWaitOp op);
  mlir::LogicalResult emitProxyFence(tile::ProxyFenceOp op);
  // EmitDebug.cpp
  mlir::LogicalResult emitPrint(tile::PrintOp op);
  mlir::LogicalResult emitClock(tile::ClockOp op);
  llvm::Value *claimRecord(const backends::PrintLayout &print);
  void writeRowMajor(mlir::Value value, llvm::Value *start);
  // EmitChecks.cpp
  /// What the kernel must be given besides its arguments (backends::HiddenParameter).
  int32_t findHiddenParameters();
  llvm::Value *recordField(uint64_t offset);
  llvm::Value *linearProgram();
  /// Every thread returns, after `before`; `condition` is the same in all of them.
  void returnIf(llvm::Value *condition, llvm::function_ref<void()> before);
  void returnIfStopped();
  void reportTrap(unsigned site, llvm::Value *address);
  llvm::Value *isLeast(llvm::Value *number, int64_t limit);
  mlir::LogicalResult emitAssert(tile::AssertOp op);
  std::pair<llvm::Value *, llvm::Value *> argumentRange(unsigned argument);
  llvm::Value *isWithinArguments(llvm::Value *address, unsigned bytes,
                                 std::optional<unsigned> argument);
  /// With check="bounds": nothing is accessed unless all of it may be.
  void checkAccess(mlir::Operation *op, backends::TrapSite::Kind kind, mlir::Value pointer,
                   mlir::Value mask);
  void checkGather(tile::GatherOp op);
  struct CheckedElement {
    int reg;
    llvm::Value *number, *isWrong; // i64: what is reported
  };
  void returnAtFirst(unsigned site, const layout::TileLayout &layout,
                     llvm::ArrayRef<CheckedElement> elements);

  backends::ElementwiseEmitter elementwise;
  mlir::func::FuncOp function;
  unsigned warpCount, teams;
  tile::ProducerOp producer;
  bool isInProducer = false;   // what is emitted now
  bool isProducerWarp = false; // or else one thread
  std::optional<optimizer::IndexAnalysis> analysis;
  std::unique_ptr<llvm::Module> module;
  llvm::Function *kernel = nullptr;
  std::optional<backends::LineInfo> lines;
  llvm::GlobalVariable *shared = nullptr;
  llvm::Instruction *entryEnd = nullptr;
  /// Only kernels that report to the host have these.
  llvm::Value *recordBuffer = nullptr, *rangeTable = nullptr;
  /// The numbers of programs along x, y and z that the launch tells, where a block of threads runs
  /// several of them; null for the others.
  std::array<llvm::Value *, 3> programs = {};
  bool mayStop = false, hasAsyncCopies = false, hasBufferProducts = false;
  std::optional<optimizer::PointerProvenance> provenance;
  llvm::DenseMap<unsigned, std::pair<llvm::Value *, llvm::Value *>> argumentRanges;
  llvm::Value *threadIndexValue = nullptr, *laneIndexValue = nullptr, *warpIndexValue = nullptr,
              *uniformWarpIndexValue = nullptr, *teamIndexValue = nullptr, *oneLaneValue = nullptr;
  backends::EmittedScalars scalars;
  llvm::DenseMap<mlir::Value, Registers> tiles;
  /// The registers that products which have been started read until they are done, by their
  /// results.
  llvm::DenseMap<mlir::Value, Registers> keptForProducts;
  /// The parameters that are tensor maps.
  llvm::DenseMap<mlir::Value, llvm::Value *> tensorMaps, mapMemories;
  std::vector<std::pair<layout::TileLayout, llvm::SmallVector<llvm::Value *, 3>>> coordinates;
  bool hasFailed = false;
};

} // namespace sectile::gpu
