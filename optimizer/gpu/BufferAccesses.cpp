#include "optimizer/gpu/BufferAccesses.h"

#include "lang/plain/BufferBytes.h"
#include "optimizer/IndexAnalysis.h"
#include "optimizer/IndexRules.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// The numbers between which the elements of a tile lie, and whether none is negative, which may be
/// assumed where `low` is.
struct Interval {
  __int128 low = 0, high = 0;
  bool isNonNegative = true;

  static Interval of(const IndexFacts &facts) {
    return {facts.low, facts.high, facts.isNonNegative || facts.low >= 0};
  }
  friend Interval operator+(Interval a, Interval b) {
    return {a.low + b.low, a.high + b.high, a.isNonNegative && b.isNonNegative};
  }
  friend Interval operator-(Interval a, Interval b) {
    return {a.low - b.high, a.high - b.low, a.low >= b.high};
  }
  friend Interval operator*(Interval a, Interval b) {
    // Of numbers of 64 bits: beyond them nothing fits a buffer.
    auto cut = [](__int128 x) {
      constexpr __int128 kMost = __int128(1) << 62;
      return std::clamp(x, -kMost, kMost);
    };
    const __int128 corners[] = {cut(a.low) * cut(b.low), cut(a.low) * cut(b.high),
                                cut(a.high) * cut(b.low), cut(a.high) * cut(b.high)};
    auto [low, high] = std::minmax_element(std::begin(corners), std::end(corners));
    return {*low, *high, a.isNonNegative && b.isNonNegative};
  }
};

/// A tile of integers as the sum of a scalar and of a tile, either of which may be missing.
struct SplitSum {
  Value scalar; // i64
  Interval scalarRange;
  Value rest; // a tile of i32, modulo 2^32
  Interval range;
};

/// A tile of pointers as a scalar pointer and such a sum, in elements.
struct SplitPointers {
  Value base;
  SplitSum offset;
};

/// Whether the scalar is made of nothing but arguments, program numbers, what is loaded for the
/// whole program, and arithmetic: the compiler of the GPU knows that all lanes have the same then.
bool isPlainScalar(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return !isa<RankedTensorType>(load.getType());
  return isa<PtrAddOp, ProgramIdOp, NumProgramsOp, HintOp, PtrCastOp, PtrToIntOp, IntToPtrOp,
             scf::ForOp, scf::IfOp>(op) ||
         op->getDialect()->getNamespace() == arith::ArithDialect::getDialectNamespace();
}

/// Adds to `sources` what decides about a value that `loop` or its body begins with: a carried one,
/// by its number, or the index (nullopt).
void addSourcesIn(scf::ForOp loop, std::optional<unsigned> carried,
                  llvm::SetVector<Value> &sources) {
  for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    sources.insert(bound);
  if (!carried)
    return;
  sources.insert(loop.getInitArgs()[*carried]);
  sources.insert(loop.getYieldedValues()[*carried]);
}

/// Calls `seeOp` with every operation that `value` is computed by, and `seeArgument` with the
/// arguments of the kernel among its sources.
void forEachSource(Value value, llvm::function_ref<void(Operation *)> seeOp,
                   llvm::function_ref<void(BlockArgument)> seeArgument) {
  llvm::SetVector<Value> pending;
  pending.insert(value);
  for (size_t next = 0; next < pending.size(); ++next) {
    const Value source = pending[next];
    auto argument = dyn_cast<BlockArgument>(source);
    Operation *op = argument ? argument.getOwner()->getParentOp() : source.getDefiningOp();
    if (argument && isa<func::FuncOp>(op)) {
      seeArgument(argument);
      continue;
    }
    seeOp(op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      std::optional<unsigned> carried;
      if (!argument)
        carried = cast<OpResult>(source).getResultNumber();
      else if (source != loop.getInductionVar())
        carried = argument.getArgNumber() - loop.getNumInductionVars();
      addSourcesIn(loop, carried, pending);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      const unsigned number = cast<OpResult>(source).getResultNumber();
      pending.insert(branch.getCondition());
      pending.insert(branch.thenYield().getOperand(number));
      pending.insert(branch.elseYield().getOperand(number));
    } else {
      pending.insert(op->operand_begin(), op->operand_end());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          pending.insert(block.getTerminator()->operand_begin(),
                         block.getTerminator()->operand_end());
    }
  }
}

/// Splits pointers and integers; each is split once. New values stand behind the operations whose
/// results they split.
class Splitter {
public:
  explicit Splitter(func::FuncOp function)
      : facts(function, IndexAnalysis::Integers::NotNegative), builder(function.getContext()) {}

  /// nullopt where the pointers have no common base, or one that is not the same in all lanes for
  /// all the GPU's compiler knows.
  std::optional<SplitPointers> pointers(Value value) {
    auto found = knownPointers.find(value);
    if (found != knownPointers.end())
      return found->second;
    std::optional<SplitPointers> split = splitPointers(value);
    knownPointers[value] = split;
    return split;
  }

  /// The pointers that `split` stands for, in a buffer; the offset begins at `low`.
  Value inBuffer(Value pointers, SplitPointers split, int64_t low) {
    auto type = cast<RankedTensorType>(pointers.getType());
    Location loc = pointers.getLoc();
    insertBehind(pointers);
    SplitSum &offset = split.offset;
    auto rest = type.clone(builder.getI32Type());
    if (!offset.rest)
      offset.rest = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(rest, builder.getI32IntegerAttr(0)));
    if (low != 0) {
      Value first = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(low));
      offset.scalar =
          offset.scalar ? arith::AddIOp::create(builder, loc, offset.scalar, first) : first;
      auto shift = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(rest, builder.getI32IntegerAttr(int32_t(low))));
      offset.rest = arith::SubIOp::create(builder, loc, offset.rest, shift);
    }
    Value base = split.base;
    if (offset.scalar)
      base = PtrAddOp::create(builder, loc, base, offset.scalar);
    Value repeated = SplatOp::create(builder, loc, type, base);
    return PtrAddOp::create(builder, loc, type, repeated, offset.rest, /*inBuffer=*/true);
  }

  const IndexAnalysis facts; // taking it that no integer argument is negative

private:
  std::optional<SplitPointers> splitPointers(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto splat = dyn_cast<SplatOp>(op)) {
      if (!isSameInAllLanes(splat.getSrc()))
        return std::nullopt;
      return SplitPointers{splat.getSrc(), {}};
    }
    if (auto hint = dyn_cast<HintOp>(op))
      return pointers(hint.getSrc());
    if (auto add = dyn_cast<PtrAddOp>(op)) {
      std::optional<SplitPointers> split = pointers(add.getPtr());
      if (!split)
        return std::nullopt;
      SplitSum offset = sum(add.getOffset());
      insertBehind(op->getResult(0));
      return SplitPointers{split->base, added(op->getLoc(), split->offset, offset)};
    }
    if (isa<BroadcastOp, ExpandDimsOp>(op)) {
      std::optional<SplitPointers> split = pointers(op->getOperand(0));
      if (split)
        split->offset.rest = reshaped(op, split->offset.rest);
      return split;
    }
    return std::nullopt;
  }

  /// New operations are to stand behind the one that makes `value`, and behind those that have been
  /// put there before.
  void insertBehind(Value value) {
    Block *block = value.getParentBlock();
    Operation *op = value.getDefiningOp();
    auto [next, isNew] = following.try_emplace(op ? static_cast<void *>(op) : block);
    if (isNew)
      next->second = op ? op->getNextNode() : &block->front();
    builder.setInsertionPoint(next->second);
  }

  SplitSum sum(Value value) {
    auto found = knownSums.find(value);
    if (found != knownSums.end())
      return found->second;
    SplitSum split = splitSum(value);
    knownSums[value] = split;
    return split;
  }

  SplitSum splitSum(Value value) {
    Operation *op = value.getDefiningOp();
    Type element = elementTypeOf(value.getType());
    // What is narrower wraps, and is no offset (IndexAnalysis.h).
    if (!op || !(element.isInteger(32) || element.isInteger(64)))
      return leaf(value);
    Location loc = op->getLoc();
    if (auto splat = dyn_cast<SplatOp>(op)) {
      if (!isSameInAllLanes(splat.getSrc()))
        return leaf(value);
      insertBehind(op->getResult(0));
      return {widened(loc, splat.getSrc()), Interval::of(facts.of(value)), {}, {}};
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!elements || !elements.isSplat())
        return leaf(value);
      insertBehind(op->getResult(0));
      const int64_t number = elements.getSplatValue<APInt>().getSExtValue();
      Value scalar = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(number));
      return {scalar, {number, number, number >= 0}, {}, {}};
    }
    if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
      SplitSum a = sum(op->getOperand(0)), b = sum(op->getOperand(1));
      if (!a.scalar && !b.scalar)
        return leaf(value);
      insertBehind(op->getResult(0));
      if (isa<arith::AddIOp>(op))
        return added(loc, a, b);
      if (isa<arith::SubIOp>(op))
        return subtracted(loc, a, b);
      if (a.rest && b.rest)
        return leaf(value);
      if (!a.rest)
        std::swap(a, b);
      // Nothing is gained, and a multiplication lost, where there is no scalar to take out.
      return a.scalar ? multiplied(loc, a, b) : leaf(value);
    }
    if (isa<arith::ExtSIOp, arith::ExtUIOp>(op)) {
      Value from = op->getOperand(0);
      const Type narrow = elementTypeOf(from.getType());
      const bool isSigned = isa<arith::ExtSIOp>(op) || Interval::of(facts.of(from)).isNonNegative;
      SplitSum split = isSigned && narrow.isInteger(32) ? sum(from) : SplitSum();
      return split.scalar ? split : leaf(value);
    }
    if (isa<BroadcastOp, ExpandDimsOp>(op)) {
      SplitSum split = sum(op->getOperand(0));
      if (!split.scalar)
        return leaf(value);
      split.rest = reshaped(op, split.rest);
      return split;
    }
    return leaf(value);
  }

  /// All of it differs from lane to lane, for all that is known.
  SplitSum leaf(Value value) {
    insertBehind(value);
    return {{}, {}, narrowed(value.getLoc(), value), Interval::of(facts.of(value))};
  }

  SplitSum added(Location loc, const SplitSum &a, const SplitSum &b) {
    return {joined<arith::AddIOp>(loc, a.scalar, b.scalar), a.scalarRange + b.scalarRange,
            joined<arith::AddIOp>(loc, a.rest, b.rest), a.range + b.range};
  }

  SplitSum subtracted(Location loc, const SplitSum &a, const SplitSum &b) {
    auto difference = [&](Value x, Value y, auto zero) -> Value {
      if (!y)
        return x;
      return arith::SubIOp::create(builder, loc, x ? x : zero(y.getType()), y);
    };
    auto zeroOf = [&](Type type) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    };
    return {difference(a.scalar, b.scalar, zeroOf), a.scalarRange - b.scalarRange,
            difference(a.rest, b.rest, zeroOf), a.range - b.range};
  }

  /// `b` is a scalar.
  SplitSum multiplied(Location loc, const SplitSum &a, const SplitSum &b) {
    SplitSum product;
    product.scalar = arith::MulIOp::create(builder, loc, a.scalar, b.scalar);
    product.scalarRange = a.scalarRange * b.scalarRange;
    if (a.rest) {
      Value factor = arith::TruncIOp::create(builder, loc, builder.getI32Type(), b.scalar);
      Value repeated = SplatOp::create(builder, loc, a.rest.getType(), factor);
      product.rest = arith::MulIOp::create(builder, loc, a.rest, repeated);
      product.range = a.range * b.scalarRange;
    }
    return product;
  }

  template <class Op>
  Value joined(Location loc, Value a, Value b) {
    return a && b ? Op::create(builder, loc, a, b).getResult() : a ? a : b;
  }

  /// The operation on shapes, of a tile that may be missing.
  Value reshaped(Operation *op, Value rest) {
    if (!rest)
      return {};
    insertBehind(op->getResult(0));
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, rest);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    copy->getResult(0).setType(type.clone(builder.getI32Type()));
    return copy->getResult(0);
  }

  Value widened(Location loc, Value scalar) {
    return scalar.getType().isInteger(64)
               ? scalar
               : arith::ExtSIOp::create(builder, loc, builder.getI64Type(), scalar).getResult();
  }

  /// Its lower 32 bits; what is narrower is signed.
  Value narrowed(Location loc, Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    const unsigned bits = type.getElementTypeBitWidth();
    Type result = type.clone(builder.getI32Type());
    if (bits > 32)
      return arith::TruncIOp::create(builder, loc, result, tile);
    return bits == 32 ? tile : arith::ExtSIOp::create(builder, loc, result, tile).getResult();
  }

  bool isSameInAllLanes(Value scalar) {
    bool isSame = true;
    forEachSource(
        scalar, [&](Operation *op) { isSame &= isPlainScalar(op); }, [](BlockArgument) {});
    return isSame;
  }

  OpBuilder builder;
  /// By operation, or by block for what the block begins with: what stood behind it at first.
  DenseMap<void *, Operation *> following;
  DenseMap<Value, std::optional<SplitPointers>> knownPointers;
  DenseMap<Value, SplitSum> knownSums;
};

class BufferAccesses {
public:
  BufferAccesses(func::FuncOp function, bool largeArrays, GpuAssumptions &assumed)
      : function(function), largeArrays(largeArrays), assumed(assumed), splitter(function) {}

  void run() {
    SmallVector<Operation *> accesses;
    function.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](LoadOp load) {
            if (!load.getIsVolatile() && load.getCache() != CacheModifier::CV)
              accesses.push_back(op);
          })
          .Case<StoreOp, AsyncCopyOp>([&](auto) { accesses.push_back(op); });
    });
    for (Operation *op : accesses) {
      Value pointers = op->getOperand(0);
      if (!isa<RankedTensorType>(pointers.getType()))
        continue;
      auto [known, isNew] = replaced.try_emplace(pointers);
      if (isNew)
        known->second = inBuffer(op, pointers);
      if (known->second)
        op->setOperand(0, known->second);
    }
  }

private:
  /// The same pointers in a buffer; null, and a remark, where they cannot be.
  Value inBuffer(Operation *op, Value pointers) {
    std::optional<SplitPointers> split = splitter.pointers(pointers);
    if (!split)
      return refuse(op, "the pointers are not one pointer of the whole program and offsets");
    const int64_t bytes = elementBytes(pointers.getType());
    const Interval &range = split->offset.range;
    const __int128 low = std::min<__int128>(range.low, 0);
    if ((range.high - low + 1) * bytes <= lang::kBufferBytes)
      return splitter.inBuffer(pointers, *split, int64_t(low));
    if (largeArrays)
      return refuse(op, "an array may be larger than 2 GiB, or an argument negative");
    std::optional<unsigned> array = arrayOf(*split);
    if (!array)
      return refuse(op, "the offsets may exceed 2 GiB, and the pointer is no argument");
    if (!range.isNonNegative || !split->offset.scalarRange.isNonNegative)
      return refuse(op, "an offset may be negative");
    assume(*array);
    for (Value part : {split->base, split->offset.scalar, split->offset.rest})
      if (part)
        forEachSource(
            part, [](Operation *) {},
            [&](BlockArgument argument) {
              if (isa<IntegerType>(argument.getType()) && !argument.getType().isInteger(1))
                assume(argument.getArgNumber());
            });
    return splitter.inBuffer(pointers, *split, 0);
  }

  /// The argument that points to the array, if all that is added to it is not negative.
  std::optional<unsigned> arrayOf(const SplitPointers &split) {
    Value base = split.base;
    for (;;) {
      if (auto argument = dyn_cast<BlockArgument>(base))
        return isa<func::FuncOp>(argument.getOwner()->getParentOp())
                   ? std::optional(argument.getArgNumber())
                   : std::nullopt;
      if (auto hint = base.getDefiningOp<HintOp>()) {
        base = hint.getSrc();
        continue;
      }
      auto add = base.getDefiningOp<PtrAddOp>();
      if (!add || !Interval::of(splitter.facts.of(add.getOffset())).isNonNegative)
        return std::nullopt;
      base = add.getPtr();
    }
  }

  void assume(unsigned argument) {
    if (!llvm::is_contained(assumed.bufferArguments, argument))
      assumed.bufferArguments.push_back(argument);
  }

  Value refuse(Operation *op, const char *why) {
    addRemark(assumed.remarks, op->getLoc(), "not-in-buffer", why);
    return {};
  }

  func::FuncOp function;
  const bool largeArrays;
  GpuAssumptions &assumed;
  Splitter splitter;
  DenseMap<Value, Value> replaced;
};

struct BufferAccessesPass : GpuPass<BufferAccessesPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BufferAccessesPass)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "buffer-accesses"; }
  StringRef getDescription() const override {
    return "say which tiles are accessed by one pointer and offsets of 32 bits (large=false)";
  }
  void runOnOperation() override {
    BufferAccesses(getOperation(), options.largeArrays, assumed()).run();
  }
};

} // namespace

std::unique_ptr<Pass> createBufferAccesses(const GpuPipelineOptions &options,
                                           GpuAssumptions *assumed) {
  return std::make_unique<BufferAccessesPass>(options, assumed);
}

} // namespace sectile::optimizer
