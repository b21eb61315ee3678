"""Functions of libdevice on tiles with bounds on their errors: a sample of each kind, as `libdevice`.

A part of `error_bounds.py`. Bounds are the maximum errors of CUDA's functions (CUDA C++ Programming Guide), in
units in the last place, and what NumPy's and Python's float64 functions lose beside them. Functions that neither
rise nor fall everywhere take exact numbers only; a NaN is no right answer here (`test_libdevice.py` has them).
"""

import math
from dataclasses import dataclass
from typing import Callable

import numpy as np
from bounded_tiles import FLOATS, TYPES, Tile, Unsuitable, refuse_unless, same


def elementwise(function):
    def of(*arrays):
        try:
            return np.vectorize(function, otypes=[float])(*arrays)
        except (OverflowError, ValueError) as error:
            raise Unsuitable(str(error)) from None

    return of


@dataclass
class Function:
    """`single` and `double`: the greatest error of the function in fp32 and fp64."""

    reference: Callable
    least: float
    greatest: float
    single: int
    double: int
    # What the float64 reference loses, in its units; relative, and to 1.
    loses: int = 8
    absolute: int = 0
    rises: bool = True


def _turns(function):
    return lambda x: function(np.pi * np.remainder(x, 2.0))


FUNCTIONS = {
    "tgamma": Function(elementwise(math.gamma), 0.01, 20, 5, 10, loses=32, rises=False),
    "lgamma": Function(elementwise(math.lgamma), 0.01, 1000, 6, 4, absolute=32, rises=False),
    "erfc": Function(elementwise(math.erfc), -6, 5, 4, 5),
    "normcdf": Function(
        elementwise(lambda x: math.erfc(-x / math.sqrt(2)) / 2), -6, 6, 5, 5, loses=64
    ),
    "erfcx": Function(elementwise(lambda x: math.exp(x * x) * math.erfc(x)), -4, 5, 4, 4, loses=64),
    "cbrt": Function(np.cbrt, -np.inf, np.inf, 1, 1),
    "rcbrt": Function(lambda x: 1 / np.cbrt(x), 1e-6, 1e9, 1, 1),
    "exp10": Function(lambda x: np.power(10.0, x), -30, 30, 2, 1, loses=64),
    "expm1": Function(np.expm1, -80, 80, 1, 1),
    "log1p": Function(np.log1p, -0.99, 1e9, 1, 1),
    "log10": Function(np.log10, 1e-6, 1e9, 2, 1, absolute=4),
    "sinh": Function(np.sinh, -80, 80, 3, 2),
    "cosh": Function(np.cosh, -80, 80, 2, 1, rises=False),
    "tan": Function(np.tan, -1.5, 1.5, 4, 2),
    "asin": Function(np.arcsin, -1, 1, 2, 2),
    "acos": Function(np.arccos, -1, 1, 2, 2),
    "atan": Function(np.arctan, -np.inf, np.inf, 2, 2),
    "asinh": Function(np.arcsinh, -1e9, 1e9, 3, 3),
    "acosh": Function(np.arccosh, 1, 1e9, 4, 3),
    "atanh": Function(np.arctanh, -0.99, 0.99, 3, 2),
    "sinpi": Function(_turns(np.sin), -1e4, 1e4, 1, 2, absolute=16, rises=False),
    "cospi": Function(_turns(np.cos), -1e4, 1e4, 1, 2, absolute=16, rises=False),
    "cyl_bessel_i0": Function(np.i0, -20, 20, 6, 6, loses=32, rises=False),
}
# Of several numbers; they take exact ones.
SEVERAL = {
    "hypot": Function(np.hypot, -1e15, 1e15, 3, 2),
    "rhypot": Function(lambda x, y: 1 / np.hypot(x, y), -1e15, 1e15, 2, 1),
    "atan2": Function(np.arctan2, -1e9, 1e9, 3, 2),
    "pow": Function(np.power, 0, 100, 4, 2, loses=16),
    "norm3d": Function(lambda *x: np.sqrt(sum(np.square(v) for v in x)), -1e15, 1e15, 3, 2),
    "rnorm3d": Function(lambda *x: 1 / np.sqrt(sum(np.square(v) for v in x)), -1e15, 1e15, 2, 1),
    "norm4d": Function(lambda *x: np.sqrt(sum(np.square(v) for v in x)), -1e15, 1e15, 3, 2),
    "rnorm4d": Function(lambda *x: 1 / np.sqrt(sum(np.square(v) for v in x)), -1e15, 1e15, 2, 1),
}
ARGUMENTS = {"norm3d": 3, "rnorm3d": 3, "norm4d": 4, "rnorm4d": 4}  # of the others of SEVERAL: two


def bounded(value, error, dtype, function):
    roundings = 2 * (function.single if dtype == "float32" else function.double)
    lost = 2.0**-53 * (function.loses * np.abs(value) + function.absolute)
    return Tile.rounded(value, error + np.where(np.isinf(value), 0, lost), dtype, 1 + roundings)


def of_one(function):
    def call(x):
        assert x.dtype in ("float32", "float64"), x.dtype
        refuse_unless(function.rises or x.is_exact(), "a function that goes up and down")
        low, high = x.value - x.error, x.value + x.error
        refuse_unless((low >= function.least) & (high <= function.greatest), "outside the domain")
        value, ends = function.reference(x.value), map(function.reference, (low, high))
        error = np.max([np.where(x.error == 0, 0, np.abs(end - value)) for end in ends], axis=0)
        return bounded(value, error, x.dtype, function)

    return call


def of_several(function):
    def call(*tiles):
        tiles = [same(tile, tiles[0])[0] for tile in tiles]
        for tile in tiles:
            refuse_unless(tile.is_exact(), "errors of several operands")
            inside = (tile.value >= function.least) & (tile.value <= function.greatest)
            refuse_unless(inside, "outside the domain")
        value = function.reference(*(tile.value for tile in tiles))
        return bounded(value, 0, tiles[0].dtype, function)

    return call


# ---- functions whose results are numbers of the type, or rounded once -----------------------------------


def exact(reference):
    """A function of exact floats, whose result is one of their type."""

    def call(*tiles):
        tiles = [same(tile, tiles[0])[0] for tile in tiles]
        refuse_unless([tile.is_exact() for tile in tiles], "a step that errors decide")
        dtype = tiles[0].dtype
        arrays = [tile.value.astype(TYPES[dtype]) for tile in tiles]
        value = np.asarray(reference(*np.broadcast_arrays(*arrays)))
        refuse_unless(~np.isnan(value.astype(np.float64)), "no number")
        refuse_unless(
            (value == 0) | (np.abs(value) >= FLOATS[dtype][1]), "subnormal, which GPUs may flush"
        )
        return Tile(value.astype(np.float64), dtype)

    return call


def scaled(x, exponent):
    refuse_unless(x.is_exact(), "an inexact number")
    value = np.ldexp(x.value, exponent.value)
    least, greatest = FLOATS[x.dtype][1:]
    refuse_unless(
        (value == 0) | ((np.abs(value) >= least) & (np.abs(value) < greatest)), "beyond the numbers"
    )
    return Tile(value, x.dtype)


def exponent_of(x):
    refuse_unless(x.is_exact() & np.isfinite(x.value) & (x.value != 0), "no exponent")
    refuse_unless(np.abs(x.value) >= FLOATS[x.dtype][1], "subnormal, which GPUs may flush")
    return Tile((np.frexp(x.value)[1] - 1).astype(np.int32), "int32")


def rounded_to_int(step):
    """float32 to int32, saturating."""

    def call(x):
        refuse_unless(x.is_exact() and x.dtype == "float32", "a conversion that errors decide")
        whole = np.clip(step(x.value), -(2.0**31), 2.0**31 - 1)
        return Tile(whole.astype(np.int64).astype(np.int32), "int32")

    return call


def away_from_zero(x):
    whole = np.floor(np.abs(x))  # a sum with one half would be rounded
    return np.copysign(whole + (np.abs(x) - whole >= 0.5).astype(x.dtype), x)


def of_integers(function):
    """int32 to int32."""

    def call(*tiles):
        assert all(tile.dtype == "int32" for tile in tiles)
        whole = function(*(tile.value.astype(np.int64) for tile in tiles))
        return Tile((np.asarray(whole) & 0xFFFFFFFF).astype(np.uint32).view(np.int32), "int32")

    return call


def _bits(x):
    return x & 0xFFFFFFFF


def _leading_zeros(x):
    return np.where(_bits(x) == 0, 32, 31 - np.floor(np.log2(np.maximum(_bits(x), 1)))).astype(
        np.int64
    )


def _first_set(x):
    low = _bits(x) & -_bits(x)
    return np.where(low == 0, 0, np.log2(np.maximum(low, 1)) + 1).astype(np.int64)


def _signed24(x):
    return ((x & 0xFFFFFF) ^ 0x800000) - 0x800000


EXACT = {
    "rint": (1, np.rint),
    "nearbyint": (1, np.rint),
    "trunc": (1, np.trunc),
    "copysign": (2, np.copysign),
    "fdim": (2, lambda x, y: np.maximum(x - y, x.dtype.type(0))),
    "fmod": (2, np.fmod),
    "nextafter": (2, np.nextafter),
    "add_rn": (2, np.add),
    "mul_rn": (2, np.multiply),
    "sub_rn": (2, np.subtract),
}
INTEGERS = {
    "clz": (1, _leading_zeros),
    "ffs": (1, _first_set),
    "popc": (1, np.vectorize(lambda x: int(x & 0xFFFFFFFF).bit_count(), otypes=[np.int64])),
    "brev": (
        1,
        np.vectorize(lambda x: int(f"{int(x) & 0xFFFFFFFF:032b}"[::-1], 2), otypes=[np.int64]),
    ),
    "hadd": (2, lambda x, y: (x + y) >> 1),
    "rhadd": (2, lambda x, y: (x + y + 1) >> 1),
    "mulhi": (2, lambda x, y: (x * y) >> 32),
    "mul24": (2, lambda x, y: _signed24(x) * _signed24(y)),
}
TO_INT = {
    "float2int_rn": np.rint,
    "float2int_rz": np.trunc,
    "float2int_rd": np.floor,
    "float2int_ru": np.ceil,
}


class Libdevice:
    """What kernels know as `libdevice`."""

    ldexp = scalbn = staticmethod(scaled)
    ilogb = staticmethod(exponent_of)
    round = staticmethod(exact(away_from_zero))


for _table, _maker in (
    (FUNCTIONS, of_one),
    (SEVERAL, of_several),
    (TO_INT, rounded_to_int),
    ({name: function for name, (_, function) in EXACT.items()}, exact),
    ({name: function for name, (_, function) in INTEGERS.items()}, of_integers),
):
    for _name, _function in _table.items():
        setattr(Libdevice, _name, staticmethod(_maker(_function)))

libdevice = Libdevice()
