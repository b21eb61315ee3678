#include "frontend/python/LoopCarried.h"

#include "llvm/ADT/STLExtras.h"

#include <unordered_set>

namespace sectile::python {
namespace {

using namespace ast;

struct NameCollector {
  bool withConstexpr = false;
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;

  void add(const std::string &name) {
    if (seen.insert(name).second)
      names.push_back(name);
  }

  void target(const Expr &expr) {
    switch (expr.kind) {
    case ExprKind::Name:
      return add(expr.text);
    case ExprKind::Tuple:
    case ExprKind::List:
    case ExprKind::Starred:
      for (const ExprPtr &child : expr.children)
        target(*child);
      return;
    case ExprKind::Attribute: // a field in the __init__ of an aggregate
      if (expr.children[0]->kind == ExprKind::Name)
        add(expr.children[0]->text + "." + expr.text);
      return;
    default:
      return expression(&expr);
    }
  }

  void expression(const Expr *expr) {
    if (!expr)
      return;
    for (const ExprPtr &child : expr->children)
      expression(child.get());
    for (const Keyword &keyword : expr->keywords)
      expression(keyword.value.get());
    // Variables of a comprehension are its own; a walrus inside it is not.
    for (const ComprehensionClause &clause : expr->clauses) {
      expression(clause.iterable.get());
      for (const ExprPtr &condition : clause.conditions)
        expression(condition.get());
    }
    if (expr->kind == ExprKind::NamedExpr)
      add(expr->text);
  }

  void statement(const Stmt &stmt) {
    expression(stmt.value.get());
    bool isConstexpr = stmt.kind == StmtKind::AnnotatedAssign && stmt.annotation &&
                       isConstexprAnnotation(*stmt.annotation);
    bool binds = stmt.kind != StmtKind::AnnotatedAssign || stmt.value;
    if (binds && (!isConstexpr || withConstexpr))
      for (const ExprPtr &child : stmt.targets)
        target(*child);
    body(stmt.body);
    body(stmt.orelse);
  }

  void body(const std::vector<StmtPtr> &statements) {
    for (const StmtPtr &stmt : statements)
      statement(*stmt);
  }
};

/// Looks for a place where a name is read behind a loop.
struct ReadFinder {
  llvm::StringRef name;
  const Stmt &loop;
  bool isBehind = false, isFound = false;

  void expression(const Expr *expr) {
    if (!expr || isFound)
      return;
    isFound |= isBehind && expr->kind == ExprKind::Name && name == expr->text;
    for (const ExprPtr &child : expr->children)
      expression(child.get());
    for (const Keyword &keyword : expr->keywords)
      expression(keyword.value.get());
    for (const ComprehensionClause &clause : expr->clauses) {
      expression(clause.iterable.get());
      for (const ExprPtr &condition : clause.conditions)
        expression(condition.get());
    }
  }

  void statement(const Stmt &stmt) {
    if (&stmt == &loop) {
      expression(stmt.value.get()); // in a further turn of a loop around it
      isBehind = true;
      return body(stmt.orelse);
    }
    expression(stmt.value.get());
    if (stmt.kind == StmtKind::AugmentedAssign)
      expression(stmt.targets[0].get());
    bool isVariable = stmt.kind == StmtKind::For && stmt.targets[0]->kind == ExprKind::Name &&
                      name == stmt.targets[0]->text;
    bool isLoop = stmt.kind == StmtKind::For || stmt.kind == StmtKind::While;
    bool wasBehind = isBehind;
    if (!isVariable) {
      body(stmt.body);
      // What comes first in a loop around this one comes behind it in the next turn.
      if (isLoop && isBehind && !wasBehind) {
        if (stmt.kind == StmtKind::While)
          expression(stmt.value.get());
        body(stmt.body);
      }
    } else if (!wasBehind) {
      ReadFinder inner{name, loop};
      inner.body(stmt.body);
      isBehind = inner.isBehind, isFound |= inner.isFound;
    }
    body(stmt.orelse);
  }

  void body(const std::vector<StmtPtr> &statements) {
    for (const StmtPtr &stmt : statements)
      if (!isFound)
        statement(*stmt);
  }
};

/// Looks for a name anywhere.
struct MentionFinder {
  llvm::StringRef name;

  bool expressions(const std::vector<ExprPtr> &all) const {
    return llvm::any_of(all, [&](const ExprPtr &one) { return expression(one.get()); });
  }

  bool expression(const Expr *expr) const {
    if (!expr)
      return false;
    const bool isNamed = expr->kind == ExprKind::Name || expr->kind == ExprKind::NamedExpr;
    return (isNamed && name == expr->text) || expressions(expr->children) ||
           llvm::any_of(expr->keywords,
                        [&](const Keyword &one) { return expression(one.value.get()); }) ||
           llvm::any_of(expr->clauses, [&](const ComprehensionClause &one) {
             return expression(one.target.get()) || expression(one.iterable.get()) ||
                    expressions(one.conditions);
           });
  }

  bool statement(const Stmt &stmt) const {
    auto inAny = [&](const std::vector<StmtPtr> &all) {
      return llvm::any_of(all, [&](const StmtPtr &one) { return statement(*one); });
    };
    return expression(stmt.value.get()) || expression(stmt.annotation.get()) ||
           expressions(stmt.targets) || inAny(stmt.body) || inAny(stmt.orelse);
  }
};

} // namespace

bool isAssignedFirst(llvm::StringRef name, const std::vector<StmtPtr> &body) {
  const MentionFinder finder{name};
  for (const StmtPtr &stmt : body) {
    const bool isSet =
        stmt->kind == StmtKind::Assign && llvm::any_of(stmt->targets, [&](const ExprPtr &target) {
          return target->kind == ExprKind::Name && name == target->text;
        });
    if (isSet && !finder.expression(stmt->value.get()))
      return true;
    if (finder.statement(*stmt))
      return false;
  }
  return false;
}

bool isReadAfter(llvm::StringRef name, const Stmt &loop, const Function &function) {
  ReadFinder finder{name, loop};
  finder.body(function.body);
  return finder.isFound;
}

std::vector<std::string> assignedNames(const std::vector<StmtPtr> &body) {
  NameCollector collector;
  collector.body(body);
  return std::move(collector.names);
}

std::vector<std::string> assignedNames(const Expr &expression) {
  NameCollector collector;
  collector.expression(&expression);
  return std::move(collector.names);
}

std::vector<std::string> assignedNames(const Stmt &statement) {
  NameCollector collector;
  collector.statement(statement);
  return std::move(collector.names);
}

std::vector<std::string> localNames(const Function &function) {
  NameCollector collector;
  collector.withConstexpr = true;
  for (const Parameter &parameter : function.parameters)
    collector.add(parameter.name);
  if (function.varArgs)
    collector.add(*function.varArgs);
  collector.body(function.body);
  return std::move(collector.names);
}

} // namespace sectile::python
