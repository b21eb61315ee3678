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
    SmallVector<TensorMapOp> edited;
    function.walk([&](TensorMapOp map) {
      if (!isMadeByHost(map))
        edited.push_back(map);
    });
    if (edited.empty())
      return;
    Block &body = function.getBody().front();
    auto atEntry = OpBuilder::atBlockBegin(&body);
    Value memory =
        MapMemoryOp::create(atEntry, function.getLoc(),
                            MapMemoryType::get(function.getContext(), int64_t(edited.size())));
    for (auto [number, map] : llvm::enumerate(edited)) {
      OpBuilder builder(map);
      Value made =
          EditedMapOp::create(builder, map.getLoc(), map.getType(), memory, uint32_t(number),
                              map.getBase(), map.getShape(), map.getStrides());
      map.replaceAllUsesWith(made);
      map.erase();
    }
    OpBuilder atEnd(body.getTerminator());
    MapMemoryEndOp::create(atEnd, function.getLoc(), memory);
  }
};

} // namespace

std::unique_ptr<Pass> createEditMaps() {
  return std::make_unique<EditMaps>();
}

} // namespace sectile::optimizer
