"""Errors of libdevice's special functions, in units in the last place (ULP), as a table for a README.

    python benchmarks/special_ulp.py [--device cuda|cpu] [--samples 3000] [--only tgamma,erfcx] [--worst]

References are mpmath's (pip install mpmath), with 256 bits. Arguments of each function are special values,
random patterns of all numbers, numbers evenly spread over the interval where most use it, numbers spread over
all magnitudes, and numbers next to its zeros and poles. A unit is the distance of neighbouring numbers at the
exact result, subnormal ones included. Where the exact result is NaN or infinite, or rounds to infinity, the
function must be so, too; a disagreement is listed below the table. `bound` is the maximum error that the
CUDA C++ Programming Guide states for the function, `absolute` where that is an absolute error.
"""

import argparse

import mpmath
import numpy as np
from mpmath import mp, mpf

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice

KINDS = {"f32": np.float32, "f64": np.float64}


@st.jit
def one(x_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, f(tl.load(x_ptr + i, mask=i < count)), mask=i < count)


@st.jit
def two(x_ptr, y_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < count), tl.load(y_ptr + i, mask=i < count)
    tl.store(out_ptr + i, f(x, y), mask=i < count)


@st.jit
def of_order(n_ptr, x_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n, x = tl.load(n_ptr + i, mask=i < count), tl.load(x_ptr + i, mask=i < count)
    tl.store(out_ptr + i, f(n, x), mask=i < count)


@st.jit
def three(x_ptr, y_ptr, z_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < count), tl.load(y_ptr + i, mask=i < count)
    tl.store(out_ptr + i, f(x, y, tl.load(z_ptr + i, mask=i < count)), mask=i < count)


def norm4(f):
    @st.jit
    def four(x_ptr, y_ptr, z_ptr, w_ptr, out_ptr, count, f: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x, y = tl.load(x_ptr + i, mask=i < count), tl.load(y_ptr + i, mask=i < count)
        z, w = tl.load(z_ptr + i, mask=i < count), tl.load(w_ptr + i, mask=i < count)
        tl.store(out_ptr + i, f(x, y, z, w), mask=i < count)

    return four


KERNELS = {1: one, 2: two, 3: three, 4: norm4(None)}


def tgamma(x):
    if mpmath.isint(x) and x < 0:
        return mp.nan
    return mp.inf * (mp.sign(x) or 1) if x == 0 else mpmath.gamma(x)


def lgamma(x):
    if mpmath.isint(x) and x <= 0:
        return mp.inf
    if abs(x) > mpf(10) ** 6 and x < 0:
        return mpmath.log(mp.pi / abs(x * mpmath.sinpi(x))) - mpmath.loggamma(-x)
    return mpmath.loggamma(x) if x > 0 else mpmath.log(abs(mpmath.gamma(x)))


def erfcx(x):
    if x > 10**6:
        return (1 - 1 / (2 * x * x)) / (x * mpmath.sqrt(mp.pi))
    return mp.inf if x < -100 else mpmath.exp(x * x) * mpmath.erfc(x)


def erfcinv(y):
    """Newton's method on log(erfc(z)) = log(y), for y at most 1."""
    if y < 0 or y > 2:
        return mp.nan
    if y == 0 or y == 2:
        return mp.inf if y == 0 else -mp.inf
    if y > 1:
        return -erfcinv(2 - y)
    if y > 0.5:
        return erfinv(1 - y)
    z = mpmath.sqrt(-mpmath.log(y * (2 - y)))
    for _ in range(100):
        step = (mpmath.log(mpmath.erfc(z)) - mpmath.log(y)) * mpmath.erfc(z)
        step *= mpmath.sqrt(mp.pi) / 2 * mpmath.exp(z * z)
        z += step
        if abs(step) < mpf(2) ** -120 * z:
            return z
    raise ArithmeticError(y)


def erfinv(x):
    if abs(x) > 1:
        return mp.nan
    if abs(x) == 1:
        return mp.inf * x
    if abs(x) > 0.5:
        return mp.sign(x) * erfcinv(1 - abs(x))
    z = x * mpmath.sqrt(mp.pi) / 2
    for _ in range(100):
        step = (mpmath.erf(z) - x) * mpmath.sqrt(mp.pi) / 2 * mpmath.exp(z * z)
        z -= step
        if abs(step) <= mpf(2) ** -120 * abs(z):
            return z
    raise ArithmeticError(x)


def normcdf(x):
    return mpf(0) if x < -50 else mpmath.ncdf(x)


def asymptotic(order, x, kind):
    """The first terms of Hankel's expansion, for huge x, where they are all that there is."""
    t = x - (2 * order + 1) * mp.pi / 4
    m = 4 * order * order
    p, q = 1 - (m - 1) * (m - 9) / (128 * x * x), (m - 1) / (8 * x)
    wave = p * mpmath.cos(t) - q * mpmath.sin(t)
    if kind == "y":
        wave = p * mpmath.sin(t) + q * mpmath.cos(t)
    return mpmath.sqrt(2 / (mp.pi * x)) * wave


def bessel(kind, order):
    def function(x):
        if kind == "y" and x <= 0:
            return -mp.inf if x == 0 else mp.nan
        if mpmath.isinf(x):
            return mpf(0)
        if abs(x) > 10**12:
            with mp.workprec(1400):
                value = asymptotic(order, abs(x), kind)
            return -value if order % 2 and x < 0 else value
        return (mpmath.besselj if kind == "j" else mpmath.bessely)(order, x)

    return function


def modified(order):
    def function(x):
        if abs(x) > 2000:
            return mp.inf * (mp.sign(x) if order else 1)
        return mpmath.besseli(order, x)

    return function


def norm(*lengths):
    return mpmath.sqrt(sum(length * length for length in lengths))


def reciprocal_norm(*lengths):
    length = norm(*lengths)
    return 1 / length if length else mp.inf


def reciprocal_cube_root(x):
    return mp.sign(x) / mpmath.cbrt(abs(x)) if x else mp.inf


J0 = [2.404825557695773, 5.520078110286311]
J1 = [3.831705970207512, 7.015586669815619]
Y0 = [0.8935769662791675, 3.957678419314858, 7.086051060301773]
Y1 = [2.197141326031017, 5.429681040794135]

# name: reference, interval, points next to which digits are lost, bounds of f32 and f64
FUNCTIONS = {
    "tgamma": (tgamma, (-40, 40), [*range(-9, 3), -170, 171, 172], "5", "10"),
    "lgamma": (lgamma, (-2.2, 40), [0, 1, 2, -1, 0.75, 2.5, 8], "6", "4"),
    "lgamma, -23.0001 < x < -2.2637, absolute": (
        lgamma,
        (-23, -2.2637),
        [-3, -4, -2.457, -2.7477],
        "",
        "",
    ),
    "erfinv": (erfinv, (-1, 1), [-1, 1], "2", "5"),
    "erfcinv": (erfcinv, (0, 2), [0, 1, 2], "4", "6"),
    "erfcx": (erfcx, (-9, 20), [-26.6, 0], "4", "4"),
    "normcdf": (normcdf, (-38, 9), [0, -37.5], "5", "5"),
    "normcdfinv": (
        lambda p: mp.nan if p < 0 or p > 1 else -mpmath.sqrt(2) * erfcinv(2 * p),
        (0, 1),
        [0, 0.5, 1],
        "5",
        "8",
    ),
    "j0, abs(x) < 8": (bessel("j", 0), (-8, 8), J0, "9", "7"),
    "j1, abs(x) < 8": (bessel("j", 1), (-8, 8), J1, "9", "7"),
    "y0, x < 8": (bessel("y", 0), (0, 8), Y0, "9", "7"),
    "y1, x < 8": (bessel("y", 1), (0, 8), Y1, "9", "7"),
    "j0": (bessel("j", 0), (8, 1000), [], "2.2e-6 absolute", "5e-12 absolute"),
    "j1": (bessel("j", 1), (8, 1000), [], "2.2e-6 absolute", "5e-12 absolute"),
    "y0": (bessel("y", 0), (8, 1000), [], "2.2e-6 absolute", "5e-12 absolute"),
    "y1": (bessel("y", 1), (8, 1000), [], "2.2e-6 absolute", "5e-12 absolute"),
    "cyl_bessel_i0": (modified(0), (-30, 30), [8, 700], "6", "6"),
    "cyl_bessel_i1": (modified(1), (-30, 30), [8, 700], "6", "6"),
    "cbrt": (lambda x: mp.sign(x) * mpmath.cbrt(abs(x)), (-9, 9), [0], "1", "1"),
    "rcbrt": (reciprocal_cube_root, (-9, 9), [0], "1", "1"),
    "hypot": (norm, (-9, 9), [], "3", "2"),
    "rhypot": (reciprocal_norm, (-9, 9), [], "2", "1"),
    "norm3d": (norm, (-9, 9), [], "3", "2"),
    "rnorm3d": (reciprocal_norm, (-9, 9), [], "2", "1"),
    "norm4d": (norm, (-9, 9), [], "3", "2"),
    "rnorm4d": (reciprocal_norm, (-9, 9), [], "2", "1"),
}
ARITY = {"hypot": 2, "rhypot": 2, "norm3d": 3, "rnorm3d": 3, "norm4d": 4, "rnorm4d": 4}


def samples(name, kind, count):
    numpy_type = KINDS[kind]
    _, (low, high), near, *_ = FUNCTIONS[name]
    rng = np.random.default_rng([list(FUNCTIONS).index(name), len(kind)])
    info = np.finfo(numpy_type)
    bits = np.dtype(numpy_type).itemsize * 8
    columns = []
    for _ in range(ARITY.get(name, 1)):
        specials = np.array(
            [0, 1, 2, 0.5, np.inf, info.max, info.tiny, info.smallest_subnormal, np.nan], numpy_type
        )
        magnitudes = rng.choice([-1, 1], count) * 2.0 ** rng.uniform(
            info.minexp - info.nmant, info.maxexp - 1, count
        )
        spread = rng.uniform(low, high, 2 * count)
        chosen = [specials, -specials, magnitudes, spread, np.zeros(0)]
        chosen.append(rng.integers(0, 1 << bits, count, dtype=f"uint{bits}").view(numpy_type))
        for point in near:
            steps = 2.0 ** rng.uniform(-info.nmant - 2, -2, count // 8)
            chosen.append(point + rng.choice([-1, 1], steps.size) * steps * max(1, abs(point)))
        with np.errstate(all="ignore"):
            column = np.concatenate([np.asarray(part).astype(numpy_type) for part in chosen])
        columns.append(rng.permutation(column) if ARITY.get(name, 1) > 1 else column)
    if "," in name or name in ("j0", "j1", "y0", "y1"):  # an interval of its own
        x = columns[0]
        bound = 8 if "8" in name else None
        keep = np.abs(x) < 8 if bound else (np.abs(x) >= 8)
        if "lgamma" in name:
            keep = (x < -2.2637) & (x > -23.0001)
        columns = [x[keep]]
    if name == "lgamma":
        columns = [columns[0][~((columns[0] < -2.2637) & (columns[0] > -23.0001))]]
    return columns


def exact_values(reference, columns, arity):
    values = []
    for numbers in zip(*(column.tolist() for column in columns)):
        if any(map(np.isnan, numbers)) and not (arity > 1 and any(map(np.isinf, numbers))):
            values.append(mp.nan)
        elif any(map(np.isinf, numbers)) or (arity == 1 and numbers[0] == 0):
            values.append(None)  # limits, and signs of zeros, are tests of their own
        else:
            values.append(reference(*map(mpf, numbers)))
    return values


def compare(name, kind, got, columns):
    """(greatest error in ULP, its place, greatest absolute error, wrong results)"""
    info = np.finfo(KINDS[kind])
    reference = FUNCTIONS[name][0]
    worst, where, absolute, wrong = mpf(0), "", mpf(0), []
    exact = exact_values(reference, columns, len(columns))
    beyond = mpf(float(info.max)) * (1 + mpf(2) ** -(info.nmant + 2))
    for index, (value, result) in enumerate(zip(exact, got.tolist())):
        if value is None:
            continue
        given = ", ".join(repr(column[index].item()) for column in columns)
        text = f"({given}) gives {result!r}, not {mpmath.nstr(value, 20)}"
        if mpmath.isnan(value) or np.isnan(result):
            if mpmath.isnan(value) != np.isnan(result):
                wrong.append(text)
            continue
        if np.isinf(result) or mpmath.isinf(value):
            if abs(value) < beyond * (1 - mpf(2) ** (2 - info.nmant)) or (value > 0) != (
                result > 0
            ):
                wrong.append(text)
            elif not np.isinf(result):
                wrong.append(text)
            continue
        error = abs(mpf(result) - value)
        exponent = mpmath.frexp(value)[1] - 1 if value else info.minexp
        unit = mpf(2) ** (max(exponent, info.minexp) - info.nmant)
        absolute = max(absolute, error)
        if error / unit > worst:
            worst, where = error / unit, text
    return worst, where, absolute, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=3000, help="of each way to choose them")
    parser.add_argument("--only", default="", help="names, with commas between them")
    parser.add_argument("--worst", action="store_true", help="lists where the errors are greatest")
    options = parser.parse_args()
    mp.prec = 256
    chosen = options.only.split(",") if options.only else None
    print("| function | f32 | bound | f64 | bound |\n|---|---|---|---|---|", flush=True)
    notes = []
    for name, (*_, bound32, bound64) in FUNCTIONS.items():
        function = name.split(",")[0]
        if chosen and function not in chosen:
            continue
        cells = [f"`{name}`" if name == function else f"`{function}`,{name[len(function) + 1 :]}"]
        for kind, bound in (("f32", bound32), ("f64", bound64)):
            columns = samples(name, kind, options.samples)
            got = np.empty_like(columns[0])
            kernel = KERNELS[len(columns)]
            kernel[(st.cdiv(got.size, 256),)](
                *columns, got, got.size, f=getattr(libdevice, function), BLOCK=256
            )
            worst, where, absolute, wrong = compare(name, kind, got, columns)
            cells += [
                mpmath.nstr(absolute, 2)
                if "absolute" in bound or not bound
                else f"{float(worst):.2f}",
                bound,
            ]
            if options.worst:
                notes.append(f"{name} {kind}: {float(worst):.2f} ULP at {where}")
            if wrong:
                notes.append(f"{name} {kind}: {len(wrong)} wrong: " + "; ".join(wrong[:4]))
        print("| " + " | ".join(cells) + " |", flush=True)
    print("\n".join(["", *notes]))


if __name__ == "__main__":
    main()
