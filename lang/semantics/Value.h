//===-- Value.h - values while a kernel is evaluated ------------------------------------------===//
// A `Value` is an SSA value with its type in the language (which knows signedness). An `Operand` is
// anything an expression may contain: a constant, a value, a tuple of operands, or a function that
// combines two elements (for reduce and scan).
#pragma once

#include "lang/plain/Constant.h"

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Value.h"

#include <functional>
#include <memory>
#include <variant>

namespace sectile::lang {

/// A scalar when `shape` is empty, else a tile.
struct Type {
  DType dtype;
  llvm::SmallVector<int64_t, 4> shape;

  bool isScalar() const { return shape.empty(); }
  int64_t elementCount() const;
  Type withDType(DType other) const { return {other, shape}; }
  Type withShape(llvm::ArrayRef<int64_t> extents) const {
    return {dtype, llvm::SmallVector<int64_t, 4>(extents)};
  }
  friend bool operator==(const Type &, const Type &) = default;
  /// "fp32" or "fp32[128x64]".
  std::string name() const;
  /// "128x64" or "scalar".
  std::string shapeName() const;
};

struct Value {
  mlir::Value ir;
  Type type;
};

struct Operand;
using OperandTuple = std::shared_ptr<const Tuple<Operand>>;
/// Inlines the user's combining function on scalar values at the current insertion point: one left
/// and one right element per source -> one element per source.
using Combiner = std::function<mlir::FailureOr<llvm::SmallVector<Value>>(
    llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs)>;

struct Operand {
  std::variant<Constant, Value, OperandTuple, std::shared_ptr<Combiner>> data;

  Operand() : data(Constant{None{}}) {}
  Operand(Constant constant) : data(std::move(constant)) {}
  Operand(Value value) : data(std::move(value)) {}
  Operand(OperandTuple tuple) : data(std::move(tuple)) {}
  Operand(Combiner combiner) : data(std::make_shared<Combiner>(std::move(combiner))) {}
  static Operand tuple(std::vector<Operand> items, TupleClassRef tupleClass = nullptr) {
    return OperandTuple(
        std::make_shared<const Tuple<Operand>>(std::move(items), std::move(tupleClass)));
  }

  const Constant *constant() const { return std::get_if<Constant>(&data); }
  const Value *value() const { return std::get_if<Value>(&data); }
  const Tuple<Operand> *items() const {
    auto *tuple = std::get_if<OperandTuple>(&data);
    return tuple ? tuple->get() : nullptr;
  }
  const Combiner *combiner() const {
    auto *held = std::get_if<std::shared_ptr<Combiner>>(&data);
    return held ? held->get() : nullptr;
  }
  bool isNone() const { return constant() && constant()->isNone(); }
  /// For messages: "fp32[128]", "int", "tuple", "function".
  std::string kindName() const;
};

/// A constant tuple when every item is constant.
Operand makeTuple(std::vector<Operand> items, TupleClassRef tupleClass = nullptr);

} // namespace sectile::lang
