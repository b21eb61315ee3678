//===-- ScalarSum.h - integers of a kernel as sums of others --------------------------------===//
// A scalar is taken apart through additions, subtractions and products with constants of its own
// type, of 32 or 64 bits, into numbers that are none of these, each with a factor:
//
//   ScalarSum sum = ScalarSum::of(number);      // k - 64 * i  ==>  {k: 1, i: -64}, of 32 bits
//   sum += other;
//   Value made = sum.materialize(builder, place);
//
// Integers wrap, and a sum knows where: it is what the kernel computes, modulo 2^bits() as a signed
// number. A sum of 32 bits that is extended is a number of its own in a sum of 64, unless it is one
// number. Sums that `+=` and `-=` make are of 64 bits, as if no summand had wrapped, which is for
// addresses (IndexAnalysis.h, assumption (Offset)); `add` says whether that had to be assumed.
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

  ScalarSum &operator+=(const ScalarSum &other) { return addMultiple(other, 1); }
  ScalarSum &operator-=(const ScalarSum &other) { return addMultiple(other, -1); }
  ScalarSum times(int64_t factor) const { return ScalarSum().addMultiple(*this, factor); }
  /// Adds as an operation of so many bits does. Not exact, and then a sum of whole numbers, where
  /// one of both has wrapped before, if it has, in fewer bits.
  bool add(const ScalarSum &other, unsigned bits);
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

  /// 32 or 64; 0 where it is a constant or a number by itself, which no width changes.
  unsigned bits() const { return width; }
  /// Whether it is what operations of so many bits compute.
  bool isOf(unsigned bits) const { return width == 0 || width == bits; }

  /// The sum as a number of 64 bits.
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location place) const;

private:
  ScalarSum &addMultiple(const ScalarSum &other, int64_t factor);
  void collect(mlir::Value scalar, int64_t factor, unsigned bits);
  void addTerm(mlir::Value value, int64_t factor);
  /// Factors and the constant are signed numbers of so many bits.
  void reduceTo(unsigned bits);

  /// Ordered by address, so that equal sums are equal lists.
  llvm::SmallVector<Term, 2> terms;
  int64_t number = 0;
  unsigned width = 0;
};

/// Whether an integer follows from the kernel's arguments by sums and products, nested so deep at
/// most: a host can compute it.
bool isOfArguments(mlir::Value number, unsigned depth = 8);

} // namespace sectile::optimizer
