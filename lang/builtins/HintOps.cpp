// What the user knows and the compiler cannot see.
#include "lang/builtins/BuiltinTable.h"
#include "lang/tile/TileDialect.h"

using namespace mlir;

namespace sectile::lang {
namespace {

enum class Hint { Divisibility, Contiguity, Constancy };

FailureOr<Operand> hint(Arguments &args, Hint which) {
  if (args.sema.asConstant(args[0]))
    return args[0]; // nothing to learn about a constant
  FailureOr<Value> input = args.value(0);
  if (failed(input))
    return failure();
  auto values = args.integers(1);
  if (failed(values))
    return failure();
  size_t entries = std::max<size_t>(1, input->type.shape.size());
  if (values->size() != entries)
    return args.error("one number per dimension expected, " + Twine(entries) + " for " +
                      args.sema.nameOf(input->type) + ", found " + Twine(values->size()));
  for (int64_t value : *values)
    if (value < 1)
      return args.error("numbers should be positive, found " + Twine(value));
  Semantics &sema = args.sema;
  auto numbers = DenseI64ArrayAttr::get(sema.builder.getContext(), *values);
  DenseI64ArrayAttr none;
  auto op = tile::HintOp::create(sema.builder, sema.location(), input->ir.getType(), input->ir,
                                 which == Hint::Divisibility ? numbers : none,
                                 which == Hint::Contiguity ? numbers : none,
                                 which == Hint::Constancy ? numbers : none);
  return Operand(Value{op, input->type});
}

FailureOr<Operand> assume(Arguments &args) {
  Semantics &sema = args.sema;
  if (auto held = sema.asConstant(args[0])) {
    if (held->equals(Constant{false}))
      return args.error("the condition is false at compile time");
    return Operand();
  }
  FailureOr<Value> condition = args.value(0);
  if (failed(condition))
    return failure();
  condition = sema.isNonZero(*condition);
  if (failed(condition))
    return failure();
  tile::AssumeOp::create(sema.builder, sema.location(), condition->ir);
  return Operand();
}

} // namespace

void addHintOps(BuiltinTable &table) {
  table.add("multiple_of(input, values)",
            [](Arguments &args) { return hint(args, Hint::Divisibility); });
  table.add("max_contiguous(input, values)",
            [](Arguments &args) { return hint(args, Hint::Contiguity); });
  table.add("max_constancy(input, values)",
            [](Arguments &args) { return hint(args, Hint::Constancy); });
  table.add("assume(cond)", assume);
}

} // namespace sectile::lang
