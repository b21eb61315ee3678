//===-- TraceControlFlow.cpp - loops and branches -----------------------------------------===//
// Every body is traced once, straight into the region it belongs to. What a loop carries is known
// before its body is traced, so its types are fixed by the initial values; what a branch yields is
// known only afterwards, so it is traced into a provisional scf.if that is rebuilt with results.
#include "frontend/cpp/ScopeGuard.h"
#include "lang/semantics/CountedLoop.h"
#include "lang/semantics/EarlyEnd.h"
#include "lang/semantics/LoopHints.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using mlir::failure;
using mlir::FailureOr;
using mlir::succeeded;

namespace sectile::cpp {
using lang::Constant;
using lang::Operand;

static llvm::SmallVector<mlir::Value> irOf(llvm::ArrayRef<lang::Value> values) {
  llvm::SmallVector<mlir::Value> ir;
  for (const lang::Value &value : values)
    ir.push_back(value.ir);
  return ir;
}

FailureOr<llvm::SmallVector<lang::Value>>
TracerImpl::initialValues(std::span<const Argument> initial, std::string_view user) {
  llvm::SmallVector<lang::Value> carried;
  for (const Argument &argument : initial) {
    // A C++ number of 64 bits is carried as one.
    auto *typed = std::get_if<TypedNumber>(&argument.data);
    lang::Type wide{typed ? typed->dtype : lang::DType{}, {}};
    FailureOr<lang::Value> value =
        valueLike(argument, typed && typed->isWideLiteral ? &wide : nullptr, user);
    if (mlir::failed(value))
      return failure();
    carried.push_back(*value);
  }
  return carried;
}

FailureOr<llvm::SmallVector<mlir::Value>> TracerImpl::yielded(const BodyResult &result,
                                                              llvm::ArrayRef<lang::Value> carried,
                                                              std::string_view user) {
  std::string loop(user);
  if (!result) {
    hasFailed = true;
    return failure();
  }
  if (result->size() != carried.size())
    return sema.error(loop + ": carries " + std::to_string(carried.size()) +
                          " values, but its body returns " + std::to_string(result->size()),
                      "return the next value of each carried one, in order");
  llvm::SmallVector<mlir::Value> next;
  for (auto [index, argument] : llvm::enumerate(*result)) {
    const lang::Type &type = carried[index].type;
    FailureOr<lang::Value> value = valueLike(argument, &type, user);
    if (mlir::failed(value))
      return failure();
    if (value->type != type)
      return sema.error(loop + ": carried value " + std::to_string(index) + " is " +
                            sema.nameOf(type) + " at the start and " + sema.nameOf(value->type) +
                            " after one step",
                        "cast one of them, for example with to<f32>(x), so that both agree");
    next.push_back(value->ir);
  }
  return next;
}

//===-- for -----------------------------------------------------------------------------------===//

std::vector<ValueId> TracerImpl::loop(const Argument &lower, const Argument &upper,
                                      const Argument &step, std::span<const LoopHint> hints,
                                      std::span<const Argument> initial, const LoopBody &body) {
  if (failed())
    return {};
  lang::SourceRange place = sema.range();
  llvm::SmallVector<Operand, 3> numbers;
  for (const Argument *argument : {&lower, &upper, &step}) {
    FailureOr<Operand> operand = operandOf(*argument, "range");
    if (mlir::failed(operand))
      return {};
    numbers.push_back(*operand);
  }
  auto counted = lang::CountedLoop::make(sema, numbers[0], numbers[1], numbers[2]);
  if (mlir::failed(counted))
    return {};
  llvm::SmallVector<mlir::NamedAttribute, 2> wishes;
  for (const LoopHint &hint : hints) {
    const lang::LoopHint *known = lang::findLoopHint({hint.name.data(), hint.name.size()});
    if (!known) {
      error("range: there is no hint '" + std::string(hint.name) + "'", "");
      return {};
    }
    auto wish = lang::loopHintAttribute(sema, *known, Constant::integer(hint.value), "range");
    if (mlir::failed(wish))
      return {};
    if (*wish)
      wishes.push_back(**wish);
  }
  FailureOr<llvm::SmallVector<lang::Value>> carried = initialValues(initial, "loop");
  if (mlir::failed(carried))
    return {};

  mlir::ValueRange results;
  {
    ScopeGuard scope(*this, ScopeKind::Open, "loop");
    mlir::scf::ForOp loop = counted->open(sema, irOf(*carried));
    for (mlir::NamedAttribute wish : wishes)
      loop->setAttr(wish.getName(), wish.getValue());
    lang::Value index = counted->index(sema);
    std::vector<ValueId> ids = add(loop.getRegionIterArgs(), *carried);
    ValueId turnIndex = add(index);
    auto turn = recordTurn(*carried, "loop", [&] { return body(turnIndex, ids); });
    if (mlir::failed(turn))
      return {};
    sema.at(place);
    if (turn->breaks) // the first result is the index of the last turn
      results = counted->endEarly(sema, turn->breaks, turn->next).getResults().drop_front();
    else
      results = counted->close(sema, turn->next).getResults();
  }
  return add(results, *carried);
}

//===-- while ---------------------------------------------------------------------------------===//

std::vector<ValueId> TracerImpl::whileLoop(std::span<const Argument> initial,
                                           const WhileBody &condition, const WhileBody &body) {
  if (failed())
    return {};
  lang::SourceRange place = sema.range();
  FailureOr<llvm::SmallVector<lang::Value>> carried = initialValues(initial, "while_");
  if (mlir::failed(carried))
    return {};
  llvm::SmallVector<mlir::Value> start = irOf(*carried);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : start)
    types.push_back(value.getType());
  llvm::SmallVector<mlir::Location> locations(types.size(), sema.location());
  auto loop = mlir::scf::WhileOp::create(sema.builder, sema.location(), types, start);
  {
    ScopeGuard scope(*this, ScopeKind::Open, "while_");
    mlir::Block *before = sema.builder.createBlock(&loop.getBefore(), {}, types, locations);
    BodyResult test = condition(add(before->getArguments(), *carried));
    if (!test || test->size() != 1) {
      hasFailed = true;
      return {};
    }
    FailureOr<Operand> operand = operandOf(test->front(), "while_");
    FailureOr<lang::Value> truth = failure();
    if (succeeded(operand))
      truth = sema.condition(*operand, "while_");
    if (mlir::failed(truth)) {
      hasFailed = true;
      return {};
    }
    mlir::scf::ConditionOp::create(sema.builder, sema.location(), truth->ir,
                                   before->getArguments());
  }
  {
    ScopeGuard scope(*this, ScopeKind::Open, "while_");
    mlir::Block *after = sema.builder.createBlock(&loop.getAfter(), {}, types, locations);
    std::vector<ValueId> ids = add(after->getArguments(), *carried);
    auto turn = recordTurn(*carried, "while_", [&] { return body(ids); });
    if (mlir::failed(turn))
      return {};
    sema.at(place);
    if (turn->breaks)
      loop = lang::endEarly(sema, loop, turn->breaks, turn->next);
    else
      mlir::scf::YieldOp::create(sema.builder, sema.location(), turn->next);
  }
  return add(loop.getResults(), *carried);
}

//===-- if ------------------------------------------------------------------------------------===//

std::vector<Argument> TracerImpl::branch(const Argument &condition, const Branch &then,
                                         const Branch &orelse) {
  if (failed())
    return {};
  lang::SourceRange place = sema.range();
  if (const Constant *constant = condition.constant()) {
    // Known while tracing: only the branch that is taken exists.
    auto *truth = constant->as<bool>();
    auto *number = constant->as<lang::Int>();
    if (!truth && !number) {
      error("if_: condition is " + constant->kindName() + ", not a truth value", "");
      return {};
    }
    BodyResult result = (truth ? *truth : *number != 0) ? then() : orelse();
    hasFailed |= !result;
    return result ? std::move(*result) : std::vector<Argument>();
  }
  FailureOr<Operand> operand = operandOf(condition, "if_");
  if (mlir::failed(operand))
    return {};
  FailureOr<lang::Value> truth = sema.condition(*operand, "if_");
  if (mlir::failed(truth))
    return {};

  auto provisional = mlir::scf::IfOp::create(sema.builder, sema.location(), mlir::TypeRange(),
                                             truth->ir, /*withElseRegion=*/true);
  mlir::Block *const blocks[] = {&provisional.getThenRegion().front(),
                                 &provisional.getElseRegion().front()};
  BodyResult results[2];
  lang::SourceRange ends[2];
  llvm::SmallVector<Operand> operands[2];
  llvm::SmallVector<lang::Value> values[2];
  auto trace = [&](int side, mlir::Block *block, const Branch &body) {
    ScopeGuard scope(*this, ScopeKind::Open, "if_");
    block->getTerminator()->erase();
    sema.builder.setInsertionPointToEnd(block);
    results[side] = body();
    ends[side] = sema.range();
    hasFailed |= !results[side];
    if (failed())
      return;
    // Values are those of this body; what is bare waits for the type of the other side.
    for (const Argument &argument : *results[side]) {
      FailureOr<Operand> operand = operandOf(argument, "if_");
      if (mlir::failed(operand)) {
        hasFailed = true;
        return;
      }
      operands[side].push_back(*operand);
    }
  };
  trace(0, blocks[0], then);
  if (!failed())
    trace(1, blocks[1], orelse);
  if (failed())
    return {};

  sema.at(place);
  if (operands[0].size() != operands[1].size()) {
    error("if_: one branch returns " + std::to_string(operands[0].size()) + " values, the other " +
              std::to_string(operands[1].size()),
          "return the same number of values from both");
    return {};
  }
  for (int side : {0, 1}) {
    mlir::OpBuilder::InsertionGuard guard(sema.builder);
    sema.builder.setInsertionPointToEnd(blocks[side]);
    sema.at(ends[side]);
    for (auto [operand, other] : llvm::zip_equal(operands[side], operands[1 - side])) {
      FailureOr<lang::Value> value =
          valueLike(operand, other.value() ? &other.value()->type : nullptr, "if_");
      if (mlir::failed(value)) {
        hasFailed = true;
        return {};
      }
      values[side].push_back(*value);
    }
  }
  sema.at(place);
  for (size_t index = 0; index < values[0].size(); ++index)
    if (values[0][index].type != values[1][index].type) {
      error("if_: value " + std::to_string(index) + " is " + sema.nameOf(values[0][index].type) +
                " in one branch and " + sema.nameOf(values[1][index].type) + " in the other",
            "cast one of them, for example with to<f32>(x), so that both agree");
      return {};
    }

  llvm::SmallVector<mlir::Type> types;
  for (const lang::Value &value : values[0])
    types.push_back(value.ir.getType());
  auto final = mlir::scf::IfOp::create(sema.builder, sema.location(), types, truth->ir,
                                       /*addThenBlock=*/false, /*addElseBlock=*/false);
  mlir::Region *from[] = {&provisional.getThenRegion(), &provisional.getElseRegion()};
  mlir::Region *to[] = {&final.getThenRegion(), &final.getElseRegion()};
  for (int side : {0, 1}) {
    mlir::OpBuilder::InsertionGuard guard(sema.builder);
    // An else that does nothing is left out.
    if (side == 1 && types.empty() && from[side]->front().empty())
      continue;
    sema.builder.setInsertionPointToEnd(&from[side]->front());
    mlir::scf::YieldOp::create(sema.builder, sema.location(), irOf(values[side]));
    to[side]->takeBody(*from[side]);
  }
  provisional.erase();
  std::vector<Argument> made;
  for (ValueId id : add(final.getResults(), values[0]))
    made.push_back({id, ""});
  return made;
}

} // namespace sectile::cpp
