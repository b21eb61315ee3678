//===-- NestEmitter.h - one fused loop nest over native vectors -------------------------------===//
// Iterates the nest's shape: one dimension by vectors of `lanes`, the others by scalar loops. Tile
// values are evaluated at a *coordinate*, by recursion through the ops that make them.
//
//   for i (rows)                       level 1
//     for j (vectors, main)            level 2   masks known true, unrolled
//     for j (vectors, edge)                      masks evaluated
//     if any are left (padding)                  masks known false: one value for all of them
//
// Invariant (Level): an emitted value is placed at the end of the outermost loop body in which all
// its operands exist, so whatever does not vary along the vectors is computed once, as a scalar.
#pragma once

#include "backends/cpu/KernelEmitter.h"
#include "backends/cpu/RecomputeCost.h"

namespace sectile::cpu {

/// The index along one dimension: a number, or one number per lane.
struct LaneIndex {
  llvm::Value *base = nullptr;   // i64, of lane 0
  int64_t step = 0;              // from lane to lane
  llvm::Value *vector = nullptr; // instead: any i64 per lane
  /// What is known to divide `base`.
  int64_t divisor = 1;

  bool isScalar() const { return !vector && step == 0; }
  bool isRun() const { return !vector && step == 1; }
  friend bool operator==(const LaneIndex &, const LaneIndex &) = default;
};
using Coordinate = llvm::SmallVector<LaneIndex, 3>;

class NestEmitter {
public:
  NestEmitter(KernelEmitter &kernel, const Nest &nest);
  void emit();
  /// A load or store of one scalar.
  void emitScalarAccess(mlir::Operation *op);
  void emitScalarAtomic(mlir::Operation *op);

private:
  /// What is known of the nest's prefix masks. With `Fail`, of those that accesses have.
  enum class Masks { Evaluated, Hold, Fail };
  /// How a body is emitted.
  struct Body {
    /// Active lanes; null means all.
    llvm::Value *laneMask = nullptr;
    Masks masks = Masks::Evaluated;
    /// Nothing is computed further out than here.
    unsigned outermostLevel = 0;
  };
  struct Copy {
    Coordinate at;
    std::vector<llvm::SmallVector<llvm::Value *, 3>> operands; // per root
  };

  //-- Loops (NestEmitter.cpp) ---------------------------------------------------------------------
  void chooseVectorDimension();
  int64_t contiguityScore(unsigned dimension);
  void emitOuterLoops(unsigned depth);
  void emitVectorLoop();
  void emitRange(llvm::Value *start, llvm::Value *end, unsigned copies, bool isSingle,
                 bool mayBeEmpty, bool needsLaneMask, Masks masks);
  void emitCopies(llvm::Value *base, int64_t divisor, unsigned copies);
  void emitRoots(llvm::ArrayRef<Copy> copies);
  unsigned unrollFor(int64_t fullVectors, bool isDynamic);
  int bodyCost();

  //-- Levels --------------------------------------------------------------------------------------
  unsigned levelOf(llvm::Value *value) const { return levels.lookup(value); }
  /// Emits at `level`, and notes that level for the result.
  template <typename Emit>
  llvm::Value *emitAt(unsigned level, Emit emit) {
    level = std::max(level, body.outermostLevel);
    llvm::Value *value;
    if (level + 1 < anchors.size()) {
      llvm::IRBuilderBase::InsertPointGuard guard(builder);
      llvm::DebugLoc place = builder.getCurrentDebugLocation();
      builder.SetInsertPoint(anchors[level]);
      builder.SetCurrentDebugLocation(place);
      value = emit();
    } else {
      value = emit();
    }
    note(value, level);
    return value;
  }
  void note(llvm::Value *value, unsigned level) {
    if (level && !llvm::isa<llvm::Constant>(value))
      levels.try_emplace(value, level);
  }
  unsigned levelOf(const LaneIndex &index) const {
    return std::max(levelOf(index.base), index.vector ? levelOf(index.vector) : 0);
  }
  void enterLoop(EmittedLoop &loop);
  void leaveLoop(EmittedLoop &loop);

  //-- Evaluation (EvaluateTile.cpp) ---------------------------------------------------------------
  /// A scalar when the value is the same in all lanes, else a vector.
  llvm::Value *evaluate(mlir::Value value, const Coordinate &at);
  llvm::Value *compute(mlir::Value value, const Coordinate &at);
  /// Where `op`'s operand `number` is read for the result element `at`; for ops with one source
  /// element per result element.
  Coordinate sourceCoordinate(mlir::Operation *op, unsigned resultNumber, const Coordinate &at);
  Coordinate reshapeCoordinate(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                               const Coordinate &at);
  llvm::Value *evaluateElementwise(mlir::Operation *op, unsigned result, const Coordinate &at);
  llvm::Value *evaluateJoin(tile::JoinOp op, const Coordinate &at);
  llvm::Value *evaluateCat(tile::CatOp op, const Coordinate &at);
  llvm::Value *evaluateGather(tile::GatherOp op, const Coordinate &at);
  llvm::Value *indexVector(const LaneIndex &index);
  /// The index as a number or vector of `type`.
  llvm::Value *indexAs(const LaneIndex &index, llvm::Type *type);
  bool isUniform(const Coordinate &at) const {
    return llvm::all_of(at, [](const LaneIndex &index) { return index.isScalar(); });
  }
  llvm::Value *arithmetic(llvm::Instruction::BinaryOps op, llvm::Value *lhs, llvm::Value *rhs);
  llvm::Value *splat(llvm::Value *value) {
    if (value->getType()->isVectorTy() || lanes == 1)
      return value;
    return emitAt(levelOf(value), [&] { return builder.CreateVectorSplat(lanes, value); });
  }
  llvm::FixedVectorType *vectorOf(llvm::Type *element) {
    return llvm::FixedVectorType::get(element, lanes);
  }

  //-- Memory (NestMemory.cpp) ---------------------------------------------------------------------
  /// How an integer or pointer changes from lane to lane (pointers: in elements), if always by the
  /// same. `isLocal` is set when that holds inside one vector only, not along the whole dimension.
  std::optional<int64_t> laneStep(mlir::Value value, const Coordinate &at, bool &isLocal);
  std::optional<int64_t> laneStep(mlir::Value value, const Coordinate &at) {
    bool isLocal = false;
    auto step = laneStep(value, at, isLocal);
    return isLocal ? std::nullopt : step;
  }
  /// The same from what the index analysis knows of aligned runs.
  std::optional<int64_t> runStep(mlir::Value value, const Coordinate &at);
  llvm::Value *evaluateLoad(tile::LoadOp op, const Coordinate &at);
  /// One element of an atomic, or an assertion over the lanes.
  void emitEffect(mlir::Operation *op, const Coordinate &at,
                  llvm::ArrayRef<llvm::Value *> operands);
  void emitStore(tile::StoreOp op, const Coordinate &at, llvm::Value *value, llvm::Value *mask);
  void prefetchAhead(llvm::Value *address, llvm::Type *accessed, bool isWrite);
  /// Address of lane 0.
  llvm::Value *firstAddress(mlir::Value pointer, const Coordinate &at, int64_t step, bool isLocal);
  llvm::Value *readBuffer(TileBuffer &buffer, mlir::Type element, const Coordinate &at);
  void writeBuffer(TileBuffer &buffer, const Coordinate &at, llvm::Value *value);
  struct BufferAddress {
    llvm::Value *first;
    std::optional<int64_t> step; // elements between lanes
    llvm::Value *offsets = nullptr;
  };
  BufferAddress addressIn(TileBuffer &buffer, const Coordinate &at);
  /// Mask of a memory access; null when every lane is active. A scalar applies to all lanes.
  llvm::Value *accessMask(mlir::Value mask, const Coordinate &at);
  void checkAccess(mlir::Operation *op, backends::TrapSite::Kind kind, mlir::Value pointer,
                   llvm::Value *addresses, int64_t span, llvm::Value *mask, unsigned bytes);
  /// With check="bounds": stops where a lane's index lies outside the extent.
  void checkGather(tile::GatherOp op, llvm::Value *index, llvm::Value *laneMask);
  void trapAtFirst(unsigned site, llvm::Value *numbers, llvm::Value *isWrong);

  //-- Remarks (NestRemarks.cpp) -------------------------------------------------------------------
  enum class Access { Vector, Single, EachLane };
  void noteNest(unsigned copies, bool isBounded);
  /// `step`: elements from lane to lane, where they are known.
  void noteAccess(mlir::Operation *op, llvm::StringRef kind, mlir::Value pointer, Access access,
                  std::optional<int64_t> step, bool isMasked);

  //-- Prefix masks (NestMasks.cpp) ----------------------------------------------------------------
  /// Number of leading vector positions where every prefix mask of the nest's accesses holds; null
  /// when there is none. Fills `assumed`.
  llvm::Value *findPrefixBound();
  /// Positions along the vector dimension, as i64 in [0, extent]: a mask holds at all before
  /// `holdsUpTo` and at none from `failsFrom` on. Between them it may do either.
  struct Prefix {
    llvm::Value *holdsUpTo = nullptr, *failsFrom = nullptr;
  };
  std::optional<Prefix> prefixOf(mlir::Value mask, const Coordinate &at);

  //-- Padding (NestPadding.cpp) -------------------------------------------------------------------
  /// The first vector position at which all accesses' prefix masks fail, if all that the nest
  /// computes there is the same in every lane; else null.
  llvm::Value *findPaddingStart();
  bool failsInPadding(mlir::Value mask, const Coordinate &at) const;
  bool isSameInPadding(mlir::Value value, const Coordinate &at, bool isRecomputed);
  bool isSameInPadding(mlir::Operation *op, const Coordinate &at, bool isRecomputed);
  void emitPadding(llvm::Value *start);

  //-- Reductions (NestReduce.cpp) -----------------------------------------------------------------
  struct Reduction {
    mutable tile::ReduceOp op;
    /// The identity of a combiner that is one known operation; else null.
    llvm::Value *identity = nullptr;
    unsigned firstAccumulator = 0; // among a copy's accumulators
  };
  void prepareReductions();
  llvm::SmallVector<llvm::Value *, 4> initialAccumulators(unsigned copies);
  void accumulate(unsigned copy, const Reduction &reduction, llvm::ArrayRef<llvm::Value *> values);
  void finishReductions(const Coordinate &outer);
  llvm::SmallVector<llvm::Value *, 2> combineLanes(const Reduction &reduction,
                                                   llvm::SmallVector<llvm::Value *, 2> values);
  void storeReduction(const Reduction &reduction, const Coordinate &at,
                      llvm::ArrayRef<llvm::Value *> values);

  KernelEmitter &kernel;
  llvm::IRBuilder<> &builder;
  const Nest &nest;
  unsigned vectorDimension = 0, lanes = 1;
  /// Dimensions iterated outside the vector loop, and (reductions across vectors) inside it.
  llvm::SmallVector<unsigned, 3> outerDimensions;
  std::optional<unsigned> innerDimension;
  Coordinate current; // of the loops entered so far
  llvm::SmallVector<llvm::Instruction *, 4> anchors;
  llvm::DenseMap<llvm::Value *, unsigned> levels;
  Body body;
  llvm::DenseSet<mlir::Value> assumed;
  struct AccessMask {
    Coordinate at; // with position 0 of the vector dimension
    llvm::Value *failsFrom = nullptr;
  };
  /// Those of `assumed` that are masks of accesses, and where they fail.
  llvm::MapVector<mlir::Value, AccessMask> accessMasks;
  /// Accesses there is a remark of.
  llvm::DenseSet<mlir::Operation *> noted;
  /// Values that this nest computes for their buffers: never read back from them.
  llvm::DenseSet<mlir::Value> keptHere;

  struct Memo {
    Coordinate at;
    Masks masks;
    llvm::Value *laneMask;
    llvm::Value *result;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Memo, 2>> memo;

  std::vector<Reduction> reductions;
  unsigned accumulatorsPerCopy = 0, accumulatorCopies = 1;
  llvm::SmallVector<llvm::Value *, 8> accumulators; // copy-major
  /// No identity known: true (i1 scalar) in the first visit.
  llvm::Value *isFirst = nullptr;
  bool hasIdentities = true;
};

} // namespace sectile::cpu
