#include "backends/gpu/EmitRearrange.h"

#include "backends/gpu/EmitConvert.h"
#include "backends/gpu/GpuEmitter.h"
#include "lang/layout/Builders.h"

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

/// Source registers of each result register; -1: padding.
using Renaming = SmallVector<int, 16>;

/// A renaming of registers, with a conversion before or after it. Nullopt layouts: none is needed.
struct Renamed {
  std::optional<TileLayout> before; // of the operands
  TileLayout after;                 // of what the renaming gives
  SmallVector<Renaming, 2> of;      // of each result; in a join, of operands one after another
};

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

struct FlipPlan {
  Renaming renaming;
  unsigned laneMask = 0;
};

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

bool haveSameThreads(const TileLayout &lhs, const TileLayout &rhs) {
  for (Dim dim : {Dim::Lane, Dim::Warp}) {
    if (lhs.block().inBits(dim) != rhs.block().inBits(dim))
      return false;
    for (unsigned bit = 0; bit < lhs.block().inBits(dim); ++bit)
      if (lhs.block().basis(dim, bit) != rhs.block().basis(dim, bit))
        return false;
  }
  return true;
}

/// Every thread has what it needs, when the three layouts spread their threads alike within what
/// divides the first part's extent. Registers of rhs follow those of lhs.
std::optional<Renaming> planCat(CatOp op) {
  const TileLayout &lhs = layoutOfValue(op.getLhs()), &rhs = layoutOfValue(op.getRhs()),
                   &result = layoutOfValue(op.getResult());
  if (!haveSameThreads(lhs, result) || !haveSameThreads(rhs, result))
    return std::nullopt;
  int axis = op.getAxis();
  int64_t first = lhs.shape()[axis], reach = 0;
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (unsigned bit = 0; bit < result.block().inBits(dim); ++bit)
      reach |= result.block().basis(dim, bit, layout::axis(axis));
  if (reach >= (first & -first))
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

unsigned bitsOf(Value value) {
  return scratchBits(elementTypeOf(value.getType()));
}

int64_t wholeBytes(Value tile) {
  int64_t elements = cast<RankedTensorType>(tile.getType()).getNumElements();
  return llvm::alignTo(elements * (bitsOf(tile) / 8), 16);
}

} // namespace

bool isRearrangement(Operation *op) {
  return isa<TransposeOp, ReshapeOp, JoinOp, SplitOp, FlipOp, CatOp, GatherOp>(op);
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

//===-- emission ------------------------------------------------------------------------------===//

/// Registers of all operands, one after another, renamed.
static Registers renamedRegisters(const Registers &values, ArrayRef<int> renaming) {
  Registers results;
  for (int reg : renaming)
    results.push_back(reg < 0 ? paddingOf(values.front()->getType()) : values[reg]);
  return results;
}

Registers GpuEmitter::readRowMajor(const TileLayout &layout, Type element, int64_t offset,
                                   ArrayRef<int64_t> extents,
                                   llvm::function_ref<llvm::Value *(unsigned, unsigned)> at) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  Registers results;
  for (int reg = 0; reg < layout.registersPerThread(); ++reg) {
    if (layout.isPaddingRegister(reg)) {
      results.push_back(paddingOf(registerType(element)));
      continue;
    }
    llvm::Value *number = builder.getInt32(0);
    for (auto [axis, extent] : llvm::enumerate(extents))
      number =
          builder.CreateAdd(builder.CreateMul(number, builder.getInt32(extent)), at(reg, axis));
    // Padding, or a wild index: some element, but no fault.
    number =
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, builder.getInt32(count - 1));
    llvm::Value *address = builder.CreateGEP(memoryType(element), sharedAddress(offset), number);
    llvm::Value *loaded =
        builder.CreateAlignedLoad(memoryType(element), address, llvm::Align(memoryBytes(element)));
    results.push_back(fromMemory(loaded, element));
  }
  return results;
}

void GpuEmitter::emitFlip(FlipOp op) {
  const TileLayout &layout = layoutOf(op.getSrc());
  Type element = elementTypeOf(op.getType());
  if (std::optional<FlipPlan> flip = planFlip(op)) {
    Registers values = renamedRegisters(registers(op.getSrc()), flip->renaming);
    if (flip->laneMask)
      for (llvm::Value *&value : values)
        value = target.shuffleXor(builder, value, flip->laneMask);
    return setRegisters(op.getResult(), std::move(values));
  }
  int64_t scratch = plan.scratchOf(op);
  storeRowMajor(op.getSrc(), scratch);
  barrier();
  unsigned axis = op.getAxis();
  setRegisters(op.getResult(),
               readRowMajor(layout, element, scratch, op.getType().getShape(),
                            [&](unsigned reg, unsigned index) -> llvm::Value * {
                              llvm::Value *at = coordinate(layout, reg, index);
                              if (index != axis)
                                return at;
                              return builder.CreateSub(
                                  builder.getInt32(op.getType().getDimSize(axis) - 1), at);
                            }));
}

void GpuEmitter::emitCat(CatOp op) {
  const TileLayout &layout = layoutOf(op.getResult());
  Type element = elementTypeOf(op.getType());
  if (std::optional<Renaming> renaming = planCat(op)) {
    Registers values = registers(op.getLhs());
    llvm::append_range(values, registers(op.getRhs()));
    return setRegisters(op.getResult(), renamedRegisters(values, *renaming));
  }
  int64_t lhsScratch = plan.scratchOf(op), rhsScratch = lhsScratch + wholeBytes(op.getLhs());
  storeRowMajor(op.getLhs(), lhsScratch);
  storeRowMajor(op.getRhs(), rhsScratch);
  barrier();
  unsigned axis = op.getAxis();
  auto lhsShape = op.getLhs().getType().getShape(), rhsShape = op.getRhs().getType().getShape();
  auto lhs = readRowMajor(layout, element, lhsScratch, lhsShape, [&](unsigned reg, unsigned index) {
    return coordinate(layout, reg, index);
  });
  auto first = builder.getInt32(lhsShape[axis]);
  auto rhs = readRowMajor(layout, element, rhsScratch, rhsShape,
                          [&](unsigned reg, unsigned index) -> llvm::Value * {
                            llvm::Value *at = coordinate(layout, reg, index);
                            return index == axis ? builder.CreateSub(at, first) : at;
                          });
  Registers values;
  for (unsigned reg = 0; reg < lhs.size(); ++reg)
    values.push_back(builder.CreateSelect(
        builder.CreateICmpULT(coordinate(layout, reg, axis), first), lhs[reg], rhs[reg]));
  setRegisters(op.getResult(), std::move(values));
}

void GpuEmitter::emitGather(GatherOp op) {
  const TileLayout &layout = layoutOf(op.getResult());
  Type element = elementTypeOf(op.getType());
  int64_t scratch = plan.scratchOf(op);
  checkGather(op);
  storeRowMajor(op.getSrc(), scratch);
  barrier();
  // Index and result have one shape; their layouts are the same by assignment.
  const Registers &indices = registers(op.getIndex());
  if (layoutOf(op.getIndex()) != layout)
    return fail(op, "index and result have different layouts");
  unsigned axis = op.getAxis();
  llvm::Value *last = builder.getInt32(uint32_t(op.getSrc().getType().getDimSize(axis)) - 1);
  setRegisters(op.getResult(),
               readRowMajor(layout, element, scratch, op.getSrc().getType().getShape(),
                            [&](unsigned reg, unsigned index) -> llvm::Value * {
                              if (index != axis)
                                return coordinate(layout, reg, index);
                              // Outside the extent it gives some element, as on the CPU, and
                              // nothing of other tiles.
                              return builder.CreateBinaryIntrinsic(
                                  llvm::Intrinsic::umin,
                                  builder.CreateSExtOrTrunc(indices[reg], builder.getInt32Ty()),
                                  last);
                            }));
}

/// A reshape that no renaming can do: by the elements' row-major numbers.
void GpuEmitter::emitReshapeThroughShared(ReshapeOp op) {
  const TileLayout &layout = layoutOf(op.getResult());
  int64_t scratch = plan.scratchOf(op);
  storeRowMajor(op.getSrc(), scratch);
  barrier();
  setRegisters(
      op.getResult(),
      readRowMajor(layout, elementTypeOf(op.getType()), scratch, op.getType().getShape(),
                   [&](unsigned reg, unsigned index) { return coordinate(layout, reg, index); }));
}

LogicalResult GpuEmitter::emitRearrangement(Operation *op) {
  if (auto flip = dyn_cast<FlipOp>(op)) {
    emitFlip(flip);
  } else if (auto cat = dyn_cast<CatOp>(op)) {
    emitCat(cat);
  } else if (auto gather = dyn_cast<GatherOp>(op)) {
    emitGather(gather);
  } else if (std::optional<Renamed> renamed = renamingOf(op)) {
    Type element = elementTypeOf(op->getResult(0).getType());
    llvm::Type *type = registerType(element);
    int64_t scratch = plan.scratchOf(op);
    bool isScratchUsed = false;
    auto converted = [&](const Registers &values, const TileLayout &from, const TileLayout &to) {
      if (conversionBytes(from, to, scratchBits(element), target) > 0) {
        if (isScratchUsed)
          barrier();
        isScratchUsed = true;
      }
      return convert(values, from, to, type, scratch);
    };
    Registers values;
    for (Value operand : op->getOperands()) {
      const TileLayout &from = layoutOf(operand);
      llvm::append_range(values, renamed->before
                                     ? converted(registers(operand), from, *renamed->before)
                                     : registers(operand));
    }
    for (auto [result, renaming] : llvm::zip(op->getResults(), renamed->of))
      setRegisters(result,
                   converted(renamedRegisters(values, renaming), renamed->after, layoutOf(result)));
  } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    emitReshapeThroughShared(reshape);
  } else {
    fail(op, "no lowering on GPUs");
  }
  return success(!hasFailed);
}

} // namespace sectile::gpu
