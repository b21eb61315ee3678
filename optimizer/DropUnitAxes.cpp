#include "optimizer/DropUnitAxes.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/ComputeInShape.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

/// The axes that a block keeps, in order.
SmallVector<int32_t> keptAxes(ArrayRef<int64_t> extents) {
  constexpr size_t kFewest = 2;
  size_t surplus = extents.size() - std::min(extents.size(), kFewest);
  SmallVector<int32_t> kept;
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    if (surplus && extent == 1 && axis + 1 < extents.size())
      --surplus;
    else
      kept.push_back(int32_t(axis));
  }
  return kept;
}

RankedTensorType withAxes(RankedTensorType type, ArrayRef<int32_t> kept) {
  return RankedTensorType::get(
      llvm::map_to_vector(kept, [&](int32_t axis) { return type.getDimSize(axis); }),
      type.getElementType());
}

/// The value whose axes of extent one the operation adds or takes away; null for any other.
Value sourceOfShape(Operation *op) {
  return isa_and_nonnull<tile::ReshapeOp, tile::ExpandDimsOp>(op) ? op->getOperand(0) : Value();
}

/// The same numbers in another shape.
Value reshaped(OpBuilder &builder, Location place, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return tile::ReshapeOp::create(builder, place,
                                 RankedTensorType::get(shape, type.getElementType()), value);
}

class UnitAxes {
public:
  /// What is loaded is a matrix, and what is made of it as far as it needs no more axes.
  void drop(tile::BlockLoadOp load) {
    RankedTensorType whole = load.getType();
    SmallVector<int32_t> kept = keptAxes(whole.getShape());
    if (kept.size() == size_t(whole.getRank()))
      return;
    Value all = load.getResult();
    moveOuterFirst(load, kept);
    all.setType(withAxes(whole, kept));
    OpBuilder builder(load->getContext());
    builder.setInsertionPointAfter(load);
    auto behind = tile::ReshapeOp::create(builder, load.getLoc(), whole, all);
    all.replaceAllUsesExcept(behind, behind);
    lower(behind, kept);
  }

  /// What is stored is a matrix, and what it is made of as far as that has no other use.
  template <class Store>
  void dropStored(Store store) {
    RankedTensorType whole = store.getValue().getType();
    SmallVector<int32_t> kept = keptAxes(whole.getShape());
    if (kept.size() == size_t(whole.getRank()))
      return;
    moveOuterFirst(store, kept);
    store.getValueMutable().assign(raise(store.getValue(), withAxes(whole, kept).getShape()));
  }

private:
  template <class Op>
  static void moveOuterFirst(Op op, ArrayRef<int32_t> kept) {
    SmallVector<int32_t> order;
    for (int32_t axis = 0; axis < int32_t(op.getOffsets().size()); ++axis)
      if (!llvm::is_contained(kept, axis))
        order.push_back(axis);
    llvm::append_range(order, kept);
    auto inOrder = [&](OperandRange numbers) {
      return llvm::map_to_vector(order, [&](int32_t axis) -> Value { return numbers[axis]; });
    };
    op.getOffsetsMutable().assign(inOrder(op.getOffsets()));
    op.getShapeMutable().assign(inOrder(op.getShape()));
    op.getStridesMutable().assign(inOrder(op.getStrides()));
    op.setChecked(
        llvm::map_to_vector(order, [&](int32_t axis) -> bool { return op.getChecked()[axis]; }));
  }

  /// Moves a reshape that adds axes behind what uses it.
  static void lower(tile::ReshapeOp added, ArrayRef<int32_t> kept) {
    Value narrow = added.getSrc();
    const auto shape = cast<RankedTensorType>(narrow.getType()).getShape();
    // One that uses it twice is one user.
    for (Operation *user : llvm::SetVector<Operation *>(added->user_begin(), added->user_end())) {
      OpBuilder builder(user);
      if (sourceOfShape(user)) {
        Value result = user->getResult(0);
        result.replaceAllUsesWith(
            reshaped(builder, user->getLoc(), narrow, tile::shapeOf(result.getType())));
        user->erase();
        continue;
      }
      Value made;
      SmallVector<int32_t> keptOfUser(kept);
      if (auto turn = dyn_cast<tile::TransposeOp>(user)) {
        SmallVector<int32_t> order;
        keptOfUser.clear();
        for (auto [axis, source] : llvm::enumerate(turn.getOrder()))
          if (auto *found = llvm::find(kept, source); found != kept.end()) {
            order.push_back(int32_t(found - kept.begin()));
            keptOfUser.push_back(int32_t(axis));
          }
        made = tile::TransposeOp::create(builder, turn.getLoc(),
                                         withAxes(turn.getType(), keptOfUser), narrow, order);
      } else if (makesTileElementwise(user) &&
                 llvm::all_of(user->getOperands(), [&](Value operand) {
                   return operand == added.getResult() || isUniform(operand);
                 })) {
        made = computeInShape(user, shape, builder, [&](Value) { return narrow; });
      } else {
        continue;
      }
      auto behind = tile::ReshapeOp::create(
          builder, user->getLoc(), cast<RankedTensorType>(user->getResult(0).getType()), made);
      user->getResult(0).replaceAllUsesWith(behind);
      user->erase();
      lower(behind, keptOfUser);
    }
    if (added->use_empty())
      added->erase();
  }

  /// Returns the value in the shape of a matrix, computed on matrices.
  static Value raise(Value value, ArrayRef<int64_t> shape) {
    Operation *maker = value.getDefiningOp();
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    if (Value source = sourceOfShape(maker))
      return reshaped(builder, value.getLoc(), source, shape);
    if (!maker || !value.hasOneUse() || !makesTileElementwise(maker) ||
        llvm::none_of(maker->getOperands(), leadsToShape))
      return reshaped(builder, value.getLoc(), value, shape);
    // The operation is a user of its operands until it is dead.
    return computeInShape(maker, shape, builder,
                          [&](Value operand) { return raise(operand, shape); });
  }

  /// Whether a value is made, element by element, of one that a reshape has given its axes.
  static bool leadsToShape(Value value) {
    Operation *maker = value.getDefiningOp();
    if (sourceOfShape(maker))
      return true;
    return maker && value.hasOneUse() && makesTileElementwise(maker) &&
           llvm::any_of(maker->getOperands(), leadsToShape);
  }
};

struct DropUnitAxes : PassWrapper<DropUnitAxes, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropUnitAxes)

  StringRef getArgument() const override { return "drop-unit-axes"; }
  StringRef getDescription() const override {
    return "blocks of extent one along all axes but two are matrices";
  }

  void runOnOperation() override {
    SmallVector<Operation *> blocks;
    getOperation().walk([&](Operation *op) {
      if (isa<tile::BlockLoadOp, tile::BlockStoreOp, tile::BlockReduceOp>(op))
        blocks.push_back(op);
    });
    UnitAxes axes;
    for (Operation *op : blocks)
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](tile::BlockLoadOp load) { axes.drop(load); })
          .Case<tile::BlockStoreOp, tile::BlockReduceOp>(
              [&](auto store) { axes.dropStored(store); });
  }
};

} // namespace

std::unique_ptr<Pass> createDropUnitAxes() {
  return std::make_unique<DropUnitAxes>();
}

} // namespace sectile::optimizer
