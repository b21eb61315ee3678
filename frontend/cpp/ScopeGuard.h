//===-- ScopeGuard.h - one traced body ----------------------------------------------------===//
// While it lives, new values belong to the body; afterwards they are out of scope. Also puts the
// builder back where it was.
#pragma once

#include "frontend/cpp/TracerImpl.h"

namespace sectile::cpp {

class TracerImpl::ScopeGuard {
public:
  ScopeGuard(TracerImpl &tracer, ScopeKind kind, std::string_view what)
      : tracer(tracer), insertion(tracer.sema.builder) {
    tracer.scopes.push_back({++tracer.lastScope, kind, what});
  }
  ~ScopeGuard() { tracer.scopes.pop_back(); }
  ScopeGuard(const ScopeGuard &) = delete;
  ScopeGuard &operator=(const ScopeGuard &) = delete;

private:
  TracerImpl &tracer;
  mlir::OpBuilder::InsertionGuard insertion;
};

} // namespace sectile::cpp
