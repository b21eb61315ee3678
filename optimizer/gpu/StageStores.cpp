#include "optimizer/gpu/StageStores.h"

#include "lang/layout/BufferOperand.h"
#include "lang/layout/Builders.h"
#include "lang/tile/LoadedAddress.h"
#include "optimizer/PointerProvenance.h"
#include "optimizer/ScalarSum.h"
#include "optimizer/gpu/ApartArrays.h"
#include "optimizer/gpu/TensorCopies.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// What a kernel accesses in global memory, and whether it orders that.
class KernelAccesses {
public:
  explicit KernelAccesses(func::FuncOp function) : provenance(function) {
    function.getBody().walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](LoadOp load) {
            ordersMemory |= load.getIsVolatile();
            read(provenance.argumentOf(load.getPtr()));
          })
          .Case([&](AsyncCopyOp copy) { read(provenance.argumentOf(copy.getPtr())); })
          .Case([&](TensorCopyOp copy) {
            read(provenance.argumentOf(copy.getMap().getDefiningOp<TensorMapOp>().getBase()));
          })
          .Case([&](StoreOp store) { stores.push_back(store); })
          .Case<PrintOp, AssertOp, AssumeOp>([](Operation *) {})
          .Default([&](Operation *op) {
            ordersMemory |= !touchesOnlySharedMemory(op) && !isMemoryEffectFree(op) &&
                            !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
          });
    });
  }

  /// Why the engine must not do the store; empty where it may. Adds to `apart` what that assumes,
  /// and to `others` the stores beside it in a loop that must be the engine's, too: it keeps the
  /// order of their rounds.
  std::string whyNotLate(StoreOp store, SmallVectorImpl<ApartArguments> &apart,
                         SmallVectorImpl<StoreOp> &others) const {
    const std::optional<unsigned> written = provenance.argumentOf(store.getPtr());
    if (ordersMemory)
      return "the kernel orders memory (by an atomic, a barrier or a volatile load)";
    if (!written || readsElsewhere)
      return "which arrays the kernel accesses is not known";
    if (llvm::is_contained(reads, *written))
      return "the kernel reads the argument that this writes";
    SmallVector<ApartArguments> pairs;
    for (unsigned argument : reads)
      pairs.push_back({*written, argument});
    for (StoreOp other : stores) {
      std::optional<unsigned> argument = provenance.argumentOf(other.getPtr());
      if (!argument)
        return "which arrays the kernel accesses is not known";
      if (*argument != *written)
        pairs.push_back({*written, *argument});
      else if (other != store && !areApart(store, other))
        return "another store of the kernel may write there, too";
      else if (other != store && other->getParentOfType<LoopLikeOpInterface>())
        others.push_back(other);
    }
    for (const ApartArguments &pair : pairs)
      assumeApart(apart, pair);
    return {};
  }

  SmallVector<StoreOp> stores;

private:
  void read(std::optional<unsigned> argument) {
    readsElsewhere |= !argument;
    if (argument && !llvm::is_contained(reads, *argument))
      reads.push_back(*argument);
  }

  /// Whether two stores, run one after the other, write different places of one array.
  static bool areApart(StoreOp one, StoreOp other) {
    auto first = one.getBlock() ? one.getBlock().getDefiningOp<BlockAtOp>() : BlockAtOp(),
         second = other.getBlock() ? other.getBlock().getDefiningOp<BlockAtOp>() : BlockAtOp();
    if (!first || !second || one->getBlock() != other->getBlock() ||
        first.getStrides() != second.getStrides() || first.getBase() != second.getBase() ||
        !hasRowsApart(first) || !hasRowsApart(second))
      return false;
    for (auto [axis, offsets] :
         llvm::enumerate(llvm::zip(first.getOffsets(), second.getOffsets()))) {
      ScalarSum distance = ScalarSum::of(std::get<0>(offsets));
      distance -= ScalarSum::of(std::get<1>(offsets));
      if (distance.summands().empty() &&
          (distance.constant() >= shapeOf(other.getValue().getType())[axis] ||
           -distance.constant() >= shapeOf(one.getValue().getType())[axis]))
        return true;
    }
    return false;
  }

  /// Whether a row ends where the next one begins.
  static bool hasRowsApart(BlockAtOp block) {
    std::optional<int> rowAxis = rowAxisOf(block);
    return rowAxis && block.getShape().size() == 2 &&
           ScalarSum::of(block.getShape()[*rowAxis]) ==
               ScalarSum::of(block.getStrides()[1 - *rowAxis]);
  }

  const PointerProvenance provenance;
  bool ordersMemory = false, readsElsewhere = false;
  SmallVector<unsigned, 4> reads; // arguments
};

/// The engine of an H200 writes rows to the end of their last 16 bytes.
constexpr int64_t kPieceBytes = 16;

/// Whether rows are known to end there.
bool hasWholePieces(const ArrayBlock &block, Type tile, const IndexAnalysis &analysis) {
  BlockAtOp at = block.at;
  const IndexFacts &extent = analysis.of(at.getShape()[block.dimensions().back()]);
  const int64_t bytes = elementTypeOf(tile).getIntOrFloatBitWidth() / 8;
  return !extent.isAssumed && !extent.isOffset && extent.commonDivisor() * bytes % kPieceBytes == 0;
}

/// The halves of a tile along an axis, as each thread has them in registers of its own.
class Halves {
public:
  Halves(const layout::TileLayout &layout, int axis) {
    layout::Extents parted(layout.shape());
    if (parted[axis] % 2)
      return;
    parted[axis] /= 2;
    parted.insert(parted.begin() + axis, 2);
    for (int number = 0; number < int(parted.size()); ++number)
      if (number != axis)
        order.push_back(number);
    order.push_back(axis);
    reshaped = layout::reshape(layout, parted);
    if (!reshaped)
      return;
    turned = layout::transpose(*reshaped, order);
    half = layout::split(turned);
  }

  /// Null where threads do not have them so.
  const std::optional<layout::TileLayout> &layout() const { return half; }

  std::pair<Value, Value> of(OpBuilder &builder, Value tile) const {
    Location place = tile.getLoc();
    auto type = [&](const layout::TileLayout &layout) {
      return RankedTensorType::get(layout.shape(), elementTypeOf(tile.getType()),
                                   LayoutAttr::get(tile.getContext(), layout));
    };
    Value parted = ReshapeOp::create(builder, place, type(*reshaped), tile);
    SmallVector<int32_t> turn(order.begin(), order.end());
    Value last = TransposeOp::create(builder, place, type(turned), parted, turn);
    auto made = SplitOp::create(builder, place, type(*half), type(*half), last);
    return {made.getLhs(), made.getRhs()};
  }

private:
  SmallVector<int, 4> order;
  std::optional<layout::TileLayout> reshaped, half;
  layout::TileLayout turned;
};

class StoreStager {
public:
  StoreStager(func::FuncOp function, const GpuPipelineOptions &options, GpuAssumptions &assumed)
      : function(function), options(options), assumed(assumed), analysis(function),
        accesses(function) {}

  void run() {
    std::vector<EngineStore> chosen;
    for (StoreOp store : accesses.stores) {
      EngineStore one(store, store->getParentOfType<LoopLikeOpInterface>() != nullptr);
      std::string whyNot = whyNotByEngine(one, chosen);
      if (whyNot.empty() && one.block) {
        taken += one.follows ? 0 : one.buffer.getStages() * one.buffer.getStageBytes();
        planned += !one.follows;
        chosen.push_back(std::move(one));
      } else if (!whyNot.empty())
        addRemark(assumed.remarks, store.getLoc(), "not-by-copy-engine", whyNot);
    }
    dropAlone(chosen);
    // Beside those that are left to threads there may be less room than was thought.
    for (size_t number = chosen.size(); number-- > 0 && !isRoomBeside(chosen);)
      if (chosen[number].block && chosen[number].isInLoop) {
        leaveToThreads(chosen[number], "what threads exchange for other stores leaves no room");
        dropAlone(chosen);
      }
    for (EngineStore &one : chosen)
      if (one.block)
        stage(one, chosen);
    if (llvm::any_of(chosen, [](const EngineStore &one) { return one.block.has_value(); }))
      dropUnused();
  }

  /// bytesInTurns(), of what may be stored by the engine but for the length of its rows.
  static std::optional<int64_t> bytesInTurns(StoreOp store, const ArrayBlock &block) {
    EngineStore one(store, /*isInLoop=*/true);
    one.tile = store.getValue().getDefiningOp<ConvertLayoutOp>().getSrc();
    auto type = cast<RankedTensorType>(one.tile.getType());
    layout::TileLayout piece = *layoutOf(type);
    int64_t bytes = bytesOf(one.tile);
    for (; bytes / 2 >= kLeastPieceOfTurns; bytes /= 2, one.pieces *= 2) {
      std::optional<layout::TileLayout> half = halve(piece, one, block);
      if (!half)
        break;
      piece = *half;
    }
    if (!isOfEngine(bufferFor(1, piece.shape(), type.getElementType(), block.rowAxis),
                    block.rowAxis))
      return std::nullopt;
    return one.pieces > 1 && 2 * bytes <= kLeastPieceBytes ? 2 * bytes : bytes;
  }

private:
  struct EngineStore {
    EngineStore(StoreOp store, bool isInLoop) : store(store), isInLoop(isInLoop) {}

    StoreOp store;
    std::optional<ArrayBlock> block;
    /// Of an array that the program describes, the loop in which it is the same, and the arrays
    /// that the loop reads, if it is to wait where these are the same memory.
    LoopLikeOpInterface around;
    std::optional<ArraysApart> apart;
    Value tile;        // as threads have it
    BufferType buffer; // of a piece
    bool isInLoop;
    int64_t pieces = 1; // along `pieceAxis`; a power of two
    int pieceAxis = 0;
    SmallVector<StoreOp> others;   // that must be the engine's, too
    std::optional<size_t> follows; // the store through whose buffer its pieces go, behind those
    Value staged, map;             // the buffer and the array's map, once they are made
    int64_t stagedPieces = 0;      // that have gone through the buffer then
  };

  /// Leaves to threads what must not be the engine's alone.
  void dropAlone(std::vector<EngineStore> &chosen) {
    auto isStaged = [&](StoreOp store) {
      return llvm::any_of(chosen,
                          [&](const EngineStore &one) { return one.block && one.store == store; });
    };
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (EngineStore &one : chosen)
        if (one.block && !llvm::all_of(one.others, isStaged)) {
          leaveToThreads(one, "another store beside it is left to threads");
          hasChanged = true;
        }
    }
  }

  void leaveToThreads(EngineStore &one, const char *why) {
    one.block.reset();
    addRemark(assumed.remarks, one.store.getLoc(), "not-by-copy-engine", why);
  }

  /// Whether the buffers of chosen stores in loops fit beside what threads exchange in loops for
  /// others.
  bool isRoomBeside(const std::vector<EngineStore> &chosen) {
    int64_t buffers = 0, scratch = 0;
    llvm::DenseSet<Operation *> staged;
    for (const EngineStore &one : chosen)
      if (one.block) {
        staged.insert(one.store);
        if (one.isInLoop && !one.follows)
          buffers += one.buffer.getStages() * one.buffer.getStageBytes();
      }
    if (!buffers || !options.shape.scratchBytes)
      return true;
    function.walk([&](Operation *op) {
      if (StoreOp store = storeBehind(op);
          op->getParentOfType<LoopLikeOpInterface>() && !(store && staged.contains(store)))
        scratch = std::max(scratch, options.shape.scratchBytes(op));
    });
    return buffers + scratch <= ofProgram(otherBytes());
  }

  /// Shared memory of buffers and memory barriers.
  int64_t otherBytes() {
    int64_t bytes = 0;
    function.walk([&](Operation *op) {
      if (auto alloc = dyn_cast<BufferAllocOp>(op))
        bytes += alloc.getType().getStages() * alloc.getType().getStageBytes();
      else if (auto barriers = dyn_cast<MBarrierAllocOp>(op))
        bytes += barriers.getType().getStages() * int64_t(sizeof(int64_t));
    });
    return bytes;
  }

  /// What one program has beside so many bytes of the block.
  int64_t ofProgram(int64_t others) {
    const int64_t all = options.shape.sharedBytes, teams = teamsOf(function);
    if (teams == 1)
      return all - others;
    return int64_t(llvm::alignDown((all - int64_t(llvm::alignTo(others, kTeamAlignment))) / teams,
                                   kTeamAlignment));
  }

  /// Nothing for a store that names no block, or of a tile whose threads have neighbours already:
  /// then `one.block` is empty.
  std::string whyNotByEngine(EngineStore &one, const std::vector<EngineStore> &chosen) {
    StoreOp store = one.store;
    auto moved = store.getValue().getDefiningOp<ConvertLayoutOp>();
    if (!store.getBlock() || !moved ||
        (options.shape.scratchBytes && !options.shape.scratchBytes(moved)))
      return {};
    one.tile = moved.getSrc();
    if (options.argumentsOverlap)
      return "arguments of the launch share memory";
    std::string whyNot;
    std::optional<ArrayBlock> block =
        storedBlockOf(store, analysis, options.shape, planned, whyNot);
    if (!block)
      return whyNot;
    one.follows = storeInFront(one, *block, chosen);
    if (one.follows) {
      const EngineStore &front = chosen[*one.follows];
      one.buffer = front.buffer, one.pieces = front.pieces, one.pieceAxis = front.pieceAxis;
    } else if (std::string none = whyNoBuffer(one, *block); !none.empty()) {
      return none;
    }
    whyNot = block->isEdited ? whyNotLateIn(*block, one)
                             : accesses.whyNotLate(store, assumed.apart, one.others);
    if (whyNot.empty())
      one.block = std::move(block);
    return whyNot;
  }

  /// Returns the store in front of it whose round is its own, and whose pieces are like its: to the
  /// same array, elsewhere.
  static std::optional<size_t> storeInFront(const EngineStore &one, const ArrayBlock &block,
                                            const std::vector<EngineStore> &chosen) {
    if (!one.isInLoop || block.isEdited || chosen.empty())
      return std::nullopt;
    const EngineStore &front = chosen.back();
    BlockAtOp here = block.at, there = front.block->at;
    const bool isLike = front.store->getBlock() == one.store->getBlock() &&
                        front.tile.getType() == one.tile.getType() &&
                        front.block->rowAxis == block.rowAxis &&
                        here.getBase() == there.getBase() && here.getShape() == there.getShape() &&
                        here.getStrides() == there.getStrides();
    return isLike ? std::optional(chosen.size() - 1) : std::nullopt;
  }

  /// KernelAccesses::whyNotLate of an array that the program describes: of the loop in which it is
  /// the same, behind which all of the store is waited for. There the engine alone reads, what the
  /// program describes, too: it can compare where these arrays lie, or does so already for a
  /// producer. That such a kernel orders no memory PipelineLoops has seen to.
  std::string whyNotLateIn(const ArrayBlock &block, EngineStore &one) {
    one.around = loopOfArray(block.at, one.store);
    bool isByThreads = false, isKnown = true;
    SmallVector<ArrayDescribed> read;
    one.around->walk([&](Operation *op) {
      isByThreads |= isa<LoadOp, AsyncCopyOp>(op) || (isa<StoreOp>(op) && op != one.store);
      if (auto copy = dyn_cast<TensorCopyOp>(op)) {
        auto map = copy.getMap().getDefiningOp<TensorMapOp>();
        isKnown &= map && isLoadedAddress(map.getBase());
        if (map)
          read.push_back(ArrayDescribed(map));
      }
    });
    if (isByThreads)
      return "threads access memory beside it, in the loop in which the array is the same";
    if (one.around->hasAttr(kAwaitsStoresAttr))
      return "";
    if (isKnown && !read.empty())
      one.apart = ArraysApart::of(one.around, read, analysis);
    return one.apart ? ""
                     : "which arrays the loop accesses in which the array is the same is not "
                       "known";
  }

  /// Chooses the buffer: of the whole tile, or of the largest piece that there is room for.
  std::string whyNoBuffer(EngineStore &one, const ArrayBlock &block) {
    auto type = cast<RankedTensorType>(one.tile.getType());
    const int64_t room = roomFor(one);
    // Small pieces follow one another while another program has its turn to multiply.
    const bool takesTurns = teamsOf(function) > 1;
    const int64_t leastPiece = takesTurns ? kLeastPieceOfTurns : kLeastPieceBytes;
    layout::TileLayout piece = *layoutOf(type);
    for (;; one.pieces *= 2) {
      one.buffer = bufferFor(1, piece.shape(), type.getElementType(), block.rowAxis);
      if (!isOfEngine(one.buffer, block.rowAxis))
        return "its rows are too short";
      const int64_t bytes = one.buffer.getStageBytes();
      std::optional<layout::TileLayout> half;
      if (one.isInLoop && bytes / 2 >= leastPiece)
        half = halve(piece, one, block);
      // Two stages of smaller pieces are better than one: nobody waits for the engine's reads.
      const bool isWhole = one.pieces == 1, isForTwo = !isWhole && 2 * bytes <= room;
      if (bytes <= room && !(takesTurns && half) && (isWhole || isForTwo || !half)) {
        if (isForTwo)
          one.buffer = bufferFor(2, piece.shape(), type.getElementType(), block.rowAxis);
        return {};
      }
      if (!half)
        return std::to_string(bytes) + " bytes of shared memory are not free for it";
      piece = *half;
    }
  }

  /// Returns the layout of a half of `piece`: along the axis of the halves before, if there are
  /// any.
  static std::optional<layout::TileLayout> halve(const layout::TileLayout &piece, EngineStore &one,
                                                 const ArrayBlock &block) {
    SmallVector<int, 2> axes{one.pieceAxis};
    if (one.pieces == 1) {
      axes = {block.rowAxis, 1 - block.rowAxis};
      // Rows of a half whose length is no power of two would be cut into narrower panels.
      if (!llvm::isPowerOf2_64(piece.shape()[block.rowAxis]))
        std::swap(axes[0], axes[1]);
    }
    for (int axis : axes)
      if (std::optional<layout::TileLayout> half = Halves(piece, axis).layout()) {
        one.pieceAxis = axis;
        return half;
      }
    return std::nullopt;
  }

  static BufferType bufferFor(int64_t stages, ArrayRef<int64_t> shape, Type element, int rowAxis) {
    auto shared = layout::bufferOperandLayout(shape, rowAxis, element.getIntOrFloatBitWidth(),
                                              shape[rowAxis]);
    return BufferType::get(element.getContext(), stages, shape, element,
                           SharedLayoutAttr::get(element.getContext(), shared));
  }

  /// A buffer outside of loops takes bytes that stages of loops have had, and so many more that as
  /// many programs have room as before, or four; in a loop it lies beside the stages, with what
  /// these leave of a program's share.
  int64_t roomFor(const EngineStore &one) {
    const int64_t all = options.shape.sharedBytes, others = otherBytes();
    if (!one.isInLoop)
      return std::max(others, all / 4) - taken;
    int64_t scratch = 0;
    if (options.shape.scratchBytes)
      function.walk([&](Operation *op) {
        if (!mayBeStored(op))
          scratch = std::max(scratch, options.shape.scratchBytes(op));
      });
    if (teamsOf(function) > 1)
      return ofProgram(others) - scratch - taken;
    const int64_t held = others + scratch;
    for (int64_t programs = std::clamp<int64_t>(all / std::max<int64_t>(held, 1), 1, kMostPrograms);
         programs > 0; --programs)
      if (int64_t room = all / programs - held - taken;
          room >= std::min(kLeastPieceBytes, bytesOf(one.tile)))
        return room;
    return 0;
  }

  bool mayBeStored(Operation *op) {
    std::string whyNot;
    SmallVector<ApartArguments> dropped;
    StoreOp store = storeBehind(op);
    if (!store)
      return false;
    auto block = storedBlockOf(store, analysis, options.shape, planned, whyNot);
    EngineStore one(store, /*isInLoop=*/true);
    return block && (block->isEdited ? whyNotLateIn(*block, one)
                                     : accesses.whyNotLate(store, dropped, one.others))
                        .empty();
  }

  static int64_t bytesOf(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    return type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }

  void stage(EngineStore &one, const std::vector<EngineStore> &all) {
    StoreOp store = one.store;
    Location place = store.getLoc();
    OpBuilder builder(store);
    auto atEntry = OpBuilder::atBlockBegin(&function.getBody().front());
    const EngineStore *front = one.follows ? &all[*one.follows] : nullptr;
    Value buffer =
        front ? front->staged : BufferAllocOp::create(atEntry, place, one.buffer).getResult();
    Value map = front ? front->map : tensorMapOf(*one.block, one.buffer, store), areApart;
    const int64_t before = front ? front->stagedPieces : 0;
    one.staged = buffer, one.map = map, one.stagedPieces = before + one.pieces;
    IRMapping there;
    if (one.apart) {
      OpBuilder before(one.around);
      areApart = one.apart->emit(before);
    }
    if (one.block->isEdited)
      keepOutOfNothing(builder, *one.block, map, there);
    const int64_t stages = one.buffer.getStages();
    for (auto [number, piece] : llvm::enumerate(piecesOf(builder, one))) {
      Value stage = arith::ConstantOp::create(
          builder, place, builder.getI32IntegerAttr(int32_t((before + int64_t(number)) % stages)));
      const bool isFirst = before + int64_t(number) == 0,
                 isAgain = before + int64_t(number) >= stages;
      if ((one.isInLoop && isFirst) || isAgain) {
        IntegerAttr others =
            isAgain && stages > 1 ? builder.getI32IntegerAttr(int32_t(stages - 1)) : IntegerAttr();
        TensorStoreWaitOp::create(builder, place, /*written=*/isFirst, others);
        BarrierOp::create(builder, place, /*sharedOnly=*/true);
      }
      BufferStoreOp::create(builder, place, piece, buffer, stage);
      ProxyFenceOp::create(builder, place);
      BarrierOp::create(builder, place, /*sharedOnly=*/true);
      const int64_t offset = int64_t(number) * one.buffer.getShape()[one.pieceAxis];
      startTensorStore(builder, *one.block, buffer, stage, map, there, one.pieceAxis, offset);
      if (one.block->isCut)
        storeRest(builder, one, cast<RankedTensorType>(piece.getType()), buffer, stage, offset);
    }
    if (one.apart)
      endInTime(builder, one, areApart);
    else if (!one.block->isEdited) // else the loop waits itself
      waitAtEndOf(one.isInLoop ? &function.getBody().front() : store->getBlock());
    addRemark(
        assumed.remarks, place, "by-copy-engine",
        one.pieces == 1 ? "stored from shared memory by the copy engine"
                        : "stored from shared memory by the copy engine, in " +
                              std::to_string(one.pieces) + " pieces",
        {{"stages", stages}, {"stage_bytes", one.buffer.getStageBytes()}, {"pieces", one.pieces}});
    store.erase();
  }

  /// An array without elements is described as one that has some, which are not to be written: the
  /// block is put behind them.
  static void keepOutOfNothing(OpBuilder &builder, const ArrayBlock &block, Value map,
                               IRMapping &there) {
    BlockAtOp at = block.at;
    Location place = at.getLoc();
    auto constant = [&](int64_t number) {
      return arith::ConstantOp::create(builder, place, builder.getI64IntegerAttr(number));
    };
    Value hasElements;
    for (Value extent : map.getDefiningOp<TensorMapOp>().getShape()) {
      Value has =
          arith::CmpIOp::create(builder, place, arith::CmpIPredicate::sgt, extent, constant(0));
      hasElements =
          hasElements ? arith::AndIOp::create(builder, place, hasElements, has).getResult() : has;
    }
    Value row = at.getOffsets()[block.dimensions().back()];
    there.map(row,
              arith::SelectOp::create(builder, place, hasElements, row, constant(kBehindNothing)));
  }

  /// Lets threads store the elements of rows behind their last whole 16 bytes, where there are some
  /// and the piece has them, which begins at `start` along the pieces' axis. Each has the elements
  /// from the stage that it has put them into: ptxas lets products wait for each other whose sums
  /// are needed in a branch (C7514).
  static void storeRest(OpBuilder &builder, const EngineStore &one, RankedTensorType piece,
                        Value buffer, Value stage, int64_t start) {
    BlockAtOp at = one.block->at;
    Location place = at.getLoc();
    OpBuilder::InsertionGuard guard(builder);
    const layout::TileLayout &held = *layoutOf(piece);
    const int rowAxis = one.block->rowAxis;
    auto constant = [&](int64_t number) {
      return arith::ConstantOp::create(builder, place, builder.getI64IntegerAttr(number));
    };
    auto compare = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
      return arith::CmpIOp::create(builder, place, predicate, lhs, rhs);
    };
    auto offsetOf = [&](int axis) -> Value {
      Value offset = at.getOffsets()[axis];
      return axis == one.pieceAxis
                 ? arith::AddIOp::create(builder, place, offset, constant(start)).getResult()
                 : offset;
    };
    Value begin = wholePieces(builder, *one.block), end = at.getShape()[rowAxis];
    Value behind =
        arith::AddIOp::create(builder, place, offsetOf(rowAxis), constant(held.shape()[rowAxis]));
    Value hasRest =
        arith::AndIOp::create(builder, place, compare(arith::CmpIPredicate::slt, begin, end),
                              compare(arith::CmpIPredicate::slt, begin, behind));
    builder.setInsertionPointToStart(
        scf::IfOp::create(builder, place, hasRest, /*withElseRegion=*/false).thenBlock());
    auto type = [&](Type element, const layout::TileLayout &layout) {
      return RankedTensorType::get(layout.shape(), element,
                                   LayoutAttr::get(builder.getContext(), layout));
    };
    Value offset, mask;
    for (int axis : {0, 1}) {
      SmallVector<int64_t, 2> along(2, 1);
      along[axis] = held.shape()[axis];
      const layout::TileLayout operand = layout::broadcastOperand(held, along);
      auto splat = [&](Value number) {
        return SplatOp::create(builder, place, type(number.getType(), operand), number);
      };
      Value range = ArangeOp::create(builder, place,
                                     type(builder.getI32Type(), layout::sliceOf(operand, 1 - axis)),
                                     0, int32_t(along[axis]));
      range = ExpandDimsOp::create(builder, place, type(builder.getI32Type(), operand), range,
                                   uint32_t(1 - axis));
      Value at64 =
          arith::ExtSIOp::create(builder, place, type(builder.getI64Type(), operand), range);
      at64 = arith::AddIOp::create(builder, place, at64, splat(offsetOf(axis)));
      Value first = axis == rowAxis ? begin : constant(0);
      Value isIn = arith::AndIOp::create(
          builder, place, compare(arith::CmpIPredicate::sge, at64, splat(first)),
          compare(arith::CmpIPredicate::slt, at64, splat(at.getShape()[axis])));
      at64 = arith::MulIOp::create(builder, place, at64, splat(at.getStrides()[axis]));
      at64 = BroadcastOp::create(builder, place, type(builder.getI64Type(), held), at64);
      isIn = BroadcastOp::create(builder, place, type(builder.getI1Type(), held), isIn);
      offset = offset ? arith::AddIOp::create(builder, place, offset, at64).getResult() : at64;
      mask = mask ? arith::AndIOp::create(builder, place, mask, isIn).getResult() : isIn;
    }
    auto pointers = type(at.getBase().getType(), held);
    Value pointer = SplatOp::create(builder, place, pointers, at.getBase());
    pointer = PtrAddOp::create(builder, place, pointers, pointer, offset);
    Value tile = BufferLoadOp::create(builder, place, piece, buffer, stage);
    StoreOp::create(builder, place, pointer, tile, mask);
  }

  /// Of an array that the program describes: where what the loop reads may be what it has stored,
  /// the thread that has started the store waits for it (the first copies of the loop's next round
  /// stand behind a fence and a barrier then); behind the loop the program does.
  static void endInTime(OpBuilder &builder, const EngineStore &one, Value areApart) {
    Location place = one.block->at->getLoc();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(
        scf::IfOp::create(builder, place, areApart, /*withElseRegion=*/true).elseBlock());
    TensorStoreWaitOp::create(builder, place, /*written=*/true, IntegerAttr());
    builder.setInsertionPointAfter(one.around);
    TensorStoreWaitOp::create(builder, place, /*written=*/true, IntegerAttr());
    BarrierOp::create(builder, place, /*sharedOnly=*/false);
  }

  /// The pieces of the tile, in the order of their places.
  static SmallVector<Value> piecesOf(OpBuilder &builder, const EngineStore &one) {
    SmallVector<Value> pieces{one.tile};
    while (int64_t(pieces.size()) < one.pieces) {
      SmallVector<Value> smaller;
      const Halves halves(*layoutOf(pieces.front().getType()), one.pieceAxis);
      for (Value piece : pieces) {
        auto [low, high] = halves.of(builder, piece);
        smaller.append({low, high});
      }
      pieces = std::move(smaller);
    }
    return pieces;
  }

  static void waitAtEndOf(Block *block) {
    Operation *end = block->getTerminator();
    if (Operation *last = end->getPrevNode(); last && isa<TensorStoreWaitOp>(last))
      return;
    OpBuilder builder(end);
    TensorStoreWaitOp::create(builder, end->getLoc(), /*written=*/false, IntegerAttr());
  }

  /// Pointers and masks of what the engine stores.
  void dropUnused() {
    IRRewriter rewriter(function.getContext());
    (void)runRegionDCE(rewriter, function->getRegions());
  }

  /// A coordinate that no array without elements has.
  static constexpr int64_t kBehindNothing = int64_t(1) << 30;
  static constexpr int64_t kLeastPieceOfTurns = kLeastPieceBytes / kTeams;
  /// Of the parts of teams.
  static constexpr int64_t kTeamAlignment = 1024;
  /// Programs on a multiprocessor whose number a buffer in a loop should not lower.
  static constexpr int64_t kMostPrograms = 4;

  func::FuncOp function;
  const GpuPipelineOptions &options;
  GpuAssumptions &assumed;
  IndexAnalysis analysis;
  KernelAccesses accesses;
  int64_t taken = 0;   // bytes of the buffers of stores that are chosen
  int64_t planned = 0; // maps of theirs
};

struct StageStores : GpuPass<StageStores> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StageStores)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "stage-stores"; }
  StringRef getDescription() const override {
    return "stores of blocks are left to a copy engine (maps=0,shared=49152,overlap=false)";
  }
  void runOnOperation() override {
    bool hasBlocks = false;
    getOperation().walk([&](StoreOp store) { hasBlocks |= bool(store.getBlock()); });
    if (!hasBlocks)
      return;
    if (shape().hasTensorCopy())
      StoreStager(getOperation(), options, assumed()).run();
    getOperation().walk([](StoreOp store) { dropBlock(store); });
  }
};

} // namespace

std::optional<ArrayBlock> storedBlockOf(StoreOp store, const IndexAnalysis &analysis,
                                        const GpuShape &shape, int64_t planned,
                                        std::string &whyNot) {
  Type tile = store.getValue().getType();
  if (store.getCache() != CacheModifier::None || store.getEviction() != EvictionPolicy::Normal) {
    whyNot = "it asks for a kind of caching";
    return std::nullopt;
  }
  std::optional<ArrayBlock> block =
      arrayBlockOf(store.getBlock(), tile, analysis, shape, planned, whyNot);
  if (block && block->isEdited && (block->outerDimensions() || !loopOfArray(block->at, store))) {
    whyNot = block->outerDimensions()
                 ? "the array's address is loaded, and it has more than two dimensions"
                 : "the array's address is loaded where it is stored";
    return std::nullopt;
  }
  if (block && !hasWholePieces(*block, tile, analysis)) {
    block->isCut = block->isEdited;
    if (block->isCut)
      return block;
    whyNot = "its rows are not known to end at a multiple of 16 bytes, up to which the engine "
             "writes";
    return std::nullopt;
  }
  return block;
}

std::optional<int64_t> bytesInTurns(StoreOp store, const IndexAnalysis &analysis,
                                    const GpuShape &shape) {
  std::string whyNot;
  SmallVector<ApartArguments> dropped;
  SmallVector<StoreOp> others;
  auto moved = store.getValue().getDefiningOp<ConvertLayoutOp>();
  if (!moved || !store.getBlock())
    return std::nullopt;
  std::optional<ArrayBlock> block = storedBlockOf(store, analysis, shape, /*planned=*/0, whyNot);
  if (!block)
    return std::nullopt;
  if (block->isEdited) {
    // The loop of tiles waits for what is stored (kAwaitsStoresAttr); the engine loads all blocks.
    auto isBeside = [&](Operation *op) {
      auto load = dyn_cast<LoadOp>(op);
      return (load && !load.getBlock()) || (isa<StoreOp>(op) && op != store);
    };
    LoopLikeOpInterface around = loopOfArray(block->at, store);
    if (!around || around
                       ->walk([&](Operation *op) {
                         return isBeside(op) ? WalkResult::interrupt() : WalkResult::advance();
                       })
                       .wasInterrupted())
      return std::nullopt;
  } else if (!KernelAccesses(store->getParentOfType<func::FuncOp>())
                  .whyNotLate(store, dropped, others)
                  .empty() ||
             !others.empty()) {
    return std::nullopt;
  }
  return StoreStager::bytesInTurns(store, *block);
}

StoreOp storeBehind(Operation *op) {
  return isa<ConvertLayoutOp>(op) && op->hasOneUse() ? dyn_cast<StoreOp>(*op->user_begin())
                                                     : StoreOp();
}

std::unique_ptr<Pass> createStageStores(const GpuPipelineOptions &options,
                                        GpuAssumptions *assumed) {
  return std::make_unique<StageStores>(options, assumed);
}

} // namespace sectile::optimizer
