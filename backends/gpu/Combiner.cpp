#include "backends/gpu/Combiner.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::tile;

namespace sectile::gpu {
namespace {

/// The operation that is all of the region, when it is one of two arguments.
Operation *onlyOperation(Block &region) {
  if (region.getNumArguments() != 2 || std::distance(region.begin(), region.end()) != 2)
    return nullptr;
  Operation *op = &region.front(), *yield = region.getTerminator();
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      yield->getOperand(0) != op->getResult(0))
    return nullptr;
  Value first = op->getOperand(0), second = op->getOperand(1);
  Value lhs = region.getArgument(0), rhs = region.getArgument(1);
  bool usesBoth = (first == lhs && second == rhs) || (first == rhs && second == lhs);
  return usesBoth ? op : nullptr;
}

/// What the operation does to integers, where an instruction may do it for all lanes.
std::optional<RmwKind> integerKindOf(Operation *op) {
  using enum RmwKind;
  return llvm::TypeSwitch<Operation *, std::optional<RmwKind>>(op)
      .Case<arith::AddIOp>([](auto) { return Add; })
      .Case<arith::AndIOp>([](auto) { return And; })
      .Case<arith::OrIOp>([](auto) { return Or; })
      .Case<arith::XOrIOp>([](auto) { return Xor; })
      .Case<arith::MinSIOp>([](auto) { return Min; })
      .Case<arith::MaxSIOp>([](auto) { return Max; })
      .Case<arith::MinUIOp>([](auto) { return UMin; })
      .Case<arith::MaxUIOp>([](auto) { return UMax; })
      .Default([](Operation *) { return std::nullopt; });
}

llvm::APInt identityOf(RmwKind kind, unsigned width) {
  switch (kind) {
  case RmwKind::Add:
  case RmwKind::Or:
  case RmwKind::Xor:
  case RmwKind::UMax:
    return llvm::APInt::getZero(width);
  case RmwKind::And:
  case RmwKind::UMin:
    return llvm::APInt::getAllOnes(width);
  case RmwKind::Max:
    return llvm::APInt::getSignedMinValue(width);
  case RmwKind::Min:
    return llvm::APInt::getSignedMaxValue(width);
  default:
    llvm_unreachable("not of integers");
  }
}

/// x . identity = x for every x, NaN and -0 included.
TypedAttr identityOf(Operation *op, Type element) {
  if (auto type = dyn_cast<FloatType>(element)) {
    if (!isa<arith::ArithFastMathInterface>(op))
      return {};
    const auto &semantics = type.getFloatSemantics();
    auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue();
    bool mayBeSpecial =
        !arith::bitEnumContainsAny(flags, arith::FastMathFlags::nnan | arith::FastMathFlags::ninf);
    bool hasInfinity = mayBeSpecial && llvm::APFloat::semanticsHasInf(semantics);
    auto number = [&](llvm::APFloat value) { return FloatAttr::get(type, value); };
    return llvm::TypeSwitch<Operation *, TypedAttr>(op)
        .Case<arith::AddFOp>(
            [&](auto) { return number(llvm::APFloat::getZero(semantics, /*Negative=*/true)); })
        .Case<arith::MulFOp>([&](auto) { return number(llvm::APFloat::getOne(semantics)); })
        .Case<arith::MaxNumFOp, arith::MinNumFOp>([&](auto) -> TypedAttr {
          return hasInfinity ? number(llvm::APFloat::getNaN(semantics)) : TypedAttr();
        })
        .Case<arith::MaximumFOp, arith::MinimumFOp>([&](Operation *found) -> TypedAttr {
          bool isMaximum = isa<arith::MaximumFOp>(found);
          return hasInfinity ? number(llvm::APFloat::getInf(semantics, isMaximum)) : TypedAttr();
        })
        .Default([](Operation *) { return TypedAttr(); });
  }
  auto type = dyn_cast<IntegerType>(element);
  if (!type)
    return {};
  if (std::optional<RmwKind> kind = integerKindOf(op))
    return IntegerAttr::get(type, identityOf(*kind, type.getWidth()));
  return isa<arith::MulIOp>(op) ? IntegerAttr::get(type, 1) : TypedAttr();
}

} // namespace

Combiner::Combiner(GpuEmitter &emitter, Block &region)
    : emitter(emitter), builder(emitter.builder), region(region) {
  for (BlockArgument argument : region.getArguments().take_front(region.getNumArguments() / 2)) {
    elements.push_back(argument.getType());
    types.push_back(emitter.registerType(argument.getType()));
    identities.push_back(nullptr);
  }
  Operation *only = onlyOperation(region);
  if (!only)
    return;
  if (TypedAttr identity = identityOf(only, elements.front())) {
    identities.front() = emitter.constantOf(identity, elements.front());
    symmetric = true;
  }
  contractsSums = isa<arith::AddFOp>(only) && emitter.options.enableFpFusion;
  if (auto integer = dyn_cast<IntegerType>(elements.front()); integer && integer.getWidth() <= 32)
    ofLanes = integerKindOf(only);
}

std::optional<Partial> Combiner::combineAllLanes(const Partial &partial) {
  if (!ofLanes || partial.values.size() != 1 || partial.exists)
    return std::nullopt;
  llvm::Value *value = partial.values.front();
  const bool isSigned = *ofLanes == RmwKind::Min || *ofLanes == RmwKind::Max;
  llvm::Value *word = isSigned ? builder.CreateSExt(value, builder.getInt32Ty())
                               : builder.CreateZExt(value, builder.getInt32Ty());
  llvm::Value *combined = emitter.target.combineLanes(builder, *ofLanes, word);
  if (!combined)
    return std::nullopt;
  return Partial{{builder.CreateTrunc(combined, value->getType())}, nullptr};
}

Partial Combiner::combine(const Partial &lhs, const Partial &rhs) {
  if (lhs.values.empty() || rhs.values.empty())
    return lhs.values.empty() ? rhs : lhs;
  SmallVector<llvm::Value *, 4> arguments(lhs.values.begin(), lhs.values.end());
  arguments.append(rhs.values.begin(), rhs.values.end());
  auto combined = emitter.emitCombiner(region, arguments);
  Partial both{{combined.begin(), combined.end()}, nullptr};
  if (!lhs.exists && !rhs.exists)
    return both;
  for (auto [value, left, right] : llvm::zip(both.values, lhs.values, rhs.values)) {
    if (rhs.exists)
      value = builder.CreateSelect(rhs.exists, value, left);
    if (lhs.exists)
      value = builder.CreateSelect(lhs.exists, value, right);
  }
  if (lhs.exists && rhs.exists)
    both.exists = builder.CreateOr(lhs.exists, rhs.exists);
  return both;
}

Partial Combiner::combineAlike(const Partial &own, const Partial &other) {
  Partial both = combine(own, other);
  for (llvm::Value *value : both.values)
    if (auto *sum = dyn_cast<llvm::BinaryOperator>(value); sum && isa<llvm::FPMathOperator>(sum))
      sum->setHasAllowContract(false);
  return both;
}

Partial Combiner::onlyIf(Partial partial, llvm::Value *condition) {
  if (!condition || partial.values.empty())
    return partial;
  if (hasIdentity() && !partial.exists)
    partial.values.front() =
        builder.CreateSelect(condition, partial.values.front(), identities.front());
  else
    partial.exists = emitter.both(partial.exists, condition);
  return partial;
}

bool Combiner::addsProduct(const Partial &partial) const {
  if (!contractsSums || partial.exists)
    return false;
  auto *product = dyn_cast<llvm::BinaryOperator>(partial.values.front());
  return product && product->getOpcode() == llvm::Instruction::FMul &&
         product->hasAllowContract() && product->use_empty();
}

Partial Combiner::select(llvm::Value *condition, const Partial &ifTrue, const Partial &ifFalse) {
  Partial chosen;
  for (auto [left, right] : llvm::zip(ifTrue.values, ifFalse.values))
    chosen.values.push_back(left == right ? left : builder.CreateSelect(condition, left, right));
  if (ifTrue.exists || ifFalse.exists) {
    auto flag = [&](llvm::Value *exists) { return exists ? exists : builder.getTrue(); };
    chosen.exists = builder.CreateSelect(condition, flag(ifTrue.exists), flag(ifFalse.exists));
  }
  return chosen;
}

Partial Combiner::shuffleXor(const Partial &partial, unsigned mask) {
  Partial moved;
  for (llvm::Value *value : partial.values)
    moved.values.push_back(emitter.target.shuffleXor(builder, value, mask));
  if (partial.exists)
    moved.exists = emitter.target.shuffleXor(builder, partial.exists, mask);
  return moved;
}

} // namespace sectile::gpu
