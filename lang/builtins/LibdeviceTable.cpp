// How functions of the device library get their arguments.
#include "lang/builtins/LibdeviceTable.h"

using namespace mlir;

namespace sectile::lang {

static const DType kInt32 = DType::scalar(ScalarKind::Int32);

namespace {

/// Whether every number of `from` is one of `to`.
bool isWithin(DType from, DType to) {
  if (from.isPointer || from.isVoid())
    return false;
  if (from.isFloat() || to.isFloat())
    return from.isFloat() && to.isFloat() && (from == to || from.bits() < to.bits());
  if (from == to || from.isBool())
    return true;
  return from.bits() < to.bits() && (to.isSignedInt() || !from.isSignedInt());
}

/// The argument as `dtype`.
FailureOr<Value> typedArgument(Arguments &args, size_t index, DType dtype) {
  Semantics &sema = args.sema;
  if (const Constant *constant = args[index].constant(); constant && fitsDType(*constant, dtype))
    return sema.constant(*constant, dtype);
  FailureOr<Value> value = args.value(index);
  if (failed(value))
    return failure();
  if (isWithin(value->type.dtype, dtype))
    return sema.cast(*value, dtype);
  return args.error(sema.nameOf(dtype) + " expected, found " + sema.nameOf(value->type),
                    value->type.dtype.isPointer
                        ? "load through the pointer first"
                        : "cast first, for example with " + sema.words.cast(dtype, "x"));
}

LogicalResult broadcastAll(Arguments &args, MutableArrayRef<Value> values) {
  for (Value &value : values.drop_front()) {
    auto both = args.sema.broadcast(values.front(), value, args.operation);
    if (failed(both))
      return failure();
    std::tie(values.front(), value) = *both;
  }
  for (Value &value : values) {
    FailureOr<Value> wide = args.sema.broadcastTo(value, values.front().type.shape);
    if (failed(wide))
      return failure();
    value = *wide;
  }
  return success();
}

/// Promoted and broadcast.
LogicalResult unifyAll(Arguments &args, MutableArrayRef<Value> values) {
  // Twice: the first value has met all the others after one round.
  for (int round = 0; round < 2; ++round)
    for (Value &value : values.drop_front()) {
      auto both = args.sema.unify(values.front(), value, args.operation);
      if (failed(both))
        return failure();
      std::tie(values.front(), value) = *both;
    }
  return success();
}

FailureOr<Operand> build(Arguments &args, ArrayRef<Value> values,
                         const std::function<Term(ArrayRef<Term>)> &function) {
  Formula formula(args.sema, values.front().type.shape);
  SmallVector<Term> terms;
  for (const Value &value : values)
    terms.push_back(formula.input(value));
  return Operand(formula.build(function(terms)));
}

size_t parameterCount(StringRef signature) {
  return signature.count(',') + 1;
}

} // namespace

void addTyped(BuiltinTable &table, StringRef signature, ArrayRef<DType> types,
              std::function<Term(ArrayRef<Term>)> function) {
  table.add(signature,
            [types = SmallVector<DType>(types), function](Arguments &args) -> FailureOr<Operand> {
              SmallVector<Value> values;
              for (auto [index, dtype] : llvm::enumerate(types)) {
                FailureOr<Value> value = typedArgument(args, index, dtype);
                if (failed(value))
                  return failure();
                values.push_back(*value);
              }
              if (failed(broadcastAll(args, values)))
                return failure();
              return build(args, values, function);
            });
}

void addOfFloats(BuiltinTable &table, StringRef signature,
                 std::function<Term(ArrayRef<Term>)> function) {
  table.add(signature,
            [count = parameterCount(signature), function](Arguments &args) -> FailureOr<Operand> {
              SmallVector<Value> values;
              for (size_t index = 0; index < count; ++index) {
                FailureOr<Value> value = wideFloat(args, index);
                if (failed(value))
                  return failure();
                values.push_back(*value);
              }
              if (failed(unifyAll(args, values)))
                return failure();
              return build(args, values, function);
            });
}

void addForEachWidth(BuiltinTable &table, StringRef signature,
                     std::function<Term(ArrayRef<Term>)> ofSingle,
                     std::function<Term(ArrayRef<Term>)> ofDouble) {
  addOfFloats(table, signature, [ofSingle, ofDouble](ArrayRef<Term> given) {
    return given[0].isDouble() ? ofDouble(given) : ofSingle(given);
  });
}

void addOfIntegers(BuiltinTable &table, StringRef signature, IntegerWidths widths,
                   std::function<Term(ArrayRef<Term>)> function) {
  table.add(
      signature,
      [count = parameterCount(signature), widths, function](Arguments &args) -> FailureOr<Operand> {
        SmallVector<Value> values;
        for (size_t index = 0; index < count; ++index) {
          FailureOr<Value> value = args.value(index);
          if (failed(value))
            return failure();
          if (value->type.dtype.isIntOrBool() && value->type.dtype.bits() < 32)
            value = args.sema.cast(*value, kInt32);
          DType dtype = value->type.dtype;
          bool mayBe64 = widths == IntegerWidths::Also64;
          if (!dtype.isInt() || (dtype.bits() == 64 && !mayBe64))
            return args.error(Twine(mayBe64 ? "32- or 64-bit" : "32-bit") +
                              " integers expected, found " + args.sema.nameOf(value->type));
          values.push_back(*value);
        }
        if (failed(unifyAll(args, values)))
          return failure();
        return build(args, values, function);
      });
}

} // namespace sectile::lang
