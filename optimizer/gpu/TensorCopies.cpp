#include "optimizer/gpu/TensorCopies.h"

#include "lang/layout/BufferOperand.h"
#include "lang/tile/LoadedAddress.h"
#include "optimizer/ScalarSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// What the engine wants of the first address and of all strides but the last.
constexpr int64_t kAlignment = 16;
/// The longest side of a box.
constexpr int64_t kLongestSide = 256;

/// Returns the most rows that boxes may have which fill so many, in whole patterns of the swizzle.
int64_t rowsOfBox(int64_t rows) {
  for (int64_t boxes = llvm::divideCeil(uint64_t(rows), uint64_t(kLongestSide)); boxes < rows;
       ++boxes)
    if (rows % boxes == 0 && (boxes == 1 || rows / boxes % layout::kSwizzledRows == 0))
      return rows / boxes;
  return rows;
}

/// Makes the number anew at the builder's place.
Value cloneOf(Value number, OpBuilder &builder, IRMapping &made) {
  if (isa<BlockArgument>(number) || made.contains(number))
    return made.lookupOrDefault(number);
  Operation *op = number.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneOf(operand, builder, made);
  builder.clone(*op, made);
  return made.lookup(number);
}

bool isOne(Value number) {
  APInt known;
  return matchPattern(number, m_ConstantInt(&known)) && known.isOne();
}

/// Whether the code says of an axis that it ends nowhere.
bool isEndless(Value extent) {
  APInt known;
  return matchPattern(extent, m_ConstantInt(&known)) && known.getSExtValue() == kEndlessAxis;
}

std::optional<layout::BufferOperand> placesOf(BufferType buffer, int rowAxis) {
  const layout::SharedLayout &shared = buffer.getLayout().getLayout();
  if (buffer.getShape().size() != 2)
    return std::nullopt;
  // Boxes fill the stage: it has no places beyond the tile's extents.
  for (int axis : {0, 1})
    if (shared.blockExtent(axis) * shared.repetitions()[axis] != buffer.getShape()[axis])
      return std::nullopt;
  // Products may sum over that axis or the other; here it is of no account.
  auto places = layout::bufferOperandOf(shared, /*depthAxis=*/rowAxis,
                                        buffer.getElement().getIntOrFloatBitWidth());
  return places && places->isDepthContiguous ? places : std::nullopt;
}

struct DropBlocks : PassWrapper<DropBlocks, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropBlocks)

  StringRef getArgument() const override { return "drop-blocks"; }
  StringRef getDescription() const override { return "loads no longer say which blocks they read"; }

  void runOnOperation() override {
    getOperation().walk([](LoadOp load) { dropBlock(load); });
  }
};

} // namespace

std::optional<int> rowAxisOf(BlockAtOp block) {
  const OperandRange strides = block.getStrides();
  if (strides.size() < 2)
    return std::nullopt;
  for (int axis : {1, 0})
    if (isOne(strides[strides.size() - 2 + axis]))
      return axis;
  return std::nullopt;
}

std::optional<ArrayBlock> arrayBlockOf(Value named, Type tile, const IndexAnalysis &analysis,
                                       const GpuShape &shape, int64_t planned,
                                       std::string &whyNot) {
  auto no = [&](std::string reason) {
    whyNot = std::move(reason);
    return std::nullopt;
  };
  auto at = named ? named.getDefiningOp<BlockAtOp>() : BlockAtOp();
  whyNot.clear();
  if (!at)
    return std::nullopt;
  Type element = elementTypeOf(tile);
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() < 8)
    return no("its elements are no numbers of whole bytes");
  if (shapeOf(tile).size() != 2)
    return no("the block has " + std::to_string(shapeOf(tile).size()) +
              " dimensions that are not of extent one, and not two");
  if (at.getOffsets().size() > kMostMapDimensions)
    return no("the array has " + std::to_string(at.getOffsets().size()) + " dimensions, and not " +
              std::to_string(kMostMapDimensions) + " at most");
  auto base = dyn_cast<BlockArgument>(at.getBase());
  const bool isEdited = isLoadedAddress(at.getBase());
  if (!isEdited && (!base || !isa<func::FuncOp>(base.getOwner()->getParentOp())))
    return no("the array does not begin at an argument");
  if (isEdited && !shape.editsTensorMaps)
    return no("the array's address is loaded, and programs cannot describe arrays to the engine");
  if (analysis.alignment(at.getBase(), 0) < kAlignment)
    return no("the array is not known to begin at a multiple of 16 bytes");
  std::optional<int> rowAxis = rowAxisOf(at);
  if (!rowAxis)
    return no("elements of a row are not known to be neighbours (no stride is known to be 1)");
  ArrayBlock block{at, *rowAxis, {}, isEdited};
  int64_t maps = planned;
  at->getParentOfType<func::FuncOp>().walk([&](TensorMapOp) { ++maps; });
  if (maps >= shape.mostTensorMaps)
    return no("the kernel has " + std::to_string(maps) + " maps of arrays already");
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  for (OperandRange numbers : {at.getShape(), at.getStrides()})
    if (!isEdited && !llvm::all_of(numbers, [](Value number) { return isOfArguments(number); }))
      return no("its extents and strides do not follow from the arguments by sums and products");
  if (isEdited) {
    if (!llvm::all_of(at.getShape(), [&](Value extent) {
          return analysis.of(extent).high <= INT32_MAX || isEndless(extent);
        }))
      return no("its extents may not fit 32 bits, and its address is loaded");
    for (int32_t dimension : ArrayRef(block.dimensions()).drop_back()) {
      if (analysis.of(at.getStrides()[dimension]).commonDivisor() * bytes % kAlignment)
        return no("its rows are not known to lie multiples of 16 bytes apart, and its address is "
                  "loaded");
      if (!isPositiveStride(at.getStrides()[dimension], analysis))
        return no(
            "its rows are not known to follow each other in ascending order, and its address is "
            "loaded");
    }
  }
  for (Value offset : at.getOffsets()) {
    const IndexFacts &facts = analysis.of(offset);
    block.isNarrow.push_back(facts.low >= INT32_MIN && facts.high <= INT32_MAX);
  }
  // The host refuses arrays that go on behind the last coordinate.
  if (isEdited && !llvm::all_of(block.isNarrow, [](bool isNarrow) { return isNarrow; }))
    return no("its offsets may not fit 32 bits, and its address is loaded");
  // Rows from other places on stop the engine of an H200 (illegal instruction).
  if (analysis.of(at.getOffsets()[block.dimensions().back()]).commonDivisor() * bytes % kAlignment)
    return no("its rows are not known to begin at a multiple of 16 bytes within the array");
  // There is no outside to put a block at.
  for (auto [extent, isNarrow] : llvm::zip(at.getShape(), block.isNarrow))
    if (APInt known; !isNarrow && matchPattern(extent, m_ConstantInt(&known)) &&
                     known.getSExtValue() > kLongestAxis)
      return no("its offsets may not fit 32 bits");
  return block;
}

bool isOfEngine(BufferType buffer, int rowAxis) {
  return placesOf(buffer, rowAxis).has_value();
}

/// The tile's axes in the order of the array's map, whose rows are innermost.
static SmallVector<int32_t, 2> orderOf(const ArrayBlock &block) {
  return {1 - block.rowAxis, block.rowAxis};
}

SmallVector<int32_t, 5> ArrayBlock::dimensions() const {
  SmallVector<int32_t, 5> result;
  for (int32_t dimension = 0; dimension < outerDimensions(); ++dimension)
    result.push_back(dimension);
  for (int32_t axis : orderOf(*this))
    result.push_back(outerDimensions() + axis);
  return result;
}

bool isPositiveStride(Value stride, const IndexAnalysis &analysis) {
  const IndexFacts &facts = analysis.of(stride);
  auto hint = stride.getDefiningOp<HintOp>();
  return facts.high >= 1 && (facts.low >= 1 || (hint && hint.getDescribed()));
}

bool isSameThroughout(BlockAtOp at, LoopLikeOpInterface loop) {
  return loop.isDefinedOutsideOfLoop(at.getBase()) &&
         llvm::all_of(at.getShape(),
                      [&](Value number) { return loop.isDefinedOutsideOfLoop(number); }) &&
         llvm::all_of(at.getStrides(),
                      [&](Value number) { return loop.isDefinedOutsideOfLoop(number); });
}

LoopLikeOpInterface loopOfArray(BlockAtOp block, Operation *user) {
  LoopLikeOpInterface found;
  auto around = dyn_cast<LoopLikeOpInterface>(user->getParentOp());
  for (; around && isSameThroughout(block, around);
       around = dyn_cast<LoopLikeOpInterface>(around->getParentOp()))
    found = around;
  return found;
}

Value wholePieces(OpBuilder &builder, const ArrayBlock &block, const IRMapping &there) {
  BlockAtOp at = block.at;
  Location place = at.getLoc();
  auto constant = [&](int64_t number) {
    return arith::ConstantOp::create(builder, place, builder.getI64IntegerAttr(number));
  };
  const auto pointer = cast<PtrType>(at.getBase().getType());
  const int64_t piece = kAlignment * 8 / pointer.getPointee().getIntOrFloatBitWidth();
  Value extent = there.lookupOrDefault(at.getShape()[block.dimensions().back()]);
  extent = arith::MaxSIOp::create(builder, place, extent, constant(0));
  return arith::AndIOp::create(builder, place, extent, constant(-piece));
}

/// The map of an array of that base, extents and strides, the dimension of rows last.
static Value makeMap(OpBuilder &builder, const ArrayBlock &block, BufferType buffer, Value base,
                     ArrayRef<Value> shape, ArrayRef<Value> strides, Value turn = {}) {
  const int64_t panel = placesOf(buffer, block.rowAxis)->panelBytes;
  const int64_t columns = panel * 8 / buffer.getElement().getIntOrFloatBitWidth();
  SmallVector<int64_t, 5> box(block.outerDimensions(), 1);
  box.append({rowsOfBox(buffer.getShape()[1 - block.rowAxis]), columns});
  auto type = TensorMapType::get(builder.getContext(), box, buffer.getElement(), panel);
  BlockAtOp at = block.at;
  return TensorMapOp::create(builder, at.getLoc(), type, base, shape, strides, turn);
}

Value describeArray(OpBuilder &builder, const ArrayBlock &block, BufferType buffer,
                    const IRMapping &there, Value turn) {
  BlockAtOp at = block.at;
  auto inOrder = [&](OperandRange numbers) {
    return llvm::map_to_vector(block.dimensions(), [&](int32_t dimension) {
      return there.lookupOrDefault(numbers[dimension]);
    });
  };
  SmallVector<Value> shape = inOrder(at.getShape()), strides = inOrder(at.getStrides());
  if (block.isCut)
    shape.back() = wholePieces(builder, block, there);
  return makeMap(builder, block, buffer, there.lookupOrDefault(at.getBase()), shape, strides, turn);
}

Value tensorMapOf(const ArrayBlock &block, BufferType buffer, Operation *user) {
  BlockAtOp at = block.at;
  auto function = at->getParentOfType<func::FuncOp>();
  auto builder = OpBuilder::atBlockBegin(&function.getBody().front());
  if (block.isEdited) {
    LoopLikeOpInterface around = loopOfArray(at, user);
    builder.setInsertionPoint(around ? around.getOperation() : user);
    return describeArray(builder, block, buffer, {});
  }
  IRMapping made;
  auto atEntry = [&](OperandRange numbers) {
    return llvm::map_to_vector(block.dimensions(), [&](int32_t dimension) {
      return cloneOf(numbers[dimension], builder, made);
    });
  };
  SmallVector<Value> shape = atEntry(at.getShape()), strides = atEntry(at.getStrides());
  if (block.isCut)
    shape.back() = wholePieces(builder, block);
  return makeMap(builder, block, buffer, at.getBase(), shape, strides);
}

/// A coordinate has 32 bits. A block at one that does not fit is outside the array, and stays
/// there.
static Value coordinateOf(OpBuilder &builder, Location place, Value offset, bool isNarrow) {
  auto limit = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder, place, builder.getI64IntegerAttr(number));
  };
  if (!isNarrow) {
    offset = arith::MaxSIOp::create(builder, place, offset, limit(INT32_MIN));
    offset = arith::MinSIOp::create(builder, place, offset, limit(kLongestAxis));
  }
  return arith::TruncIOp::create(builder, place, builder.getI32Type(), offset);
}

/// Where the block begins, or the part of it from `more` along `axis` of the tile on.
static SmallVector<Value, 5> coordinatesOf(OpBuilder &builder, const ArrayBlock &block,
                                           const IRMapping &there, int axis = 0, int64_t more = 0) {
  BlockAtOp at = block.at;
  Location place = at.getLoc();
  return llvm::to_vector<5>(llvm::map_range(block.dimensions(), [&](int32_t number) {
    Value offset = there.lookupOrDefault(at.getOffsets()[number]);
    if (more && number == block.outerDimensions() + axis) {
      Value added = arith::ConstantOp::create(builder, place, builder.getI64IntegerAttr(more));
      offset = arith::AddIOp::create(builder, place, offset, added);
    }
    return coordinateOf(builder, place, offset, block.isNarrow[number]);
  }));
}

void startTensorCopy(OpBuilder &builder, const ArrayBlock &block, Value map, const IRMapping &there,
                     Value buffer, Value stage, Value full, Value number, Value exists) {
  BlockAtOp at = block.at;
  TensorCopyOp::create(builder, at.getLoc(), map, coordinatesOf(builder, block, there), buffer,
                       stage, full, number, exists, builder.getDenseI32ArrayAttr(orderOf(block)));
}

void startTensorStore(OpBuilder &builder, const ArrayBlock &block, Value buffer, Value stage,
                      Value map, const IRMapping &there, int axis, int64_t offset) {
  BlockAtOp at = block.at;
  TensorStoreOp::create(builder, at.getLoc(), buffer, stage, map,
                        coordinatesOf(builder, block, there, axis, offset),
                        builder.getDenseI32ArrayAttr(orderOf(block)));
}

std::unique_ptr<Pass> createDropBlocks() {
  return std::make_unique<DropBlocks>();
}

} // namespace sectile::optimizer
