// How one tile's layout determines another's, link by link.
#include "lang/layout/Builders.h"
#include "optimizer/gpu/DotLayouts.h"
#include "optimizer/gpu/LayoutGraph.h"

using namespace sectile::tile;

namespace sectile::optimizer {

namespace {

llvm::SmallVector<int, 4> orderOf(mlir::Operation *op) {
  auto order = mlir::cast<TransposeOp>(op).getOrder();
  return llvm::SmallVector<int, 4>(order.begin(), order.end());
}

llvm::SmallVector<int, 4> inverseOf(llvm::ArrayRef<int> order) {
  llvm::SmallVector<int, 4> inverse(order.size());
  for (auto [place, axis] : llvm::enumerate(order))
    inverse[axis] = place;
  return inverse;
}

} // namespace

std::optional<layout::TileLayout> pull(const LayoutLink &link, const layout::TileLayout &user,
                                       llvm::ArrayRef<int64_t> makerShape) {
  switch (link.kind) {
  case LinkKind::Same:
    return user;
  case LinkKind::Slice:
    return std::nullopt;
  case LinkKind::Expand:
    return layout::sliceOf(user, link.axis);
  case LinkKind::Broadcast:
    return layout::broadcastOperand(user, makerShape);
  case LinkKind::Transpose:
    return layout::transpose(user, inverseOf(orderOf(link.op)));
  case LinkKind::Reshape:
    return layout::reshape(user, makerShape);
  case LinkKind::Join:
    return layout::split(user);
  case LinkKind::Split:
    return layout::join(user);
  case LinkKind::DotLhs:
  case LinkKind::DotRhs: {
    auto spread = instructionOf(link.instructions, user);
    if (!spread)
      return std::nullopt;
    // Any layout will do for what is stored in a buffer.
    if (link.isInBuffer)
      return std::nullopt;
    return spread->operand(sideOf(link.kind), makerShape);
  }
  }
  llvm_unreachable("all kinds are handled");
}

std::optional<layout::TileLayout> push(const LayoutLink &link, const layout::TileLayout &maker,
                                       llvm::ArrayRef<int64_t> userShape) {
  switch (link.kind) {
  case LinkKind::Same:
    return maker;
  case LinkKind::Slice:
    return layout::sliceOf(maker, link.axis);
  case LinkKind::Expand:
    return layout::expandDims(maker, link.axis);
  case LinkKind::Broadcast:
    // Padding of an extent of one would become elements.
    for (int axis = 0; axis < maker.rank(); ++axis)
      if (maker.shape()[axis] == 1 && maker.isPadded(axis))
        return std::nullopt;
    return layout::broadcast(maker, userShape);
  case LinkKind::Transpose:
    return layout::transpose(maker, orderOf(link.op));
  case LinkKind::Reshape:
    return layout::reshape(maker, userShape);
  case LinkKind::Join:
    return layout::join(maker);
  case LinkKind::Split:
    return layout::split(maker);
  case LinkKind::DotLhs:
  case LinkKind::DotRhs:
    return std::nullopt;
  }
  llvm_unreachable("all kinds are handled");
}

} // namespace sectile::optimizer
