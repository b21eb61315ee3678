#include "optimizer/DescribeBlocks.h"

#include "lang/layout/PowersOfTwo.h"
#include "lang/tile/TileDialect.h"
#include "optimizer/IndexAnalysis.h"
#include "optimizer/ScalarSum.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Copies are of 16 bytes at least.
constexpr int64_t kAlignment = 16;

/// A scalar with a factor; the factor alone where the scalar is null.
struct Stride {
  Value value;
  int64_t factor = 1;
  bool isOne() const { return !value && factor == 1; }
  friend bool operator==(const Stride &, const Stride &) = default;
};

/// What varies along one axis: `stride` times consecutive numbers from `start` on, modulo `modulus`
/// where that is set.
struct AlongAxis {
  unsigned axis;
  Stride stride;
  ScalarSum start;
  Value modulus;
  /// How many bits the consecutive numbers were added to `start` in; 0 where nothing was added.
  unsigned bits = 0;
};

/// A tile of integers or pointers: the sum of a scalar, or an argument's address, numbers along
/// axes, and scalars times strides.
struct TileSum {
  Value base;
  SmallVector<AlongAxis, 2> axes;
  SmallVector<std::pair<Stride, ScalarSum>, 2> rest;
  /// How many bits the last addition had; 0 where there was none.
  unsigned bits = 0;
  /// Whether it is so only if no part wrapped before it was widened, which addresses may assume
  /// (IndexAnalysis.h, assumption (Offset)), and masks may not.
  bool isAssumed = false;
};

std::optional<TileSum> tileSum(Value tile);

/// What a tile repeats.
std::optional<ScalarSum> uniform(Value tile) {
  if (auto splat = tile.getDefiningOp<SplatOp>();
      splat && isa<IntegerType>(splat.getSrc().getType()))
    return ScalarSum::of(splat.getSrc());
  DenseIntElementsAttr elements;
  if (matchPattern(tile, m_Constant(&elements)) && elements.isSplat() &&
      elements.getElementType().getIntOrFloatBitWidth() <= 64)
    return ScalarSum(elements.getSplatValue<APInt>().getSExtValue());
  return std::nullopt;
}

/// Scalars that have an axis's stride are where it starts; those that no axis has stay.
void assignRest(TileSum &sum, unsigned bits) {
  llvm::erase_if(sum.rest, [&](const std::pair<Stride, ScalarSum> &part) {
    const auto &[stride, number] = part;
    if (number.isZero())
      return true;
    auto *along = llvm::find_if(
        sum.axes, [&](const AlongAxis &each) { return each.stride == stride && !each.modulus; });
    if (along == sum.axes.end())
      return false;
    const bool isExact = along->start.add(number, bits) && (!along->bits || along->bits == bits);
    along->bits = bits;
    sum.isAssumed |= !isExact;
    return true;
  });
}

/// The sum that an operation of so many bits makes.
std::optional<TileSum> both(std::optional<TileSum> one, std::optional<TileSum> other,
                            unsigned bits) {
  if (!one || !other || (one->base && other->base))
    return std::nullopt;
  one->isAssumed |=
      other->isAssumed || (one->bits && one->bits != bits) || (other->bits && other->bits != bits);
  for (const AlongAxis &added : other->axes) {
    if (llvm::any_of(one->axes, [&](const AlongAxis &has) { return has.axis == added.axis; }))
      return std::nullopt;
    one->axes.push_back(added);
  }
  llvm::append_range(one->rest, other->rest);
  one->base = one->base ? one->base : other->base;
  one->bits = bits;
  assignRest(*one, bits);
  return one;
}

std::optional<TileSum> scaled(std::optional<TileSum> sum, const ScalarSum &factor) {
  auto single = factor.single();
  if (!sum || sum->base || !single)
    return std::nullopt;
  const Stride by{single->first, single->second};
  auto scale = [&](Stride &stride) {
    if (stride.value && by.value)
      return false;
    if (llvm::MulOverflow(stride.factor, by.factor, stride.factor))
      return false;
    stride.value = stride.value ? stride.value : by.value;
    return true;
  };
  for (AlongAxis &along : sum->axes)
    if (!scale(along.stride))
      return std::nullopt;
  for (auto &[stride, number] : sum->rest)
    if (!scale(stride))
      return std::nullopt;
  return sum;
}

/// One axis of consecutive numbers, for whatever they are: what is compared in masks, and taken
/// modulo an extent.
std::optional<AlongAxis> consecutive(Value tile) {
  std::optional<TileSum> sum = tileSum(tile);
  if (!sum || sum->base || sum->isAssumed || sum->axes.size() != 1 || !sum->rest.empty() ||
      !sum->axes.front().stride.isOne())
    return std::nullopt;
  return sum->axes.front();
}

/// A number as so many steps of a stride: of a product with a number of the arguments, that is the
/// stride, the second factor where both are.
std::pair<Stride, ScalarSum> stepsOf(Value number) {
  while (auto wide = number.getDefiningOp<arith::ExtSIOp>())
    number = wide.getIn();
  auto product = number.getDefiningOp<arith::MulIOp>();
  if (product && number.getType().getIntOrFloatBitWidth() >= 32) {
    Value stride = product.getRhs(), steps = product.getLhs();
    if (isOfArguments(steps) && !isOfArguments(stride))
      std::swap(stride, steps);
    auto single = ScalarSum::of(stride).single();
    if (single && single->first && isOfArguments(stride))
      return {Stride{single->first, single->second}, ScalarSum::of(steps)};
  }
  return {Stride{}, ScalarSum::of(number)};
}

/// The argument that a scalar pointer begins at, and the elements from there.
TileSum scalarPointer(Value pointer) {
  TileSum sum;
  sum.bits = 64;
  for (; auto add = pointer.getDefiningOp<PtrAddOp>(); pointer = add.getPtr())
    sum.rest.push_back(stepsOf(add.getOffset()));
  sum.base = pointer;
  return sum;
}

std::optional<TileSum> tileSum(Value tile) {
  using Result = std::optional<TileSum>;
  Operation *op = tile.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto number = uniform(tile))
    return TileSum{{}, {}, {{Stride{}, *number}}};
  // Sums and products of fewer bits often wrap.
  const auto element = dyn_cast<IntegerType>(elementTypeOf(tile.getType()));
  const unsigned bits = element ? element.getWidth() : 64;
  if (bits < 32)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](ArangeOp arange) {
        return TileSum{{}, {{0, {}, ScalarSum(int32_t(arange.getStart())), {}}}, {}};
      })
      .Case([&](SplatOp splat) -> Result {
        if (!isa<PtrType>(splat.getSrc().getType()))
          return std::nullopt;
        return scalarPointer(splat.getSrc());
      })
      .Case([&](ExpandDimsOp expand) {
        Result sum = tileSum(expand.getSrc());
        if (sum)
          for (AlongAxis &along : sum->axes)
            along.axis += along.axis >= expand.getAxis();
        return sum;
      })
      .Case([&](TransposeOp turn) {
        Result sum = tileSum(turn.getSrc());
        if (sum)
          for (AlongAxis &along : sum->axes)
            along.axis = unsigned(llvm::find(turn.getOrder(), int32_t(along.axis)) -
                                  turn.getOrder().begin());
        return sum;
      })
      .Case<BroadcastOp, HintOp, arith::ExtSIOp>(
          [&](Operation *same) { return tileSum(same->getOperand(0)); })
      .Case<arith::AddIOp, PtrAddOp>([&](Operation *add) {
        return both(tileSum(add->getOperand(0)), tileSum(add->getOperand(1)), bits);
      })
      .Case([&](arith::MulIOp product) -> Result {
        for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()),
                                  std::pair(product.getRhs(), product.getLhs())})
          if (auto factor = uniform(other))
            return scaled(tileSum(one), *factor);
        // A column of one number, spread over the tile.
        for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()),
                                  std::pair(product.getRhs(), product.getLhs())})
          if (auto spread = other.getDefiningOp<BroadcastOp>())
            if (auto factor = uniform(spread.getSrc()))
              return scaled(tileSum(one), *factor);
        return std::nullopt;
      })
      .Case([&](arith::RemSIOp remainder) -> Result {
        auto modulus = remainder.getRhs().getDefiningOp<SplatOp>();
        std::optional<AlongAxis> along = consecutive(remainder.getLhs());
        if (!modulus || !along || along->modulus)
          return std::nullopt;
        along->modulus = modulus.getSrc();
        return TileSum{{}, {*along}, {}};
      })
      .Case([&](arith::SelectOp choice) -> Result {
        // where(x < n, x, 0) is x % n but for what is beyond n.
        auto isInside = choice.getCondition().getDefiningOp<arith::CmpIOp>();
        if (!isInside || isInside.getPredicate() != arith::CmpIPredicate::slt ||
            isInside.getLhs() != choice.getTrueValue())
          return std::nullopt;
        auto extent = isInside.getRhs().getDefiningOp<SplatOp>();
        std::optional<ScalarSum> beyond = uniform(choice.getFalseValue());
        std::optional<AlongAxis> along = consecutive(choice.getTrueValue());
        if (!extent || !beyond || !beyond->isZero() || !along || along->modulus)
          return std::nullopt;
        along->modulus = extent.getSrc();
        return TileSum{{}, {*along}, {}};
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// A comparison of numbers along an axis with a scalar: start + 0, 1, ... < bound. The numbers were
/// added to the start in so many bits.
struct Comparison {
  unsigned axis;
  ScalarSum start, bound;
  unsigned bits;
};

/// The comparisons that a mask is the conjunction of; nullopt where it is anything else.
std::optional<SmallVector<Comparison, 2>> comparisonsOf(Value mask) {
  SmallVector<Comparison, 2> found;
  // Masks with how their axes lie in the tile.
  SmallVector<std::pair<Value, SmallVector<unsigned, 2>>> pending;
  auto identity = [](Value tile) {
    SmallVector<unsigned, 2> axes;
    for (size_t axis = 0; axis < shapeOf(tile.getType()).size(); ++axis)
      axes.push_back(unsigned(axis));
    return axes;
  };
  pending.push_back({mask, identity(mask)});
  while (!pending.empty()) {
    auto [part, axes] = pending.pop_back_val();
    Operation *op = part.getDefiningOp();
    if (auto both = dyn_cast_or_null<arith::AndIOp>(op)) {
      pending.push_back({both.getLhs(), axes});
      pending.push_back({both.getRhs(), axes});
    } else if (auto spread = dyn_cast_or_null<BroadcastOp>(op)) {
      pending.push_back({spread.getSrc(), axes});
    } else if (auto expand = dyn_cast_or_null<ExpandDimsOp>(op)) {
      SmallVector<unsigned, 2> kept(axes);
      kept.erase(kept.begin() + expand.getAxis());
      pending.push_back({expand.getSrc(), kept});
    } else if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
      const bool isLess = compare.getPredicate() == arith::CmpIPredicate::slt;
      if (!isLess && compare.getPredicate() != arith::CmpIPredicate::sgt)
        return std::nullopt;
      Value low = isLess ? compare.getLhs() : compare.getRhs(),
            high = isLess ? compare.getRhs() : compare.getLhs();
      std::optional<AlongAxis> along = consecutive(low);
      std::optional<ScalarSum> bound = uniform(high);
      if (!along || along->modulus || !bound)
        return std::nullopt;
      found.push_back({axes[along->axis], along->start, *bound, along->bits});
    } else {
      return std::nullopt;
    }
  }
  return found;
}

/// Whether nobody sees elements of a tile that lie beyond an extent along an axis: stores mask them
/// off.
class Discarded {
public:
  Discarded(const AlongAxis &along)
      : start(along.start), bits(along.bits), extent(ScalarSum::of(along.modulus)) {}

  bool beyond(Value tile, unsigned axis) {
    if (!seen.insert({tile, axis}).second)
      return true;
    return llvm::all_of(tile.getUses(), [&](OpOperand &use) { return isDiscarded(use, axis); });
  }

private:
  bool isDiscarded(OpOperand &use, unsigned axis) {
    Operation *user = use.getOwner();
    const unsigned operand = use.getOperandNumber();
    if (auto dot = dyn_cast<DotOp>(user)) {
      if (shapeOf(dot.getType()).size() != 2)
        return false;
      // Rows of lhs are rows of the result, columns of rhs are its columns.
      if (operand < 2 && axis != operand)
        return false;
      return beyond(dot.getResult(), axis);
    }
    if (auto turn = dyn_cast<TransposeOp>(user))
      return beyond(turn.getResult(),
                    unsigned(llvm::find(turn.getOrder(), int32_t(axis)) - turn.getOrder().begin()));
    if (auto store = dyn_cast<StoreOp>(user)) {
      if (operand != 1 || !store.getMask())
        return false;
      auto comparisons = comparisonsOf(store.getMask());
      return comparisons && llvm::any_of(*comparisons, [&](const Comparison &each) {
               return each.axis == axis && each.start == start && each.bits == bits &&
                      each.bound == extent;
             });
    }
    if (auto loop = dyn_cast<scf::ForOp>(user)) {
      unsigned number = operand - loop.getNumControlOperands();
      return operand >= loop.getNumControlOperands() &&
             beyond(loop.getRegionIterArg(number), axis) && beyond(loop.getResult(number), axis);
    }
    if (auto yield = dyn_cast<scf::YieldOp>(user)) {
      auto loop = dyn_cast<scf::ForOp>(yield->getParentOp());
      // In the next round the start must still be the same number.
      return loop && isDefinedOutside(loop) && beyond(loop.getRegionIterArg(operand), axis) &&
             beyond(loop.getResult(operand), axis);
    }
    // Elementwise: one element makes one.
    return user->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(user) &&
           user->getNumResults() == 1 && beyond(user->getResult(0), axis);
  }

  bool isDefinedOutside(scf::ForOp loop) const {
    return llvm::all_of(start.summands(), [&](const ScalarSum::Term &term) {
      return loop.isDefinedOutsideOfLoop(term.value);
    });
  }

  const ScalarSum start;
  const unsigned bits;
  const ScalarSum extent;
  llvm::DenseSet<std::pair<Value, unsigned>> seen;
};

/// Steps along dimensions that a block has extent one along.
using OuterDimensions = SmallVector<std::pair<Stride, ScalarSum>, 3>;

/// What an array is, and where in it a block begins.
struct ArrayDimensions {
  ArrayDimensions(OpBuilder &builder, Location place) : builder(builder), place(place) {}

  void add(const ScalarSum &start, const ScalarSum &extent, const Stride &by) {
    offsets.push_back(start.materialize(builder, place));
    shape.push_back(extent.materialize(builder, place));
    ScalarSum stride(by.value ? 0 : by.factor);
    if (by.value)
      stride = ScalarSum::of(by.value).times(by.factor);
    strides.push_back(stride.materialize(builder, place));
  }

  void add(const OuterDimensions &outer) {
    for (const auto &[stride, steps] : outer)
      add(steps, ScalarSum(kEndlessAxis), stride);
  }

  Value blockOf(Value base) {
    return BlockAtOp::create(builder, place, BlockType::get(builder.getContext()), base, offsets,
                             shape, strides);
  }

  OpBuilder &builder;
  const Location place;
  SmallVector<Value, kMostMapDimensions> offsets, shape, strides;
};

class Describer {
public:
  explicit Describer(func::FuncOp function) : analysis(function) {}

  void describe(LoadOp load) {
    if (Value block = load.getBlock())
      return deepen(block.getDefiningOp<BlockAtOp>());
    auto loop = load->getParentOfType<scf::ForOp>();
    if (load.getIsVolatile() || !loop || !isZeroOrNothing(load.getOther()))
      return;
    if (Value block = blockOf(load, load.getResult(), loop)) {
      load.getOtherMutable().clear();
      load.getBlockMutable().assign(block);
    }
  }

  void describe(StoreOp store) {
    if (Value block = store.getBlock())
      return deepen(block.getDefiningOp<BlockAtOp>());
    if (Value block = blockOf(store, /*loaded=*/Value(), store->getParentOfType<scf::ForOp>()))
      store.getBlockMutable().assign(block);
  }

private:
  /// The block that an access, in a loop or null, reads or writes; null where none is known.
  template <class Access>
  Value blockOf(Access access, Value loaded, scf::ForOp loop) {
    Type tile = pointeeOf(access.getPtr().getType());
    auto type = dyn_cast<RankedTensorType>(tile);
    if (!type || type.getRank() != 2)
      return {};
    std::optional<TileSum> sum = pointersIn(access.getPtr(), loop);
    if (!sum || sum->axes.size() != 2 || !isa_and_nonnull<BlockArgument>(sum->base))
      return {};
    // Batches and heads were added to numbers along an axis: they are dimensions of their own, or,
    // where that is no block, they are not.
    TileSum apart = *sum;
    if (moveProducts(apart))
      if (Value block = blockOf(access, loaded, std::move(apart), type))
        return block;
    return blockOf(access, loaded, std::move(*sum), type);
  }

  template <class Access>
  Value blockOf(Access access, Value loaded, TileSum sum, RankedTensorType type) {
    auto outer = outerDimensions(sum, type.getElementTypeBitWidth() / 8, sum.axes.size());
    if (!outer)
      return {};
    llvm::sort(sum.axes,
               [](const AlongAxis &one, const AlongAxis &other) { return one.axis < other.axis; });
    SmallVector<ScalarSum, 2> extents(2, ScalarSum(kEndlessAxis));
    if (!boundsOf(access.getMask(), loaded, sum, type, extents) || !areSuitable(sum, type))
      return {};
    // Where nothing ends an axis, all of the block must lie before the end that it gets. Numbers
    // that were added in 32 bits do, or had wrapped.
    for (auto [along, extent] : llvm::zip(sum.axes, extents))
      if (extent == ScalarSum(kEndlessAxis) && along.bits != 32 &&
          highestOf(along.start) > kEndlessAxis - type.getDimSize(along.axis))
        return {};
    OpBuilder builder(access);
    ArrayDimensions array(builder, access.getLoc());
    array.add(*outer);
    for (auto [along, extent] : llvm::zip(sum.axes, extents))
      array.add(along.start, extent, along.stride);
    return array.blockOf(sum.base);
  }

  /// A block of an array that begins at an offset of an argument is one of the argument's array,
  /// which has more dimensions.
  void deepen(BlockAtOp block) {
    if (!block.getBase().getDefiningOp<PtrAddOp>())
      return;
    const TileSum base = scalarPointer(block.getBase());
    const int64_t bits = block.getBase().getType().getPointee().getIntOrFloatBitWidth();
    auto outer = outerDimensions(base, bits / 8, block.getOffsets().size());
    if (!isa<BlockArgument>(base.base) || !outer)
      return;
    OpBuilder builder(block);
    ArrayDimensions array(builder, block.getLoc());
    array.add(*outer);
    llvm::append_range(array.offsets, block.getOffsets());
    llvm::append_range(array.shape, block.getShape());
    llvm::append_range(array.strides, block.getStrides());
    block.getResult().replaceAllUsesWith(array.blockOf(base.base));
    block.erase();
  }

  /// Makes what numbers along axes begin at, and is a multiple of an argument, a step of a stride
  /// of its own; false where there is nothing of that kind.
  static bool moveProducts(TileSum &sum) {
    bool hasMoved = false;
    for (AlongAxis &along : sum.axes) {
      if (along.stride.value || along.modulus)
        continue;
      for (const ScalarSum::Term &term : SmallVector<ScalarSum::Term>(along.start.summands())) {
        auto [by, steps] = stepsOf(term.value);
        if (!by.value || llvm::MulOverflow(by.factor, term.factor, by.factor) ||
            llvm::MulOverflow(by.factor, along.stride.factor, by.factor))
          continue;
        sum.rest.push_back({by, steps});
        along.start -= ScalarSum::of(term.value).times(term.factor);
        hasMoved = true;
      }
      if (hasMoved && along.start.isZero())
        along.start = ScalarSum(), along.bits = 0;
    }
    return hasMoved;
  }

  /// What addresses have beyond their axes, of which there are so many, as steps along dimensions
  /// of their own, which end nowhere: batches, heads, pages. Nullopt where the engine would not
  /// take them.
  std::optional<OuterDimensions> outerDimensions(const TileSum &sum, int64_t bytes,
                                                 size_t axes) const {
    OuterDimensions found;
    auto add = [&](Stride stride, const ScalarSum &steps) {
      auto *same = llvm::find_if(found, [&](const auto &each) { return each.first == stride; });
      if (same == found.end())
        found.push_back({stride, steps});
      else
        same->second += steps;
    };
    for (const auto &[stride, number] : sum.rest) {
      if (stride.value) {
        add(stride, number);
        continue;
      }
      // A constant is one step of as many elements.
      int64_t factor;
      if (llvm::MulOverflow(stride.factor, number.constant(), factor))
        return std::nullopt;
      if (factor)
        add(Stride{{}, factor}, ScalarSum(1));
      for (const ScalarSum::Term &term : number.summands()) {
        auto [by, steps] = stepsOf(term.value);
        if (llvm::MulOverflow(stride.factor, term.factor, factor) ||
            llvm::MulOverflow(by.factor, factor, by.factor))
          return std::nullopt;
        add(by, steps);
      }
    }
    if (bytes == 0 || found.size() + axes > kMostMapDimensions ||
        !llvm::all_of(found, [&](const auto &each) {
          const auto &[stride, steps] = each;
          return isSuitable(stride, bytes) && isNonNegative(steps) &&
                 highestOf(steps) < kEndlessAxis;
        }))
      return std::nullopt;
    return found;
  }

  static bool isZeroOrNothing(Value other) {
    return !other || matchPattern(other, m_PosZeroFloat()) || matchPattern(other, m_Zero());
  }

  /// The pointers of a round, those that the loop carries included.
  std::optional<TileSum> pointersIn(Value pointers, scf::ForOp loop) {
    auto carried = dyn_cast<BlockArgument>(pointers);
    if (!carried || !loop || carried.getOwner() != loop.getBody() ||
        carried == loop.getInductionVar())
      return tileSum(pointers);
    const unsigned number = carried.getArgNumber() - loop.getNumInductionVars();
    std::optional<TileSum> sum = tileSum(loop.getInitArgs()[number]);
    ScalarSum advance; // in 64 bits, as addresses are
    Value next = loop.getYieldedValues()[number];
    while (next != carried) {
      auto add = next.getDefiningOp<PtrAddOp>();
      std::optional<ScalarSum> by = add ? uniform(add.getOffset()) : std::nullopt;
      if (!by)
        return std::nullopt;
      advance += *by;
      next = add.getPtr();
    }
    if (!sum || advance.isZero())
      return sum;
    for (AlongAxis &along : sum->axes)
      if (auto steps = stepsAlong(along, advance); steps && !along.modulus) {
        std::optional<ScalarSum> moved = roundsTimes(loop, *steps);
        if (!moved)
          return std::nullopt;
        along.start.add(*moved, 64);
        along.bits = 64;
        return sum;
      }
    return std::nullopt;
  }

  /// How many elements along the axis so many elements of memory are.
  static std::optional<int64_t> stepsAlong(const AlongAxis &along, const ScalarSum &advance) {
    auto single = advance.single();
    if (!single || single->first != along.stride.value || along.stride.factor <= 0 ||
        single->second % along.stride.factor)
      return std::nullopt;
    return single->second / along.stride.factor;
  }

  /// The number of the loop's round, times a number, as a sum of scalars.
  static std::optional<ScalarSum> roundsTimes(scf::ForOp loop, int64_t number) {
    APInt step;
    if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) || number % step.getSExtValue() ||
        loop.getUnsignedCmp())
      return std::nullopt;
    ScalarSum rounds = ScalarSum::of(loop.getInductionVar());
    rounds -= ScalarSum::of(loop.getLowerBound());
    return rounds.times(number / step.getSExtValue());
  }

  /// Where the array ends along each axis, by the access's mask, and by what becomes of what is
  /// loaded (null: stored).
  bool boundsOf(Value mask, Value loaded, const TileSum &sum, RankedTensorType type,
                SmallVectorImpl<ScalarSum> &extents) const {
    SmallVector<bool, 2> isBounded(2, false);
    if (mask) {
      auto comparisons = comparisonsOf(mask);
      if (!comparisons)
        return false;
      for (const Comparison &each : *comparisons) {
        const AlongAxis &along = sum.axes[each.axis];
        if (isBounded[each.axis] || along.modulus ||
            !comparesPlaces(each, along, type.getDimSize(each.axis)))
          return false;
        extents[each.axis] = each.bound;
        extents[each.axis] -= each.start;
        extents[each.axis] += along.start;
        isBounded[each.axis] = true;
      }
    }
    for (const AlongAxis &along : sum.axes)
      if (along.modulus) {
        if (!loaded || !Discarded(along).beyond(loaded, along.axis))
          return false;
        extents[along.axis] = ScalarSum::of(along.modulus);
      }
    return llvm::all_of(extents, [](const ScalarSum &extent) {
      return llvm::all_of(extent.summands(), [](const ScalarSum::Term &term) {
        auto argument = dyn_cast<BlockArgument>(term.value);
        return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
      });
    });
  }

  /// Whether a comparison holds where numbers along the axis lie before an extent of an array, as
  /// whole numbers: integers of the comparison may wrap, and the mask is what it is then.
  bool comparesPlaces(const Comparison &compared, const AlongAxis &along, int64_t count) const {
    // start + i < extent, with the numbers of the address. If those wrap that are compared, those
    // of the address must have wrapped, too, which no element that is accessed has.
    if (compared.start == along.start)
      return compared.bits != 32 || along.bits == 32 ||
             highestOf(along.start) <= kEndlessAxis - count;
    // i < extent - start, which is right if the difference does not wrap. The extent is not
    // negative at a launch, nor is the start.
    if (!compared.start.isZero())
      return false;
    if (along.start.bits() == 32)
      return compared.bound.bits() == 32;
    return compared.bound.isOf(64) || highestOf(along.start) <= kEndlessAxis;
  }

  /// A number that the sum is not greater than.
  int64_t highestOf(const ScalarSum &sum) const {
    __int128 low = sum.constant(), high = sum.constant();
    int64_t divisor = sum.constant() ? layout::lowestBit(sum.constant()) : kMaxDivisibility;
    for (const ScalarSum::Term &term : sum.summands()) {
      const IndexFacts &facts = analysis.of(term.value);
      const __int128 ends[] = {__int128(facts.low) * term.factor,
                               __int128(facts.high) * term.factor};
      low += std::min(ends[0], ends[1]);
      high += std::max(ends[0], ends[1]);
      // What divides a number by assumption need not divide it where nothing is accessed.
      const bool isKnown = !facts.isOffset && !facts.isAssumed;
      const __int128 multiple = __int128(layout::lowestBit(term.factor)) *
                                (isKnown ? layout::lowestBit(facts.commonDivisor()) : 1);
      divisor = int64_t(std::min<__int128>(divisor, multiple));
    }
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    const int64_t most = sum.bits() == 32 ? std::numeric_limits<int32_t>::max() : kMost;
    if (high > most || low < -__int128(most) - 1)
      high = most;
    // Multiples of a power of two are such when they have wrapped, too.
    return int64_t(high) & -divisor;
  }

  bool isNonNegative(const ScalarSum &sum) const {
    return sum.constant() >= 0 && llvm::all_of(sum.summands(), [&](const ScalarSum::Term &term) {
             const IndexFacts &facts = analysis.of(term.value);
             return term.factor > 0 && (facts.low >= 0 || facts.isNonNegative);
           });
  }

  /// Rows of neighbours, at strides that the engine is likely to take: a launch whose strides it
  /// does not take would need other code.
  bool areSuitable(const TileSum &sum, RankedTensorType type) const {
    const int64_t bytes = type.getElementTypeBitWidth() / 8;
    const bool hasRows =
        llvm::any_of(sum.axes, [](const AlongAxis &along) { return along.stride.isOne(); });
    return bytes > 0 && hasRows && llvm::all_of(sum.axes, [&](const AlongAxis &along) {
             return isNonNegative(along.start) &&
                    (along.stride.isOne() || isSuitable(along.stride, bytes));
           });
  }

  bool isSuitable(const Stride &stride, int64_t bytes) const {
    int64_t divisor = stride.factor;
    if (stride.value)
      divisor *= analysis.of(stride.value).commonDivisor();
    return stride.factor > 0 && divisor * bytes % kAlignment == 0;
  }

  IndexAnalysis analysis;
};

struct DescribeBlocks : PassWrapper<DescribeBlocks, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DescribeBlocks)

  StringRef getArgument() const override { return "describe-blocks"; }
  StringRef getDescription() const override {
    return "loads and stores through pointers say which blocks of arrays they access, where they "
           "do";
  }

  void runOnOperation() override {
    SmallVector<LoadOp> loads;
    getOperation().walk([&](DotOp dot) {
      for (Value operand : {dot.getLhs(), dot.getRhs()}) {
        while (auto turn = operand.getDefiningOp<TransposeOp>())
          operand = turn.getSrc();
        auto load = operand.getDefiningOp<LoadOp>();
        if (load && load->getParentOfType<LoopLikeOpInterface>() &&
            !llvm::is_contained(loads, load))
          loads.push_back(load);
      }
    });
    if (loads.empty())
      return;
    Describer describer(getOperation());
    for (LoadOp load : loads)
      describer.describe(load);
    getOperation().walk([&](StoreOp store) { describer.describe(store); });
  }
};

} // namespace

std::unique_ptr<Pass> createDescribeBlocks() {
  return std::make_unique<DescribeBlocks>();
}

} // namespace sectile::optimizer
