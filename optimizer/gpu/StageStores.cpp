#include "optimizer/gpu/StageStores.h"

#include "lang/layout/BufferOperand.h"
#include "optimizer/PointerProvenance.h"
#include "optimizer/ScalarSum.h"
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

  /// Why the engine must not do the store; empty where it may. Adds to `apart` what that assumes.
  std::string whyNotLate(StoreOp store, SmallVectorImpl<ApartArguments> &apart) const {
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
        one->getParentOfType<LoopLikeOpInterface>() || first.getStrides() != second.getStrides() ||
        first.getBase() != second.getBase() || !hasRowsApart(first) || !hasRowsApart(second))
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

class StoreStager {
public:
  StoreStager(func::FuncOp function, const GpuPipelineOptions &options, GpuAssumptions &assumed)
      : function(function), options(options), assumed(assumed), analysis(function),
        accesses(function) {}

  void run() {
    SmallVector<EngineStore> chosen;
    for (StoreOp store : accesses.stores) {
      EngineStore one{store, {}, {}, {}, store->getParentOfType<LoopLikeOpInterface>() != nullptr};
      std::string whyNot = whyNotByEngine(one);
      if (whyNot.empty() && one.block) {
        taken += one.buffer.getStageBytes();
        ++planned;
        chosen.push_back(std::move(one));
      } else if (!whyNot.empty())
        addRemark(assumed.remarks, store.getLoc(), "not-by-copy-engine", whyNot);
    }
    for (const EngineStore &one : chosen)
      stage(one);
    if (!chosen.empty())
      dropUnused();
  }

private:
  struct EngineStore {
    StoreOp store;
    std::optional<ArrayBlock> block;
    Value tile; // as threads have it
    BufferType buffer;
    bool isInLoop;
  };

  /// Nothing for a store that names no block, or of a tile whose threads have neighbours already:
  /// then `one.block` is empty.
  std::string whyNotByEngine(EngineStore &one) {
    StoreOp store = one.store;
    auto moved = store.getValue().getDefiningOp<ConvertLayoutOp>();
    if (!store.getBlock() || !moved ||
        (options.shape.scratchBytes && !options.shape.scratchBytes(moved)))
      return {};
    one.tile = moved.getSrc();
    if (store.getCache() != CacheModifier::None || store.getEviction() != EvictionPolicy::Normal)
      return "it asks for a kind of caching";
    if (options.argumentsOverlap)
      return "arguments of the launch share memory";
    std::string whyNot;
    std::optional<ArrayBlock> block = arrayBlockOf(store.getBlock(), one.tile.getType(), analysis,
                                                   options.shape, planned, whyNot);
    if (!block)
      return whyNot;
    if (!hasWholePieces(*block, one.tile.getType()))
      return "its rows are not known to end at a multiple of 16 bytes, up to which the engine "
             "writes";
    auto type = cast<RankedTensorType>(one.tile.getType());
    if (!llvm::all_of(type.getShape(), [](int64_t extent) { return llvm::isPowerOf2_64(extent); }))
      return "its extents are no powers of two";
    auto shared =
        layout::bufferOperandLayout(type.getShape(), block->rowAxis, type.getElementTypeBitWidth(),
                                    type.getDimSize(block->rowAxis));
    one.buffer = BufferType::get(type.getContext(), 1, type.getShape(), type.getElementType(),
                                 SharedLayoutAttr::get(type.getContext(), shared));
    if (!isOfEngine(one.buffer, block->rowAxis))
      return "its rows are too short";
    if (std::string none = whyNoRoom(one); !none.empty())
      return none;
    whyNot = accesses.whyNotLate(store, assumed.apart);
    if (whyNot.empty())
      one.block = std::move(block);
    return whyNot;
  }

  /// The engine of an H200 writes rows to the end of their last 16 bytes.
  bool hasWholePieces(const ArrayBlock &block, Type tile) const {
    constexpr int64_t kPieceBytes = 16;
    BlockAtOp at = block.at;
    const IndexFacts &extent = analysis.of(at.getShape()[block.rowAxis]);
    const int64_t bytes = elementTypeOf(tile).getIntOrFloatBitWidth() / 8;
    return !extent.isAssumed && !extent.isOffset &&
           extent.commonDivisor() * bytes % kPieceBytes == 0;
  }

  /// The buffer takes bytes that stages of loops have had, and so many more that as many programs
  /// have room as before, or four; in a loop it lies beside the stages.
  std::string whyNoRoom(const EngineStore &one) {
    int64_t others = 0;
    function.walk([&](BufferAllocOp alloc) {
      others += alloc.getType().getStages() * alloc.getType().getStageBytes();
    });
    const int64_t bytes = one.buffer.getStageBytes(), all = options.shape.sharedBytes;
    const int64_t most = one.isInLoop ? all - others - kBytesOfOthers : std::max(others, all / 4);
    if (taken + bytes <= most)
      return {};
    return std::to_string(bytes) + " bytes of shared memory are not free for it";
  }

  void stage(const EngineStore &one) {
    StoreOp store = one.store;
    Location place = store.getLoc();
    OpBuilder builder(store);
    auto atEntry = OpBuilder::atBlockBegin(&function.getBody().front());
    Value buffer = BufferAllocOp::create(atEntry, place, one.buffer);
    Value map = tensorMapOf(*one.block, one.buffer);
    Value stage = arith::ConstantOp::create(builder, place, builder.getI32IntegerAttr(0));
    if (one.isInLoop) {
      TensorStoreWaitOp::create(builder, place, /*written=*/true);
      BarrierOp::create(builder, place, /*sharedOnly=*/true);
    }
    BufferStoreOp::create(builder, place, one.tile, buffer, stage);
    ProxyFenceOp::create(builder, place);
    BarrierOp::create(builder, place, /*sharedOnly=*/true);
    startTensorStore(builder, *one.block, buffer, stage, map);
    waitAtEndOf(one.isInLoop ? &function.getBody().front() : store->getBlock());
    addRemark(assumed.remarks, place, "by-copy-engine",
              "stored from shared memory by the copy engine",
              {{"stage_bytes", one.buffer.getStageBytes()}});
    store.erase();
  }

  static void waitAtEndOf(Block *block) {
    Operation *end = block->getTerminator();
    if (Operation *last = end->getPrevNode(); last && isa<TensorStoreWaitOp>(last))
      return;
    OpBuilder builder(end);
    TensorStoreWaitOp::create(builder, end->getLoc(), /*written=*/false);
  }

  /// Pointers and masks of what the engine stores.
  void dropUnused() {
    IRRewriter rewriter(function.getContext());
    (void)runRegionDCE(rewriter, function->getRegions());
  }

  /// What other operations may need of shared memory.
  static constexpr int64_t kBytesOfOthers = 4096;

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

std::unique_ptr<Pass> createStageStores(const GpuPipelineOptions &options,
                                        GpuAssumptions *assumed) {
  return std::make_unique<StageStores>(options, assumed);
}

} // namespace sectile::optimizer
