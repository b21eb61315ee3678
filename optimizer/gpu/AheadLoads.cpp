#include "optimizer/gpu/AheadLoads.h"

#include "optimizer/gpu/CheapValues.h"
#include "optimizer/gpu/StageLoads.h"
#include "optimizer/gpu/ThreadWork.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {

/// Registers of a thread that may be carried of a load that others' addresses are made of.
static constexpr int64_t kMostGivenWords = 16;

bool isReadByProduct(LoadOp load) {
  return llvm::any_of(load->getUsers(), llvm::IsaPred<ToBufferOp>);
}

SmallVector<std::pair<LoadOp, std::string>> AheadLoads::choose() {
  SmallVector<std::pair<LoadOp, std::string>> left;
  for (auto load : loop.getOps<LoadOp>())
    if (std::string whyNot = consider(load); !whyNot.empty())
      left.push_back({load, std::move(whyNot)});
  if (!areByEngine())
    llvm::erase_if(left, [&](auto &one) { return considerBeside(one.first); });
  given.keep(slice.given());
  llvm::erase_if(left, [&](auto &one) { return llvm::is_contained(slice.given(), one.first); });
  return left;
}

bool AheadLoads::mayBeGiven(LoadOp load) {
  return !load.getIsVolatile() && wordsPerThread(load.getType()) <= kMostGivenWords &&
         writes.mayBePassedBy(load, assumed.apart) && given.add(load);
}

bool AheadLoads::areAllByEngine() {
  for (auto load : loop.getOps<LoadOp>())
    if (std::string whyNot = consider(load);
        !whyNot.empty() && isa<RankedTensorType>(load.getType()))
      return false;
  return areByEngine() && !areByThreads() && !areEdited() && slice.given().empty();
}

bool AheadLoads::areByEngine() const {
  return llvm::any_of(loads, [](const AsyncLoad &ahead) { return ahead.block.has_value(); });
}

bool AheadLoads::areEdited() const {
  return llvm::any_of(loads,
                      [](const AsyncLoad &ahead) { return ahead.block && ahead.block->isEdited; });
}

bool AheadLoads::areBehindStores() const {
  return llvm::any_of(loads, [](const AsyncLoad &ahead) { return ahead.isBehindStores; });
}

bool AheadLoads::areByThreads() const {
  return llvm::any_of(loads, [](const AsyncLoad &ahead) { return !ahead.block; });
}

bool AheadLoads::has(Operation *load) const {
  return llvm::any_of(loads, [&](const AsyncLoad &ahead) { return ahead.load == load; });
}

std::string AheadLoads::consider(LoadOp load) {
  std::string whyNot = whyNotStaged(load, loop);
  if (!whyNot.empty())
    return whyNot;
  std::optional<AsyncLoad> ahead = asEngineLoad(load);
  if (!ahead)
    ahead = asAsyncLoad(load, shape, analysis, whyNot);
  if (!ahead)
    return whyNot;
  BufferType wanted;
  for (Operation *user : load->getUsers())
    if (auto toBuffer = dyn_cast<ToBufferOp>(user)) {
      auto type = cast<BufferType>(toBuffer.getType());
      if (wanted && wanted != type)
        return "products want it in shared memory in two ways";
      wanted = type;
      layout::Coordinates neighbour(type.getShape().size(), 0);
      neighbour[ahead->axis] = 1;
      if (type.getLayout().getLayout().offsetOf(neighbour) != 1)
        return "its neighbours in memory are not those that a product wants in shared memory";
    }
  return take(*ahead);
}

/// Whether a product of the block takes what threads make of the tile.
static bool leadsToProduct(Value tile, Block *body, int steps = 12) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    if (user->getBlock() != body)
      return false;
    if (isa<DotOp, DotAsyncOp, ToBufferOp>(user))
      return true;
    const bool isComputed =
        isElementwise(user) ||
        isa<ConvertLayoutOp, TransposeOp, BroadcastOp, ExpandDimsOp, ReshapeOp, JoinOp, SplitOp>(
            user);
    return isComputed && steps > 0 && llvm::any_of(user->getResults(), [&](Value result) {
             return leadsToProduct(result, body, steps - 1);
           });
  });
}

bool AheadLoads::considerBeside(LoadOp load) {
  // A product that reads the tile itself wants it in its own way, and was asked before.
  if (isReadByProduct(load) || !leadsToProduct(load.getResult(), loop.getBody()))
    return false;
  std::string whyNot;
  std::optional<AsyncLoad> ahead = asAsyncLoad(load, shape, analysis, whyNot);
  if (!ahead)
    return false;
  ahead->isBeside = true;
  return take(*ahead).empty();
}

SmallVector<LoadOp> AheadLoads::dropBeside() {
  SmallVector<LoadOp> dropped;
  llvm::erase_if(loads, [&](const AsyncLoad &ahead) {
    if (ahead.isBeside)
      dropped.push_back(ahead.load);
    return ahead.isBeside;
  });
  return dropped;
}

std::optional<AsyncLoad> AheadLoads::asLoadAround(LoadOp load, int64_t planned) {
  if (!load->hasOneUse() || !isa<ToBufferOp>(*load->user_begin()))
    return std::nullopt;
  std::optional<AsyncLoad> ahead = asEngineLoad(load, planned);
  return ahead && !ahead->block->isEdited ? ahead : std::nullopt;
}

std::string AheadLoads::take(AsyncLoad ahead) {
  LoadOp load = ahead.load;
  if (!writes.mayBePassedBy(load, assumed.apart))
    return writes.whyNotPassedBy(load);
  if (!(ahead.block ? slice.add(SmallVector<Value>(ahead.block->at.getOffsets()))
                    : slice.add({load.getPtr(), load.getMask()})))
    return kAddressNeedsIteration;
  loads.push_back(ahead);
  return {};
}

std::optional<AsyncLoad> AheadLoads::asEngineLoad(LoadOp load, int64_t planned) {
  if (!shape.hasTensorCopy())
    return std::nullopt;
  std::string whyNot;
  AsyncLoad ahead{load};
  if (!load.getIsVolatile())
    ahead.block = arrayBlockOf(
        load.getBlock(), load.getType(), analysis, shape,
        planned + llvm::count_if(loads, [](const AsyncLoad &other) { return other.block; }),
        whyNot);
  if (ahead.block && ahead.block->isEdited && !isSameThroughout(ahead.block->at, loop)) {
    ahead.block.reset();
    whyNot = "the array's address is loaded in the loop";
  }
  // The engine does not see what threads write, in this program or in others that it waits for;
  // what this program has stored before the loop, behind a fence. Which array an address is of that
  // is loaded nobody knows.
  if (ahead.block && !allWrites.mayBePassedBy(load, assumed.apart)) {
    ahead.isBehindStores = ahead.block->isEdited && allWrites.areOwnStores();
    if (!ahead.isBehindStores) {
      ahead.block.reset();
      whyNot = allWrites.whyNotPassedBy(load);
    }
  }
  if (ahead.block) {
    ahead.axis = ahead.block->rowAxis;
    if (isOfEngine(bufferOf(ahead, 1), ahead.axis))
      return ahead;
  }
  if (ahead.block)
    whyNot = "it does not write tiles as products read this one";
  if (!whyNot.empty())
    addRemark(assumed.remarks, load.getLoc(), "not-by-copy-engine", whyNot);
  return std::nullopt;
}

} // namespace sectile::optimizer
