//===-- ScalarSum.h - integers of a kernel as sums of others --------------------------------===//
// A scalar is taken apart through additions, subtractions, products with constants and extensions,
// into numbers that are none of these, each with a factor:
//
//   ScalarSum sum = ScalarSum::of(number);      // k - 64 * i  ==>  {k: 1, i: -64}
//   sum += other;
//   Value made = sum.materialize(builder, place);
//
// Sums are those of whole numbers: what wraps is not seen. So this is for addresses, which do not
// wrap (IndexAnalysis.h, assumption (Offset)), and for equalities that hold modulo any power of
// two.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace sectile::optimizer {

class ScalarSum {
public:
  ScalarSum() = default;
  explicit ScalarSum(int64_t number) : number(number) {}
  static ScalarSum of(mlir::Value scalar);

  ScalarSum &operator+=(const ScalarSum &other) { return add(other, 1); }
  ScalarSum &operator-=(const ScalarSum &other) { return add(other, -1); }
  ScalarSum times(int64_t factor) const { return ScalarSum().add(*this, factor); }
  friend bool operator==(const ScalarSum &, const ScalarSum &) = default;

  bool isZero() const { return terms.empty() && number == 0; }
  /// The one number that it is a multiple of, with the factor; a null value where it is a constant,
  /// nullopt where it is neither.
  std::optional<std::pair<mlir::Value, int64_t>> single() const;

  struct Term {
    mlir::Value value;
    int64_t factor;
    friend bool operator==(const Term &, const Term &) = default;
  };
  llvm::ArrayRef<Term> summands() const { return terms; }
  int64_t constant() const { return number; }

  /// Whether no summand has more bits.
  bool fits(unsigned bits) const;
  /// The sum as a number of 64 bits, computed in so many, which all summands fit.
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location place, unsigned bits = 64) const;

private:
  ScalarSum &add(const ScalarSum &other, int64_t factor);
  void collect(mlir::Value scalar, int64_t factor);

  /// Ordered by address, so that equal sums are equal lists.
  llvm::SmallVector<Term, 2> terms;
  int64_t number = 0;
};

} // namespace sectile::optimizer
