#include "backends/gpu/PickedSide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace sectile::gpu {
namespace {

/// How an operand's number on the left relates to the one on the right.
enum class Relation : uint8_t { Less, Equal, Greater, LeftIsNan, RightIsNan, BothAreNan };

Relation mirrored(Relation relation) {
  using enum Relation;
  switch (relation) {
  case Less:
    return Greater;
  case Greater:
    return Less;
  case LeftIsNan:
    return RightIsNan;
  case RightIsNan:
    return LeftIsNan;
  default:
    return relation;
  }
}

enum class Side : uint8_t { Left, Right };

/// What the region does where its operands relate as given. Nothing is known of what is made by
/// other operations than comparisons, logic and choices.
class Picker {
public:
  Picker(Block &region, ArrayRef<Relation> relations) : region(region), relations(relations) {}

  std::optional<Side> pick() const {
    std::optional<Side> picked;
    for (auto [operand, result] : llvm::enumerate(region.getTerminator()->getOperands())) {
      auto choice = result.getDefiningOp<arith::SelectOp>();
      std::optional<bool> condition = choice ? truthOf(choice.getCondition()) : std::nullopt;
      if (!condition)
        return std::nullopt;
      auto kept = sideOf(*condition ? choice.getTrueValue() : choice.getFalseValue());
      if (!kept || kept->operand != operand || (picked && *picked != kept->side))
        return std::nullopt;
      picked = kept->side;
    }
    return picked;
  }

private:
  struct Place {
    unsigned operand;
    Side side;
  };
  std::optional<Place> sideOf(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &region)
      return std::nullopt;
    const unsigned count = relations.size(), number = argument.getArgNumber();
    return Place{number % count, number < count ? Side::Left : Side::Right};
  }

  /// How x relates to y, which are numbers of one operand.
  std::optional<Relation> relate(Value x, Value y) const {
    auto left = sideOf(x), right = sideOf(y);
    if (!left || !right || left->operand != right->operand)
      return std::nullopt;
    const Relation both = relations[left->operand];
    if (left->side != right->side)
      return left->side == Side::Left ? both : mirrored(both);
    const bool isNan =
        both == Relation::BothAreNan ||
        both == (left->side == Side::Left ? Relation::LeftIsNan : Relation::RightIsNan);
    return isNan ? Relation::BothAreNan : Relation::Equal;
  }

  std::optional<bool> compare(arith::CmpIOp op) const {
    using enum arith::CmpIPredicate;
    std::optional<Relation> relation = relate(op.getLhs(), op.getRhs());
    if (!relation)
      return std::nullopt;
    switch (op.getPredicate()) {
    case eq:
      return *relation == Relation::Equal;
    case ne:
      return *relation != Relation::Equal;
    case slt:
    case ult:
      return *relation == Relation::Less;
    case sle:
    case ule:
      return *relation != Relation::Greater;
    case sgt:
    case ugt:
      return *relation == Relation::Greater;
    case sge:
    case uge:
      return *relation != Relation::Less;
    }
    return std::nullopt;
  }

  std::optional<bool> compare(arith::CmpFOp op) const {
    using enum arith::CmpFPredicate;
    std::optional<Relation> relation = relate(op.getLhs(), op.getRhs());
    if (!relation)
      return std::nullopt;
    const bool less = *relation == Relation::Less, equal = *relation == Relation::Equal,
               greater = *relation == Relation::Greater, unordered = !less && !equal && !greater;
    switch (op.getPredicate()) {
    case AlwaysFalse:
      return false;
    case OEQ:
      return equal;
    case OGT:
      return greater;
    case OGE:
      return greater || equal;
    case OLT:
      return less;
    case OLE:
      return less || equal;
    case ONE:
      return less || greater;
    case ORD:
      return !unordered;
    case UEQ:
      return equal || unordered;
    case UGT:
      return greater || unordered;
    case UGE:
      return !less;
    case ULT:
      return less || unordered;
    case ULE:
      return !greater;
    case UNE:
      return !equal;
    case UNO:
      return unordered;
    case AlwaysTrue:
      return true;
    }
    return std::nullopt;
  }

  std::optional<bool> truthOf(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op || !value.getType().isInteger(1))
      return std::nullopt;
    if (auto comparison = dyn_cast<arith::CmpIOp>(op))
      return compare(comparison);
    if (auto comparison = dyn_cast<arith::CmpFOp>(op))
      return compare(comparison);
    if (auto choice = dyn_cast<arith::SelectOp>(op)) {
      std::optional<bool> condition = truthOf(choice.getCondition());
      return condition ? truthOf(*condition ? choice.getTrueValue() : choice.getFalseValue())
                       : std::nullopt;
    }
    if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
      return std::nullopt;
    std::optional<bool> x = truthOf(op->getOperand(0)), y = truthOf(op->getOperand(1));
    if (!x || !y)
      return std::nullopt;
    return isa<arith::AndIOp>(op) ? *x && *y : isa<arith::OrIOp>(op) ? *x || *y : *x != *y;
  }

  Block &region;
  ArrayRef<Relation> relations;
};

/// Whether numbers of an operand are compared both as signed and as unsigned ones, whose relations
/// differ.
bool mixesSigns(Block &region) {
  llvm::DenseMap<unsigned, bool> areSigned;
  const unsigned count = region.getNumArguments() / 2;
  for (auto comparison : region.getOps<arith::CmpIOp>()) {
    const arith::CmpIPredicate predicate = comparison.getPredicate();
    auto argument = dyn_cast<BlockArgument>(comparison.getLhs());
    if (!argument || predicate == arith::CmpIPredicate::eq || predicate == arith::CmpIPredicate::ne)
      continue;
    const bool isSigned = predicate < arith::CmpIPredicate::ult;
    if (!areSigned.try_emplace(argument.getArgNumber() % count, isSigned).second &&
        areSigned[argument.getArgNumber() % count] != isSigned)
      return true;
  }
  return false;
}

} // namespace

bool keepsOneWhereverItStands(Block &region, unsigned position) {
  constexpr unsigned kMostOperands = 3;
  const unsigned count = region.getNumArguments() / 2;
  if (count > kMostOperands || mixesSigns(region))
    return false;
  // All relations that the operands may have, one after another.
  SmallVector<Relation> relations(count, Relation::Less), others(count);
  auto isPossible = [&](unsigned operand) {
    const Relation relation = relations[operand];
    if (operand == position)
      return relation == Relation::Less || relation == Relation::Greater;
    return relation <= Relation::Greater || isa<FloatType>(region.getArgument(operand).getType());
  };
  auto advance = [&] {
    for (Relation &relation : relations) {
      if (relation != Relation::BothAreNan) {
        relation = Relation(uint8_t(relation) + 1);
        return true;
      }
      relation = Relation::Less;
    }
    return false;
  };
  do {
    if (!llvm::all_of(llvm::seq(count), isPossible))
      continue;
    llvm::transform(relations, others.begin(), mirrored);
    std::optional<Side> picked = Picker(region, relations).pick(),
                        other = Picker(region, others).pick();
    if (!picked || !other || *picked == *other)
      return false;
  } while (advance());
  return true;
}

bool keepsNumbers(Block &region, unsigned operand) {
  const unsigned count = region.getNumArguments() / 2;
  SmallVector<Value> pending{region.getTerminator()->getOperand(operand)};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (auto choice = value.getDefiningOp<arith::SelectOp>()) {
      pending.push_back(choice.getTrueValue());
      pending.push_back(choice.getFalseValue());
    } else if (auto argument = dyn_cast<BlockArgument>(value);
               !argument || argument.getOwner() != &region ||
               argument.getArgNumber() % count != operand) {
      return false;
    }
  }
  return true;
}

} // namespace sectile::gpu
