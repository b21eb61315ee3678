// Verifiers of the tile dialect, and effects. A verifier says what ODS cannot: how extents relate.
#include "lang/layout/LayoutText.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;
using namespace sectile::tile;

#define GET_OP_CLASSES
#include "lang/tile/TileOps.cpp.inc"

namespace {

std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

LogicalResult checkAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError() << "axis " << axis << " is out of range for rank " << rank;
}

} // namespace

//===-- creation ------------------------------------------------------------------------------===//

LogicalResult ArangeOp::verify() {
  int64_t extent = getType().getDimSize(0);
  // The attributes are signed; their accessors are not.
  int64_t start = int32_t(getStart()), end = int32_t(getEnd());
  if (end - start != extent)
    return emitOpError() << "range [" << start << ", " << end << ") does not have " << extent
                         << " elements";
  return success();
}

LogicalResult SplatOp::verify() {
  if (getSrc().getType() != getType().getElementType())
    return emitOpError() << "scalar is " << getSrc().getType() << ", tile holds "
                         << getType().getElementType();
  return success();
}

//===-- shape ---------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  auto from = shapeOf(getSrc().getType()), to = shapeOf(getType());
  if (from.size() != to.size())
    return emitOpError("rank changes from ") << from.size() << " to " << to.size();
  for (auto [dim, extents] : llvm::enumerate(llvm::zip(from, to))) {
    auto [source, result] = extents;
    if (source != result && source != 1)
      return emitOpError() << "extent " << source << " of dimension " << dim << " cannot become "
                           << result;
  }
  return success();
}

LogicalResult ExpandDimsOp::verify() {
  auto from = shapeOf(getSrc().getType()), to = shapeOf(getType());
  if (failed(checkAxis(*this, getAxis(), from.size() + 1)))
    return failure();
  SmallVector<int64_t> expected(from);
  expected.insert(expected.begin() + getAxis(), 1);
  if (to != ArrayRef(expected))
    return emitOpError() << "result should be "
                         << spell(RankedTensorType::get(expected, getType().getElementType()));
  return success();
}

LogicalResult ReshapeOp::verify() {
  int64_t from = getSrc().getType().getNumElements(), to = getType().getNumElements();
  if (from != to)
    return emitOpError() << "changes the number of elements from " << from << " to " << to;
  return success();
}

LogicalResult TransposeOp::verify() {
  auto from = shapeOf(getSrc().getType()), to = shapeOf(getType());
  auto order = getOrder();
  SmallVector<int32_t> sorted(order);
  llvm::sort(sorted);
  if (order.size() != from.size() || to.size() != from.size() ||
      !llvm::equal(sorted, llvm::seq<int32_t>(0, from.size())))
    return emitOpError("order is not a permutation of the dimensions");
  for (auto [dim, source] : llvm::enumerate(order))
    if (to[dim] != from[source])
      return emitOpError() << "result extent " << dim << " should be " << from[source];
  return success();
}

LogicalResult FlipOp::verify() {
  return checkAxis(*this, getAxis(), getType().getRank());
}

/// `pair` has the shape of `half` with a last extent of two.
static LogicalResult checkPair(Operation *op, RankedTensorType half, RankedTensorType pair) {
  SmallVector<int64_t> expected(half.getShape());
  expected.push_back(2);
  auto type = RankedTensorType::get(expected, half.getElementType());
  if (withoutLayout(pair) != type)
    return op->emitOpError() << "pairs of " << spell(withoutLayout(half)) << " are " << spell(type)
                             << ", not " << spell(pair);
  return success();
}

LogicalResult JoinOp::verify() {
  return checkPair(*this, getLhs().getType(), getType());
}

LogicalResult SplitOp::verify() {
  return checkPair(*this, getLhs().getType(), getSrc().getType());
}

LogicalResult CatOp::verify() {
  auto lhs = shapeOf(getLhs().getType()), rhs = shapeOf(getRhs().getType());
  if (lhs.size() != rhs.size())
    return emitOpError("operands differ in rank");
  if (failed(checkAxis(*this, getAxis(), lhs.size())))
    return failure();
  SmallVector<int64_t> expected(lhs);
  expected[getAxis()] += rhs[getAxis()];
  for (size_t dim = 0; dim < lhs.size(); ++dim)
    if (dim != getAxis() && lhs[dim] != rhs[dim])
      return emitOpError() << "operands differ in dimension " << dim;
  auto type = RankedTensorType::get(expected, getLhs().getType().getElementType());
  if (withoutLayout(getType()) != type)
    return emitOpError() << "result should be " << spell(type);
  return success();
}

LogicalResult GatherOp::verify() {
  auto src = getSrc().getType();
  auto index = getIndex().getType();
  if (src.getRank() != index.getRank())
    return emitOpError("source and index differ in rank");
  if (failed(checkAxis(*this, getAxis(), src.getRank())))
    return failure();
  for (int64_t dim = 0; dim < src.getRank(); ++dim)
    if (dim != int64_t(getAxis()) && src.getDimSize(dim) != index.getDimSize(dim))
      return emitOpError() << "source and index differ in dimension " << dim;
  if (withoutLayout(getType()) != RankedTensorType::get(index.getShape(), src.getElementType()))
    return emitOpError("result has the shape of the index and the element type of the source");
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  for (Type type : {Type(getSrc().getType()), Type(getType())})
    if (!layoutOf(type))
      return emitOpError() << spell(type) << " has no layout";
  return success();
}

//===-- pointers and memory -------------------------------------------------------------------===//

/// `width` elements along `axis` of `tile`, which are accessed at once, are in one thread, and all
/// inside the tile or all outside.
static LogicalResult checkAccess(Operation *op, Type tile, int64_t axis, int64_t width) {
  auto shape = shapeOf(tile);
  if (failed(checkAxis(op, axis, shape.size())))
    return failure();
  if (width < 1 || !llvm::isPowerOf2_64(width))
    return op->emitOpError() << "width " << width << " is no power of two";
  if (shape[axis] % width != 0)
    return op->emitOpError() << "width " << width << " does not divide extent " << shape[axis]
                             << " of axis " << axis;
  const sectile::layout::TileLayout *layout = layoutOf(tile);
  if (int64_t held = layout ? layout->contiguousRegisters(axis) : width; held < width)
    return op->emitOpError() << "width is " << width << ", and a thread holds " << held
                             << " neighbours along axis " << axis;
  return success();
}

/// A null `access` means that it is not decided yet, or that `pointer` is a scalar.
static LogicalResult checkAccess(Operation *op, Value pointer, AccessAttr access) {
  if (!access)
    return success();
  auto store = dyn_cast<StoreOp>(op);
  if (access.getPartial() && !(store && store.getMask()))
    return op->emitOpError("only stores with a mask are partial");
  return checkAccess(op, pointer.getType(), access.getAxis(), access.getWidth());
}

LogicalResult BlockAtOp::verify() {
  if (getShape().size() != getOffsets().size() || getStrides().size() != getOffsets().size())
    return emitOpError("needs as many extents and strides as offsets");
  return success();
}

/// The block that an access of a tile names; `verb` is what the access does.
static LogicalResult checkBlock(Operation *op, Value named, Type tile, const char *verb) {
  auto block = named ? named.getDefiningOp<BlockAtOp>() : BlockAtOp();
  if (!block)
    return success();
  if (block.getOffsets().size() < shapeOf(tile).size())
    return op->emitOpError() << verb << " a tile of rank " << shapeOf(tile).size()
                             << " within a block of rank " << block.getOffsets().size();
  if (block.getBase().getType().getPointee() != elementTypeOf(tile))
    return op->emitOpError() << verb << " elements of type " << elementTypeOf(tile)
                             << " within a block of " << block.getBase().getType().getPointee();
  return success();
}

LogicalResult PtrAddOp::verify() {
  if (!getInBuffer())
    return success();
  if (!getPtr().getDefiningOp<SplatOp>())
    return emitOpError("in a buffer moves pointers that are not one pointer, repeated");
  if (!elementTypeOf(getOffset().getType()).isInteger(32))
    return emitOpError("in a buffer has offsets of i32, not ")
           << elementTypeOf(getOffset().getType());
  return success();
}

LogicalResult LoadOp::verify() {
  if (getOther() && !getMask())
    return emitOpError("`other` without a mask");
  if (getBlock() && getOther())
    return emitOpError("`other` beside a block, outside of which are zeros");
  if (failed(checkBlock(*this, getBlock(), getType(), "reads")))
    return failure();
  return checkAccess(*this, getPtr(), getAccessAttr());
}

LogicalResult StoreOp::verify() {
  if (failed(checkBlock(*this, getBlock(), getValue().getType(), "writes")))
    return failure();
  return checkAccess(*this, getPtr(), getAccessAttr());
}

void LoadOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  if (getIsVolatile())
    effects.emplace_back(MemoryEffects::Write::get());
}

/// `rank` is how many dimensions the array has, and `offsets` how many of them have one.
template <class Op>
static LogicalResult verifyBlock(Op op, RankedTensorType block, size_t rank, size_t offsets) {
  if (op.getShape().size() != rank || op.getStrides().size() != rank ||
      op.getChecked().size() != rank)
    return op.emitOpError("an array of ")
           << rank << " dimensions needs as many extents, strides and checks";
  if (op.getOffsets().size() != offsets)
    return op.emitOpError("needs ") << offsets << " offsets";
  if (size_t(block.getRank()) > rank)
    return op.emitOpError("a tile of ")
           << block.getRank() << " dimensions is no block of an array of " << rank;
  Type pointee = pointeeOf(op.getBase().getType());
  if (block.getElementType() != pointee)
    return op.emitOpError("elements are ")
           << block.getElementType() << ", but base points to " << pointee;
  return success();
}

LogicalResult BlockLoadOp::verify() {
  if (getPadding() == Padding::NaN && !isa<FloatType>(getType().getElementType()))
    return emitOpError("integers have no NaN");
  return verifyBlock(*this, getType(), getOffsets().size(), getOffsets().size());
}

LogicalResult BlockStoreOp::verify() {
  return verifyBlock(*this, getValue().getType(), getOffsets().size(), getOffsets().size());
}

LogicalResult BlockReduceOp::verify() {
  return verifyBlock(*this, getValue().getType(), getOffsets().size(), getOffsets().size());
}

/// `rows` select the rows of `block`.
template <class Op>
static LogicalResult verifyRows(Op op, RankedTensorType block) {
  RankedTensorType rows = op.getRows().getType();
  if (block.getRank() != 2 || rows.getRank() != 1 || rows.getDimSize(0) != block.getDimSize(0))
    return op.emitOpError("needs one row number for each row of a matrix");
  return verifyBlock(op, block, 2, 1);
}

LogicalResult BlockGatherOp::verify() {
  return verifyRows(*this, getType());
}

LogicalResult BlockScatterOp::verify() {
  return verifyRows(*this, getValue().getType());
}

LogicalResult AtomicRmwOp::verify() {
  if (failed(checkAccess(*this, getPtr(), getAccessAttr())))
    return failure();
  bool isFloat = isa<FloatType>(elementTypeOf(getValue().getType()));
  switch (getKind()) {
  case RmwKind::FAdd:
  case RmwKind::FMax:
  case RmwKind::FMin:
    return isFloat ? success() : emitOpError("floating-point kind on integers");
  case RmwKind::Exchange:
    return success();
  default:
    return isFloat ? emitOpError("integer kind on floating-point numbers") : success();
  }
}

//===-- reductions ----------------------------------------------------------------------------===//

/// The combiner takes a left and a right element per source and yields one of each.
static LogicalResult checkCombiner(Operation *op, ValueRange srcs, Region &combiner) {
  SmallVector<Type> elements;
  for (Value src : srcs)
    elements.push_back(elementTypeOf(src.getType()));
  SmallVector<Type> pairs(elements);
  pairs.append(elements);
  Block &block = combiner.front();
  if (!llvm::equal(block.getArgumentTypes(), pairs))
    return op->emitOpError("combiner should take a left and a right element per source");
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || !llvm::equal(yield.getOperandTypes(), elements))
    return op->emitOpError("combiner should yield one element per source");
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(checkCombiner(*this, getSrcs(), getCombiner())))
    return failure();
  auto shape = shapeOf(getSrcs().front().getType());
  if (failed(checkAxis(*this, getAxis(), shape.size())))
    return failure();
  SmallVector<int64_t> expected(shape);
  expected.erase(expected.begin() + getAxis());
  if (getNumResults() != getSrcs().size())
    return emitOpError("yields one result per source");
  for (auto [src, result] : llvm::zip(getSrcs(), getResults())) {
    Type type = tileOf(expected, elementTypeOf(src.getType()));
    if (withoutLayout(result.getType()) != type)
      return emitOpError() << "result should be " << spell(type);
  }
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(checkCombiner(*this, getSrcs(), getCombiner())))
    return failure();
  if (!llvm::equal(getSrcs().getTypes(), getResultTypes()))
    return emitOpError("results have the types of the sources");
  return checkAxis(*this, getAxis(), shapeOf(getSrcs().front().getType()).size());
}

//===-- sorting, elements one by one ----------------------------------------------------------===//

LogicalResult SortOp::verify() {
  return checkAxis(*this, getAxis(), getType().getRank());
}

LogicalResult HistogramOp::verify() {
  if (getMask() && getMask().getType().getShape() != getSrc().getType().getShape())
    return emitOpError("source and mask differ in shape");
  return success();
}

/// Each result is a tile, or a scalar, of the shape of the sources.
static LogicalResult checkResultShapes(Operation *op, ValueRange srcs) {
  if (srcs.empty())
    return op->emitOpError("takes at least one source");
  auto shape = shapeOf(srcs.front().getType());
  for (Value value : llvm::concat<Value>(llvm::to_vector(srcs), llvm::to_vector(op->getResults())))
    if (shapeOf(value.getType()) != shape)
      return op->emitOpError("sources and results should have one shape");
  return success();
}

LogicalResult MapOp::verify() {
  if (failed(checkResultShapes(*this, getSrcs())))
    return failure();
  auto elementsOf = [](auto types) {
    return llvm::map_to_vector(types, [](Type type) { return elementTypeOf(type); });
  };
  Block &block = getFunction().front();
  if (!llvm::equal(block.getArgumentTypes(), elementsOf(getSrcs().getTypes())))
    return emitOpError("the function should take one element per source");
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || !llvm::equal(yield.getOperandTypes(), elementsOf(getResultTypes())))
    return emitOpError("the function should yield one element per result");
  return success();
}

void InlineAsmOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult InlineAsmOp::verify() {
  if (!llvm::isPowerOf2_32(getPack()))
    return emitOpError("`pack` should be a power of two");
  if (getNumResults() == 0)
    return emitOpError("gives at least one result");
  return getSrcs().empty() ? success() : checkResultShapes(*this, getSrcs());
}

//===-- shared memory -------------------------------------------------------------------------===//

/// A tile that goes into a stage of a buffer, or comes out of one, is what the stage holds.
static LogicalResult checkStage(Operation *op, StringRef what, Type tile, BufferType buffer) {
  if (shapeOf(tile) != buffer.getShape())
    return op->emitOpError() << what << " a tile of " << sectile::layout::printShape(shapeOf(tile))
                             << ", stages are of "
                             << sectile::layout::printShape(buffer.getShape());
  if (elementTypeOf(tile) != buffer.getElement())
    return op->emitOpError() << what << " elements of type " << elementTypeOf(tile)
                             << ", stages hold " << buffer.getElement();
  return success();
}

/// Whether each of `rank` axes is named once.
static bool isOrder(ArrayRef<int32_t> order, size_t rank) {
  llvm::SmallVector<int32_t, 4> sorted(order);
  llvm::sort(sorted);
  return llvm::equal(sorted, llvm::seq<int32_t>(0, int32_t(rank)));
}

LogicalResult AsyncCopyOp::verify() {
  Type pointers = getPtr().getType();
  auto buffer = cast<BufferType>(getBuffer().getType());
  if (failed(checkStage(*this, "copies", pointeeOf(pointers), buffer)))
    return failure();
  // The attributes are signed; their accessors are not.
  return checkAccess(*this, pointers, int32_t(getAxis()), int32_t(getWidth()));
}

/// What maps have in common, whoever makes them.
template <class Op>
static LogicalResult checkMap(Op op) {
  TensorMapType map = op.getType();
  if (map.getBox().size() != op.getShape().size() || map.getBox().empty() ||
      op.getStrides().size() != op.getShape().size())
    return op.emitOpError() << "its boxes have " << map.getBox().size() << " dimensions, the array "
                            << op.getShape().size();
  if (op.getBase().getType().getPointee() != map.getElement())
    return op.emitOpError() << "describes elements of type " << map.getElement()
                            << ", the array has " << op.getBase().getType().getPointee();
  return success();
}

LogicalResult TensorMapOp::verify() {
  return checkMap(*this);
}

LogicalResult EditedMapOp::verify() {
  const int64_t last = int64_t(getNumber()) + (getTurn() ? 1 : 0);
  if (last >= getMemory().getType().getCount())
    return emitOpError() << "the memory has " << getMemory().getType().getCount()
                         << " maps, and none of number " << last;
  return checkMap(*this);
}

/// What copies and stores of the engine have in common; `verb` is what they do with elements.
template <class Op>
static LogicalResult checkBoxes(Op op, const char *verb) {
  TensorMapType map = op.getMap().getType();
  auto buffer = cast<BufferType>(op.getBuffer().getType());
  if (map.getElement() != buffer.getElement())
    return op.emitOpError() << verb << " elements of type " << map.getElement() << ", stages hold "
                            << buffer.getElement();
  const size_t axes = buffer.getShape().size();
  if (map.getBox().size() < axes || op.getOffsets().size() != map.getBox().size())
    return op.emitOpError("map and offsets have different ranks, or fewer than the stages");
  if (!isOrder(op.getOrder(), axes))
    return op.emitOpError("`order` should name each axis of the stages once");
  if (llvm::any_of(map.getBox().drop_back(axes), [](int64_t extent) { return extent != 1; }))
    return op.emitOpError("boxes have more than the stages' axes");
  for (auto [box, axis] : llvm::zip(map.getBox().take_back(axes), op.getOrder()))
    if (buffer.getShape()[axis] % box)
      return op.emitOpError() << "stages of " << sectile::layout::printShape(buffer.getShape())
                              << " are not filled by boxes of "
                              << sectile::layout::printShape(map.getBox());
  return success();
}

ProducerOp sectile::tile::producerOf(Operation *function) {
  for (Region &region : function->getRegions())
    for (Operation &op : region.getOps())
      if (auto producer = dyn_cast<ProducerOp>(op))
        return producer;
  return {};
}

int64_t sectile::tile::warpsOfBlock(Operation *function, int64_t ofProgram) {
  return ofProgram * teamsOf(function) + (producerOf(function) ? kProducerWarps : 0);
}

/// Whether the region of a producer may take the value from the function.
static bool isThereForProducer(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return isa<BufferAllocOp, MBarrierAllocOp, TensorMapOp, arith::ConstantOp>(value.getDefiningOp());
}

LogicalResult ProducerOp::verifyRegions() {
  auto function = dyn_cast<func::FuncOp>((*this)->getParentOp());
  if (!function)
    return emitOpError("stands within another operation of the kernel");
  if (producerOf(function) != *this)
    return emitOpError("is the second one of the kernel");
  WalkResult result = getBody().walk([&](Operation *op) -> WalkResult {
    if (!isMemoryEffectFree(op) &&
        !isa<scf::ForOp, scf::IfOp, scf::YieldOp, LoadOp, MBarrierWaitOp, MBarrierExpectOp,
             TensorCopyOp, ProxyFenceOp, MapMemoryOp, EditedMapOp, MapFenceOp, MapMemoryEndOp>(op))
      return op->emitOpError("cannot be done by a producer");
    for (Value value : op->getResults())
      if (isa<RankedTensorType>(value.getType()))
        return op->emitOpError("makes a tile, which a producer has no threads for");
    for (Value operand : op->getOperands())
      if (!(*this)->isAncestor(operand.getParentRegion()->getParentOp()) &&
          !isThereForProducer(operand))
        return op->emitOpError(
            "takes what a producer does not have: it computes its numbers itself");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult TensorCopyOp::verify() {
  if (failed(checkBoxes(*this, "copies")))
    return failure();
  if (getBarriers().getType().getStages() < cast<BufferType>(getBuffer().getType()).getStages())
    return emitOpError("needs a memory barrier for each stage");
  return success();
}

LogicalResult TensorStoreOp::verify() {
  return checkBoxes(*this, "stores");
}

LogicalResult BufferLoadOp::verify() {
  return checkStage(*this, "reads", getType(), cast<BufferType>(getBuffer().getType()));
}

LogicalResult BufferStoreOp::verify() {
  return checkStage(*this, "writes", getValue().getType(), cast<BufferType>(getBuffer().getType()));
}

LogicalResult ToBufferOp::verify() {
  auto buffer = cast<BufferType>(getType());
  if (buffer.getStages() != 1)
    return emitOpError("holds one tile, so its buffer has one stage");
  return checkStage(*this, "stores", getValue().getType(), buffer);
}

LogicalResult BufferViewOp::verify() {
  auto source = cast<BufferType>(getBuffer().getType()), view = cast<BufferType>(getType());
  if (view.getStages() != 1 || (source.getStages() != 1 && !getStage()))
    return emitOpError("shows one stage, and says which where there are several");
  if (!isOrder(getOrder(), source.getShape().size()))
    return emitOpError("`order` should name each axis once");
  llvm::SmallVector<int, 4> order(getOrder());
  const sectile::layout::SharedLayout &shared = source.getLayout().getLayout();
  if (source.getElement() != view.getElement() ||
      sectile::layout::transpose(shared, order) != view.getLayout().getLayout())
    return emitOpError() << "a view of " << source << " in that order is not of type " << view;
  return success();
}

//===-- matrix product, hints -----------------------------------------------------------------===//

static LogicalResult checkProduct(Operation *op, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs,
                                  ArrayRef<int64_t> acc) {
  size_t rank = lhs.size();
  if ((rank != 2 && rank != 3) || rhs.size() != rank || acc.size() != rank)
    return op->emitOpError("operands should all be of rank 2, or all of rank 3");
  if (rank == 3 && (lhs[0] != rhs[0] || lhs[0] != acc[0]))
    return op->emitOpError("batch extents differ");
  if (lhs[rank - 1] != rhs[rank - 2])
    return op->emitOpError() << "inner extents differ: " << lhs[rank - 1] << " and "
                             << rhs[rank - 2];
  if (acc[rank - 2] != lhs[rank - 2] || acc[rank - 1] != rhs[rank - 1])
    return op->emitOpError("accumulator does not have the extents of the product");
  return success();
}

LogicalResult DotOp::verify() {
  return checkProduct(*this, shapeOf(getLhs().getType()), shapeOf(getRhs().getType()),
                      shapeOf(getType()));
}

LogicalResult DotAsyncOp::verify() {
  for (Value operand : {getLhs(), Value(getRhs())})
    if (auto buffer = dyn_cast<BufferType>(operand.getType()); buffer && buffer.getStages() != 1)
      return emitOpError("reads buffers of one stage; a view shows one of several");
  auto extents = [](Value operand) {
    auto buffer = dyn_cast<BufferType>(operand.getType());
    return buffer ? buffer.getShape() : shapeOf(operand.getType());
  };
  if (shapeOf(getType()).size() != 2)
    return emitOpError("multiplies matrices, no batches of them");
  if (failed(checkProduct(*this, extents(getLhs()), extents(getRhs()), shapeOf(getType()))))
    return failure();
  if (std::optional<ArrayRef<int32_t>> depth = getDepth())
    if (depth->size() != 2 || depth->front() < 0 || depth->front() >= depth->back() ||
        depth->back() > extents(getLhs()).back())
      return emitOpError("depth is a part of the inner extent, which is ")
             << extents(getLhs()).back();
  return success();
}

std::pair<int64_t, int64_t> DotAsyncOp::depthRange() {
  if (std::optional<ArrayRef<int32_t>> depth = getDepth())
    return {depth->front(), depth->back()};
  return {0, cast<BufferType>(getRhs().getType()).getShape().front()};
}

void DotWaitOp::build(OpBuilder &builder, OperationState &state, TypeRange results,
                      IntegerAttr pending, ValueRange values) {
  build(builder, state, results, pending, /*pinned=*/UnitAttr(), values);
}

void MBarrierInitOp::build(OpBuilder &builder, OperationState &state, Value barriers) {
  build(builder, state, barriers, /*arrivals=*/IntegerAttr());
}

LogicalResult DotWaitOp::verify() {
  if (getValues().getTypes() != getResults().getTypes())
    return emitOpError("gives what it takes");
  return success();
}

LogicalResult HintOp::verify() {
  size_t entries = std::max<size_t>(1, shapeOf(getType()).size());
  for (auto hint : {getDivisibility(), getContiguity(), getConstancy()}) {
    if (!hint)
      continue;
    if (hint->size() != entries)
      return emitOpError() << "takes one number per dimension, " << entries << " here";
    if (llvm::any_of(*hint, [](int64_t number) { return number < 1; }))
      return emitOpError("numbers should be positive");
  }
  return success();
}
