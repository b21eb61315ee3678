#include "optimizer/gpu/CarryPartials.h"

#include "lang/layout/Builders.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::optimizer {
namespace {

/// Registers of a thread that parts of sums may take where sums took fewer.
constexpr int64_t kMostCarried = 32;

/// An axis of a tile cut into axes of which each is held by registers alone, or by threads alone.
struct CutAxis {
  struct Part {
    int64_t extent;
    bool ofThreads;
  };
  llvm::SmallVector<Part, 4> parts; // the slowest first
};

/// The sum, or extremum, that a loop carries, and how each round goes on with it.
struct CarriedSum {
  unsigned number;     // among what the loop carries
  TypedAttr first;     // what it begins with
  Value factor;        // of what is carried; null: 1
  ReduceOp reduce;     // what is added
  Operation *addition; // what is yielded
};

/// The number that all elements of a constant have, if one.
TypedAttr constantOf(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return {};
  if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
    return elements.isSplat() ? elements.getSplatValue<TypedAttr>() : TypedAttr();
  return constant.getValue();
}

bool isZero(Value value) {
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

bool isAddition(Operation *op) {
  return isa<arith::AddFOp, arith::AddIOp>(op);
}
/// Whether it may take a number in twice.
bool isExtremum(Operation *op) {
  return isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(op);
}

/// Whether the operation reduces one tile by nothing but operations such as `like`.
bool reducesLike(ReduceOp reduce, Operation *like) {
  if (reduce.getSrcs().size() != 1)
    return false;
  Block &combiner = reduce.getCombiner().front();
  Operation *first = &combiner.front();
  return first->getName() == like->getName() && first->getNextNode() == combiner.getTerminator() &&
         combiner.getTerminator()->getOperand(0) == first->getResult(0);
}

class Carrier {
public:
  Carrier(scf::ForOp loop, const GpuShape &shape) : loop(loop), shape(shape), builder(loop) {}

  void run() {
    for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
      if (auto sum = find(number))
        carry(*sum);
  }

private:
  std::optional<CarriedSum> find(unsigned number) {
    BlockArgument carried = loop.getRegionIterArg(number);
    Value yielded = loop.getYieldedValues()[number];
    Operation *addition = yielded.getDefiningOp();
    TypedAttr first = constantOf(loop.getInitArgs()[number]);
    if (!addition || addition->getBlock() != loop.getBody() || !yielded.hasOneUse() ||
        !carried.hasOneUse() || !first ||
        !(isAddition(addition) ? isZero(loop.getInitArgs()[number]) : isExtremum(addition)))
      return std::nullopt;
    if (isa<FloatType>(elementTypeOf(yielded.getType())) && (shape.fixedOrders || shape.exactSums))
      return std::nullopt;
    for (unsigned side : {0u, 1u}) {
      Value added = addition->getOperand(side);
      if (auto convert = added.getDefiningOp<ConvertLayoutOp>(); convert && added.hasOneUse())
        added = convert.getSrc();
      auto reduce = added.getDefiningOp<ReduceOp>();
      if (!reduce || reduce->getBlock() != loop.getBody() || !reducesLike(reduce, addition) ||
          !added.hasOneUse())
        continue;
      CarriedSum sum{number, first, {}, reduce, addition};
      Value old = addition->getOperand(1 - side);
      if (old == carried)
        return sum;
      auto product = isa<arith::AddFOp>(addition) ? old.getDefiningOp<arith::MulFOp>() : nullptr;
      if (!product || product->getBlock() != loop.getBody() || !old.hasOneUse())
        continue;
      if (product.getLhs() == carried)
        sum.factor = product.getRhs();
      else if (product.getRhs() == carried)
        sum.factor = product.getLhs();
      else
        continue;
      return sum;
    }
    return std::nullopt;
  }

  /// nullopt where threads hold none of the axis, or its extent is no power of two.
  static std::optional<CutAxis> cut(const layout::TileLayout &tile, int axis) {
    const int64_t extent = tile.shape()[axis];
    if (!llvm::isPowerOf2_64(extent) || tile.paddedExtent(axis) != extent ||
        tile.repetitions()[axis] != 1)
      return std::nullopt;
    const auto ofThreads = uint32_t(tile.threadBits(axis));
    if (!ofThreads)
      return std::nullopt;
    CutAxis made;
    for (unsigned bit = llvm::Log2_64(extent); bit-- > 0;) {
      const bool isOfThreads = ofThreads >> bit & 1;
      if (!made.parts.empty() && made.parts.back().ofThreads == isOfThreads)
        made.parts.back().extent *= 2;
      else
        made.parts.push_back({2, isOfThreads});
    }
    return made;
  }

  RankedTensorType typeOf(Type like, const layout::TileLayout &layout) {
    return RankedTensorType::get(layout.shape(), elementTypeOf(like),
                                 LayoutAttr::get(loop.getContext(), layout));
  }

  /// The layout that is left when the axes of the parts that are (not) of threads are summed up.
  static layout::TileLayout without(layout::TileLayout layout, const CutAxis &cut, int axis,
                                    bool ofThreads) {
    int place = axis + int(cut.parts.size());
    for (const CutAxis::Part &part : llvm::reverse(cut.parts)) {
      --place;
      if (part.ofThreads == ofThreads)
        layout = layout::sliceOf(layout, place);
    }
    return layout;
  }

  Value sumOver(Value tile, int axis, ReduceOp like) {
    const layout::TileLayout &layout = *layoutOf(tile.getType());
    Type result = layout.rank() == 1 ? elementTypeOf(tile.getType())
                                     : Type(typeOf(tile.getType(), layout::sliceOf(layout, axis)));
    auto reduce = ReduceOp::create(builder, like.getLoc(), TypeRange{result}, ValueRange{tile},
                                   builder.getI32IntegerAttr(axis));
    IRMapping mapping;
    like.getCombiner().cloneInto(&reduce.getCombiner(), mapping);
    return reduce.getResult(0);
  }

  /// The types of a factor as it gets the axes of threads, one after another; nullopt where threads
  /// do not hold it as they hold the parts of sums. None for a number of the whole program.
  std::optional<llvm::SmallVector<RankedTensorType, 2>>
  typesOfFactor(Value factor, const layout::TileLayout &parts, const CutAxis &left, int axis) {
    llvm::SmallVector<RankedTensorType, 2> types;
    if (!factor || !isa<RankedTensorType>(factor.getType()))
      return types;
    layout::TileLayout layout = *layoutOf(factor.getType());
    for (size_t part = 0; part < left.parts.size(); ++part) {
      layout = layout::expandDims(layout, axis + int(part));
      types.push_back(typeOf(factor.getType(), layout));
    }
    if (layout::broadcastOperand(parts, types.back().getShape()) != layout)
      return std::nullopt;
    return types;
  }

  Value factorFor(Value factor, RankedTensorType parts, ArrayRef<RankedTensorType> types,
                  int axis) {
    if (types.empty())
      return SplatOp::create(builder, factor.getLoc(), parts, factor);
    for (auto [part, type] : llvm::enumerate(types))
      factor = ExpandDimsOp::create(builder, factor.getLoc(), type, factor,
                                    builder.getI32IntegerAttr(axis + int32_t(part)));
    return BroadcastOp::create(builder, factor.getLoc(), parts, factor);
  }

  void carry(const CarriedSum &sum) {
    ReduceOp reduce = sum.reduce;
    Value tile = reduce.getSrcs().front();
    const layout::TileLayout &whole = *layoutOf(tile.getType());
    const int axis = int(reduce.getAxis());
    auto cutAxis = cut(whole, axis);
    if (!cutAxis)
      return;
    layout::Extents extents(whole.shape().take_front(axis));
    for (const CutAxis::Part &part : cutAxis->parts)
      extents.push_back(part.extent);
    llvm::append_range(extents, whole.shape().drop_front(axis + 1));
    auto reshaped = layout::reshape(whole, extents);
    if (!reshaped)
      return;
    const layout::TileLayout held = without(*reshaped, *cutAxis, axis, /*ofThreads=*/false);
    const Type old = sum.addition->getResult(0).getType();
    CutAxis left;
    llvm::copy_if(cutAxis->parts, std::back_inserter(left.parts),
                  [](const CutAxis::Part &part) { return part.ofThreads; });
    const layout::TileLayout *own = layoutOf(old); // null: the sum is a number
    // Where a sum has to move between threads, a factor would, too.
    const bool moves = own && without(held, left, axis, true) != *own;
    const int64_t before = own ? own->registersPerThread() : 1;
    auto factorTypes = typesOfFactor(sum.factor, held, left, axis);
    if ((moves && sum.factor) || !factorTypes ||
        held.registersPerThread() > std::max(before, kMostCarried))
      return;
    const RankedTensorType parts = typeOf(old, held);

    builder.setInsertionPoint(reduce);
    Value added =
        ReshapeOp::create(builder, reduce.getLoc(), typeOf(tile.getType(), *reshaped), tile);
    int place = axis + int(cutAxis->parts.size());
    for (const CutAxis::Part &part : llvm::reverse(cutAxis->parts)) {
      --place;
      if (!part.ofThreads)
        added = sumOver(added, place, reduce);
    }

    builder.setInsertionPoint(loop);
    loop.getInitArgsMutable()[sum.number].assign(arith::ConstantOp::create(
        builder, loop.getLoc(), DenseElementsAttr::get(parts, Attribute(sum.first))));
    builder.setInsertionPoint(sum.addition);
    BlockArgument carried = loop.getRegionIterArg(sum.number);
    Value scaled = carried;
    Operation *product = *carried.user_begin();
    carried.setType(parts);
    if (sum.factor) {
      Value factor = factorFor(sum.factor, parts, *factorTypes, axis);
      auto again = arith::MulFOp::create(builder, product->getLoc(), scaled, factor);
      again->setAttrs(product->getAttrs());
      scaled = again;
    }
    Operation *total = builder.clone(*sum.addition);
    total->setOperands({scaled, added});
    total->getResult(0).setType(parts);
    loop.getBody()->getTerminator()->setOperand(sum.number, total->getResult(0));
    sum.addition->erase();
    if (sum.factor)
      product->erase();

    Value result = loop.getResult(sum.number);
    result.setType(parts);
    builder.setInsertionPointAfter(loop);
    Value combined = result;
    place = axis + int(left.parts.size());
    Operation *firstUser = nullptr;
    for (size_t part = left.parts.size(); part-- > 0;) {
      combined = sumOver(combined, --place, reduce);
      if (!firstUser)
        firstUser = combined.getDefiningOp();
    }
    if (moves)
      combined = ConvertLayoutOp::create(builder, loop.getLoc(), old, combined);
    result.replaceAllUsesExcept(combined, firstUser);
    if (!reduce->use_empty())
      reduce->user_begin()->erase(); // the conversion
    reduce.erase();
  }

  scf::ForOp loop;
  const GpuShape &shape;
  OpBuilder builder;
};

struct CarryPartials : GpuPass<CarryPartials> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CarryPartials)
  using GpuPass::GpuPass;

  StringRef getArgument() const override { return "carry-partials"; }
  StringRef getDescription() const override {
    return "combine sums and extrema that loops carry among threads behind the loop: fixed=false, "
           "exact=false";
  }
  void runOnOperation() override {
    getOperation().walk([&](scf::ForOp loop) { carryPartials(loop, shape()); });
  }
};

} // namespace

void carryPartials(scf::ForOp loop, const GpuShape &shape) {
  Carrier(loop, shape).run();
}

std::unique_ptr<Pass> createCarryPartials(const GpuPipelineOptions &options,
                                          GpuAssumptions *assumed) {
  return std::make_unique<CarryPartials>(options, assumed);
}

} // namespace sectile::optimizer
