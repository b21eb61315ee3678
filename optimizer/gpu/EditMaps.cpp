#include "optimizer/gpu/EditMaps.h"

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
  /// Lets those who run the body make the maps, in memory of their own.
  static void edit(MutableArrayRef<TensorMapOp> edited, Block &body, OpBuilder atEnd) {
    if (edited.empty())
      return;
    Location place = body.getParentOp()->getLoc();
    auto atEntry = OpBuilder::atBlockBegin(&body);
    Value memory = MapMemoryOp::create(
        atEntry, place, MapMemoryType::get(atEntry.getContext(), int64_t(edited.size())));
    for (auto [number, map] : llvm::enumerate(edited)) {
      OpBuilder builder(map);
      Value made =
          EditedMapOp::create(builder, map.getLoc(), map.getType(), memory, uint32_t(number),
                              map.getBase(), map.getShape(), map.getStrides());
      map.replaceAllUsesWith(made);
      map.erase();
    }
    MapMemoryEndOp::create(atEnd, place, memory);
  }
};

} // namespace

std::unique_ptr<Pass> createEditMaps() {
  return std::make_unique<EditMaps>();
}

} // namespace sectile::optimizer
