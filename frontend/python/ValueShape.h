//===-- ValueShape.h - tuples of values, flattened into SSA results and back ------------------===//
// What a branch or loop hands on is one operand per variable; what `scf` takes is a flat list of
// SSA values. A ValueShape says which parts of an operand are SSA values and which are constants:
//
//   (acc, None, (m, "x"))   ->   values [acc, m],  shape (slot fp32[128], None, (slot i32, "x"))
#pragma once

#include "lang/semantics/Semantics.h"

namespace sectile::python {

struct ValueShape {
  enum class Kind { Slot, Constant, Tuple };
  Kind kind = Kind::Constant;
  lang::Type type;        // of a slot
  lang::Operand constant; // any operand that is the same on every path
  std::vector<ValueShape> items;
  lang::TupleClassRef tupleClass;

  /// The operand of this shape over values[next...]; `next` moves past those used.
  lang::Operand rebuild(mlir::ValueRange values, size_t &next) const;
  /// "fp32[128]", "None", "(fp32[128], 'x')".
  std::string describe() const;
};

/// The parts of a tuple, constant or not; nullopt when `operand` is no tuple.
std::optional<std::vector<lang::Operand>> tupleItems(const lang::Operand &operand);
/// The class of a named tuple; null for any other operand.
lang::TupleClassRef tupleClassOf(const lang::Operand &operand);
/// A bool, int or float known at compile time.
bool isNumberConstant(const lang::Operand &operand);
/// Whether both are surely the same: equal constants or the same SSA values.
bool isSameOperand(const lang::Operand &a, const lang::Operand &b);
/// As ValueShape::describe.
std::string describeOperand(const lang::Operand &operand);

/// Shape of an operand that a loop carries; appends its values, with number constants made into
/// values at the current position.
mlir::FailureOr<ValueShape> shapeForLoop(lang::Semantics &sema, const lang::Operand &operand,
                                         llvm::SmallVectorImpl<mlir::Value> &values);
/// Appends the values of `operand`, which must have `shape`; false (nothing reported) if it has
/// not.
bool flattenAs(lang::Semantics &sema, const ValueShape &shape, const lang::Operand &operand,
               llvm::SmallVectorImpl<mlir::Value> &values);

/// Shape of an operand with its constants left as they are; appends the values of the other parts.
ValueShape shapeOf(const lang::Operand &operand, llvm::SmallVectorImpl<mlir::Value> &values);
/// A value of that type that nobody reads, made at the builder's place.
mlir::Value zeroOf(lang::Semantics &sema, mlir::Type type);

/// One end of a branch: where its last values are computed.
struct BranchEnd {
  mlir::Block *block;
  llvm::SmallVector<mlir::Value> values;
};
/// The shape two operands share at the ends of two branches, their values appended to each; nullopt
/// when they do not fit.
std::optional<ValueShape> mergeOperands(lang::Semantics &sema, const lang::Operand &a,
                                        const lang::Operand &b, BranchEnd &endOfA,
                                        BranchEnd &endOfB);
/// Returns the shape of `operand`. Its values are appended at `end`, and zeros of the same types at
/// `other`, a path whose result is not used.
ValueShape mergeWithNothing(lang::Semantics &sema, const lang::Operand &operand, BranchEnd &end,
                            BranchEnd &other);

} // namespace sectile::python
