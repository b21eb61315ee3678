//===-- LoopCarried.h - what a body assigns, found on the syntax ------------------------------===//
// A loop carries the variables that its body assigns and that exist before it; a branch merges
// those that either side assigns. Both are read off the syntax, so every body is evaluated exactly
// once and evaluation is linear in nesting depth.
//
//   for i in range(n):        assignedNames(body) == {"a", "b", "c"}
//       a, (b, _c.x) = f(i)
//       if (c := a) > 0: b += 1
#pragma once

#include "frontend/python/Ast.h"

#include "llvm/ADT/StringRef.h"

namespace sectile::python {

/// Names in order of their first assignment. Targets annotated `constexpr` are left out: each
/// assignment computes them afresh.
std::vector<std::string> assignedNames(const std::vector<ast::StmtPtr> &body);
/// The names that evaluating an expression binds (`name := ...`).
std::vector<std::string> assignedNames(const ast::Expr &expression);
std::vector<std::string> assignedNames(const ast::Stmt &statement);
/// Whether `name` may be read behind a loop before something else is assigned to it: it is read
/// behind the loop, or in a loop around it, but not in another loop of which it is the variable.
bool isReadAfter(llvm::StringRef name, const ast::Stmt &loop, const ast::Function &function);
/// Whether each turn of a body that comes to a place that reads `name` has assigned it before.
bool isAssignedFirst(llvm::StringRef name, const std::vector<ast::StmtPtr> &body);
/// Every name a function binds itself, `constexpr` ones too: what Python calls its locals.
std::vector<std::string> localNames(const ast::Function &function);

} // namespace sectile::python
