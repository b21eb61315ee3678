//===-- KernelEmitter.h - a tile kernel as LLVM IR --------------------------------------------===//
// Walks a planned kernel (KernelPlan.h) and emits the function of HostAbi.h with llvm::IRBuilder.
// Scalars become SSA values. A tile is either *virtual*, recomputed from its operands wherever a
// loop nest needs it, or lives in a TileBuffer, a row-major piece of the per-thread scratch frame.
//
//   std::unique_ptr<llvm::Module> module =
//       KernelEmitter(function, plan, host, options, llvmContext, image).emit();
//
// Invariant: the builder always inserts before a terminator, so that code can be put at the end of
// any enclosing loop's preheader, and blocks can be split under way.
#pragma once

#include "backends/common/ElementwiseEmitter.h"
#include "backends/common/EmittedScalars.h"
#include "backends/common/LineInfo.h"
#include "backends/cpu/DotKernel.h"
#include "backends/cpu/HostFeatures.h"
#include "backends/cpu/KernelPlan.h"
#include "backends/plain/CompileOptions.h"
#include "backends/plain/KernelImage.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/IndexAnalysis.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace sectile::cpu {

struct DotShape;
using backends::FloatExtremum;
using backends::NarrowFloat;
using backends::narrowFloatOf;

/// A tile in the scratch frame. Rows (the last dimension of more than one element) are padded to
/// whole vectors, so that a vector access may run past the end of a row; one more vector follows
/// the last row. Only along rows do neighbours lie side by side (stride 1).
struct TileBuffer {
  llvm::Value *base = nullptr;
  /// Type of an element in memory: what a register holds, but i8 for truth values.
  llvm::Type *element = nullptr;
  llvm::SmallVector<int64_t, 3> shape, strides; // in elements
  int64_t bytes = 0;
  /// The element type of an operand of a product that keeps the bits it has in memory; else null.
  mlir::Type narrow = {};
};

/// A counted loop under construction. Code of the body goes before `bodyEnd`.
struct EmittedLoop {
  llvm::BasicBlock *preheader = nullptr, *body = nullptr, *latch = nullptr, *exit = nullptr;
  llvm::PHINode *induction = nullptr;
  llvm::SmallVector<llvm::PHINode *, 4> carried;
  llvm::SmallVector<llvm::Value *, 4> initial;
  llvm::Instruction *bodyEnd = nullptr, *afterLoop = nullptr;
  llvm::Instruction *backEdge = nullptr; // once the loop is ended
  llvm::Value *end = nullptr, *step = nullptr;
  /// A turn that begins before it is followed by another. Null means that a turn is followed by
  /// another when its next index is before `end`; that index cannot overflow then.
  llvm::Value *lastButOne = nullptr;
  bool isSigned = true, isGuarded = false;
};

class KernelEmitter {
public:
  KernelEmitter(mlir::func::FuncOp function, const KernelPlan &plan, const HostFeatures &host,
                const backends::CompileOptions &options, llvm::LLVMContext &llvmContext,
                backends::KernelImage &image);

  /// Null after an op that has no lowering; the diagnostic has been emitted.
  std::unique_ptr<llvm::Module> emit();

  //-- Types and numbers ---------------------------------------------------------------------------
  /// What a register holds for an element: f32 for narrower floats, iN, ptr.
  llvm::Type *registerType(mlir::Type element) { return elementwise.registerType(element); }
  /// What an array of the user holds: the bits of narrow floats.
  llvm::Type *memoryType(mlir::Type element) { return elementwise.memoryType(element); }
  llvm::Value *fromMemory(llvm::Value *bits, mlir::Type element);
  llvm::Value *toMemory(llvm::Value *value, mlir::Type element);
  unsigned memoryBytes(mlir::Type element);
  llvm::Constant *constantOf(mlir::Attribute attribute, mlir::Type element) {
    return elementwise.constantOf(attribute, element);
  }
  llvm::ConstantInt *index(int64_t number) { return builder.getInt64(number); }

  //-- Elementwise operations (EmitElementwise.cpp) ------------------------------------------------
  /// Emits one scalar or elementwise op on registers; operands may be scalars and vectors mixed.
  /// Empty after a diagnostic.
  llvm::SmallVector<llvm::Value *, 2> emitElementwise(mlir::Operation *op,
                                                      llvm::ArrayRef<llvm::Value *> operands);
  /// The body of a reduce or scan on registers: one value per yielded element.
  llvm::SmallVector<llvm::Value *, 2> emitCombiner(mlir::Block &block,
                                                   llvm::ArrayRef<llvm::Value *> arguments);
  static bool isElementwise(mlir::Operation *op);

  //-- Scalars, buffers ----------------------------------------------------------------------------
  llvm::Value *scalar(mlir::Value value);
  void setScalar(mlir::Value value, llvm::Value *emitted) { scalars.set(value, emitted); }
  TileBuffer *buffer(mlir::Value value) {
    auto found = buffers.find(value);
    return found == buffers.end() ? nullptr : found->second;
  }
  void setBuffer(mlir::Value value, TileBuffer *buffer) { buffers[value] = buffer; }
  /// In the current scope of the frame: memory comes back when the enclosing block is done.
  TileBuffer *allocate(llvm::ArrayRef<int64_t> shape, llvm::Type *element);
  TileBuffer *allocateFor(mlir::Value value);
  llvm::Value *frameAddress(int64_t bytes, uint64_t alignment = 64);
  void copyBuffer(TileBuffer *to, TileBuffer *from);
  /// Lanes of a vector along an extent.
  unsigned lanesFor(int64_t extent) const;

  //-- Memory --------------------------------------------------------------------------------------
  enum class MemoryKind { Scratch, Arrays };
  /// Tells LLVM that scratch and the user's arrays do not overlap.
  void mark(llvm::Instruction *access, MemoryKind kind);
  /// Somewhere to read from or write to in place of a masked-off scalar access.
  llvm::Value *dummyAddress = nullptr;

  //-- Control flow --------------------------------------------------------------------------------
  EmittedLoop beginLoop(llvm::Value *start, llvm::Value *end, llvm::Value *step,
                        llvm::ArrayRef<llvm::Value *> initial, bool mayBeEmpty,
                        bool isSigned = true);
  /// Values of the carried variables after the loop.
  llvm::SmallVector<llvm::Value *, 4> endLoop(EmittedLoop &loop,
                                              llvm::ArrayRef<llvm::Value *> next);
  /// Checks at the end of a program, or of a round of a loop, whether the launch is to stop.
  void emitPoll();
  /// Stops the kernel when `failed` is true: calls trap(site, program, address) and returns 1.
  void emitTrapIf(llvm::Value *failed, unsigned site, llvm::Value *address);
  unsigned addTrapSite(mlir::Operation *op, backends::TrapSite::Kind kind, mlir::Value pointer,
                       llvm::StringRef message = {});

  llvm::Value *emitAtomicElement(mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands,
                                 llvm::Value *mask, llvm::function_ref<void(llvm::Value *)> check);
  llvm::Value *argumentRanges();
  unsigned argumentCount() { return function.getNumArguments(); }
  bool isPointerArgument(unsigned number) {
    return mlir::isa<tile::PtrType>(function.getArgument(number).getType());
  }

  mlir::LogicalResult emitBlock(mlir::Block &block);
  void fail(mlir::Operation *op, llvm::StringRef what);
  bool failed() const { return hasFailed; }

  llvm::IRBuilder<> builder;
  const KernelPlan &plan;
  const HostFeatures &host;
  const backends::MathTarget math{host};
  backends::ElementwiseEmitter elementwise;
  const backends::CompileOptions &options;
  backends::KernelImage &image;
  /// Made on first use, because most kernels need none.
  const optimizer::IndexAnalysis &indexFacts() {
    if (plan.indexFacts)
      return *plan.indexFacts;
    if (!analysis)
      analysis.emplace(function);
    return *analysis;
  }

private:
  mlir::LogicalResult emitStep(const Step &step);
  mlir::LogicalResult emitScalar(mlir::Operation *op);
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp op);
  mlir::LogicalResult emitDotStep(tile::DotOp op);
  void emitDotHere(const DotShape &shape, llvm::Value *lhs, llvm::Value *rhs, llvm::Value *acc);
  /// Extents, element and word of a product; its accumulator has elements of `compute`.
  DotShape dotShapeOf(tile::DotOp op, llvm::Type *compute);
  llvm::Type *computeType(tile::DotOp op);
  /// rhs of a product in words: where the rows to be packed lie, and their addresses if they lie in
  /// the user's array.
  std::pair<DotRows, TileBuffer *> narrowRows(tile::DotOp op, const DotShape &shape,
                                              llvm::Type *held);
  /// Allocates, before a loop, what its products need that run once for several rounds.
  void prepareDotRounds(mlir::scf::ForOp loop);
  void emitDotInRounds(tile::DotOp op, const DotShape &shape, llvm::Type *held, TileBuffer *acc);
  void roundBuffer(TileBuffer *buffer, NarrowFloat kind);
  mlir::LogicalResult emitScan(tile::ScanOp op);
  mlir::LogicalResult emitSort(tile::SortOp op);
  mlir::LogicalResult emitMap(tile::MapOp op);
  mlir::LogicalResult emitHistogram(tile::HistogramOp op);
  mlir::LogicalResult refuseAssembly(tile::InlineAsmOp op);
  void forEachElement(
      llvm::ArrayRef<int64_t> shape,
      llvm::function_ref<void(llvm::ArrayRef<llvm::Value *> position, llvm::Value *number)> body);
  TileBuffer *elementBuffer(mlir::Value value);
  llvm::Value *readElement(TileBuffer *buffer, llvm::ArrayRef<llvm::Value *> position,
                           mlir::Type element);
  void writeElement(TileBuffer *buffer, llvm::ArrayRef<llvm::Value *> position, llvm::Value *value);
  mlir::LogicalResult emitAtomic(mlir::Operation *op);
  mlir::LogicalResult emitPrint(tile::PrintOp op);
  mlir::LogicalResult emitAssert(tile::AssertOp op);
  /// The terminator's tile operands into `targets` (null: not a tile), scalars into the result.
  llvm::SmallVector<llvm::Value *, 4> emitYield(mlir::ValueRange values,
                                                llvm::ArrayRef<TileBuffer *> targets,
                                                mlir::ValueRange overwritten);
  void writeTile(mlir::Value value, TileBuffer *target);
  /// A buffer that holds `value` in elements of `element`, made by a nest if there is none.
  TileBuffer *operandBuffer(mlir::Value value, llvm::Type *element);
  /// Before a loop: makes room for where the operands of its products lay one round before.
  void prepareOperandsAhead(mlir::scf::ForOp loop);
  DotWord wordOf(tile::DotOp op, llvm::Type *compute);
  TileBuffer *packedBuffer(const DotRows &rows, DotWord word);
  /// The load whose rows a product may read where they lie in the user's array, instead of an
  /// operand that was copied into a buffer of `held`.
  tile::LoadOp loadInPlace(tile::DotOp op, mlir::Value operand, llvm::Type *held);
  /// An array of the addresses of the rows of a loaded operand: in the user's array, whose rows
  /// begin at `inArray`, or in a copy where a mask leaves elements out.
  llvm::Value *rowsOf(tile::LoadOp load, TileBuffer *inArray, llvm::Type *held);
  /// True (i1) when no element of the mask is false. `isQuicklyChecked` masks only.
  llvm::Value *holdsEverywhere(mlir::Value mask);
  /// The address of the first element of each row of a tile of pointers whose rows run along
  /// dimension `along`.
  TileBuffer *rowAddresses(mlir::Value pointers, unsigned along);
  void inOwnBlocks(const char *name, llvm::function_ref<void()> emit);
  /// Emits what runs only where the condition (i1) holds.
  void emitWhen(llvm::Value *condition, const char *name, llvm::function_ref<void()> emit);
  /// What to ask for during the product so that the next round finds its operand in the cache.
  /// `addresses`: of the operand's rows, if they have been computed; else null.
  std::optional<DotPrefetch> operandAhead(mlir::Value operand, TileBuffer *addresses);
  llvm::Value *callField(uint64_t offset, llvm::Type *type, const llvm::Twine &name);
  llvm::Value *programIndex(int axis);
  llvm::Value *atomicRmw(tile::AtomicRmwOp op, llvm::Value *address, llvm::Value *value);
  llvm::Value *atomicCas(tile::AtomicCasOp op, llvm::Value *address, llvm::Value *expected,
                         llvm::Value *desired);

  mlir::func::FuncOp function;
  std::optional<optimizer::IndexAnalysis> analysis;
  std::unique_ptr<llvm::Module> module;
  llvm::Function *kernel = nullptr;
  llvm::Value *call = nullptr, *scratch = nullptr, *program = nullptr;
  llvm::Value *programs[3] = {}, *gridExtents[3] = {};
  /// HostCall::attention.
  llvm::Value *attention = nullptr;
  llvm::Instruction *entryEnd = nullptr;
  llvm::BasicBlock *trapExit = nullptr;
  backends::EmittedScalars scalars;
  llvm::DenseMap<mlir::Value, TileBuffer *> buffers;
  std::vector<std::unique_ptr<TileBuffer>> ownedBuffers;
  llvm::DenseMap<mlir::Value, TileBuffer *> denseConstants;
  /// For operands of products in loops: where their first element lay one round before.
  llvm::DenseMap<mlir::Value, TileBuffer *> earlierAddress;
  /// Products in tile registers that alone add to what a loop carries: their operands are copied
  /// for up to `most` rounds, one behind the other, then multiplied at once, so that the
  /// accumulator passes through registers once for all of them.
  struct DotRounds {
    int64_t most;
    TileBuffer *lhs, *rhs; // of `most` rounds
    TileBuffer *begun;     // rounds of the loop that have begun (i64)
  };
  llvm::DenseMap<mlir::Operation *, DotRounds> dotRounds;
  /// Of products that accumulate in a loop's buffer, which is not written before: true (i1) in the
  /// first round.
  llvm::DenseMap<mlir::Operation *, llvm::Value *> startsAtZero;
  int64_t frameBytes = 0, framePeak = 0;
  llvm::MDNode *scopeLists[2] = {};
  bool hasFailed = false;
  /// A product uses them: the function configures them, and releases them before it returns.
  bool usesTileRegisters = false;

public:
  /// Where each instruction comes from in the user's source.
  std::optional<backends::LineInfo> lines;
  TileBuffer *denseConstant(mlir::Value value, mlir::DenseElementsAttr elements);
};

} // namespace sectile::cpu
