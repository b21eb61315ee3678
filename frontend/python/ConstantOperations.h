//===-- ConstantOperations.h - operators on constants, Python's objects among them ------------===//
// Numbers, texts and tuples are computed here (ConstantArithmetic). What an operator means for an
// object its class says, so Python is asked, by way of the Environment, which notes the answer:
//
//   Color.RED == 1      operator.eq(Color.RED, 1)
//   if CONFIG:          bool(CONFIG)
//   f"{CONFIG}"         str(CONFIG)
#pragma once

#include "frontend/python/Ast.h"
#include "frontend/python/ConstantArithmetic.h"

namespace sectile::python {

class ConstantOperations {
public:
  explicit ConstantOperations(Environment &environment) : environment(environment) {}

  /// `op` as constantBinary, constantUnary and constantCompare name it.
  ConstantResult binary(const std::string &op, const lang::Constant &lhs,
                        const lang::Constant &rhs);
  ConstantResult unary(const std::string &op, const lang::Constant &operand);
  ConstantResult compare(const std::string &op, const lang::Constant &lhs,
                         const lang::Constant &rhs);
  /// bool(x), a bool.
  ConstantResult truth(const lang::Constant &constant);
  /// str(x) and repr(x), texts. The addresses of objects are left out: they differ from run to run.
  ConstantResult text(const lang::Constant &constant);
  ConstantResult representation(const lang::Constant &constant);
  /// format(x, specification): what "{x:specification}" of an f-string stands for.
  ConstantResult formatted(const lang::Constant &constant, const lang::Constant &specification);
  /// isinstance(object, type), a bool.
  ConstantResult isInstance(const lang::Constant &object, const lang::Constant &type);
  /// int(x), float(x), len(x), abs(x), by the function's name.
  ConstantResult convert(const std::string &function, const lang::Constant &constant);

private:
  /// What Python's `function`, "operator.eq" or "python.len", makes of the operands.
  ConstantResult ask(const char *function, std::vector<lang::Constant> operands);

  Environment &environment;
};

/// Whether a constant is an object of the host language, or a tuple that holds one.
bool holdsObject(const lang::Constant &constant);

} // namespace sectile::python
