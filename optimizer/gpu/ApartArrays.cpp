#include "optimizer/gpu/ApartArrays.h"

#include "optimizer/gpu/TensorCopies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sectile::tile;
using arith::CmpIPredicate;

namespace sectile::optimizer {

/// Whether the program can say in front of the loop from where to where the array goes.
static bool isKnownBefore(LoopLikeOpInterface loop, const ArrayDescribed &array,
                          const IndexAnalysis &analysis) {
  auto isOutside = [&](Value value) { return loop.isDefinedOutsideOfLoop(value); };
  return isOutside(array.base) &&
         llvm::all_of(array.shape,
                      [&](Value extent) {
                        return isOutside(extent) && analysis.of(extent).high <= INT32_MAX;
                      }) &&
         llvm::all_of(array.strides, [&](Value stride) {
           return isOutside(stride) && isPositiveStride(stride, analysis);
         });
}

std::optional<ArraysApart> ArraysApart::of(LoopLikeOpInterface loop, ArrayRef<ArrayDescribed> read,
                                           const IndexAnalysis &analysis) {
  ArraysApart arrays;
  auto add = [&](std::vector<ArrayDescribed> &to, const ArrayDescribed &array) {
    auto isSame = [&](const ArrayDescribed &other) {
      return other.base == array.base && other.shape == array.shape &&
             other.strides == array.strides;
    };
    if (llvm::none_of(to, isSame))
      to.push_back(array);
    return isKnownBefore(loop, array, analysis);
  };
  bool isKnown =
      llvm::all_of(read, [&](const ArrayDescribed &array) { return add(arrays.read, array); });
  loop->walk([&](Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op)) {
      auto block = store.getBlock() ? store.getBlock().getDefiningOp<BlockAtOp>() : BlockAtOp();
      isKnown &= block && add(arrays.written, ArrayDescribed(block));
    } else if (!isa<LoadOp, AsyncCopyOp, TensorCopyOp, BarrierOp, PrintOp, AssertOp, AssumeOp>(
                   op)) {
      isKnown &= touchesOnlySharedMemory(op) || isMemoryEffectFree(op) ||
                 op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
    }
  });
  return isKnown ? std::optional(arrays) : std::nullopt;
}

ArraysApart::Bytes ArraysApart::bytesOf(OpBuilder &builder, const ArrayDescribed &array,
                                        Value &isNear) const {
  Location place = array.base.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, place, builder.getI64IntegerAttr(value));
  };
  const auto pointer = cast<PtrType>(array.base.getType());
  const int64_t width = llvm::divideCeil(pointer.getPointee().getIntOrFloatBitWidth(), 8);
  Value begin = PtrToIntOp::create(builder, place, builder.getI64Type(), array.base);
  Value end = arith::AddIOp::create(builder, place, begin, number(width));
  for (auto [extent, stride] : llvm::zip(array.shape, array.strides)) {
    Value isSmall = arith::CmpIOp::create(builder, place, CmpIPredicate::sle, stride,
                                          number(kFarthestRows / width));
    isNear = isNear ? arith::AndIOp::create(builder, place, isNear, isSmall) : isSmall;
    Value steps = arith::MaxSIOp::create(
        builder, place, arith::SubIOp::create(builder, place, extent, number(1)), number(0));
    Value bytes = arith::MulIOp::create(
        builder, place, arith::MulIOp::create(builder, place, steps, stride), number(width));
    end = arith::AddIOp::create(builder, place, end, bytes);
  }
  return {begin, end};
}

Value ArraysApart::emit(OpBuilder &builder) const {
  Value are;
  SmallVector<Bytes> ofRead, ofWritten;
  for (const ArrayDescribed &array : read)
    ofRead.push_back(bytesOf(builder, array, are));
  for (const ArrayDescribed &array : written)
    ofWritten.push_back(bytesOf(builder, array, are));
  for (const Bytes &one : ofRead)
    for (const Bytes &other : ofWritten) {
      Location place = one.begin.getLoc();
      auto isBehind = [&](Value end, Value begin) {
        return arith::CmpIOp::create(builder, place, CmpIPredicate::ule, end, begin);
      };
      Value apart = arith::OrIOp::create(builder, place, isBehind(one.end, other.begin),
                                         isBehind(other.end, one.begin));
      are = arith::AndIOp::create(builder, place, are, apart);
    }
  return are;
}

} // namespace sectile::optimizer
