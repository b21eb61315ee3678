#!/usr/bin/env python3
"""Derives the minimax polynomials of ../MathCoefficients.h: `python derive.py > ../MathCoefficients.h`.

Each is found by Remez exchange in 60-digit arithmetic (needs mpmath). The weight makes the error
relative to the function that is finally returned. Coefficients are rounded from the lowest degree up,
and the others fitted again after each rounding, so that rounding costs little accuracy.
"""
import struct
import sys

from mpmath import (acos, asin, atan, cos, erf, erfc, exp, log, matrix, lu_solve, mp, mpf, pi, sin, sqrt)

mp.dps = 60


def _round24(value):
    with mp.workprec(24):
        return +mpf(value)


def chebyshev_nodes(low, high, count):
    return [(low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / count) for i in range(count)]


def remez(function, weight, degree, low, high, fixed):
    """Coefficients c[0..degree] minimising max |weight * (function - p)|; `fixed` ones are given."""
    free = [k for k in range(degree + 1) if k not in fixed]
    target = lambda x: function(x) - sum(c * x**k for k, c in fixed.items())
    if not free:
        return dict(fixed), None
    points = chebyshev_nodes(low, high, len(free) + 1)
    heaviest = max(abs(weight(x)) for x in points)
    # A weight of zero in a node would force the error to zero everywhere.
    points = [x if abs(weight(x)) > heaviest * mpf("1e-8") else x + (high - low) / 50 for x in points]
    for _ in range(12):
        system = matrix(len(points), len(points))
        right = matrix(len(points), 1)
        for i, x in enumerate(points):
            for j, k in enumerate(free):
                system[i, j] = x**k
            system[i, len(free)] = (-1) ** i / weight(x)
            right[i] = target(x)
        solution = lu_solve(system, right)
        coefficients = dict(fixed)
        coefficients.update({k: solution[j] for j, k in enumerate(free)})
        level = abs(solution[len(free)])
        error = lambda x: weight(x) * (function(x) - sum(c * x**k for k, c in coefficients.items()))
        # New points: the extremum of each sign run on a fine grid.
        grid = chebyshev_nodes(low, high, 40 * len(points))
        values = [error(x) for x in grid]
        runs, extrema = [], []
        for x, v in zip(grid, values):
            if extrema and (extrema[-1][1] > 0) == (v > 0):
                if abs(v) > abs(extrema[-1][1]):
                    extrema[-1] = (x, v)
            else:
                extrema.append((x, v))
        while len(extrema) > len(points):
            if abs(extrema[0][1]) < abs(extrema[-1][1]):
                extrema.pop(0)
            else:
                extrema.pop()
        worst = max(abs(v) for v in values)
        if len(extrema) < len(points):
            break
        points = [x for x, _ in extrema]
        if worst < level * mpf("1.02"):
            break
    return coefficients, worst


def least_squares(function, weight, degree, low, high, fixed):
    """Nearly as good as remez(). For given coefficients on an interval around zero, where the
    remaining powers all vanish together and the exchange need not converge."""
    free = [k for k in range(degree + 1) if k not in fixed]
    nodes = chebyshev_nodes(low, high, 8 * degree + 1)
    rows = [[weight(x) * x**k for k in free] for x in nodes]
    right = [weight(x) * (function(x) - sum(c * x**k for k, c in fixed.items())) for x in nodes]
    solution = lu_solve(matrix(rows), matrix(right))
    coefficients = dict(fixed)
    coefficients.update({k: solution[j] for j, k in enumerate(free)})
    return coefficients, None


def fit(name, comment, function, weight, degree, low, high, bits, keep_first=None):
    fixed = dict(keep_first or {})
    low, high = mpf(low), mpf(high)
    rounder = (lambda v: mpf(float(v))) if bits == 64 else _round24
    for k in range(degree + 1):
        if k in fixed:
            continue
        solve = least_squares if fixed and low < 0 < high else remez
        if bits == 64 and k > 4:  # the tail's rounding errors are far below the precision
            coefficients, worst = solve(function, weight, degree, low, high, fixed)
            for j in range(k, degree + 1):
                fixed[j] = rounder(coefficients[j])
            break
        coefficients, worst = solve(function, weight, degree, low, high, fixed)
        fixed[k] = rounder(coefficients[k])
    grid = chebyshev_nodes(low, high, 2000)
    final = max(abs(weight(x) * (function(x) - sum(c * x**k for k, c in fixed.items()))) for x in grid)
    print(f"/// {comment} Error 2^{float(log(final, 2)):.1f}.")
    values = [float(fixed[k]) for k in range(degree + 1)]
    text = ", ".join(v.hex() for v in values)
    print(f"inline constexpr double {name}[] = {{{text}}};")
    sys.stdout.flush()


def series(function, order, count, point=0):
    return mp.taylor(function, point, count)


def near_zero(function, coefficients, radius):
    """`function`, which cancels near zero, replaced by its power series there."""
    return lambda x: function(x) if abs(x) > radius else sum(c * x**k for k, c in enumerate(coefficients))


def main():
    print("//===-- MathCoefficients.h - minimax polynomials ----------------------------------------------===//")
    print("// Made by coefficients/derive.py, lowest degree first. `Error`: relative to the function's result.")
    print("#pragma once\n")
    print("namespace sectile::backends::coefficients {\n")
    fact = mp.factorial
    ln2 = log(mpf(2))
    half = ln2 / 2 * mpf("1.001")
    expq = near_zero(lambda r: (exp(r) - 1 - r) / r**2, [1 / fact(k + 2) for k in range(20)], mpf("0.05"))
    fit("kExp32", "exp(r) = 1 + r + r^2 p(r), |r| <= ln(2)/2.", expq, lambda r: r**2 / exp(r), 4, -half, half, 32, {0: mpf("0.5")})
    fit("kExp64", "The same for f64.", expq, lambda r: r**2 / exp(r), 10, -half, half, 64, {0: mpf("0.5")})
    exp2q = near_zero(lambda r: (mpf(2)**r - 1) / r, [ln2**(k + 1) / fact(k + 1) for k in range(20)], mpf("0.05"))
    fit("kExp2_32", "2^r = 1 + r p(r), |r| <= 1/2.", exp2q, lambda r: abs(r) / mpf(2)**r, 5, -mpf("0.5005"), mpf("0.5005"), 32, {0: _round24(ln2)})
    fit("kExp2_64", "The same for f64.", exp2q, lambda r: abs(r) / mpf(2)**r, 11, -mpf("0.5005"), mpf("0.5005"), 64)
    logq = near_zero(lambda f: (log(1 + f) - f + f**2 / 2) / f**3, [mpf(-1)**k / (k + 3) for k in range(60)], mpf("0.1"))
    logw = near_zero(lambda f: f**3 / log(1 + f), [0, 0, 1, mpf("0.5")], mpf("1e-20"))
    fit("kLog32", "log(1 + f) = f - f^2/2 + f^3 p(f), sqrt(1/2) <= 1 + f < sqrt(2).", logq, logw, 8, sqrt(mpf("0.5")) - 1 - mpf("1e-6"), sqrt(mpf(2)) - 1 + mpf("1e-6"), 32)
    s_max = (sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)
    z_max = s_max**2 * mpf("1.0001")
    atanhq = near_zero(lambda z: (mp.atanh(sqrt(z)) / sqrt(z) - 1) / z * 2, [2 / mpf(2 * k + 3) for k in range(40)], mpf("0.003"))
    fit("kLog64", "log((1 + s) / (1 - s)) = 2s + s^3 p(s^2).", atanhq, lambda z: z / 2, 6, mpf(0), z_max, 64)
    fifth = near_zero(lambda z: ((mp.atanh(sqrt(z)) / sqrt(z) - 1) / z - mpf(1) / 3) / z * 2, [2 / mpf(2 * k + 5) for k in range(40)], mpf("0.003"))
    fit("kLogDouble", "The same to more digits, behind a leading 2/3 (for pow).", fifth, lambda z: z**2 / 2, 8, mpf(0), z_max, 64)
    fit("kLogDouble32", "The same for f32.", fifth, lambda z: z**2 / 2, 2, mpf(0), z_max, 32)
    eighth = (pi / 4 * mpf("1.001"))**2
    sinq = near_zero(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, [(-1)**(k + 1) / fact(2 * k + 3) for k in range(20)], mpf("0.01"))
    fit("kSin32", "sin(r) = r + r^3 p(r^2), |r| <= pi/4.", sinq, lambda z: z / (sinq(z) * z + 1), 2, mpf(0), eighth, 32)
    fit("kSin64", "The same for f64.", sinq, lambda z: z / (sinq(z) * z + 1), 6, mpf(0), eighth, 64)
    cosq = near_zero(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, [(-1)**k / fact(2 * k + 4) for k in range(20)], mpf("0.01"))
    fit("kCos32", "cos(r) = 1 - r^2/2 + r^4 p(r^2), |r| <= pi/4.", cosq, lambda z: z**2 / cos(sqrt(z)), 2, mpf(0), eighth, 32)
    fit("kCos64", "The same for f64.", cosq, lambda z: z**2 / cos(sqrt(z)), 5, mpf(0), eighth, 64)
    tan_eighth = (sqrt(mpf(2)) - 1) * mpf("1.0001")
    atanq = near_zero(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, [mpf(-1)**(k + 1) / (2 * k + 3) for k in range(60)], mpf("0.003"))
    fit("kAtan64", "atan(t) = t + t^3 p(t^2), |t| <= tan(pi/8).", atanq, lambda z: z, 11, mpf(0), tan_eighth**2, 64)
    fit("kAtan32", "The same for f32.", atanq, lambda z: z, 4, mpf(0), tan_eighth**2, 32)
    asinc = mp.taylor(asin, 0, 2 * 40 + 3)
    asinq = near_zero(lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, [asinc[2 * k + 3] for k in range(40)], mpf("0.003"))
    fit("kAsin64", "asin(t) = t + t^3 p(t^2), |t| <= 1/2.", asinq, lambda z: z, 12, mpf(0), mpf("0.2501"), 64)
    fit("kAsin32", "The same for f32.", asinq, lambda z: z, 5, mpf(0), mpf("0.2501"), 32)
    erfq = near_zero(lambda z: erf(sqrt(z)) / sqrt(z) - 1, [2 / sqrt(pi) * (-1)**k / fact(k) / (2 * k + 1) - (1 if k == 0 else 0) for k in range(40)], mpf("0.003"))
    fit("kErf64", "erf(x) = x + x p(x^2), |x| <= 1.", erfq, lambda z: 1 / (erfq(z) + 1), 14, mpf(0), mpf("1.0001"), 64)
    fit("kErf32", "The same for f32.", erfq, lambda z: 1 / (erfq(z) + 1), 6, mpf(0), mpf("1.0001"), 32)
    fit("kErfTail32", "erf(x) = 1 - exp(p(x)), 1 <= x <= 3.93.", lambda t: log(erfc(t)), lambda t: erfc(t) / erf(t), 6, mpf(1), mpf("3.93"), 32)
    # Shepherd and Laframboise 1981: (1 + 2x) exp(x^2) erfc(x) is nearly flat in (x - 4) / (x + 4).
    def scaled(q):
        x = 4 * (1 + q) / (1 - q)
        return (1 + 2 * x) * exp(x * x) * erfc(x)
    fit("kErfc64", "exp(x^2) erfc(x) = p((x - 4) / (x + 4)) / (1 + 2x), 0 <= x <= 28.", scaled, lambda q: 1 / scaled(q), 22, mpf(-1), mpf(24) / 32, 64)
    fit("kErfc32", "The same for f32, 1/2 <= x <= 10.2.", scaled, lambda q: 1 / scaled(q), 9, mpf("-3.5") / mpf("4.5") - mpf("0.001"), mpf("6.2") / mpf("14.2"), 32)
    fit("kCbrt", "cbrt(m) as first guess, 1 <= m < 8.", lambda m: mp.cbrt(m), lambda m: 1 / mp.cbrt(m), 4, mpf(1), mpf(8), 64)
    sinhq = near_zero(lambda z: (mp.sinh(sqrt(z)) / sqrt(z) - 1) / z, [1 / fact(2 * k + 3) for k in range(20)], mpf("0.003"))
    fit("kSinh32", "sinh(t) = t + t^3 p(t^2), |t| <= 1, for f32.", sinhq, lambda z: z / (sinhq(z) * z + 1), 2, mpf(0), mpf("1.0001"), 32)
    print("\n} // namespace sectile::backends::coefficients")


main()
