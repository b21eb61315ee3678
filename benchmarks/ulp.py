"""Errors of the mathematical functions, in units in the last place (ULP), as a table for a README.

    python benchmarks/ulp.py [--device cuda|cpu] [--samples 1000000] [--only exp,log] [--jobs 16]

Arguments are random patterns of the whole type, as many again evenly spread over the interval where most
use the function, as many near the function's zeros where these are many, and special values. References are
NumPy's, in float64 for f32 and in long double (80 bits) for f64, computed by other processes while the device
goes on. A unit is the distance of neighbouring numbers at the exact result, subnormal ones included. Where
the reference is NaN, infinite, or rounds to infinity, the result must be so, too; a disagreement is listed
below the table.
"""

import argparse
import multiprocessing
import os

import numpy as np

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice

BLOCK = 1024
# Arguments are made, and results compared, in pieces: each is made again where it is compared.
PIECE = 1 << 16
LONG = np.longdouble
# name: NumPy's type, the language's, bits of the significand, least exponent of a normal number, and
# NumPy's type of the references
KINDS = {
    "f32": (np.float32, tl.float32, 24, -126, np.float64),
    "f64": (np.float64, tl.float64, 53, -1022, LONG),
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
    """`f` of the language, its reference, the interval most arguments are in, and the distance of its
    zeros where there are many."""

    def __init__(self, f, reference, low, high, arity=1, zeros=None):
        self.f, self.reference, self.arity = f, reference, arity
        self.low, self.high, self.zeros = low, high, zeros


PI = LONG("3.14159265358979323846264338327950288")


def of_pi_times(x, quarters):
    """sin(pi (x + quarters / 2)), exact where it is 0 or 1."""
    rest = np.fmod(x, 2)
    turned = np.rint(2 * rest)
    angle = (rest - turned / 2) * x.dtype.type(PI)
    quarter = np.mod(np.where(np.isfinite(turned), turned, 0) + quarters, 4).astype(int)
    return np.choose(quarter, [np.sin(angle), np.cos(angle), -np.sin(angle), -np.cos(angle)])


def exp_of_minus_square(x):
    """Relative error of a few units of x's type: the square's rounding is made good."""
    shift = x.dtype.type(2) ** (np.finfo(x.dtype).nmant // 2 + 2) + 1
    with np.errstate(invalid="ignore", over="ignore"):
        head = x * shift - (x * shift - x)
        square = x * x
        tail = ((head * head - square) + 2 * head * (x - head)) + (x - head) * (x - head)
    return np.exp(-square) * (1 - np.where(np.isfinite(tail), tail, 0))


def erf_series(x):
    """erf(x) = 2 / sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...); |x| <= 1.5."""
    square = x * x
    term = total = x
    for n in range(1, 50):
        term = term * (2 * square / (2 * n + 1))
        total = total + term
    return 2 / np.sqrt(x.dtype.type(PI)) * exp_of_minus_square(x) * total


def erfc_fraction(x):
    """erfc(x) = exp(-x^2) / sqrt(pi) / (x + 1/2 / (x + 2/2 / (x + 3/2 / ...))); x >= 1."""
    rest = x
    for n in range(250, 0, -1):
        rest = x + n / 2 / rest
    return exp_of_minus_square(x) / np.sqrt(x.dtype.type(PI)) / rest


def erf(x):
    small = erf_series(np.clip(x, -1.5, 1.5))
    large = np.copysign(1 - erfc_fraction(np.clip(np.abs(x), 1.5, 30)), x)
    return np.where(np.isnan(x), x, np.where(np.abs(x) < 1.5, small, large))


def erfc(x):
    small = 1 - erf_series(np.clip(x, -1.5, 1))
    large = erfc_fraction(np.clip(np.abs(x), 1, 110))
    large = np.where(x < 0, 2 - large, large)
    return np.where(np.isnan(x), x, np.where((x < 1) & (x > -1.5), small, large))


FUNCTIONS = {
    "exp": Function(tl.exp, np.exp, -10, 10),
    "exp2": Function(tl.exp2, np.exp2, -10, 10),
    "exp10": Function(libdevice.exp10, lambda x: x.dtype.type(10) ** x, -10, 10),
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
    "sin": Function(tl.sin, np.sin, -10, 10, zeros=np.pi),
    "cos": Function(tl.cos, np.cos, -10, 10, zeros=np.pi / 2),
    "sinpi": Function(libdevice.sinpi, lambda x: of_pi_times(x, 0), -10, 10, zeros=0.5),
    "cospi": Function(libdevice.cospi, lambda x: of_pi_times(x, 1), -10, 10, zeros=0.5),
    "tan": Function(libdevice.tan, np.tan, -10, 10, zeros=np.pi / 2),
    "asin": Function(libdevice.asin, np.arcsin, -1, 1),
    "acos": Function(libdevice.acos, np.arccos, -1, 1),
    "atan": Function(libdevice.atan, np.arctan, -5, 5),
    "sinh": Function(libdevice.sinh, np.sinh, -5, 5),
    "cosh": Function(libdevice.cosh, np.cosh, -5, 5),
    "tanh": Function(libdevice.tanh, np.tanh, -5, 5),
    "asinh": Function(libdevice.asinh, np.arcsinh, -5, 5),
    "acosh": Function(libdevice.acosh, np.arccosh, 1, 10),
    "atanh": Function(libdevice.atanh, np.arctanh, -1, 1),
    "erf": Function(tl.erf, erf, -4, 4),
    "erfc": Function(libdevice.erfc, erfc, -4, 10),
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


def pieces(count):
    """How many pieces `count` samples of each way of choosing them make."""
    return max(1, count // PIECE)


def samples(name, kind, piece):
    """The arguments of a piece, the same wherever they are made."""
    function, numpy_type = FUNCTIONS[name], KINDS[kind][0]
    rng = np.random.default_rng([list(FUNCTIONS).index(name), len(kind), piece])
    size = np.dtype(numpy_type).itemsize * 8
    info = np.finfo(numpy_type)
    specials = [0, 1, 2, 0.5, np.inf, info.max, info.tiny, info.smallest_subnormal, np.nan]
    specials = np.array(specials, numpy_type)
    specials = np.concatenate([specials, -specials])
    arguments = []
    for _ in range(function.arity):
        chosen = [
            rng.integers(0, 1 << size, PIECE, dtype=f"uint{size}").view(numpy_type),
            rng.uniform(function.low, function.high, PIECE).astype(numpy_type),
        ]
        if function.zeros:
            zeros = function.zeros * rng.integers(-40, 41, PIECE // 4)
            near = zeros * (
                1 + rng.uniform(-1, 1, zeros.size) * 2.0 ** rng.uniform(-50, -4, zeros.size)
            )
            chosen.append(near.astype(numpy_type))
        if piece == 0:
            given = specials if function.arity == 1 else rng.choice(specials, 1000)
            with np.errstate(over="ignore"):
                next_to = np.nextafter(given, numpy_type(np.inf))
            chosen += [given, next_to]
        arguments.append(np.concatenate(chosen))
    return arguments


def errors(got, exact, kind):
    """(ULP of each result, whether it is no number or infinite wrongly)"""
    numpy_type, _, bits, least, wide = KINDS[kind]
    largest = wide(np.finfo(numpy_type).max)
    beyond = largest + largest * wide(2) ** -(bits + 1)  # rounds to infinity from here, nearly
    got = got.astype(wide)
    _, exponent = np.frexp(exact)
    unit = np.ldexp(wide(1), np.maximum(exponent - 1, least) - bits + 1)
    ulp = np.abs(got - exact) / unit
    is_infinite = np.abs(exact) > beyond
    is_right = is_infinite & np.isinf(got) & (np.sign(got) == np.sign(exact))
    wrong = np.isnan(got) != np.isnan(exact)
    wrong |= (is_infinite | np.isinf(got)) & ~is_right & ~np.isnan(exact)
    # The largest number for what is just beyond it, and the other way round, is an error in ULP.
    near = wrong & np.isfinite(exact) & (np.abs(np.abs(exact) / largest - 1) < 8 * wide(2) ** -bits)
    ulp = np.where(near, np.abs(np.copysign(largest, exact) - exact) / unit, ulp)
    wrong &= ~near
    ulp = np.where(wrong | ~np.isfinite(ulp), 0, ulp)
    return ulp, wrong


def compare(name, kind, piece, got):
    """(greatest error, where it is, results that are not finite wrongly) of a piece."""
    with np.errstate(all="ignore"):
        arguments = samples(name, kind, piece)
        exact = FUNCTIONS[name].reference(*(array.astype(KINDS[kind][4]) for array in arguments))
        ulp, wrong = errors(got, exact, kind)
    worst = int(np.argmax(ulp))

    def shown(index):
        given = ", ".join(f"{float(array[index]):.9g}" for array in arguments)
        return f"({given}) gives {float(got[index]):.9g}, not {float(exact[index]):.9g}"

    listed = [shown(index) for index in np.flatnonzero(wrong)[:4]]
    return float(ulp[worst]), shown(worst), int(wrong.sum()), listed


def start(name, kind, device, count, pool):
    """Runs the function; what comes back are the comparisons of its pieces, under way."""
    made = [samples(name, kind, piece) for piece in range(pieces(count))]
    arguments = [np.concatenate(column) for column in zip(*made)]
    got = device(FUNCTIONS[name].f, arguments, kind)
    ends = np.cumsum([piece[0].size for piece in made])
    return [
        pool.apply_async(compare, (name, kind, number, part))
        for number, part in enumerate(np.split(got, ends[:-1]))
    ]


def row(name, comparisons, notes, show_worst):
    cells = []
    for kind, under_way in comparisons.items():
        results = [result.get() for result in under_way]
        greatest, where, *_ = max(results)
        if not greatest:
            cells.append("exact")
        else:
            cells.append(f"{greatest:.2f}" if greatest < 1000 else f"{greatest:.0e}")
        if show_worst:
            notes.append(f"{name} {kind}: {greatest:.2f} at {where}")
        if wrong := sum(count for *_, count, _ in results):
            listed = [text for *_, texts in results for text in texts][:4]
            notes.append(f"{name} {kind}: {wrong} not finite wrongly: " + "; ".join(listed))
    return f"| `{name}` | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], help="what there is: cuda, else cpu")
    parser.add_argument("--samples", type=int, default=1_000_000, help="of each way to choose them")
    parser.add_argument("--only", default="", help="names, with commas between them")
    parser.add_argument("--worst", action="store_true", help="lists where the errors are greatest")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    options = parser.parse_args()
    # Before anything asks for a GPU: CUDA does not survive a fork.
    pool = multiprocessing.get_context("fork").Pool(options.jobs)
    device = Device(options.device or st.runtime.driver.active.get_current_target().backend)
    chosen = options.only.split(",") if options.only else list(FUNCTIONS)

    print("| function | " + " | ".join(KINDS) + " |")
    print("|---|" + "---|" * len(KINDS), flush=True)
    notes = []
    waiting = []

    def show(most):
        while len(waiting) > most:
            print(row(*waiting.pop(0), notes, options.worst), flush=True)

    for name in chosen:
        started = {kind: start(name, kind, device, options.samples, pool) for kind in KINDS}
        waiting.append((name, started))
        show(3)
    show(0)
    print("\n".join(["", *notes]))


if __name__ == "__main__":
    main()
