#!/usr/bin/env python3
"""Derives the polynomials of ../SpecialCoefficients.h: `python derive.py > ../SpecialCoefficients.h` (needs mpmath).

Each polynomial interpolates at Chebyshev nodes, in 60-digit arithmetic; that is within a small factor of the
minimax error, which a higher degree makes up for. The degree is the least one whose error, relative to
the function that is interpolated and before coefficients are rounded, is below 2^-56, and below 2^-31 for
the shorter polynomial of functions of f32 that are computed in f64. The variable is the argument less `center`.

Polynomials that are evaluated in f32 (`fit_single`) are minimax polynomials, whose coefficients are rounded to f32 from
the lowest degree up and the others fitted again after each. Their fits are weighted least squares, where weights
grow with the errors (Lawson, 1961). Needs numpy, too.
"""

import sys

import numpy as np
from mpmath import (
    besseli,
    besselj,
    bessely,
    cos,
    erfc,
    exp,
    findroot,
    log,
    loggamma,
    mp,
    mpf,
    pi,
    rgamma,
    sin,
    sqrt,
)

mp.dps = 60

# What jn and yn of f32 take.
USED_BY_SINGLE = ("kReciprocalGamma", "kStirling", "kBesselJ", "kBesselY", "kHankel")


def chebyshev_nodes(low, high, count):
    return [
        (low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / count)
        for i in range(count)
    ]


def interpolated(nodes, values):
    """Coefficients of the power series of the polynomial through the points (divided differences)."""
    differences = list(values)
    for k in range(1, len(nodes)):
        for i in range(len(nodes) - 1, k - 1, -1):
            differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - k])
    series = [differences[-1]]
    for k in range(len(nodes) - 2, -1, -1):
        series = [mpf(0), *series]
        for i in range(len(series) - 1):
            series[i] -= nodes[k] * series[i + 1]
        series[0] += differences[k]
    return series


def horner(series, x):
    result = mpf(0)
    for c in reversed(series):
        result = result * x + c
    return result


def fit(name, comment, function, low, high, center=0):
    """A polynomial for f64, and a shorter one where f32 is computed in f64 with it (USED_BY_SINGLE)."""
    low, high, center = mpf(low), mpf(high), mpf(center)
    # Interpolating wants more digits than the result has: the power series of high degree cancels.
    grid = chebyshev_nodes(low, high, 150)
    exact = [function(x) for x in grid]
    print(f"/// {comment}")
    tables = []
    for bits in (56, 31) if name.startswith(USED_BY_SINGLE) else (56,):
        for degree in range(2, 60):
            nodes = chebyshev_nodes(low, high, degree + 1)
            series = interpolated([x - center for x in nodes], [function(x) for x in nodes])
            error = max(abs(horner(series, x - center) / y - 1) for x, y in zip(grid, exact))
            if error < mpf(2) ** -bits:
                break
        else:
            raise SystemExit(f"{name}: no polynomial is good enough: 2^{float(log(error, 2)):.1f}")
        print(
            f"/// {'f64' if bits == 56 else 'f32'}: degree {degree}, error 2^{float(log(error, 2)):.1f}."
        )
        tables.append(", ".join(float(c).hex() for c in series))
    print(f"inline constexpr double {name}64[] = {{{tables[0]}}};")
    shorter = "{}"
    if len(tables) > 1:
        print(f"inline constexpr double {name}32[] = {{{tables[1]}}};")
        shorter = f"{name}32"
    print(f"inline constexpr Polynomial {name} = {{{float(center)!r}, {name}64, {shorter}}};\n")
    sys.stdout.flush()


def lawson(powers, target, weight):
    """Coefficients of about the least greatest error |weight * (powers @ c - target)|."""
    emphasis = np.ones_like(target)
    best, least = None, np.inf
    for _ in range(40):
        row = weight * np.sqrt(emphasis)
        found = np.linalg.lstsq(powers * row[:, None], target * row, rcond=None)[0]
        errors = np.abs((powers @ found - target) * weight)
        if errors.max() < least:
            best, least = found, errors.max()
        emphasis *= errors / errors.max() + 1e-3
        emphasis /= emphasis.max()
    return best


def fit_single(name, comment, function, degree, low, high, center=0, weight=None):
    """A polynomial of this degree for f32. `weight(x, y)`: what an error in function(x) = y counts; 1 / |y| if not given."""
    grid = chebyshev_nodes(mpf(low), mpf(high), 150)
    exact = [function(x) for x in grid]
    weight = weight or (lambda x, y: 1 / abs(y))
    weights = np.array([float(weight(x, y)) for x, y in zip(grid, exact)])
    t = np.array([float(x - mpf(center)) for x in grid])
    left = np.array([float(y) for y in exact])
    scale = np.abs(t).max()
    series = []
    for k in range(degree + 1):
        powers = np.stack([(t / scale) ** j for j in range(k, degree + 1)], 1)
        series.append(float(np.float32(lawson(powers, left, weights)[0] / scale**k)))
        left = left - series[-1] * t**k
    print(f"/// {comment}")
    print(f"/// f32: degree {degree}, error 2^{np.log2(np.abs(left * weights).max()):.1f}.")
    print(f"inline constexpr double {name}Series[] = {{{', '.join(c.hex() for c in series)}}};")
    print(f"inline constexpr SinglePolynomial {name} = {{{float(center)!r}, {name}Series}};\n")
    sys.stdout.flush()


def zero(name, comment, root):
    head = mpf(float(root))
    tail = mpf(float(root - head))
    print(f"/// {comment}")
    print(f"inline constexpr SplitNumber {name} = {{{float(head).hex()}, {float(tail).hex()}}};\n")
    return root


def erfc_inverse(w):
    """z with 1 - erf(z)^2 = exp(-w)."""
    y = exp(-w) / (1 + sqrt(1 - exp(-w)))  # 1 - sqrt(1 - exp(-w)) without cancellation
    if w < 1:
        return mp.erfinv(sqrt(-mp.expm1(-w)))
    z = sqrt(w)
    goal = log(y)
    for _ in range(60):
        step = (log(erfc(z)) - goal) * erfc(z) * sqrt(pi) / 2 * exp(z * z)
        z += step
        if abs(step) < mpf(10) ** -50:
            break
    return z


def erf_of(w):
    return sqrt(-mp.expm1(-w))


def log_stirling(w):
    x = 1 / sqrt(w)
    return x * (loggamma(x) - (x - mpf(1) / 2) * log(x) + x - log(2 * pi) / 2)


def scaled_erfc(x, shift):
    return (x + shift) * exp(x * x) * erfc(x)


def near_origin(order, zeros):
    """What is left of Y where the logarithm is taken off, without its first zero, as a function of x^2."""
    root = zeros[order, 1]

    def function(u):
        x = sqrt(u)
        rest = bessely(order, x) - 2 / pi * log(x / root) * besselj(order, x)
        return rest * x**order / (u - root**2)

    return function


def hankel_function(order, w):
    """P + i Q of Hankel's expansion: J + i Y over its first term, at 8 / sqrt(w)."""
    x = 8 / sqrt(w)
    chi = x - (2 * order + 1) * pi / 4
    value = mp.mpc(besselj(order, x), bessely(order, x))
    return sqrt(pi * x / 2) * value * mp.mpc(cos(chi), -sin(chi))


def modulus_and_phase(order, which):
    """P and x Q of Hankel's expansion, as functions of (8 / x)^2."""

    def function(w):
        value = hankel_function(order, w)
        return value.real if which == "P" else value.imag * 8 / sqrt(w)

    return function


def main():
    print(
        "//===-- SpecialCoefficients.h - polynomials of the special functions --------------------------===//"
    )
    print(
        "// Made by coefficients/derive.py, lowest degree first. `error`: relative to the function named."
    )
    print("// clang-format off")
    print("#pragma once\n")
    print('#include "lang/builtins/Polynomial.h"\n')
    print("namespace sectile::lang::coefficients {\n")

    fit("kReciprocalGamma", "1 / gamma(1 + y), |y| <= 1/2.", lambda y: rgamma(1 + y), -0.5, 0.5)
    fit(
        "kStirling",
        "gamma(x) / (sqrt(2 pi) x^(x - 1/2) exp(-x)) in 1 / x, x >= 8.",
        lambda z: exp(loggamma(1 / z) - (1 / z - mpf(1) / 2) * log(1 / z) + 1 / z) / sqrt(2 * pi),
        0,
        0.125,
    )
    fit(
        "kLogStirling",
        "x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) in 1 / x^2, x >= 8.",
        log_stirling,
        0,
        mpf(1) / 64,
    )
    fit(
        "kLogGamma1",
        "lgamma(1 + y) / y, -1/4 <= y <= 1/2.",
        lambda y: loggamma(1 + y) / y,
        -0.25,
        0.5,
    )
    fit("kLogGamma2", "lgamma(2 + y) / y, |y| <= 1/2.", lambda y: loggamma(2 + y) / y, -0.5, 0.5)
    fit(
        "kLogGamma3",
        "lgamma(x) / (x - 2), 2.5 <= x <= 4.5.",
        lambda x: loggamma(x) / (x - 2),
        2.5,
        4.5,
        3.5,
    )
    fit("kLogGamma6", "lgamma(x), 4.5 <= x <= 8.", loggamma, 4.5, 8, 6.25)

    inverse = "erfinv(x) / x, w = -log(1 - x^2)"
    fit(
        "kErfInverse1",
        inverse + ", in w <= 6.25.",
        lambda w: erfc_inverse(w) / erf_of(w),
        0,
        6.25,
        3.125,
    )
    for name, low, high, center in (
        ("2", 2.5, 4, 3.25),
        ("3", 4, 6.1, 5),
        ("4", 6.1, 12.1, 9),
        ("5", 12, 27.4, 20),
    ):
        fit(
            f"kErfInverse{name}",
            f"{inverse}, in sqrt(w), {low} to {high}.",
            lambda s: erfc_inverse(s * s) / erf_of(s * s),
            low,
            high,
            center,
        )
    fit(
        "kErfcx",
        "(x + 1/2) exp(x^2) erfc(x) in (x - 4) / (x + 4), x >= 1.",
        lambda q: scaled_erfc(4 * (1 + q) / (1 - q), mpf(1) / 2),
        mpf(-3) / 5,
        1,
    )
    fit("kErfcxNear", "exp(x^2) erfc(x), 0 <= x <= 1.", lambda x: exp(x * x) * erfc(x), 0, 1, 0.5)

    for order in (0, 1):
        fit(
            f"kBesselI{order}",
            f"I{order}(x) {'/ x ' * order}in x^2 / 4, x <= 8.",
            lambda u: besseli(order, 2 * sqrt(u)) / (2 * sqrt(u)) ** order,
            0,
            16,
        )
        fit(
            f"kBesselI{order}Large",
            f"sqrt(x) exp(-x) I{order}(x) in 1 / x, x >= 8.",
            lambda v: besseli(order, 1 / v) * exp(-1 / v) / sqrt(v),
            0,
            0.125,
            0.0625,
        )

    # Zeros from the Bessel functions' own, so that relative errors stay small next to them.
    j, y = {}, {}
    for order, starts in ((0, (2.4048, 5.5201)), (1, (3.8317, 7.0156))):
        for k, start in enumerate(starts, 1):
            root = findroot(lambda x: besselj(order, x), start)
            j[order, k] = zero(f"kZeroOfJ{order}_{k}", f"Zero {k} of J{order}.", root)
    for order, starts in ((0, (0.8936, 3.9577, 7.0861)), (1, (2.1971, 5.4297, 8.596))):
        for k, start in enumerate(starts, 1):
            root = findroot(lambda x: bessely(order, x), start)
            y[order, k] = zero(f"kZeroOfY{order}_{k}", f"Zero {k} of Y{order}.", root)
    fit(
        "kBesselJ0Origin",
        "(J0(x) - 1) / x^2 in x^2, x <= 1.5.",
        lambda u: (besselj(0, sqrt(u)) - 1) / u,
        0,
        2.25,
    )
    for order, end, middle, far in ((0, 4, 8, 6), (1, 5.25, 14, 6.625)):
        square = j[order, 1] ** 2
        fit(
            f"kBesselJ{order}Near",
            f"J{order}(x) / ({'x ' * order}(x^2 - z1^2)) in x^2, x <= {end}.",
            lambda u: besselj(order, sqrt(u)) / sqrt(u) ** order / (u - square),
            0,
            end**2,
            middle,
        )
        fit(
            f"kBesselJ{order}Far",
            f"J{order}(x) / (x - z2), {end} <= x <= 8.",
            lambda x: besselj(order, x) / (x - j[order, 2]),
            end,
            8,
            far,
        )

    text = "(Y{0}(x) - 2/pi log(x / z1) J{0}(x)) {1}/ (x^2 - z1^2) in x^2, x <= {2}."
    fit("kBesselY0Near", text.format(0, "", 2.5), near_origin(0, y), 0, 6.25, 3.125)
    fit("kBesselY1Near", text.format(1, "x ", 4), near_origin(1, y), 0, 16, 8)
    for name, order, k, low, high, center in (
        ("kBesselY0Middle", 0, 2, 2.5, 5.5, 4),
        ("kBesselY0Far", 0, 3, 5.5, 8, 6.75),
        ("kBesselY1Far", 1, 2, 4, 8, 6),
    ):
        fit(
            name,
            f"Y{order}(x) / (x - z{k}), {low} <= x <= {high}.",
            lambda x: bessely(order, x) / (x - y[order, k]),
            low,
            high,
            center,
        )
    for order in (0, 1):
        for which in "PQ":
            fit(
                f"kHankel{which}{order}",
                f"{'P' if which == 'P' else 'x Q'} of Hankel's expansion of order {order}, in (8 / x)^2, x >= 8.",
                modulus_and_phase(order, which),
                0,
                1,
            )
    single(j, y)
    print("} // namespace sectile::lang::coefficients")


def single(j, y):
    """What SingleFunctions.cpp and SingleBesselFunctions.cpp take. `j`, `y`: zeros of Bessel functions, by order and number."""
    fit_single(
        "kSingleLog",
        "(log(1 + f) - f) / f^2, sqrt(1/2) <= 1 + f <= sqrt(2).",
        lambda f: (mp.log1p(f) - f) / f**2,
        8,
        sqrt(mpf(1) / 2) - 1,
        sqrt(mpf(2)) - 1,
        weight=lambda f, _: abs(f * f / mp.log1p(f)),
    )
    fit_single(
        "kSingleLogGamma",
        "lgamma(2 + y) / (y (1 + y)), -1 <= y <= 1.",
        lambda y: loggamma(2 + y) / (y * (1 + y)),
        10,
        -1,
        1,
    )
    fit_single(
        "kSingleLogStirling",
        "x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) in 1 / x^2, x >= 3.",
        log_stirling,
        2,
        0,
        mpf(1) / 9,
    )
    fit_single(
        "kSingleReciprocalGamma",
        "1 / gamma(2 + y), -1 <= y <= 1.",
        lambda y: rgamma(2 + y),
        10,
        -1,
        1,
    )
    root = sqrt(2 * pi)
    fit_single(
        "kSingleStirling",
        "x (gamma(x) / (x^(x - 1/2) exp(-x)) - sqrt(2 pi)) in 1 / x, x >= 3; the error is that of gamma.",
        lambda z: (exp(loggamma(1 / z) - (1 / z - mpf(1) / 2) * log(1 / z) + 1 / z) - root) / z,
        3,
        0,
        mpf(1) / 3,
        weight=lambda z, y: z / (root + z * y),
    )
    fit_single(
        "kSingleLog2Tail",
        "(log2((1 + s) / (1 - s)) - 2 s / log(2)) / s^3 in s^2, (1 + s) / (1 - s) <= sqrt(2).",
        lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) - 2 * sqrt(z)) / (sqrt(z) ** 3 * log(2)),
        3,
        0,
        ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2,
    )
    fit_single(
        "kSingleExp2",
        "(2^r - 1) / r, |r| <= 1/2; the error is that of 2^r.",
        lambda r: (mpf(2) ** r - 1) / r,
        5,
        -0.5,
        0.5,
        weight=lambda r, _: abs(r) / mpf(2) ** r,
    )
    fit_single(
        "kSingleSinePi",
        "(sin(pi r) / (pi r) - 1) / r^2 in r^2, |r| <= 1/2; the error is that of the sine.",
        lambda w: (sin(pi * sqrt(w)) / (pi * sqrt(w)) - 1) / w,
        3,
        0,
        0.25,
        weight=lambda w, y: w / (1 + w * y),
    )

    fit_single(
        "kSingleSineOfTurns",
        "(sin(pi r) / r - pi) / r^2 in r^2, |r| <= 1/4; the error is that of the sine.",
        lambda w: (sin(pi * sqrt(w)) / sqrt(w) - pi) / w,
        2,
        0,
        0.0625,
        weight=lambda w, y: w / (pi + w * y),
    )
    fit_single(
        "kSingleCosineOfTurns",
        "(cos(pi r) - 1) / r^2 in r^2, |r| <= 1/4; the error is that of the cosine.",
        lambda w: (cos(pi * sqrt(w)) - 1) / w,
        3,
        0,
        0.0625,
        weight=lambda w, y: w / (1 + w * y),
    )

    def above(w):  # erfinv(x) / x - 1
        return erfc_inverse(w) / erf_of(w) - 1

    text = "erfinv(x) / x - 1, w = -log(1 - x^2), "
    relative = {"weight": lambda _, y: 1 / (1 + y)}
    fit_single("kSingleErfInverse1", text + "in w <= 5.75.", above, 9, 0, 5.75, **relative)
    for name, degree, low, high, center in (
        ("2", 8, sqrt(mpf(5.75)), 4, 3),
        ("3", 9, 4, 10.25, 7),
    ):
        fit_single(
            f"kSingleErfInverse{name}",
            f"{text}in sqrt(w), {float(low):.3} to {high}.",
            lambda s: above(s * s),
            degree,
            low,
            high,
            center,
            **relative,
        )
    fit_single(
        "kSingleErfcx",
        "(x + 2) exp(x^2) erfc(x) in (x - 2) / (x + 2), x >= 0.",
        lambda q: scaled_erfc(2 * (1 + q) / (1 - q), 2),
        10,
        -1,
        1,
    )

    fit_single(
        "kSingleSine",
        "(sin(r) / r - 1) / r^2 in r^2, |r| <= pi/4; the error is that of the sine.",
        lambda w: (sin(sqrt(w)) / sqrt(w) - 1) / w,
        2,
        0,
        pi**2 / 16,
        weight=lambda w, y: w / (1 + w * y),
    )
    fit_single(
        "kSingleCosine",
        "(cos(r) - 1) / r^2 in r^2, |r| <= pi/4; the error is that of the cosine.",
        lambda w: (cos(sqrt(w)) - 1) / w,
        3,
        0,
        pi**2 / 16,
        weight=lambda w, y: w / (1 + w * y),
    )
    for order, split in ((0, 2.5), (1, 3)):
        first, second = j[order, 1] ** 2, j[order, 2] ** 2
        fit_single(
            f"kSingleJ{order}",
            f"J{order}(x) / ({'x ' * order}(x^2 - z1^2) (x^2 - z2^2)) in x^2, x <= 8.",
            lambda u: besselj(order, sqrt(u)) / sqrt(u) ** order / ((u - first) * (u - second)),
            8,
            0,
            64,
            64,
        )
        fit_single(
            f"kSingleJ{order}Short",
            f"J{order}(x) {'/ x ' * order}in x^2, x <= {split}; the error is absolute.",
            lambda u: besselj(order, sqrt(u)) / sqrt(u) ** order,
            5,
            0,
            mpf(split) ** 2,
            weight=lambda _, y: 1,
        )
        fit_single(
            f"kSingleY{order}Near",
            f"What kBesselY{order}Near is, x <= {split}.",
            near_origin(order, y),
            6 if order else 5,
            0,
            mpf(split) ** 2,
        )
        fit_single(
            f"kSingleY{order}Far",
            f"Y{order}(x) / ((x - z2) (x - z3)), {split} <= x <= 8.",
            lambda x: bessely(order, x) / ((x - y[order, 2]) * (x - y[order, 3])),
            10,
            split,
            8,
            5,
        )
        fit_single(
            f"kSingleModulus{order}",
            f"Modulus of J{order} + i Y{order} times sqrt(pi x / 2), in (8 / x)^2, x >= 8.",
            lambda w: abs(hankel_function(order, w)),
            3,
            0,
            1,
        )
        fit_single(
            f"kSinglePhase{order}",
            f"x (phase of J{order} + i Y{order}, less x - {'3 ' * order}pi/4), in (8 / x)^2, x >= 8; "
            f"the error is absolute, of the phase.",
            lambda w: mp.arg(hankel_function(order, w)) * 8 / sqrt(w),
            2,
            0,
            1,
            weight=lambda w, _: sqrt(w) / 8,
        )
        fit_single(
            f"kSingleI{order}",
            f"I{order}(x) {'/ x ' * order}in x^2 / 4, x <= 8.",
            lambda u: besseli(order, 2 * sqrt(u)) / (2 * sqrt(u)) ** order,
            10,
            0,
            16,
        )
        fit_single(
            f"kSingleI{order}Large",
            f"sqrt(x) exp(-x) I{order}(x) in 1 / x, x >= 8.",
            lambda v: besseli(order, 1 / v) * exp(-1 / v) / sqrt(v),
            5,
            0,
            0.125,
        )


if __name__ == "__main__":
    main()
