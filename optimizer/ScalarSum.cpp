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

/// Products and sums wrap, as those of the kernel do.
static int64_t wrappedProduct(int64_t one, int64_t other) {
  return int64_t(uint64_t(one) * uint64_t(other));
}
static int64_t wrappedSum(int64_t one, int64_t other) {
  return int64_t(uint64_t(one) + uint64_t(other));
}

/// The number that an extension, or a hint, has the value of.
static Value withoutExtensions(Value scalar) {
  while (isa_and_nonnull<arith::ExtSIOp, tile::HintOp>(scalar.getDefiningOp()))
    scalar = scalar.getDefiningOp()->getOperand(0);
  return scalar;
}

ScalarSum ScalarSum::of(Value scalar) {
  ScalarSum sum;
  scalar = withoutExtensions(scalar);
  const unsigned bits = scalar.getType().getIntOrFloatBitWidth();
  sum.collect(scalar, 1, bits);
  sum.reduceTo(bits);
  return sum;
}

void ScalarSum::collect(Value scalar, int64_t factor, unsigned bits) {
  if (auto known = constantOf(scalar)) {
    number = wrappedSum(number, wrappedProduct(*known, factor));
    return;
  }
  while (auto hint = scalar.getDefiningOp<tile::HintOp>())
    scalar = hint->getOperand(0);
  // Narrower sums may wrap before they are extended; those of 8 and 16 bits often do.
  Operation *op = bits >= 32 && scalar.getType().isInteger(bits) ? scalar.getDefiningOp() : nullptr;
  if (auto sum = dyn_cast_or_null<arith::AddIOp>(op)) {
    collect(sum.getLhs(), factor, bits);
    return collect(sum.getRhs(), factor, bits);
  }
  if (auto difference = dyn_cast_or_null<arith::SubIOp>(op)) {
    collect(difference.getLhs(), factor, bits);
    return collect(difference.getRhs(), wrappedProduct(factor, -1), bits);
  }
  if (auto multiple = dyn_cast_or_null<arith::MulIOp>(op))
    for (auto [one, other] : {std::pair(multiple.getLhs(), multiple.getRhs()),
                              std::pair(multiple.getRhs(), multiple.getLhs())})
      if (auto known = constantOf(other))
        return collect(one, wrappedProduct(factor, *known), bits);
  if (auto inner = withoutExtensions(scalar); inner != scalar) {
    if (auto known = constantOf(inner))
      number = wrappedSum(number, wrappedProduct(*known, factor));
    else
      addTerm(inner, factor);
    return;
  }
  addTerm(scalar, factor);
}

void ScalarSum::addTerm(Value value, int64_t factor) {
  auto *place = llvm::lower_bound(terms, value, [](const Term &term, Value value) {
    return term.value.getAsOpaquePointer() < value.getAsOpaquePointer();
  });
  if (place == terms.end() || place->value != value)
    place = terms.insert(place, {value, 0});
  place->factor = wrappedSum(place->factor, factor);
  if (!place->factor)
    terms.erase(place);
}

void ScalarSum::reduceTo(unsigned bits) {
  if (bits < 64) {
    number = llvm::SignExtend64(uint64_t(number), bits);
    for (Term &term : terms)
      term.factor = llvm::SignExtend64(uint64_t(term.factor), bits);
    llvm::erase_if(terms, [](const Term &term) { return term.factor == 0; });
  }
  const bool isOneNumber =
      terms.empty() || (terms.size() == 1 && terms.front().factor == 1 && number == 0);
  width = isOneNumber ? 0 : bits;
}

ScalarSum &ScalarSum::addMultiple(const ScalarSum &other, int64_t factor) {
  number = wrappedSum(number, wrappedProduct(other.number, factor));
  for (const Term &term : other.terms)
    addTerm(term.value, wrappedProduct(term.factor, factor));
  reduceTo(64);
  return *this;
}

bool ScalarSum::add(const ScalarSum &other, unsigned bits) {
  if (other.isZero())
    return true;
  if (isZero()) {
    *this = other;
    return true;
  }
  const bool isExact = isOf(bits) && other.isOf(bits);
  *this += other;
  if (isExact)
    reduceTo(bits);
  return isExact;
}

std::optional<std::pair<Value, int64_t>> ScalarSum::single() const {
  if (terms.empty())
    return std::pair(Value(), number);
  if (terms.size() > 1 || number)
    return std::nullopt;
  return std::pair(terms.front().value, terms.front().factor);
}

Value ScalarSum::materialize(OpBuilder &builder, Location place) const {
  const unsigned bits = width == 32 ? 32 : 64;
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

bool isOfArguments(Value number, unsigned depth) {
  if (auto argument = dyn_cast<BlockArgument>(number))
    return isa<FunctionOpInterface>(argument.getOwner()->getParentOp()) &&
           isa<IntegerType>(number.getType());
  Operation *op = number.getDefiningOp();
  return isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::TruncIOp>(op) &&
         isa<IntegerType>(number.getType()) && depth > 0 &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOfArguments(operand, depth - 1); });
}

} // namespace sectile::optimizer
