#include "optimizer/ScalarSum.h"

#include "lang/tile/TileDialect.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sectile::optimizer {

static std::optional<int64_t> constantOf(Value scalar) {
  APInt known;
  if (!matchPattern(scalar, m_ConstantInt(&known)) || known.getBitWidth() > 64)
    return std::nullopt;
  return known.getSExtValue();
}

ScalarSum ScalarSum::of(Value scalar) {
  ScalarSum sum;
  sum.collect(scalar, 1);
  return sum;
}

void ScalarSum::collect(Value scalar, int64_t factor) {
  if (auto known = constantOf(scalar)) {
    number += *known * factor;
    return;
  }
  Operation *op = scalar.getDefiningOp();
  if (auto sum = dyn_cast_or_null<arith::AddIOp>(op)) {
    collect(sum.getLhs(), factor);
    return collect(sum.getRhs(), factor);
  }
  if (auto difference = dyn_cast_or_null<arith::SubIOp>(op)) {
    collect(difference.getLhs(), factor);
    return collect(difference.getRhs(), -factor);
  }
  if (auto product = dyn_cast_or_null<arith::MulIOp>(op))
    for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()),
                              std::pair(product.getRhs(), product.getLhs())})
      if (auto known = constantOf(other))
        return collect(one, factor * *known);
  if (isa_and_nonnull<arith::ExtSIOp, tile::HintOp>(op))
    return collect(op->getOperand(0), factor);
  auto *place = llvm::lower_bound(terms, scalar, [](const Term &term, Value value) {
    return term.value.getAsOpaquePointer() < value.getAsOpaquePointer();
  });
  if (place == terms.end() || place->value != scalar)
    place = terms.insert(place, {scalar, 0});
  place->factor += factor;
  if (!place->factor)
    terms.erase(place);
}

ScalarSum &ScalarSum::add(const ScalarSum &other, int64_t factor) {
  number += other.number * factor;
  for (const Term &term : other.terms)
    collect(term.value, term.factor * factor);
  return *this;
}

std::optional<std::pair<Value, int64_t>> ScalarSum::single() const {
  if (terms.empty())
    return std::pair(Value(), number);
  if (terms.size() > 1 || number)
    return std::nullopt;
  return std::pair(terms.front().value, terms.front().factor);
}

bool ScalarSum::fits(unsigned bits) const {
  return llvm::isIntN(bits, number) && llvm::all_of(terms, [&](const Term &term) {
           return term.value.getType().getIntOrFloatBitWidth() <= bits &&
                  llvm::isIntN(bits, term.factor);
         });
}

Value ScalarSum::materialize(OpBuilder &builder, Location place, unsigned bits) const {
  Type type = builder.getIntegerType(bits), wide = builder.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, place, builder.getIntegerAttr(type, value));
  };
  Value sum;
  for (const Term &term : terms) {
    Value value = term.value;
    if (value.getType() != type)
      value = arith::ExtSIOp::create(builder, place, type, value);
    if (term.factor != 1)
      value = arith::MulIOp::create(builder, place, value, constant(term.factor));
    sum = sum ? arith::AddIOp::create(builder, place, sum, value) : value;
  }
  if (!sum)
    sum = constant(number);
  else if (number)
    sum = arith::AddIOp::create(builder, place, sum, constant(number));
  return bits == 64 ? sum : arith::ExtSIOp::create(builder, place, wide, sum).getResult();
}

} // namespace sectile::optimizer
