//===-- Polynomial.h - polynomials and constants of more digits than a float has ---------------===//
// What SpecialCoefficients.h is made of.
#pragma once

#include "lang/builtins/Formula.h"

namespace sectile::lang {

/// A polynomial in x - center, lowest degree first: one with an error below f64's rounding, and,
/// where functions of f32 are computed in f64 with it, a shorter one with an error below f32's.
struct Polynomial {
  double center;
  llvm::ArrayRef<double> full, shorter;
};

/// A polynomial in x - center, lowest degree first, whose coefficients are numbers of f32.
struct SinglePolynomial {
  double center;
  llvm::ArrayRef<double> series;
};

/// A real number as the sum of an f64 and a far smaller one.
struct SplitNumber {
  double high, low;
};

/// How many digits a function computes, in f64: those of the result's type.
enum class Precision { Single, Double };

/// Horner's scheme. A back end may fuse its products, which does the error no harm.
Term evaluate(const Polynomial &polynomial, Term x, Precision precision);
Term evaluate(const SinglePolynomial &polynomial, Term x);

} // namespace sectile::lang
