#include "optimizer/gpu/StageRoom.h"

#include "optimizer/gpu/StageStores.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

/// Whether a user of a buffer, or one of a view, does not stand before `place`.
static bool isUsedFrom(Operation *user, Operation *place) {
  if (isa<BufferViewOp>(user))
    return llvm::any_of(user->getUsers(), [&](Operation *next) { return isUsedFrom(next, place); });
  Operation *here = place->getBlock()->findAncestorOpInBlock(*user);
  return !here || !here->isBeforeInBlock(place);
}

int64_t StageRoom::still() {
  int64_t bytes = 0;
  loop->getParentOfType<func::FuncOp>().walk([&](ToBufferOp op) {
    Operation *beside = op->getBlock()->findAncestorOpInBlock(*loop);
    if (beside && op->isBeforeInBlock(beside) &&
        llvm::any_of(op->getUsers(), [&](Operation *user) { return isUsedFrom(user, beside); }))
      bytes += cast<BufferType>(op.getType()).getStageBytes();
  });
  return bytes;
}

int64_t StageRoom::otherBuffers() {
  int64_t bytes = 0;
  loop->getParentOfType<func::FuncOp>().walk([&](ToBufferOp op) {
    if (!loop->isAncestor(op))
      bytes += cast<BufferType>(op.getType()).getStageBytes();
  });
  return bytes;
}

int64_t StageRoom::scratchBeside(Operation *stagesOwner, Pieces pieces) const {
  int64_t most = 0;
  if (shape.scratchBytes)
    stagesOwner->walk([&](Operation *op) {
      int64_t bytes = shape.scratchBytes(op);
      if (bytes > kLeastPieceBytes && pieces == Pieces::Least && mayBeStoredByEngine(op))
        bytes = kLeastPieceBytes;
      most = std::max(most, bytes);
    });
  return most;
}

int64_t StageRoom::besideTurns(Operation *stagesOwner) const {
  int64_t most = 0, stored = 0;
  if (shape.scratchBytes)
    stagesOwner->walk([&](Operation *op) {
      const int64_t bytes = shape.scratchBytes(op);
      StoreOp store = bytes ? storeBehind(op) : StoreOp();
      if (std::optional<int64_t> pieces =
              store ? bytesInTurns(store, analysis, shape) : std::nullopt)
        stored += *pieces;
      else
        most = std::max(most, bytes);
    });
  return most + stored;
}

bool StageRoom::mayBeStoredByEngine(Operation *op) const {
  std::string whyNot;
  StoreOp store = storeBehind(op);
  return store && storedBlockOf(store, analysis, shape, /*planned=*/0, whyNot);
}

} // namespace sectile::optimizer
