#include "backends/gpu/RearrangePlan.h"

#include "backends/gpu/ConvertPlan.h"
#include "lang/layout/Builders.h"
#include "lang/layout/PowersOfTwo.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::Coordinates;
using layout::Dim;
using layout::TileLayout;

namespace {

const TileLayout &layoutOfValue(Value value) {
  return *tile::layoutOf(value.getType());
}

template <class Source>
Renaming rename(const TileLayout &result, const TileLayout &source, Source constantOfSource) {
  Renaming renaming;
  for (int reg = 0; reg < result.registersPerThread(); ++reg)
    renaming.push_back(
        source.registerHolding(constantOfSource(result.constantOf(reg))).value_or(-1));
  return renaming;
}

Renaming unchanged(const TileLayout &layout) {
  Renaming renaming;
  for (int reg = 0; reg < layout.registersPerThread(); ++reg)
    renaming.push_back(reg);
  return renaming;
}

Renamed renameTranspose(TransposeOp op) {
  const TileLayout &source = layoutOfValue(op.getSrc());
  SmallVector<int, 4> order(op.getOrder());
  TileLayout after = layout::transpose(source, order);
  return {std::nullopt, after, {rename(after, source, [&](const Coordinates &constant) {
            Coordinates there(constant.size(), 0);
            for (auto [index, axis] : llvm::enumerate(order))
              there[axis] = constant[index];
            return there;
          })}};
}

/// Nullopt when elements would be torn apart in either layout.
std::optional<Renamed> renameReshape(ReshapeOp op) {
  const TileLayout &source = layoutOfValue(op.getSrc()), &result = layoutOfValue(op.getResult());
  if (auto after = layout::reshape(source, op.getType().getShape()))
    return Renamed{std::nullopt, *after, {unchanged(*after)}};
  auto before = layout::reshape(result, op.getSrc().getType().getShape());
  if (before && layout::reshape(*before, op.getType().getShape()) == result)
    return Renamed{*before, result, {unchanged(result)}};
  return std::nullopt;
}

Renamed renameJoin(JoinOp op) {
  const TileLayout &half = layoutOfValue(op.getLhs());
  TileLayout after = layout::join(half);
  // Registers of rhs follow those of lhs.
  int count = half.registersPerThread();
  Renaming renaming;
  for (int reg = 0; reg < after.registersPerThread(); ++reg) {
    Coordinates constant = after.constantOf(reg);
    int side = constant.pop_back_val();
    int held = half.registerHolding(constant).value_or(-1);
    renaming.push_back(held < 0 ? -1 : held + side * count);
  }
  return {std::nullopt, after, {renaming}};
}

Renamed renameSplit(SplitOp op) {
  const TileLayout &source = layoutOfValue(op.getSrc()), &half = layoutOfValue(op.getLhs());
  Renamed renamed;
  TileLayout whole = source;
  if (auto halves = layout::split(source)) {
    renamed.after = *halves;
  } else {
    renamed.after = half;
    whole = layout::join(half);
    renamed.before = whole;
  }
  for (int side : {0, 1})
    renamed.of.push_back(rename(renamed.after, whole, [&](Coordinates constant) {
      constant.push_back(side);
      return constant;
    }));
  return renamed;
}

unsigned bitsOf(Value value) {
  return scratchBits(elementTypeOf(value.getType()));
}

} // namespace

bool isRearrangement(Operation *op) {
  return isa<TransposeOp, ReshapeOp, JoinOp, SplitOp, FlipOp, CatOp, GatherOp>(op);
}

std::optional<Renamed> renamingOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Renamed>>(op)
      .Case([](TransposeOp found) { return renameTranspose(found); })
      .Case([](ReshapeOp found) { return renameReshape(found); })
      .Case([](JoinOp found) { return renameJoin(found); })
      .Case([](SplitOp found) { return renameSplit(found); })
      .Default([](Operation *) { return std::nullopt; });
}

//===-- flip ----------------------------------------------------------------------------------===//
// In an axis without padding, coordinate c of a repetition becomes c xor (extent of the block - 1),
// and the repetitions change order: a renaming and one exchange of lanes, unless warps differ.

std::optional<FlipPlan> planFlip(FlipOp op) {
  const TileLayout &layout = layoutOfValue(op.getSrc());
  int axis = op.getAxis();
  if (layout.isPadded(axis))
    return std::nullopt;
  const layout::LinearLayout &block = layout.block();
  layout::BitSpan bits(block.columns());
  Coordinates last(layout.rank(), 0);
  last[axis] = layout.blockExtent(axis) - 1;
  std::optional<layout::Word> partner = bits.express(block.packAxes(last));
  if (!partner || block.unpackIn(*partner, Dim::Warp))
    return std::nullopt;
  FlipPlan plan;
  plan.laneMask = block.unpackIn(*partner, Dim::Lane);
  Coordinates moved = block.apply({{Dim::Register, block.unpackIn(*partner, Dim::Register)}});
  for (int reg = 0; reg < layout.registersPerThread(); ++reg) {
    layout::RegisterPart part = layout.coordinateOf(reg);
    Coordinates there;
    for (int index = 0; index < layout.rank(); ++index) {
      int64_t offset = part.offset[index];
      if (index == axis)
        offset = layout.paddedExtent(axis) - layout.blockExtent(axis) - offset;
      there.push_back((part.inBlock[index] ^ moved[index]) + offset);
    }
    plan.renaming.push_back(layout.registerHolding(there).value_or(-1));
  }
  return plan;
}

//===-- cat -----------------------------------------------------------------------------------===//

static bool haveSameThreads(const TileLayout &lhs, const TileLayout &rhs) {
  for (Dim dim : {Dim::Lane, Dim::Warp}) {
    if (lhs.block().inBits(dim) != rhs.block().inBits(dim))
      return false;
    for (unsigned bit = 0; bit < lhs.block().inBits(dim); ++bit)
      if (lhs.block().basis(dim, bit) != rhs.block().basis(dim, bit))
        return false;
  }
  return true;
}

std::optional<Renaming> planCat(CatOp op) {
  const TileLayout &lhs = layoutOfValue(op.getLhs()), &rhs = layoutOfValue(op.getRhs()),
                   &result = layoutOfValue(op.getResult());
  if (!haveSameThreads(lhs, result) || !haveSameThreads(rhs, result))
    return std::nullopt;
  int axis = op.getAxis();
  int64_t first = lhs.shape()[axis];
  if (result.threadBits(axis) >= layout::lowestBit(first))
    return std::nullopt;
  Renaming renaming;
  for (int reg = 0; reg < result.registersPerThread(); ++reg) {
    Coordinates constant = result.constantOf(reg);
    bool isFirst = constant[axis] < first;
    if (!isFirst)
      constant[axis] -= first;
    std::optional<int> held = (isFirst ? lhs : rhs).registerHolding(constant);
    if (!held && !result.isPaddingRegister(reg))
      return std::nullopt;
    renaming.push_back(!held ? -1 : isFirst ? *held : *held + int(lhs.registersPerThread()));
  }
  return renaming;
}

//===-- scratch -------------------------------------------------------------------------------===//

int64_t wholeBytes(Value tile) {
  int64_t elements = cast<RankedTensorType>(tile.getType()).getNumElements();
  return llvm::alignTo(elements * (bitsOf(tile) / 8), 16);
}

int64_t rearrangeScratchBytes(Operation *op, const GpuTarget &target) {
  if (auto flip = dyn_cast<FlipOp>(op))
    return planFlip(flip) ? 0 : wholeBytes(flip.getSrc());
  if (auto cat = dyn_cast<CatOp>(op))
    return planCat(cat) ? 0 : wholeBytes(cat.getLhs()) + wholeBytes(cat.getRhs());
  if (auto gather = dyn_cast<GatherOp>(op))
    return wholeBytes(gather.getSrc());
  std::optional<Renamed> renamed = renamingOf(op);
  if (!renamed)
    return isa<ReshapeOp>(op) ? wholeBytes(op->getOperand(0)) : 0;
  int64_t bytes = 0;
  if (renamed->before)
    for (Value operand : op->getOperands())
      bytes = std::max(bytes, conversionBytes(layoutOfValue(operand), *renamed->before,
                                              bitsOf(operand), target));
  for (Value result : op->getResults())
    bytes = std::max(
        bytes, conversionBytes(renamed->after, layoutOfValue(result), bitsOf(result), target));
  return bytes;
}

} // namespace sectile::gpu
