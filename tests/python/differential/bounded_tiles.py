"""Tiles of numbers and bounds on their errors, and what is done to them element by element.

A part of `error_bounds.py`, which has the rules.
"""

import contextlib

import ml_dtypes
import numpy as np

TYPES = {
    "int1": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "float8e4nv": ml_dtypes.float8_e4m3fn, "float8e5": ml_dtypes.float8_e5m2,
    "float8e4b15": None,  # NumPy has none: PATTERNS_E4B15
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64,
}  # fmt: skip
# (u, what rounding near zero may cost, the greatest number). In float64 the reference rounds, too. A GPU
# may take subnormal float32 numbers for 0.
FLOATS = {
    "float8e4nv": (2.0**-4, 2.0**-10, 448.0),
    "float8e5": (2.0**-3, 2.0**-17, 57344.0),
    "float8e4b15": (2.0**-4, 2.0**-18, 1.75),
    "float16": (2.0**-11, 2.0**-25, 65504.0),
    "bfloat16": (2.0**-8, 2.0**-126, 3e38),
    "float32": (2.0**-24, 2.0**-126, 3e38),
    "float64": (2.0**-52, 2.0**-1000, 1e300),
}
int1, int8, int16, int32, int64 = "int1", "int8", "int16", "int32", "int64"
uint8, uint16, uint32, uint64 = "uint8", "uint16", "uint32", "uint64"
float8e4nv, float8e5, float16, bfloat16 = "float8e4nv", "float8e5", "float16", "bfloat16"
float32, float64, float8e4b15 = "float32", "float64", "float8e4b15"
_HALVES = (np.arange(128, dtype=np.uint16) << 7).view(np.float16).astype(np.float64)
PATTERNS_E4B15 = np.concatenate([_HALVES, -_HALVES])  # what each byte is


numerics = "default"  # of the kernel that is evaluated; set before each run


@contextlib.contextmanager
def fused():
    """Products may be fused with sums, or are: results have one rounding or two."""
    global numerics
    before, numerics = numerics, "default"
    try:
        yield
    finally:
        numerics = before


class constexpr:
    """An annotation; what it means is up to `st.jit`."""


class Unsuitable(Exception):
    """The kernel asks something to which there are several right answers, or none."""


def refuse_unless(condition, why):
    if not np.all(condition):
        raise Unsuitable(why)


def is_float(dtype):
    return dtype in FLOATS


def is_number_of(value, dtype):
    """Where float64 values are numbers of that type, for sure."""
    if (
        dtype == "float64"
    ):  # whatever NumPy computed is one: small multiples of 2^-20 were computed exactly
        return (np.abs(value) < 2.0**30) & (value * 2.0**20 == np.rint(value * 2.0**20))
    if dtype == "float8e4b15":
        return nearest_e4b15(value) == value
    with np.errstate(over="ignore"):
        return value.astype(TYPES[dtype]).astype(np.float64) == value


def nearest(value, dtype):
    """The nearest numbers of that type, halves to even: what is behind float64's digits was exact."""
    if dtype == "bfloat16":  # of float64, ml_dtypes makes float32 first
        fraction, exponent = np.frexp(value)
        finite = np.isfinite(value)
        return np.where(
            finite, np.ldexp(np.rint(np.where(finite, fraction, 0) * 256), exponent - 8), value
        )
    return value if dtype == "float64" else value.astype(TYPES[dtype]).astype(np.float64)


def nearest_e4b15(value):
    """Halves away from zero, 1.75 at most."""
    magnitude = np.minimum(np.abs(value), 1.75)
    unit = np.exp2(np.floor(np.log2(np.maximum(magnitude, 2.0**-14))) - 3)
    return np.copysign(np.floor(magnitude / unit + 0.5) * unit, value)


def rounded_to_odd(whole):
    """Integers as float64 with an odd last digit where digits are lost: rounding once more, to a shorter
    type, gives the number nearest to the integer."""
    value = whole.astype(np.float64)
    if whole.dtype.itemsize < 8:
        return value
    below = np.where(value.astype(object) > whole, np.nextafter(value, -np.inf), value)
    is_odd = below.view(np.int64) & 1 == 1
    is_exact = value.astype(object) == whole.astype(object)
    return np.where(is_exact, value, np.where(is_odd, below, np.nextafter(below, np.inf)))


def bits_e4b15(value):
    """The patterns of numbers of that type."""
    found = np.searchsorted(_HALVES, np.abs(value)).astype(np.uint8)
    return np.where(np.signbit(value), found + np.uint8(128), found)


class Tile:
    # Of a product: what a sum loses, relative, that the product may be begun with.
    cut = 0.0

    def __init__(self, value, dtype, error=None):
        self.dtype = dtype
        self.value = np.asarray(value, np.float64 if is_float(dtype) else TYPES[dtype])
        self.error = None
        if is_float(dtype):
            error = np.zeros(self.value.shape) if error is None else np.asarray(error, np.float64)
            self.error = np.broadcast_to(error, self.value.shape)

    @staticmethod
    def rounded(value, error, dtype, roundings=1.0):
        """A result that was rounded, by an operation that may become a part of another; infinities
        stay without error."""
        if roundings <= 1 and numerics != "default":
            return Tile.nearest(value, error, dtype)
        return Tile.bounded(value, error, dtype, roundings)

    @staticmethod
    def nearest(value, error, dtype):
        """The same of an operation that stands alone: the nearest number to an exact value."""
        made = Tile.bounded(value, error, dtype, 1.0)
        if dtype.startswith("float8"):
            return made
        is_exact = np.broadcast_to(np.asarray(error) == 0, made.shape)
        if dtype == "bfloat16":  # those of fewer digits are not looked at
            is_exact = is_exact & (np.abs(made.value) > FLOATS[dtype][1])
        value = np.where(is_exact, nearest(made.value, dtype), made.value)
        return Tile(value, dtype, np.where(is_exact, 0.0, made.error))

    @staticmethod
    def bounded(value, error, dtype, roundings):
        unit, least, greatest = FLOATS[dtype]
        value = np.asarray(value, np.float64)
        error = np.broadcast_to(np.asarray(error, np.float64), value.shape)
        infinite = np.isinf(value)
        refuse_unless(
            ~np.isnan(value) & (infinite | (np.abs(value) + error < greatest / 2)), "overflow"
        )
        refuse_unless(~infinite | (error == 0), "uncertain infinity")
        bound = error + roundings * (unit * (np.abs(value) + error) + least)
        exact = infinite
        if roundings <= 1:
            exact = exact | ((error == 0) & is_number_of(value, dtype))
        return Tile(value, dtype, np.where(exact, 0.0, bound))

    @staticmethod
    def saturated(value, error, dtype):
        """A conversion to fp8: what is too large, and infinity, becomes the greatest number."""
        unit, least, greatest = FLOATS[dtype]
        value = np.asarray(value, np.float64)
        error = np.broadcast_to(np.asarray(error, np.float64), value.shape)
        refuse_unless(~np.isnan(value), "no number as fp8")
        if dtype == "float8e4b15":  # what is known is rounded in one way only
            value = np.where(error == 0, nearest_e4b15(value), value)
        beyond = np.abs(value) - error >= greatest
        value, error = np.clip(value, -greatest, greatest), np.where(beyond, 0.0, error)
        bound = error + unit * (np.abs(value) + error) + least
        exact = beyond | ((error == 0) & is_number_of(value, dtype))
        return Tile(value, dtype, np.where(exact, 0.0, bound))

    @property
    def shape(self):
        return self.value.shape

    def map(self, function):
        """The same rearrangement of values and errors."""
        return Tile(
            function(self.value), self.dtype, None if self.error is None else function(self.error)
        )

    def is_exact(self):
        return self.error is None or not self.error.any()

    def magnitude(self):
        return np.abs(self.value) + self.error

    def __bool__(self):
        assert self.shape == ()
        refuse_unless(self.is_exact(), "a branch on an inexact number")
        return bool(self.value)

    def __index__(self):
        return int(self.value)

    __int__ = __index__

    def __getitem__(self, index):
        return self.map(lambda array: array[index])

    def to(self, dtype):
        return cast(self, dtype)

    def __add__(self, other):
        cut = max(self.cut, getattr(other, "cut", 0.0))

        def error(a, b):
            if all(x.is_exact() and (x.value == np.rint(x.value)).all() for x in (a, b)):
                return a.error + b.error
            return a.error + b.error + cut * (np.abs(a.value) + np.abs(b.value))

        return arithmetic(self, other, np.add, error)

    def __sub__(self, other):
        return arithmetic(self, other, np.subtract, lambda a, b: a.error + b.error)

    def __mul__(self, other):
        return arithmetic(
            self,
            other,
            np.multiply,
            lambda a, b: a.magnitude() * b.magnitude() - np.abs(a.value * b.value),
        )

    def __radd__(self, other):
        return same(other, self)[0] + self

    def __rsub__(self, other):
        return same(other, self)[0] - self

    def __rmul__(self, other):
        return same(other, self)[0] * self

    def __truediv__(self, other):
        return quotient(self, other, 4)

    def __floordiv__(self, other):
        return integer_division(self, other)[0]

    def __mod__(self, other):
        return integer_division(self, other)[1]

    def __and__(self, other):
        return bits(self, other, np.bitwise_and)

    def __or__(self, other):
        return bits(self, other, np.bitwise_or)

    def __xor__(self, other):
        return bits(self, other, np.bitwise_xor)

    def __lshift__(self, other):
        return shift(self, other, np.left_shift)

    def __rshift__(self, other):
        return shift(self, other, np.right_shift)

    def __neg__(self):
        return (
            self.map(np.negative)
            if self.error is None
            else Tile(-self.value, self.dtype, self.error)
        )

    def __invert__(self):
        return self.map(np.invert)

    def __lt__(self, other):
        return compare(self, other, np.less)

    def __le__(self, other):
        return compare(self, other, np.less_equal)

    def __gt__(self, other):
        return compare(self, other, np.greater)

    def __ge__(self, other):
        return compare(self, other, np.greater_equal)

    def __eq__(self, other):
        return compare(self, other, np.equal)

    def __ne__(self, other):
        return compare(self, other, np.not_equal)


# ---- element by element ------------------------------------------------------------------------------


def same(a, b):
    """Both as tiles of one type: a number takes the other's."""
    if not isinstance(a, Tile):
        a = literal(a, b.dtype)
    if not isinstance(b, Tile):
        b = literal(b, a.dtype)
    assert a.dtype == b.dtype, f"{a.dtype} and {b.dtype}"
    return a, b


def literal(number, dtype):
    if not is_float(dtype):
        info = np.iinfo(TYPES[dtype])
        refuse_unless(info.min <= number <= info.max, "a constant out of range")
    return Tile(number, dtype)


def arithmetic(a, b, function, error):
    a, b = same(a, b)
    value = function(a.value, b.value)
    if not is_float(a.dtype):
        return Tile(value, a.dtype)
    with np.errstate(invalid="ignore"):
        error = np.where(np.isinf(value), 0, error(a, b))
    return Tile.rounded(value, error, a.dtype)


def bits(a, b, function):
    a, b = same(a, b)
    assert not is_float(a.dtype)
    return Tile(function(a.value, b.value), a.dtype)


def shift(a, b, function):
    a, b = same(a, b)
    width = 8 * a.value.itemsize
    refuse_unless((b.value >= 0) & (b.value < width), "a shift too far")
    return Tile(function(a.value, b.value), a.dtype)


def integer_division(a, b):
    """(quotient, remainder), truncating as in C. Of a division by zero the quotient has all bits set, and the remainder
    is the dividend; the smallest number by -1 gives itself and 0."""
    a, b = same(a, b)
    kind = a.value.dtype if isinstance(a.value, np.ndarray) else type(a.value)
    wraps = (b.value == -1) & (a.value == np.iinfo(kind).min) if np.iinfo(kind).min < 0 else False
    divisor = np.where((b.value == 0) | wraps, 1, b.value).astype(kind)
    remainder = np.fmod(a.value, divisor)
    quotient = ((a.value - remainder) // divisor).astype(kind)
    ones = np.array(0, kind) - np.array(1, kind) if np.iinfo(kind).min == 0 else np.array(-1, kind)
    return (
        Tile(np.where(b.value == 0, ones, quotient).astype(kind), a.dtype),
        Tile(np.where(b.value == 0, a.value, remainder).astype(kind), a.dtype),
    )


def compare(a, b, function):
    a, b = same(a, b)
    if is_float(a.dtype):
        with np.errstate(invalid="ignore"):
            apart = np.abs(a.value - b.value) > a.error + b.error
        refuse_unless(apart | ((a.error == 0) & (b.error == 0)), "a comparison that errors decide")
    return Tile(function(a.value, b.value), "int1")


def quotient(a, b, roundings=1, finish=None):
    a, b = same(a, b)
    if not is_float(a.dtype):
        raise Unsuitable("a quotient of integers")
    smallest = np.abs(b.value) - b.error
    refuse_unless((smallest > 1e-4) & np.isfinite(a.value), "division by what may be zero")
    value = a.value / b.value
    error = (a.error + np.abs(value) * b.error) / smallest
    if finish:
        return finish(value, error, a.dtype)
    if a.dtype == "float64" or numerics == "strict":
        roundings = 1
    return Tile.rounded(value, error, a.dtype, roundings)


def fdiv(a, b):
    return quotient(a, b, 4)


def div_rn(a, b):
    return quotient(a, b, finish=Tile.nearest)


def pointer_type(element):
    return f"pointer to {element}"


def cast(x, dtype, bitcast=False):
    if hasattr(x, "memory"):  # a pointer, which stays one as an integer
        return x
    if not isinstance(x, Tile):
        return literal(x, dtype)
    if bitcast:
        refuse_unless(x.is_exact(), "the bits of an inexact number")
        if dtype == "float8e4b15":
            return Tile(PATTERNS_E4B15[x.value.view(np.uint8)], dtype)
        if x.dtype == "float8e4b15":
            return Tile(bits_e4b15(x.value).view(TYPES[dtype]), dtype)
        whole = x.value.astype(TYPES[x.dtype]).view(TYPES[dtype])
        if is_float(dtype):
            with np.errstate(invalid="ignore"):
                refuse_unless(np.isfinite(whole.astype(np.float64)), "bits of no number")
        return Tile(whole.astype(np.float64) if is_float(dtype) else whole, dtype)
    if is_float(dtype):
        if x.dtype == dtype:
            return x
        convert = Tile.saturated if "float8" in dtype else Tile.nearest
        if is_float(x.dtype):
            return convert(x.value, x.error, dtype)
        if dtype in ("float32", "float64"):
            return convert(x.value.astype(TYPES[dtype]).astype(np.float64), 0, dtype)
        return convert(rounded_to_odd(x.value), 0, dtype)
    if not is_float(x.dtype):
        return Tile(x.value != 0 if dtype == "int1" else x.value.astype(TYPES[dtype]), dtype)
    refuse_unless(dtype != "int1", "a float as a truth value")
    low, high = np.trunc(x.value - x.error), np.trunc(x.value + x.error)
    refuse_unless(np.isfinite(x.value) & (low == high), "a conversion that errors decide")
    info = np.iinfo(TYPES[dtype])
    refuse_unless((low >= info.min) & (low < float(info.max)), "a conversion out of range")
    return Tile(low.astype(TYPES[dtype]), dtype)


def where(condition, x, y):
    if not any(isinstance(each, Tile) for each in (condition, x, y)):
        return x if condition else y  # numbers of the program's own
    if not isinstance(x, Tile) and not isinstance(y, Tile):
        x = literal(x, "int32")
    x, y = same(x, y)
    return chosen(condition.value, x, y)


def chosen(condition, x, y):
    error = None if x.error is None else np.where(condition, x.error, y.error)
    return Tile(np.where(condition, x.value, y.value), x.dtype, error)


def broadcast_to(x, shape):
    return x.map(lambda array: np.broadcast_to(array, shape))
