#include "optimizer/gpu/EditMaps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

bool isMadeByHost(TensorMapOp map) {
  auto base = dyn_cast<BlockArgument>(map.getBase());
  return base && isa<func::FuncOp>(base.getOwner()->getParentOp());
}

struct EditMaps : PassWrapper<EditMaps, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EditMaps)

  StringRef getArgument() const override { return "edit-maps"; }
  StringRef getDescription() const override {
    return "maps of arrays whose addresses are loaded are made by the program";
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<TensorMapOp> ofProgram, ofProducer;
    function.walk([&](TensorMapOp map) {
      if (!isMadeByHost(map))
        (map->getParentOfType<ProducerOp>() ? ofProducer : ofProgram).push_back(map);
    });
    if (ProducerOp producer = producerOf(function)) {
      Block &body = producer.getBody().front();
      edit(ofProducer, body, OpBuilder::atBlockEnd(&body));
    }
    Block &body = function.getBody().front();
    edit(ofProgram, body, OpBuilder(body.getTerminator()));
  }

private:
  /// The places of a map that is made by turns.
  static constexpr int64_t kTurns = 2;

  /// Lets those who run the body make the maps, in memory of their own.
  static void edit(MutableArrayRef<TensorMapOp> maps, Block &body, OpBuilder atEnd) {
    if (maps.empty())
      return;
    Location place = body.getParentOp()->getLoc();
    auto atEntry = OpBuilder::atBlockBegin(&body);
    int64_t count = 0;
    for (TensorMapOp map : maps)
      count += map.getTurn() ? kTurns : 1;
    Value memory =
        MapMemoryOp::create(atEntry, place, MapMemoryType::get(atEntry.getContext(), count));
    SmallVector<EditedMapOp> edited;
    int64_t number = 0;
    for (TensorMapOp map : maps) {
      OpBuilder builder(map);
      edited.push_back(EditedMapOp::create(builder, map.getLoc(), map.getType(), memory,
                                           uint32_t(number), map.getBase(), map.getShape(),
                                           map.getStrides(), map.getTurn()));
      number += map.getTurn() ? kTurns : 1;
      map.replaceAllUsesWith(edited.back().getResult());
      map.erase();
    }
    fence(edited);
    MapMemoryEndOp::create(atEnd, place, memory);
  }

  /// Those of maps that are made one after the other is one: it waits for all.
  static void fence(MutableArrayRef<EditedMapOp> edited) {
    SmallVector<Value> maps;
    for (auto [number, map] : llvm::enumerate(edited)) {
      EditedMapOp made = map;
      maps.push_back(made.getResult());
      Operation *next = made->getNextNode();
      while (next && isMemoryEffectFree(next))
        next = next->getNextNode();
      if (number + 1 < edited.size() && next == edited[number + 1].getOperation())
        continue;
      OpBuilder builder(made.getContext());
      builder.setInsertionPointAfter(made);
      MapFenceOp::create(builder, made.getLoc(), maps);
      maps.clear();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createEditMaps() {
  return std::make_unique<EditMaps>();
}

} // namespace sectile::optimizer
