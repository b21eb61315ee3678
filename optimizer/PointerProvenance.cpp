#include "optimizer/PointerProvenance.h"

#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::optimizer {
namespace {

bool isPointer(Value value) {
  return isa<tile::PtrType>(tile::elementTypeOf(value.getType()));
}

/// Where the result of an operation may come from: its pointer operands, or anywhere.
bool keepsProvenance(Operation *op) {
  return isa<tile::PtrAddOp, tile::PtrCastOp, tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp,
             tile::ReshapeOp, tile::TransposeOp, tile::FlipOp, tile::JoinOp, tile::SplitOp,
             tile::CatOp, tile::GatherOp, tile::HintOp, tile::ConvertLayoutOp, arith::SelectOp>(op);
}

} // namespace

PointerProvenance::PointerProvenance(func::FuncOp function)
    : written(function.getNumArguments(), false) {
  unsigned count = function.getNumArguments();
  for (BlockArgument argument : function.getArguments())
    if (isPointer(argument)) {
      llvm::BitVector own(count + 1);
      own.set(argument.getArgNumber());
      origins[argument] = own;
    }

  bool changed = true;
  auto of = [&](Value value) -> llvm::BitVector {
    auto found = origins.find(value);
    return found == origins.end() ? llvm::BitVector(count + 1) : found->second;
  };
  auto flow = [&](llvm::BitVector from, Value to) {
    llvm::BitVector &known = origins.try_emplace(to, count + 1).first->second;
    if (from.test(known)) { // something new
      known |= from;
      changed = true;
    }
  };
  auto flowAll = [&](ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip(from, to))
      if (isPointer(target))
        flow(of(source), target);
  };
  // A pointer only gains origins, so this ends.
  while (changed) {
    changed = false;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        flowAll(loop.getInitArgs(), loop.getRegionIterArgs());
        flowAll(loop.getYieldedValues(), loop.getRegionIterArgs());
        flowAll(loop.getRegionIterArgs(), loop.getResults());
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        flowAll(loop.getInits(), loop.getBeforeArguments());
        flowAll(loop.getYieldOp().getResults(), loop.getBeforeArguments());
        flowAll(loop.getConditionOp().getArgs(), loop.getAfterArguments());
        flowAll(loop.getConditionOp().getArgs(), loop.getResults());
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        if (branch.getNumResults()) {
          flowAll(branch.thenYield().getResults(), branch.getResults());
          flowAll(branch.elseYield().getResults(), branch.getResults());
        }
      } else {
        for (Value result : op->getResults()) {
          if (!isPointer(result))
            continue;
          llvm::BitVector from(count + 1);
          if (!keepsProvenance(op))
            from.set(count);
          for (Value operand : op->getOperands())
            if (isPointer(operand))
              from |= of(operand);
          flow(from, result);
        }
      }
    });
  }

  llvm::BitVector targets(count + 1);
  function.walk([&](Operation *op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      targets |= of(store.getPtr());
    else if (auto atomic = dyn_cast<tile::AtomicRmwOp>(op))
      targets |= of(atomic.getPtr());
    else if (auto atomic = dyn_cast<tile::AtomicCasOp>(op))
      targets |= of(atomic.getPtr());
    else if (auto assembly = dyn_cast<tile::InlineAsmOp>(op); assembly && !assembly.getPure())
      for (Value source : assembly.getSrcs()) // it may write where a pointer leads
        if (isPointer(source))
          targets |= of(source);
  });
  for (BlockArgument argument : function.getArguments())
    if (isPointer(argument) && (targets.test(count) || targets.test(argument.getArgNumber())))
      written.set(argument.getArgNumber());
}

std::optional<unsigned> PointerProvenance::argumentOf(Value pointer) const {
  auto found = origins.find(pointer);
  if (found == origins.end() || found->second.count() != 1)
    return std::nullopt;
  unsigned argument = unsigned(found->second.find_first());
  return argument < written.size() ? std::optional(argument) : std::nullopt;
}

bool haveSameOffsets(Value lhs, Value rhs) {
  if (lhs.getType() != rhs.getType())
    return false;
  if (isa<BlockArgument>(lhs) && isa<BlockArgument>(rhs))
    return isa<func::FuncOp>(lhs.getParentBlock()->getParentOp()) &&
           isa<func::FuncOp>(rhs.getParentBlock()->getParentOp());
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (!left || !right || left->getName() != right->getName() ||
      left->getAttrDictionary() != right->getAttrDictionary() ||
      !isa<tile::PtrAddOp, tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::ReshapeOp,
           tile::TransposeOp, tile::FlipOp>(left))
    return false;
  return haveSameOffsets(left->getOperand(0), right->getOperand(0)) &&
         llvm::equal(left->getOperands().drop_front(), right->getOperands().drop_front());
}

} // namespace sectile::optimizer
