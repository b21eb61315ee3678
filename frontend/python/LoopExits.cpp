// Loops that a turn may leave: by `break`, or by `return` from the function.
//
//   for i in range(n):           %r:3 = scf.while (%goes = 0 < n, %i = 0, %s = %zero) {
//       if s > limit:              scf.condition(%goes) %i, %s
//           break                } do {
//       s += i                     %b, %s2 = scf.if %s > limit { yield true, %s }
//                                            else { yield false, %s + %i }
//                                  scf.yield !%b and (another turn follows), %i + 1, %s2
//                                }
//
// Nothing of it is read off the syntax: a body is evaluated into an open scf.for or scf.while, and
// what its exit is decides about the loop. So breaks under constant conditions cost nothing:
//
//   the body             the loop
//   falls, continues     scf.for or scf.while, as if nobody had asked
//   may leave            scf.while with a flag, and what it hands on besides as further values
//   leaves for sure      no loop: the body, under the condition that there is a turn
#include "frontend/python/Evaluator.h"
#include "frontend/python/LoopCarried.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace sectile::lang;

namespace sectile::python {

using ast::Stmt;

//-- what a loop hands on --------------------------------------------------------------------------

void Evaluator::addExits(Extras &extras, const Stmt &stmt, const Exit &exit, bool isEndless,
                         mlir::Operation *loop) {
  mlir::OpBuilder &builder = sema.builder;
  mlir::Value no;
  auto addFlag = [&](mlir::Value flag) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop);
    if (!no)
      no = mlir::arith::ConstantOp::create(builder, sema.location(), builder.getBoolAttr(false));
    extras.initial.push_back(no);
    extras.next.push_back(flag);
  };
  // Without an `else`, it is all the same behind a loop whether it was left by a break.
  if (exit.may(kBreaks) && !isEndless && !stmt.orelse.empty()) {
    extras.hasBroken = true;
    addFlag(exit.breaks);
  }
  if (!exit.may(kReturns))
    return;
  addFlag(exit.returns);
  size_t first = extras.next.size();
  extras.returned = shapeOf(exit.returned, extras.next);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  for (mlir::Value value : llvm::ArrayRef(extras.next).drop_front(first))
    extras.initial.push_back(zeroOf(sema, value.getType()));
}

void Evaluator::addNames(Extras &extras, const Stmt &stmt, llvm::ArrayRef<std::string> names,
                         const Carried &carried, const Scope &before, unsigned known,
                         mlir::Operation *loop) {
  known &= ~kReturns;
  /// The value of a variable before the loop.
  auto startOf = [&](const std::string &name) -> std::optional<Value> {
    const Binding *first = before.find(name);
    bool isDefined = first && first->state == Binding::State::Defined;
    if (!isDefined || (!first->operand.value() && !isNumberConstant(first->operand)))
      return std::nullopt;
    mlir::OpBuilder::InsertionGuard guard(sema.builder);
    sema.builder.setInsertionPoint(loop);
    mlir::FailureOr<Value> start = sema.toValue(first->operand);
    return mlir::succeeded(start) ? std::optional(*start) : std::nullopt;
  };
  for (const std::string &name : names) {
    const Binding *binding = scope.find(name);
    if (!binding || llvm::is_contained(carried.names, name) ||
        !isReadAfter(name, stmt, *frames.back().function))
      continue;
    bool isDefined = binding->state == Binding::State::Defined;
    auto isKnownIn = [&](unsigned ways) {
      return ways && (isDefined || (binding->knownWays & ways) == ways);
    };
    auto *value = binding->operand.value();
    std::optional<Value> start = startOf(name);
    bool isKept = isDefined && value && start && start->type == value->type;
    // With an `else` that returns, only breaks lead behind the loop.
    bool isOfBreaks = !isKept && !isKnownIn(known) && extras.hasBroken && isKnownIn(kBreaks);
    if (!isKept && !isKnownIn(known) && !isOfBreaks)
      continue;
    size_t next = extras.next.size();
    extras.names.push_back({name, shapeOf(binding->operand, extras.next), isOfBreaks});
    mlir::OpBuilder::InsertionGuard guard(sema.builder);
    sema.builder.setInsertionPoint(loop);
    for (mlir::Value value : llvm::ArrayRef(extras.next).drop_front(next))
      extras.initial.push_back(isKept ? start->ir : zeroOf(sema, value.getType()));
  }
}

Exit Evaluator::takeExtras(const Extras &extras, const Exit &exit, bool isEndless,
                           mlir::ValueRange results, const Stmt &stmt) {
  Exit after;
  // Nothing but a break or a return ends a loop without end.
  after.ways = (!isEndless || exit.may(kBreaks) ? kFalls : 0) | (exit.ways & kReturns);
  size_t next = 0;
  if (extras.hasBroken) {
    after.ways |= kBreaks;
    after.breaks = results[next++];
  }
  if (exit.may(kReturns)) {
    after.returns = results[next++];
    after.returned = extras.returned->rebuild(results, next);
    after.returnRange = exit.returnRange;
  }
  for (const auto &[name, shape, isOfBreaks] : extras.names) {
    Operand operand = shape.rebuild(results, next);
    if (!isOfBreaks) {
      assign(name, std::move(operand), stmt.position);
      continue;
    }
    Binding binding = *scope.find(name);
    binding.operand = std::move(operand);
    binding.knownWays = kBreaks;
    scope.set(name, std::move(binding));
  }
  return after.where(after.ways);
}

Exit Evaluator::finishLoop(Exit exit, const Stmt &stmt, bool isEndless) {
  if (stmt.orelse.empty() || isEndless || !exit.may(kFalls)) {
    catchExit(exit, kBreaks);
    return exit;
  }
  auto otherwise = [&] { return evaluateBlock(stmt.orelse); };
  return exit.surely(kFalls) ? otherwise()
                             : guardRest(exit, stmt.position, otherwise, /*caught=*/kBreaks);
}

/// An operand over other values.
static Operand replaced(const Operand &operand, const mlir::IRMapping &values) {
  if (auto *value = operand.value())
    return Value{values.lookupOrDefault(value->ir), value->type};
  if (operand.constant() || !operand.items())
    return operand;
  std::vector<Operand> items;
  for (const Operand &item : *operand.items())
    items.push_back(replaced(item, values));
  return makeTuple(std::move(items), operand.items()->tupleClass);
}

Exit Evaluator::placeOneTurn(const Stmt &stmt, mlir::Operation *loop, mlir::Block *body,
                             mlir::ValueRange values, mlir::Value condition, Exit exit,
                             const Scope &withoutTurn) {
  mlir::IRMapping mapping;
  mapping.map(body->getArguments(), values);
  for (const std::string &name : scope.names()) {
    Binding binding = *scope.find(name);
    binding.operand = replaced(binding.operand, mapping);
    scope.set(name, std::move(binding));
  }
  exit.returned = replaced(exit.returned, mapping);
  for (mlir::Value *flag : {&exit.breaks, &exit.continues, &exit.returns})
    if (*flag)
      *flag = mapping.lookupOrDefault(*flag);

  mlir::IRRewriter rewriter(sema.builder.getContext());
  if (!condition) {
    rewriter.inlineBlockBefore(body, loop, values);
    loop->erase();
    return exit;
  }
  at(stmt.position);
  auto op =
      mlir::scf::IfOp::create(sema.builder, sema.location(), condition, /*withElseRegion=*/true);
  Scope after = scope;
  Branch then = evaluateBranch(op.getThenRegion(), after, [&] {
    mlir::Block *block = sema.builder.getInsertionBlock();
    rewriter.inlineBlockBefore(body, block, block->end(), values);
    return exit;
  });
  Branch orelse = evaluateBranch(op.getElseRegion(), withoutTurn, [] { return Exit::falls(); });
  loop->erase();
  return mergeBranches(op, std::move(then), std::move(orelse), withoutTurn, stmt.position);
}

} // namespace sectile::python
