#include "lang/semantics/EarlyEnd.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sectile::lang {

bool isFreeToCompute(mlir::Operation &op) {
  // A loop takes time, which counts as an effect.
  auto isLoop = [](mlir::LoopLikeOpInterface) { return mlir::WalkResult::interrupt(); };
  return mlir::isPure(&op) && !op.walk(isLoop).wasInterrupted();
}

mlir::scf::WhileOp endEarly(Semantics &sema, mlir::scf::WhileOp loop, mlir::Value leaves,
                            llvm::ArrayRef<mlir::Value> next,
                            llvm::ArrayRef<mlir::Value> furtherInitial,
                            llvm::ArrayRef<mlir::Value> furtherNext) {
  mlir::OpBuilder &builder = sema.builder;
  mlir::Location place = loop.getLoc();
  mlir::Value yes = mlir::arith::ConstantOp::create(builder, place, builder.getBoolAttr(true));
  llvm::SmallVector<mlir::Value> yielded{mlir::arith::XOrIOp::create(builder, place, leaves, yes)};
  llvm::append_range(yielded, next);
  llvm::append_range(yielded, furtherNext);
  mlir::scf::YieldOp::create(builder, place, yielded);

  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  llvm::SmallVector<mlir::Value> initial{
      mlir::arith::ConstantOp::create(builder, place, builder.getBoolAttr(true))};
  llvm::append_range(initial, loop.getInits());
  llvm::append_range(initial, furtherInitial);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : initial)
    types.push_back(value.getType());
  llvm::SmallVector<mlir::Location> places(types.size(), place);
  auto early = mlir::scf::WhileOp::create(builder, place, llvm::ArrayRef(types).drop_front(),
                                          mlir::ValueRange(initial));
  early->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  early.getAfter().takeBody(loop.getAfter());
  for (mlir::Value value : furtherInitial)
    early.getAfterBody()->addArgument(value.getType(), place);

  mlir::Block *before = builder.createBlock(&early.getBefore(), {}, types, places);
  mlir::Block *test = loop.getBeforeBody();
  mlir::scf::ConditionOp tests = loop.getConditionOp();
  mlir::Value goes = before->getArgument(0);
  size_t carriedCount = loop.getInits().size();
  mlir::ValueRange carried = before->getArguments().drop_front().take_front(carriedCount);
  bool isFree = llvm::equal(tests.getArgs(), test->getArguments()) &&
                llvm::all_of(test->without_terminator(), isFreeToCompute);
  mlir::IRRewriter rewriter(builder);
  llvm::SmallVector<mlir::Value> tested;
  if (isFree) {
    rewriter.inlineBlockBefore(test, before, before->end(), carried);
    rewriter.setInsertionPoint(tests);
    if (!mlir::matchPattern(tests.getCondition(), mlir::m_One()))
      goes = mlir::arith::AndIOp::create(rewriter, place, goes, tests.getCondition());
    llvm::append_range(tested, tests.getArgs());
  } else {
    llvm::SmallVector<mlir::Type> handedOn{goes.getType()};
    llvm::append_range(handedOn, tests.getArgs().getTypes());
    rewriter.setInsertionPointToEnd(before);
    auto branch = mlir::scf::IfOp::create(rewriter, place, handedOn, goes, /*addThenBlock=*/true,
                                          /*addElseBlock=*/true);
    mlir::Block *then = branch.thenBlock();
    rewriter.inlineBlockBefore(test, then, then->end(), carried);
    rewriter.setInsertionPoint(tests);
    llvm::SmallVector<mlir::Value> values{tests.getCondition()};
    llvm::append_range(values, tests.getArgs());
    mlir::scf::YieldOp::create(rewriter, place, values);
    rewriter.setInsertionPointToEnd(branch.elseBlock());
    values.assign({mlir::arith::ConstantOp::create(rewriter, place, builder.getBoolAttr(false))});
    llvm::append_range(values, carried);
    mlir::scf::YieldOp::create(rewriter, place, values);
    goes = branch.getResult(0);
    llvm::append_range(tested, branch.getResults().drop_front());
  }
  tests.erase();
  llvm::append_range(tested, before->getArguments().drop_front(1 + carriedCount));
  rewriter.setInsertionPointToEnd(before);
  mlir::scf::ConditionOp::create(rewriter, place, goes, tested);
  loop.erase();
  return early;
}

} // namespace sectile::lang
