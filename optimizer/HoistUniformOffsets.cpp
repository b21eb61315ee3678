#include "optimizer/HoistUniformOffsets.h"

#include "lang/tile/TileDialect.h"
#include "optimizer/RebuildLoop.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

/// The scalar a tile repeats, built at the insertion point when it is a constant; null when it
/// varies.
Value uniformScalar(Value tile, OpBuilder &builder) {
  if (auto splat = tile.getDefiningOp<tile::SplatOp>())
    return splat.getSrc();
  DenseElementsAttr elements;
  if (matchPattern(tile, m_Constant(&elements)) && elements.isSplat())
    return arith::ConstantOp::create(builder, tile.getLoc(), elements.getSplatValue<TypedAttr>());
  return {};
}

bool isUniform(Value tile) {
  DenseElementsAttr elements;
  return tile.getDefiningOp<tile::SplatOp>() ||
         (matchPattern(tile, m_Constant(&elements)) && elements.isSplat());
}

/// What a loop adds to one carried tile in a round.
struct Advance {
  unsigned index;                // among the loop's carried values
  SmallVector<Value, 2> offsets; // uniform tiles; their sum is the advance
};

/// Follows `next` back to `carried` through additions of something uniform.
std::optional<Advance> findAdvance(scf::ForOp loop, unsigned index) {
  BlockArgument carried = loop.getRegionIterArg(index);
  auto type = dyn_cast<RankedTensorType>(carried.getType());
  if (!type || !isa<IntegerType, tile::PtrType>(type.getElementType()))
    return std::nullopt;
  Advance advance{index, {}};
  Value next = loop.getYieldedValues()[index];
  while (next != carried) {
    Value base, offset;
    if (auto add = next.getDefiningOp<tile::PtrAddOp>()) {
      base = add.getPtr(), offset = add.getOffset();
    } else if (auto add = next.getDefiningOp<arith::AddIOp>()) {
      base = add.getLhs(), offset = add.getRhs();
      if (!isUniform(offset))
        std::swap(base, offset);
    } else {
      return std::nullopt;
    }
    // Only what this loop adds: an inner loop or branch has other blocks.
    if (!isUniform(offset) || next.getParentBlock() != loop.getBody())
      return std::nullopt;
    advance.offsets.push_back(offset);
    next = base;
  }
  if (advance.offsets.empty()) // carried unchanged: canonicalization removes it
    return std::nullopt;
  return advance;
}

/// start + splat(offset), for pointers or integers.
Value displaced(Value start, Value offset, OpBuilder &builder, Location location) {
  auto type = cast<RankedTensorType>(start.getType());
  Value tile = tile::SplatOp::create(
      builder, location, RankedTensorType::get(type.getShape(), offset.getType()), offset);
  if (isa<tile::PtrType>(type.getElementType()))
    return tile::PtrAddOp::create(builder, location, type, start, tile);
  return arith::AddIOp::create(builder, location, start, tile);
}

void rewriteLoop(scf::ForOp loop, ArrayRef<Advance> advances) {
  IRRewriter builder(loop);
  Location location = loop.getLoc();
  SmallVector<Value> starts(loop.getInitArgs()), initial(loop.getInitArgs());
  for (const Advance &advance : advances) {
    Type element = tile::elementTypeOf(starts[advance.index].getType());
    Type type = isa<tile::PtrType>(element) ? builder.getI64Type() : element;
    initial[advance.index] =
        arith::ConstantOp::create(builder, location, builder.getIntegerAttr(type, 0));
  }
  scf::ForOp replacement = rebuildLoop(builder, loop, initial);

  // The body, with the tiles made from their offsets at its start.
  Block *body = replacement.getBody();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> arguments(body->getArguments());
  for (const Advance &advance : advances)
    arguments[1 + advance.index] = displaced(
        starts[advance.index], replacement.getRegionIterArg(advance.index), builder, location);
  builder.inlineBlockBefore(loop.getBody(), body, body->end(), arguments);

  // The offsets of the next round.
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  builder.setInsertionPoint(yield);
  for (const Advance &advance : advances) {
    Value sum = replacement.getRegionIterArg(advance.index);
    for (Value tile : advance.offsets) {
      Value offset = uniformScalar(tile, builder);
      if (offset.getType() != sum.getType()) // pointer offsets are signed
        offset = arith::ExtSIOp::create(builder, location, sum.getType(), offset);
      sum = arith::AddIOp::create(builder, location, sum, offset);
    }
    yield.setOperand(advance.index, sum);
  }

  builder.setInsertionPointAfter(replacement);
  SmallVector<Value> results(replacement.getResults());
  for (const Advance &advance : advances)
    if (!loop.getResult(advance.index).use_empty())
      results[advance.index] =
          displaced(starts[advance.index], results[advance.index], builder, location);
  builder.replaceOp(loop, results);
}

struct HoistUniformOffsets : PassWrapper<HoistUniformOffsets, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistUniformOffsets)

  StringRef getArgument() const override { return "hoist-uniform-offsets"; }
  StringRef getDescription() const override {
    return "carry a scalar offset instead of a tile that only moves";
  }

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); }); // inner before outer
    for (scf::ForOp loop : loops) {
      SmallVector<Advance> advances;
      for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index)
        if (auto advance = findAdvance(loop, index))
          advances.push_back(std::move(*advance));
      if (!advances.empty())
        rewriteLoop(loop, advances);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createHoistUniformOffsets() {
  return std::make_unique<HoistUniformOffsets>();
}

} // namespace sectile::optimizer
