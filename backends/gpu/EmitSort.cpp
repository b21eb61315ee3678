// Bitonic sort, as SortSteps.h plans it. All comparators put the lesser element first: where a part
// of the network sorts the other way round, elements are inverted before it (~x falls where x
// rises), which is one instruction for each register and phase, not one for each comparator.
#include "backends/gpu/ConvertPlan.h"
#include "backends/gpu/GpuEmitter.h"
#include "backends/gpu/SortSteps.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {
namespace {

using layout::Dim;
using layout::TileLayout;

class SortEmitter {
public:
  SortEmitter(GpuEmitter &emitter, SortOp op)
      : emitter(emitter), builder(emitter.builder), op(op), steps(op, emitter.target),
        scratch(emitter.plan.scratchOf(op)),
        narrow(emitter.registerType(elementTypeOf(op.getType()))),
        wide(builder.getIntNTy(sortedBits(op))) {}

  void emit() {
    values = emitter.registers(op.getSrc());
    move(steps.source, steps.sorted, narrow);
    for (llvm::Value *&value : values)
      value = builder.CreateSExt(value, wide);
    fillPadding();
    const unsigned bits = steps.holders.size();
    if (!steps.isMerge)
      for (unsigned phase = 1; phase < bits; ++phase) {
        // Blocks of 2^phase rise where bit `phase` of their place is clear; those of the phase
        // before went by the bit below.
        turn(phase, phase > 1 ? phase - 1 : phase);
        compareFrom(phase);
      }
    if (!steps.isMerge && bits > 1)
      turn(bits - 1, bits - 1);
    compareFrom(bits);
    for (llvm::Value *&value : values)
      value = builder.CreateTrunc(value, narrow);
    move(steps.sorted, emitter.layoutOf(op.getResult()), narrow);
    emitter.setRegisters(op.getResult(), std::move(values));
  }

private:
  void move(const TileLayout &from, const TileLayout &to, llvm::Type *type) {
    if (from == to)
      return;
    if (conversionBytes(from, to, type->getIntegerBitWidth(), emitter.target) > 0) {
      if (isScratchUsed)
        emitter.barrier();
      isScratchUsed = true;
    }
    values = emitter.convert(values, from, to, type, scratch);
  }

  /// What lies beyond the end of a line is greater than everything.
  void fillPadding() {
    int axis = op.getAxis();
    if (!steps.sorted.isPadded(axis))
      return;
    auto *greatest =
        llvm::ConstantInt::get(wide, llvm::APInt::getSignedMaxValue(wide->getBitWidth()));
    llvm::Value *extent = builder.getInt32(steps.sorted.shape()[axis]);
    for (auto [reg, value] : llvm::enumerate(values))
      value = builder.CreateSelect(
          builder.CreateICmpULT(emitter.coordinate(steps.sorted, reg, axis), extent), value,
          greatest);
  }

  /// i1: a bit of the lane's or the warp's number.
  llvm::Value *threadBit(SortSteps::Holder holder) {
    llvm::Value *&known = threadBits[{holder.dim, holder.bit}];
    if (!known) {
      llvm::Value *number = holder.dim == Dim::Lane ? emitter.laneIndex() : emitter.warpIndex();
      known = builder.CreateICmpNE(builder.CreateAnd(number, builder.getInt32(1u << holder.bit)),
                                   builder.getInt32(0));
    }
    return known;
  }

  /// Inverts elements whose place has one of the two bits, but not both; a bit named twice counts
  /// once.
  void turn(unsigned first, unsigned second) {
    SmallVector<SortSteps::Holder, 2> bits = {steps.holders[first]};
    if (second != first)
      bits.push_back(steps.holders[second]);
    llvm::Value *threadMask = nullptr;
    unsigned registerMask = 0;
    for (SortSteps::Holder holder : bits) {
      if (holder.dim == Dim::Register) {
        registerMask |= 1u << holder.bit;
        continue;
      }
      llvm::Value *mask = builder.CreateSExt(threadBit(holder), wide);
      threadMask = threadMask ? builder.CreateXor(threadMask, mask) : mask;
    }
    for (auto [reg, value] : llvm::enumerate(values)) {
      if (threadMask)
        value = builder.CreateXor(value, threadMask);
      if (llvm::popcount(unsigned(reg) & registerMask) % 2)
        value = builder.CreateNot(value);
    }
  }

  /// Compares places that differ in bit - 1, then in bit - 2, to bit 0.
  void compareFrom(unsigned bit) {
    bool isFar = false;
    auto go = [&](bool toFar) {
      if (isFar == toFar)
        return;
      move(toFar ? steps.sorted : steps.far, toFar ? steps.far : steps.sorted, wide);
      isFar = toFar;
    };
    while (bit-- > 0) {
      bool needsFar = steps.holders[bit].dim == Dim::Warp;
      go(needsFar);
      compare((needsFar ? steps.farHolders : steps.holders)[bit]);
    }
    go(false);
  }

  void compare(SortSteps::Holder holder) {
    if (holder.dim == Dim::Register) {
      for (unsigned lower = 0; lower < values.size(); ++lower) {
        unsigned upper = lower | 1u << holder.bit;
        if (upper == lower)
          continue;
        llvm::Value *a = values[lower], *b = values[upper];
        values[lower] = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
        values[upper] = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
      }
      return;
    }
    // The lane whose bit is set keeps the greater. Equal elements are the same.
    llvm::Value *isUpper = threadBit(holder);
    for (llvm::Value *&value : values) {
      llvm::Value *other = emitter.target.shuffleXor(builder, value, 1u << holder.bit);
      llvm::Value *isLess = builder.CreateICmpSLT(value, other);
      value = builder.CreateSelect(builder.CreateXor(isLess, isUpper), value, other);
    }
  }

  GpuEmitter &emitter;
  llvm::IRBuilder<> &builder;
  SortOp op;
  SortSteps steps;
  int64_t scratch;
  llvm::Type *narrow;
  llvm::IntegerType *wide;
  Registers values;
  llvm::DenseMap<std::pair<Dim, unsigned>, llvm::Value *> threadBits;
  bool isScratchUsed = false;
};

} // namespace

LogicalResult GpuEmitter::emitSort(SortOp op) {
  SortEmitter(*this, op).emit();
  return success(!hasFailed);
}

} // namespace sectile::gpu
