//===-- SingleFunctions.h - special functions of f32, in f32 arithmetic --------------------------===//
// Terms are of f32. Few polynomials, all of which are evaluated, and selects; README.md states the
// errors. Where digits would be lost a rounding is made good by math.fma (ExactArithmetic.h).
#pragma once

#include "lang/builtins/Polynomial.h"

namespace sectile::lang::single {

/// log(x) of a normal positive number.
Term logOfNormal(Term x);
/// log(x) of a positive number, subnormal ones included.
Term logOfPositive(Term x);

Term exp10(Term x);
/// sin(pi x), |x| <= 1/2.
Term sineOfHalfTurns(Term x);
/// sqrt(x^2 + y^2).
Term hypot(Term x, Term y);
Term gamma(Term x);
Term logGamma(Term x);
Term inverseErf(Term x);
Term inverseErfc(Term y);
Term erfcx(Term x);
Term normalDistribution(Term x);
/// Modified Bessel functions of order 0 or 1.
Term besselI(int order, Term x);
/// Bessel functions of order 0 or 1.
Term besselJ(int order, Term x);
Term besselY(int order, Term x);

} // namespace sectile::lang::single
