// Evaluates a Python kernel and prints its tile IR; free of LLVM headers.
#pragma once

#include "frontend/python/Ast.h"
#include "lang/plain/KernelSignature.h"

namespace sectile::testing {

struct EvaluationText {
  std::string ir;            // empty when there are errors
  std::string verifierError; // of the module, which is a bug of the front end
  std::vector<lang::Diagnostic> diagnostics;
};

EvaluationText evaluateToText(const python::ast::Function &kernel,
                              const lang::KernelSignature &signature,
                              python::Environment &environment, bool withLocations);

} // namespace sectile::testing
