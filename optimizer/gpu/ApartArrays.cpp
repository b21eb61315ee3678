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
      llvm::all_of(read, [&](const ArrayDescribed &array) { return add(arrays.readOnes, array); });
  loop->walk([&](Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op)) {
      auto block = store.getBlock() ? store.getBlock().getDefiningOp<BlockAtOp>() : BlockAtOp();
      isKnown &= block && add(arrays.writtenOnes, ArrayDescribed(block));
    } else if (!isa<LoadOp, AsyncCopyOp, TensorCopyOp, BarrierOp, PrintOp, AssertOp, AssumeOp>(
                   op)) {
      isKnown &= touchesOnlySharedMemory(op) || isMemoryEffectFree(op) ||
                 op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
    }
  });
  return isKnown ? std::optional(arrays) : std::nullopt;
}

static Value number(OpBuilder &builder, Location place, int64_t value) {
  return arith::ConstantOp::create(builder, place, builder.getI64IntegerAttr(value));
}

static int64_t bytesOfElement(Value pointer) {
  Type element = cast<PtrType>(pointer.getType()).getPointee();
  return isa<PtrType>(element) ? int64_t(sizeof(uint64_t))
                               : int64_t(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

ArraysApart::Bytes ArraysApart::bytesOf(OpBuilder &builder, Value pointer) {
  Location place = pointer.getLoc();
  Value begin = PtrToIntOp::create(builder, place, builder.getI64Type(), pointer);
  return {begin, arith::AddIOp::create(builder, place, begin,
                                       number(builder, place, bytesOfElement(pointer)))};
}

ArraysApart::Bytes ArraysApart::bytesOf(OpBuilder &builder, const ArrayDescribed &array,
                                        const IRMapping &there, Value &isNear) {
  Location place = array.base.getLoc();
  const int64_t width = bytesOfElement(array.base);
  auto [begin, end] = bytesOf(builder, there.lookupOrDefault(array.base));
  for (auto [extent, stride] : llvm::zip(array.shape, array.strides)) {
    Value step = there.lookupOrDefault(stride);
    Value isSmall = arith::CmpIOp::create(builder, place, CmpIPredicate::sle, step,
                                          number(builder, place, kFarthestRows / width));
    isNear = isNear ? arith::AndIOp::create(builder, place, isNear, isSmall) : isSmall;
    Value steps =
        arith::MaxSIOp::create(builder, place,
                               arith::SubIOp::create(builder, place, there.lookupOrDefault(extent),
                                                     number(builder, place, 1)),
                               number(builder, place, 0));
    Value bytes =
        arith::MulIOp::create(builder, place, arith::MulIOp::create(builder, place, steps, step),
                              number(builder, place, width));
    end = arith::AddIOp::create(builder, place, end, bytes);
  }
  return {begin, end};
}

Value ArraysApart::meet(OpBuilder &builder, const Bytes &one, const Bytes &other) {
  Location place = one.begin.getLoc();
  auto begins = [&](Value begin, Value end) {
    return arith::CmpIOp::create(builder, place, CmpIPredicate::ult, begin, end);
  };
  return arith::AndIOp::create(builder, place, begins(one.begin, other.end),
                               begins(other.begin, one.end));
}

Value ArraysApart::emit(OpBuilder &builder) const {
  Value are;
  SmallVector<Bytes> ofRead, ofWritten;
  for (const ArrayDescribed &array : readOnes)
    ofRead.push_back(bytesOf(builder, array, {}, are));
  for (const ArrayDescribed &array : writtenOnes)
    ofWritten.push_back(bytesOf(builder, array, {}, are));
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

ArraysApart::Comparison ArraysApart::compare(OpBuilder &builder, const IRMapping &there,
                                             const Bytes &others) const {
  Location place = readOnes.front().base.getLoc();
  auto both = [&](Value one, Value other, auto make) { return one ? make(one, other) : other; };
  auto either = [&](Value one, Value other) {
    return both(one, other, [&](Value one, Value other) -> Value {
      return arith::OrIOp::create(builder, place, one, other);
    });
  };
  auto invert = [&](Value value) -> Value {
    return arith::XOrIOp::create(
        builder, place, value,
        arith::ConstantOp::create(builder, place, builder.getBoolAttr(true)));
  };
  Comparison result{};
  Value areNear;
  for (const ArrayDescribed &array : writtenOnes) {
    auto [begin, end] = bytesOf(builder, array, there, areNear);
    result.written.begin = both(result.written.begin, begin, [&](Value one, Value other) -> Value {
      return arith::MinUIOp::create(builder, place, one, other);
    });
    result.written.end = both(result.written.end, end, [&](Value one, Value other) -> Value {
      return arith::MaxUIOp::create(builder, place, one, other);
    });
  }
  if (areNear) {
    auto orElse = [&](Value value, int64_t other) {
      return arith::SelectOp::create(builder, place, areNear, value, number(builder, place, other));
    };
    result.written = {orElse(result.written.begin, 0), orElse(result.written.end, -1)};
  } else {
    result.written = {number(builder, place, 0), number(builder, place, 0)};
  }
  // One after the other, as a thread that does so has few registers.
  for (const ArrayDescribed &array : readOnes) {
    Value isNear;
    const Bytes bytes = bytesOf(builder, array, there, isNear);
    Value isFar = invert(isNear);
    result.meetWritten =
        either(either(result.meetWritten, isFar), meet(builder, bytes, result.written));
    result.meetOthers = either(either(result.meetOthers, isFar), meet(builder, bytes, others));
  }
  return result;
}

SmallVector<Value> ArraysApart::numbers() const {
  SmallVector<Value> all;
  for (const auto *arrays : {&readOnes, &writtenOnes})
    for (const ArrayDescribed &array : *arrays) {
      all.push_back(array.base);
      llvm::append_range(all, array.shape);
      llvm::append_range(all, array.strides);
    }
  return all;
}

} // namespace sectile::optimizer
