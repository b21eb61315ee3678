#include "optimizer/gpu/NestSlice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace sectile::optimizer {

using Values = SmallVector<Value>;

SmallVector<Value> NestPosition::ofInner() const {
  Values values{innerIndex, outerIndex};
  llvm::append_range(values, outside);
  llvm::append_range(values, innerCarried);
  return values;
}

void NestPosition::setOfInner(ValueRange values) {
  innerIndex = values[0], outerIndex = values[1];
  values = values.drop_front(2);
  outside.assign(values.begin(), values.begin() + outside.size());
  innerCarried.assign(values.begin() + outside.size(), values.end());
}

SmallVector<Value> NestPosition::all() const {
  Values values = ofInner();
  llvm::append_range(values, outerCarried);
  return values;
}

void NestPosition::setAll(ValueRange values) {
  const size_t ofInnerCount = 2 + outside.size() + innerCarried.size();
  setOfInner(values.take_front(ofInnerCount));
  values = values.drop_front(ofInnerCount);
  outerCarried.assign(values.begin(), values.end());
}

NestSlice::NestSlice(scf::ForOp outer, scf::ForOp inner, LoopSlice &slice)
    : outer(outer), inner(inner), innerSlice(slice),
      outerSlice(outer, LoopSlice::Runs::WhereItsIterationDoes), reason(find()) {}

Value NestSlice::Outside::of(OpBuilder &builder, Value made) const {
  if (narrow == value)
    return made;
  IRMapping values;
  values.map(narrow, made);
  return builder.clone(*value.getDefiningOp(), values)->getResult(0);
}

std::string NestSlice::find() {
  if (inner->getBlock() != outer.getBody())
    return "it is in a branch of the loop around it";
  for (Value bound : {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
    if (!outer.isDefinedOutsideOfLoop(bound))
      return "how many rounds it makes changes from round to round of the loop around it";
  Values wanted = innerSlice.initial();
  for (Value value : innerSlice.outside())
    if (!outer.isDefinedOutsideOfLoop(value)) {
      Operation *maker = value.getDefiningOp();
      const bool isWidened = isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(maker);
      outside.push_back({value, isWidened ? maker->getOperand(0) : value});
      wanted.push_back(outside.back().narrow);
    }
  if (!outerSlice.add(wanted))
    return "its addresses depend on more than arithmetic in the loop around it";
  llvm::append_range(wanted, outerSlice.initial());
  if (!llvm::all_of(wanted, [](Value value) { return value.getType().isIntOrIndex(); }))
    return "its addresses depend on more than whole numbers";
  return {};
}

/// Emits a branch: what `then` yields where `condition` is true, else what `otherwise` does.
template <class Then, class Otherwise>
static Values branch(OpBuilder &builder, Location place, Value condition, TypeRange types,
                     Then then, Otherwise otherwise) {
  if (types.empty())
    return {};
  auto made = scf::IfOp::create(builder, place, types, condition, /*withElseRegion=*/true);
  OpBuilder here = made.getThenBodyBuilder();
  Values values = then(here);
  scf::YieldOp::create(here, place, values);
  OpBuilder there = made.getElseBodyBuilder();
  values = otherwise(there);
  scf::YieldOp::create(there, place, values);
  return Values(made.getResults());
}

NestPosition NestSlice::enter(OpBuilder &builder, Value index, ValueRange carried, Value exists) {
  Location place = inner.getLoc();
  Values wanted;
  for (const Outside &each : outside)
    wanted.push_back(each.narrow);
  llvm::append_range(wanted, innerSlice.initial());
  Values made = branch(
      builder, place, exists, ValueRange(wanted).getTypes(),
      [&](OpBuilder &there) {
        IRMapping values = outerSlice.clone(there, index, carried);
        return llvm::map_to_vector(wanted,
                                   [&](Value value) { return values.lookupOrDefault(value); });
      },
      [&](OpBuilder &there) {
        return llvm::map_to_vector(wanted, [&](Value value) -> Value {
          return arith::ConstantOp::create(there, place, there.getZeroAttr(value.getType()));
        });
      });
  index = arith::SelectOp::create(builder, place, exists, index, outer.getUpperBound());
  NestPosition position{inner.getLowerBound(), index, Values(carried), {}, {}};
  position.outside.assign(made.begin(), made.begin() + outside.size());
  position.innerCarried.assign(made.begin() + outside.size(), made.end());
  return position;
}

NestPosition NestSlice::first(OpBuilder &builder) {
  Value exists = arith::AndIOp::create(builder, inner.getLoc(),
                                       LoopExtent(builder, outer, 1).hasFirst(builder),
                                       LoopExtent(builder, inner, 1).hasFirst(builder));
  return enter(builder, outer.getLowerBound(), outerSlice.initial(), exists);
}

NestPosition NestSlice::here(OpBuilder &builder) {
  return enter(builder, outer.getInductionVar(), outerSlice.carried(),
               LoopExtent(builder, inner, 1).hasFirst(builder));
}

NestPosition NestSlice::onlyIf(OpBuilder &builder, Value condition, NestPosition position) {
  position.outerIndex = arith::SelectOp::create(builder, inner.getLoc(), condition,
                                                position.outerIndex, outer.getUpperBound());
  return position;
}

Value NestSlice::exists(OpBuilder &builder, const NestPosition &position) {
  auto before = outer.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  return arith::CmpIOp::create(builder, inner.getLoc(), before, position.outerIndex,
                               outer.getUpperBound());
}

IRMapping NestSlice::clone(OpBuilder &builder, const NestPosition &position) {
  IRMapping values;
  for (auto [from, to] : llvm::zip(outside, position.outside))
    values.map(from.value, from.of(builder, to));
  return innerSlice.clone(builder, position.innerIndex, position.innerCarried, values);
}

NestPosition NestSlice::nextInner(OpBuilder &builder, const NestPosition &position,
                                  const IRMapping &there) {
  NestPosition next = position;
  next.innerIndex =
      arith::AddIOp::create(builder, inner.getLoc(), position.innerIndex, inner.getStep());
  next.innerCarried = innerSlice.next(there);
  return next;
}

NestPosition NestSlice::behind(OpBuilder &builder, const NestPosition &position) {
  Location place = inner.getLoc();
  Value goesOn =
      arith::AndIOp::create(builder, place, exists(builder, position),
                            LoopExtent(builder, outer, 1).hasNext(builder, position.outerIndex));
  Values carried = branch(
      builder, place, goesOn, ValueRange(position.outerCarried).getTypes(),
      [&](OpBuilder &there) {
        return outerSlice.next(outerSlice.clone(there, position.outerIndex, position.outerCarried));
      },
      [&](OpBuilder &) { return position.outerCarried; });
  Value index = arith::AddIOp::create(builder, place, position.outerIndex, outer.getStep());
  return enter(builder, index, carried, goesOn);
}

NestPosition NestSlice::next(OpBuilder &builder, const NestPosition &position,
                             const IRMapping &there) {
  Value goesOn = LoopExtent(builder, inner, 1).hasNext(builder, position.innerIndex);
  NestPosition result = position;
  result.setAll(branch(
      builder, inner.getLoc(), goesOn, ValueRange(position.all()).getTypes(),
      [&](OpBuilder &same) { return nextInner(same, position, there).all(); },
      [&](OpBuilder &later) { return behind(later, position).all(); }));
  return result;
}

NestPosition NestSlice::advance(OpBuilder &builder, const NestPosition &position,
                                const IRMapping &there, const NestPosition &crossing) {
  Value goesOn = LoopExtent(builder, inner, 1).hasNext(builder, position.innerIndex);
  NestPosition result = nextInner(builder, position, there);
  Values chosen;
  for (auto [same, other] : llvm::zip(result.ofInner(), crossing.ofInner()))
    chosen.push_back(arith::SelectOp::create(builder, inner.getLoc(), goesOn, same, other));
  result.setOfInner(chosen);
  return result;
}

NestPosition NestSlice::skipRound(OpBuilder &builder, const NestPosition &position,
                                  const NestPosition &crossing) {
  NestPosition result = crossing;
  result.innerIndex = position.innerIndex;
  if (crossing.innerCarried.empty())
    return result;
  auto rounds = scf::ForOp::create(builder, inner.getLoc(), inner.getLowerBound(),
                                   position.innerIndex, inner.getStep(), crossing.innerCarried,
                                   /*bodyBuilder=*/nullptr, inner.getUnsignedCmp());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(rounds.getBody());
  NestPosition here = crossing;
  here.innerIndex = rounds.getInductionVar();
  here.innerCarried.assign(rounds.getRegionIterArgs().begin(), rounds.getRegionIterArgs().end());
  scf::YieldOp::create(builder, inner.getLoc(), innerSlice.next(clone(builder, here)));
  result.innerCarried.assign(rounds.getResults().begin(), rounds.getResults().end());
  return result;
}

void NestSlice::reuse(OpBuilder &builder, const NestPosition &position) {
  Location place = outer.getLoc(); // the inner loop has been rewritten
  Value isThere = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq,
                                        position.outerIndex, outer.getInductionVar());
  Values made = branch(
      builder, place, isThere, ValueRange(position.outside).getTypes(),
      [&](OpBuilder &) { return position.outside; },
      [&](OpBuilder &there) {
        IRMapping values = outerSlice.clone(there, outer.getInductionVar(), outerSlice.carried());
        return llvm::map_to_vector(
            outside, [&](const Outside &each) { return values.lookupOrDefault(each.narrow); });
      });
  for (auto [each, known] : llvm::zip(outside, made)) {
    Operation *narrowed = each.narrow.getDefiningOp();
    if (each.narrow != each.value) {
      Value wide = each.of(builder, known);
      each.value.replaceUsesWithIf(wide,
                                   [&](OpOperand &use) { return !outerSlice.has(use.getOwner()); });
    }
    if (narrowed && narrowed->getBlock() == outer.getBody())
      each.narrow.replaceUsesWithIf(
          known, [&, widened = each.value.getDefiningOp()](OpOperand &use) {
            return !outerSlice.has(use.getOwner()) && use.getOwner() != widened;
          });
  }
  outerSlice.eraseUnused();
}

} // namespace sectile::optimizer
