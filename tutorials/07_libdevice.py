"""Lesson 7: elementary functions, and how many of their digits are right.

`tl` has the functions that most kernels need: exp, log, sqrt, sin, cos, erf ... `libdevice` has further ones, named
as in CUDA's device library: asin, cbrt, expm1, pow ... Both are compiled into the kernel, on every device; no
library is linked. A function is a value like any other, so one kernel here evaluates them all: it takes the
function as a constant.

*Units in the last place.* Float32 numbers have 24 significant bits, so neighbours are some 6e-8 of themselves
apart: one unit in the last place (ulp). The best that any function can do is to return the number nearest to the
exact result, half a unit away at most; two units are good.

                  half a unit
                    |<-->|
    ----|-----------|----x------|-----------|----       x: the exact result, | float32 numbers

*What is approximated.* `tl.exp` is for speed, on a GPU: the processor computes 2^y in one instruction, and y is the
product x log2(e), rounded. That rounding moves the result by up to |x| units or so: exp(-80) has five right
decimal digits, not seven. A softmax does not mind, its exponents are small where they matter. `libdevice.exp`
does without that product and has all the digits. Also approximated, to two units: `tl.exp2`, `tl.rsqrt` and `/`
(`libdevice.div_rn` gives the nearest number). All else, sin and cos of large angles included, is ordinary arithmetic,
as accurate on one device as on another. On a CPU, so is exp.

*What loses digits by itself.* exp(x) - 1 of a small x is a difference of two numbers that are nearly equal: what
rounding took from the first is most of what is left. `expm1` never makes the difference. Neither do `log1p` and `erfc`;
`sinpi` never rounds the product pi x.

*Powers.* `libdevice.pow` takes integers as exponents, too.

Run it:  python tutorials/07_libdevice.py
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from lesson import DEVICE, DEVICE_NAME, empty, import_torch, to_device, to_numpy, to_torch, xp

import sectile as st
import sectile.language as tl
from sectile.language.extra import libdevice


@st.jit
def apply_function(x_ptr, out_ptr, count, function: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + index, mask=index < count)
    tl.store(out_ptr + index, function(x), mask=index < count)


@st.jit
def powers(x_ptr, n_ptr, out_ptr, count, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + index, mask=index < count)
    n = tl.load(n_ptr + index, mask=index < count)
    tl.store(out_ptr + index, libdevice.pow(x, n), mask=index < count)


# Functions made of others are functions, too.
@st.jit
def exp_minus_one(x):
    return tl.exp(x) - 1


@st.jit
def sin_of_pi_times(x):
    return tl.sin(3.14159265358979 * x)


def apply(function, x, out=None):
    """function(x) of every element of a vector."""
    out = xp.empty_like(x) if out is None else out
    (count,) = x.shape
    apply_function[(st.cdiv(count, 1024),)](x, out, count, function=function, BLOCK=1024)
    return out


def worst_error(result, exact):
    """The largest distance from the float64 result, in units in the last place of float32."""
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return (np.abs(result - exact) / unit).max()


def sin_pi(x):
    """sin(pi x) of float64; what is taken off is exact, so that nothing of a large x is lost."""
    half_turns = np.rint(x)
    return np.sin(np.pi * (x - half_turns)) * np.where(half_turns % 2, -1, 1)


class Row(NamedTuple):
    """What is computed, of which numbers, what it should be, and how many units it may be off."""

    what: str
    name: str
    function: Any
    low: float
    high: float
    reference: Callable[[np.ndarray], np.ndarray]
    allowed: float | None  # None where digits are lost, and the table is to show it


FAST_EXP = 90.0 if DEVICE == "cuda" else 2.0
FUNCTIONS = [
    Row("arc sine", "libdevice.asin(x)", libdevice.asin, -1, 1, np.arcsin, 3.0),
    Row("cube root", "libdevice.cbrt(x)", libdevice.cbrt, -100, 100, np.cbrt, 2.0),
    Row("inverse of sinh", "libdevice.asinh(x)", libdevice.asinh, -100, 100, np.arcsinh, 3.0),
    Row("sine", "tl.sin(x)", tl.sin, -1e4, 1e4, np.sin, 3.0),
    Row("", "libdevice.sin(x)", libdevice.sin, -1e4, 1e4, np.sin, 3.0),
    Row("exponential", "tl.exp(x)", tl.exp, -80, 80, np.exp, FAST_EXP),
    Row("", "libdevice.exp(x)", libdevice.exp, -80, 80, np.exp, 3.0),
    Row("exp(x) - 1", "tl.exp(x) - 1", exp_minus_one, -1e-3, 1e-3, np.expm1, None),
    Row("", "libdevice.expm1(x)", libdevice.expm1, -1e-3, 1e-3, np.expm1, 2.0),
    Row("sin(pi x)", "tl.sin(pi * x)", sin_of_pi_times, 90.1, 90.9, sin_pi, None),
    Row("", "libdevice.sinpi(x)", libdevice.sinpi, 90.1, 90.9, sin_pi, 3.0),
]


def check_functions(count):
    rng = np.random.default_rng(1)
    print(f"elementary functions on {DEVICE_NAME}: {count:,} numbers each, compared with float64")
    print("  function                                  x from        to    worst error in ulps")
    for what, name, function, low, high, reference, allowed in FUNCTIONS:
        x = to_device(rng.uniform(low, high, count).astype(np.float32))
        exact = reference(to_numpy(x).astype(np.float64))
        error = worst_error(to_numpy(apply(function, x)), exact)
        assert allowed is None or error <= allowed, (
            f"{name}: off by {error} units in the last place from the float64 result"
        )
        shown = f"{error:.1f}" if error < 1000 else f"{error:.0e}"
        print(f"  {what:<16}  {name:<22} {low:>8g}  {high:>8g}    {shown}")


def check_powers(count):
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, count).astype(np.float32)
    n = rng.integers(-20, 21, count, dtype=np.int32)
    exact = x.astype(np.float64) ** n
    # What float32 holds: beyond are infinity, and numbers with fewer digits.
    held = (np.abs(exact) > np.finfo(np.float32).tiny) & (np.abs(exact) < 3e38)

    out = empty(count)
    powers[(st.cdiv(count, 512),)](to_device(x), to_device(n), out, count, BLOCK=512)
    error = worst_error(to_numpy(out)[held], exact[held])
    assert error <= 2, f"pow: off by {error} units in the last place from the float64 result"
    print(f"  power             libdevice.pow(x, n)    {-2:>8g}  {2:>8g}    {error:.1f}")


def main(quick=False):
    count = 10_001 if quick else 1_000_003
    check_functions(count)
    check_powers(count)
    if quick:
        return

    x = to_device(np.random.default_rng(3).uniform(-1, 1, 4_000_001).astype(np.float32))
    out = xp.empty_like(x)
    contenders = {"Sectile": lambda: apply(libdevice.asin, x, out)}
    if torch := import_torch():
        there, there_out = to_torch(x), to_torch(out)
        contenders["torch"] = lambda: torch.asin(there, out=there_out)
    if xp is np:
        contenders["NumPy"] = lambda: np.arcsin(x, out=out)
    work = 2 * x.nbytes / 1e6
    rates = {name: work / st.testing.do_bench(run) for name, run in contenders.items()}
    print("  arc sine: " + ", ".join(f"{name} {rate:.1f} GB/s" for name, rate in rates.items()))


if __name__ == "__main__":
    main("--quick" in sys.argv)
