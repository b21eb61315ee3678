//===-- Scope.h - what names mean at one point of a function ----------------------------------===//
// A scope is a value: a branch copies it, and the copies are compared afterwards. A name is bound
// to an operand, or poisoned (its computation failed and was reported, so using it stays silent),
// or unknown for a reason that its use reports ("assigned only if the condition on line 12 holds").
// Behind a statement that may leave its block, a name may be known in some ways of leaving only:
//
//   if x > 0:            behind the if: `a` is known where control breaks, `b` where it falls;
//       a = 1; break     a guard of what follows knows `b`, and a loop left by breaks only knows `a`
//   b = 2
#pragma once

#include "lang/plain/Diagnostics.h"
#include "lang/semantics/Value.h"

#include "llvm/ADT/StringMap.h"

namespace sectile::python {

/// How control leaves a statement: to the next one, out of the loop, to the next turn of the loop,
/// or out of the function. Sets of ways are sums.
enum Way : unsigned { kFalls = 1, kBreaks = 2, kContinues = 4, kReturns = 8 };

struct Binding {
  enum class State { Defined, Poisoned, Unknown };
  State state = State::Defined;
  lang::Operand operand;
  /// Where it was bound.
  lang::SourceRange range;
  /// Why a name is unknown, and what to do about it.
  std::string reason, help;
  /// The ways of leaving in which an unknown name is `operand` all the same.
  unsigned knownWays = 0;
  /// Unique per assignment: shows whether a branch assigned the name, and in which order.
  uint64_t version = 0;
};

class Scope {
public:
  const Binding *find(llvm::StringRef name) const {
    auto found = bindings.find(name);
    return found == bindings.end() ? nullptr : &found->second;
  }
  void set(llvm::StringRef name, Binding binding) { bindings[name] = std::move(binding); }
  void erase(llvm::StringRef name) { bindings.erase(name); }
  /// Names in order of their last assignment.
  std::vector<std::string> names() const {
    std::vector<std::pair<uint64_t, std::string>> ordered;
    for (const auto &entry : bindings)
      ordered.emplace_back(entry.second.version, entry.first().str());
    llvm::sort(ordered);
    std::vector<std::string> names;
    for (auto &entry : ordered)
      names.push_back(std::move(entry.second));
    return names;
  }

private:
  llvm::StringMap<Binding> bindings;
};

} // namespace sectile::python
