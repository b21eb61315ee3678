#include "lang/builtins/Polynomial.h"

namespace sectile::lang {

static Term horner(llvm::ArrayRef<double> series, double center, Term x) {
  Term argument = center == 0 ? x : x - center;
  Term result = literal(series.back(), x);
  for (double coefficient : llvm::reverse(series.drop_back()))
    result = result * argument + coefficient;
  return result;
}

Term evaluate(const Polynomial &polynomial, Term x, Precision precision) {
  return horner(precision == Precision::Double ? polynomial.full : polynomial.shorter,
                polynomial.center, x);
}

Term evaluate(const SinglePolynomial &polynomial, Term x) {
  return horner(polynomial.series, polynomial.center, x);
}

} // namespace sectile::lang
