// Ops that put elements elsewhere: transpose, reshape, join, split, flip, cat and gather, as
// RearrangePlan.h plans them.
#include "backends/gpu/ConvertPlan.h"
#include "backends/gpu/GpuEmitter.h"
#include "backends/gpu/RearrangePlan.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {

using layout::TileLayout;

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
