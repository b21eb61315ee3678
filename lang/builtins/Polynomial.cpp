#include "lang/builtins/Polynomial.h"

namespace sectile::lang {

Term evaluate(const Polynomial &polynomial, Term x, Precision precision) {
  llvm::ArrayRef<double> series =
      precision == Precision::Double ? polynomial.full : polynomial.shorter;
  Term argument = polynomial.center == 0 ? x : x - polynomial.center;
  Term result = literal(series.back(), x);
  for (double coefficient : llvm::reverse(series.drop_back()))
    result = result * argument + coefficient;
  return result;
}

} // namespace sectile::lang
