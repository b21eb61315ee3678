"""Errors of the mathematical functions, in units in the last place (ULP), as a table for a README.

    python benchmarks/ulp.py [--device cuda|cpu] [--samples 2000000] [--only exp,log]

Arguments are random patterns of the whole type, as many again evenly spread over the interval where most
use the function, and special values. References are NumPy's in long double
(80 bits); erf and erfc of f64 are mpmath's, on fewer samples. A unit is the distance of neighbouring
numbers at the exact result, subnormal ones included. Where the reference is NaN, infinite, or rounds to
infinity, the result must be so, too; a disagreement is listed below the table.
"""

import argparse
import math

import numpy as np

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice

BLOCK = 1024
# name: NumPy's type, the language's, bits of the significand, least exponent of a normal number
KINDS = {
    "f32": (np.float32, tl.float32, 24, -126),
    "f64": (np.float64, tl.float64, 53, -1022),
}


@st.jit
def unary(x_ptr, out_ptr, count, f: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < count)
    tl.store(out_ptr + i, f(x).to(T), mask=i < count)


@st.jit
def binary(x_ptr, y_ptr, out_ptr, count, f: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < count)
    y = tl.load(y_ptr + i, mask=i < count)
    tl.store(out_ptr + i, f(x, y).to(T), mask=i < count)


@st.jit
def divide(x, y):
    return x / y


class Function:
    """`f` of the language, its reference, and the interval most arguments are in."""

    def __init__(self, f, reference, low, high, arity=1, exact=None):
        self.f, self.reference, self.arity = f, reference, arity
        self.low, self.high = low, high
        self.exact = exact  # the name of mpmath's function, for f64


def of_math(function):
    """A function of `math` on arrays; float64 is enough for the references of narrower types."""

    def one(x):
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return lambda x: np.array([one(float(value)) for value in x], np.longdouble)


LONG = np.longdouble
PI = LONG("3.14159265358979323846264338327950288")


def of_pi_times(x, quarters):
    """sin(pi (x + quarters / 2)), exact where it is 0 or 1."""
    rest = np.fmod(x, 2)
    turned = np.rint(2 * rest)
    angle = (rest - turned / 2) * PI
    quarter = np.mod(np.where(np.isfinite(turned), turned, 0) + quarters, 4).astype(int)
    return np.choose(quarter, [np.sin(angle), np.cos(angle), -np.sin(angle), -np.cos(angle)])


FUNCTIONS = {
    "exp": Function(tl.exp, np.exp, -10, 10),
    "exp2": Function(tl.exp2, np.exp2, -10, 10),
    "exp10": Function(libdevice.exp10, lambda x: LONG(10) ** x, -10, 10),
    "expm1": Function(libdevice.expm1, np.expm1, -2, 2),
    "log": Function(tl.log, np.log, 0, 10),
    "log2": Function(tl.log2, np.log2, 0, 10),
    "log10": Function(libdevice.log10, np.log10, 0, 10),
    "log1p": Function(libdevice.log1p, np.log1p, -0.9, 2),
    "sqrt": Function(tl.sqrt, np.sqrt, 0, 10),
    "sqrt_rn": Function(tl.sqrt_rn, np.sqrt, 0, 10),
    "rsqrt": Function(tl.rsqrt, lambda x: 1 / np.sqrt(x), 0, 10),
    "cbrt": Function(libdevice.cbrt, np.cbrt, -10, 10),
    "rcbrt": Function(libdevice.rcbrt, lambda x: 1 / np.cbrt(x), -10, 10),
    "sin": Function(tl.sin, np.sin, -10, 10),
    "cos": Function(tl.cos, np.cos, -10, 10),
    "sinpi": Function(libdevice.sinpi, lambda x: of_pi_times(x, 0), -10, 10),
    "cospi": Function(libdevice.cospi, lambda x: of_pi_times(x, 1), -10, 10),
    "tan": Function(libdevice.tan, np.tan, -10, 10),
    "asin": Function(libdevice.asin, np.arcsin, -1, 1),
    "acos": Function(libdevice.acos, np.arccos, -1, 1),
    "atan": Function(libdevice.atan, np.arctan, -5, 5),
    "sinh": Function(libdevice.sinh, np.sinh, -5, 5),
    "cosh": Function(libdevice.cosh, np.cosh, -5, 5),
    "tanh": Function(libdevice.tanh, np.tanh, -5, 5),
    "asinh": Function(libdevice.asinh, np.arcsinh, -5, 5),
    "acosh": Function(libdevice.acosh, np.arccosh, 1, 10),
    "atanh": Function(libdevice.atanh, np.arctanh, -1, 1),
    "erf": Function(tl.erf, of_math(math.erf), -4, 4, exact="erf"),
    "erfc": Function(libdevice.erfc, of_math(math.erfc), -4, 10, exact="erfc"),
    "sigmoid": Function(tl.sigmoid, lambda x: 1 / (1 + np.exp(-x)), -10, 10),
    "floor": Function(tl.floor, np.floor, -10, 10),
    "x / y": Function(divide, np.divide, -10, 10, arity=2),
    "div_rn": Function(tl.div_rn, np.divide, -10, 10, arity=2),
    "pow": Function(libdevice.pow, np.power, 0, 10, arity=2),
    "atan2": Function(libdevice.atan2, np.arctan2, -10, 10, arity=2),
    "hypot": Function(libdevice.hypot, np.hypot, -10, 10, arity=2),
    "fmod": Function(libdevice.fmod, np.fmod, -10, 10, arity=2),
}


class Device:
    """Runs kernels on arrays of the host."""

    def __init__(self, name):
        self.name = name
        self.torch = None
        if name == "cuda":
            import torch

            self.torch = torch

    def __call__(self, function, arguments, kind):
        numpy_type, language_type, *_ = KINDS[kind]
        out = np.empty(arguments[0].size, numpy_type)
        kernel = unary if len(arguments) == 1 else binary
        there = [self.there(array) for array in (*arguments, out)]
        grid = (st.cdiv(out.size, BLOCK),)
        kernel[grid](*there, out.size, f=function, T=language_type, BLOCK=BLOCK)
        return out if self.torch is None else self.back(there[-1], out.dtype)

    def there(self, array):
        if self.torch is None:
            return array
        bits = self.torch.from_numpy(array.view(f"int{8 * array.itemsize}")).to("cuda")
        return bits.view(getattr(self.torch, array.dtype.name))

    def back(self, tensor, dtype):
        bits = tensor.view(getattr(self.torch, f"int{8 * dtype.itemsize}"))
        return bits.cpu().numpy().view(dtype)


def samples(function, kind, count, rng):
    numpy_type = KINDS[kind][0]
    size = np.dtype(numpy_type).itemsize * 8
    arguments = []
    for _ in range(function.arity):
        patterns = rng.integers(0, 1 << size, count, dtype=f"uint{size}").view(numpy_type)
        even = rng.uniform(function.low, function.high, count).astype(numpy_type)
        info = np.finfo(numpy_type)
        specials = [0, 1, 2, 0.5, np.inf, info.max, info.tiny, info.smallest_subnormal]
        specials = np.array([*specials, np.nan], numpy_type)
        specials = np.concatenate([specials, -specials])
        if function.arity == 2:
            specials = rng.choice(specials, 1000)
        near = np.nextafter(specials.astype(np.float64), np.inf).astype(numpy_type)
        arguments.append(np.concatenate([patterns, even, specials, near]))
    return arguments


def reference(function, kind, arguments):
    if kind == "f64" and function.exact:
        import mpmath

        mpmath.mp.prec = 100
        exact = getattr(mpmath, function.exact)
        out = np.empty(arguments[0].size, LONG)
        for index, x in enumerate(arguments[0]):
            if not abs(x) < 100:
                out[index] = getattr(math, function.exact)(x)
                continue
            value = exact(mpmath.mpf(float(x)))
            high = float(value)
            # Two parts hold 80 bits and more.
            out[index] = LONG(high) + (LONG(float(value - high)) if math.isfinite(high) else 0)
        return out
    return function.reference(*(array.astype(LONG) for array in arguments))


def errors(got, exact, kind):
    """(ULP of each result, whether it is no number or infinite wrongly)"""
    numpy_type, _, bits, least = KINDS[kind]
    largest = LONG(float(np.finfo(numpy_type).max))
    beyond = largest + largest * LONG(2) ** -(bits + 1)  # rounds to infinity from here, nearly
    got = got.astype(LONG)
    _, exponent = np.frexp(exact)
    unit = np.ldexp(LONG(1), np.maximum(exponent - 1, least) - bits + 1)
    ulp = np.abs(got - exact) / unit
    is_infinite = np.abs(exact) > beyond
    is_right = is_infinite & np.isinf(got) & (np.sign(got) == np.sign(exact))
    wrong = np.isnan(got) != np.isnan(exact)
    wrong |= (is_infinite | np.isinf(got)) & ~is_right & ~np.isnan(exact)
    # The largest number for what is just beyond it, and the other way round, is an error in ULP.
    near = wrong & np.isfinite(exact) & (np.abs(np.abs(exact) / largest - 1) < 8 * LONG(2) ** -bits)
    ulp = np.where(near, np.abs(np.copysign(largest, exact) - exact) / unit, ulp)
    wrong &= ~near
    ulp = np.where(wrong | ~np.isfinite(ulp), 0, ulp)
    return ulp, wrong


def measure(function, kind, device, count):
    rng = np.random.default_rng(0)
    if kind == "f64" and function.exact:
        count = min(count, 20_000)
    with np.errstate(all="ignore"):
        arguments = samples(function, kind, count, rng)
        got = device(function.f, arguments, kind)
        exact = reference(function, kind, arguments)
        ulp, wrong = errors(got, exact, kind)
    worst = int(np.argmax(ulp))

    def shown(index):
        given = ", ".join(f"{float(array[index]):.9g}" for array in arguments)
        return f"({given}) gives {float(got[index]):.9g}, not {float(exact[index]):.9g}"

    return float(ulp[worst]), shown(worst), [shown(i) for i in np.flatnonzero(wrong)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    target = st.runtime.driver.active.get_current_target().backend
    parser.add_argument("--device", default=target, choices=["cpu", "cuda"])
    parser.add_argument("--samples", type=int, default=2_000_000)
    parser.add_argument("--only", default="", help="names, with commas between them")
    parser.add_argument("--worst", action="store_true", help="lists where the errors are greatest")
    options = parser.parse_args()
    device = Device(options.device)
    chosen = options.only.split(",") if options.only else list(FUNCTIONS)

    print("| | " + " | ".join(KINDS) + " |")
    print("|---|" + "---|" * len(KINDS))
    notes = []
    for name in chosen:
        function = FUNCTIONS[name]
        cells = []
        for kind in KINDS:
            greatest, where, wrong = measure(function, kind, device, options.samples)
            cells.append(
                "exact"
                if not greatest
                else f"{greatest:.2f}"
                if greatest < 1000
                else f"{greatest:.0e}"
            )
            if options.worst:
                notes.append(f"{name} {kind}: {greatest:.2f} at {where}")
            if wrong:
                notes.append(
                    f"{name} {kind}: {len(wrong)} not finite wrongly: " + "; ".join(wrong[:4])
                )
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("\n".join(["", *notes]))


if __name__ == "__main__":
    main()
