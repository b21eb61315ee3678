"""`tl` by NumPy: a float is a float64 and a bound on how far any right answer may be from it.

    x = Tile.of(array)                  # numbers as they lie in memory: no error
    y = exp(x * 0.5); y.value, y.error  # float64: |computed - value| <= error, in any order of summation

One text serves both sides: `st.jit` compiles it, and Python runs it with this module as `tl`. Integers are
exact and wrap. Rules for floats, u being half a unit in the last place of the type, relative:

    rounded operation    u |result|; none where the result is a number of the type and the operands are exact
    sum of n numbers     (n - 1) u (|x1| + ... + |xn|); none for whole numbers whose sum the type holds
    function             errors of the operands by its values at both ends, and a few u (FUNCTIONS)
    product of matrices  errors of the operands, their rounding to the precision asked for, and the rounding
                         of sums, four times as large as IEEE's: tensor cores cut off

What has no bound is refused (`Unsuitable`), so that generated kernels do not ask it: comparisons that errors
decide, overflow, conversions out of range, division by zero, shifts too far, stores that race.
"""

import builtins
import math as scalar_math

import ml_dtypes
import numpy as np

TYPES = {
    "int1": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "float8e4nv": ml_dtypes.float8_e4m3fn, "float8e5": ml_dtypes.float8_e5m2,
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64,
}  # fmt: skip
# (u, what rounding near zero may cost, the greatest number). In float64 the reference rounds, too. A GPU
# may take subnormal float32 numbers for 0.
FLOATS = {
    "float8e4nv": (2.0**-4, 2.0**-10, 448.0),
    "float8e5": (2.0**-3, 2.0**-17, 57344.0),
    "float16": (2.0**-11, 2.0**-25, 65504.0),
    "bfloat16": (2.0**-8, 2.0**-126, 3e38),
    "float32": (2.0**-24, 2.0**-126, 3e38),
    "float64": (2.0**-52, 2.0**-1000, 1e300),
}
int1, int8, int16, int32, int64 = "int1", "int8", "int16", "int32", "int64"
uint8, uint16, uint32, uint64 = "uint8", "uint16", "uint32", "uint64"
float8e4nv, float8e5, float16, bfloat16 = "float8e4nv", "float8e5", "float16", "bfloat16"
float32, float64 = "float32", "float64"


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
    with np.errstate(over="ignore"):
        return value.astype(TYPES[dtype]).astype(np.float64) == value


class Tile:
    def __init__(self, value, dtype, error=None):
        self.dtype = dtype
        self.value = np.asarray(value, np.float64 if is_float(dtype) else TYPES[dtype])
        self.error = None
        if is_float(dtype):
            error = np.zeros(self.value.shape) if error is None else np.asarray(error, np.float64)
            self.error = np.broadcast_to(error, self.value.shape)

    @staticmethod
    def rounded(value, error, dtype, roundings=1.0):
        """A result that was rounded; infinities stay without error."""
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
        return arithmetic(self, other, np.add, lambda a, b: a.error + b.error)

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
    """(quotient, remainder), truncating as in C."""
    a, b = same(a, b)
    refuse_unless(b.value > 0, "division by zero")
    remainder = np.fmod(a.value, b.value)
    return Tile((a.value - remainder) // b.value, a.dtype), Tile(remainder, a.dtype)


def compare(a, b, function):
    a, b = same(a, b)
    if is_float(a.dtype):
        with np.errstate(invalid="ignore"):
            apart = np.abs(a.value - b.value) > a.error + b.error
        refuse_unless(apart | ((a.error == 0) & (b.error == 0)), "a comparison that errors decide")
    return Tile(function(a.value, b.value), "int1")


def quotient(a, b, roundings):
    a, b = same(a, b)
    if not is_float(a.dtype):
        raise Unsuitable("a quotient of integers")
    smallest = np.abs(b.value) - b.error
    refuse_unless((smallest > 1e-4) & np.isfinite(a.value), "division by what may be zero")
    value = a.value / b.value
    error = (a.error + np.abs(value) * b.error) / smallest
    if a.dtype == "float64":
        roundings = 1
    return Tile.rounded(value, error, a.dtype, roundings)


def fdiv(a, b):
    return quotient(a, b, 4)


def div_rn(a, b):
    return quotient(a, b, 1)


def cast(x, dtype, bitcast=False):
    if not isinstance(x, Tile):
        return literal(x, dtype)
    if bitcast:
        refuse_unless(x.is_exact(), "the bits of an inexact number")
        whole = x.value.astype(TYPES[x.dtype]).view(TYPES[dtype])
        if is_float(dtype):
            with np.errstate(invalid="ignore"):
                refuse_unless(np.isfinite(whole.astype(np.float64)), "bits of no number")
        return Tile(whole.astype(np.float64) if is_float(dtype) else whole, dtype)
    if is_float(dtype):
        if not is_float(x.dtype):
            return Tile.rounded(x.value.astype(np.float64), 0, dtype)
        if FLOATS[x.dtype][0] <= FLOATS[dtype][0] and x.dtype != dtype:
            refuse_unless(np.isfinite(x.value) | ("float8" not in dtype), "infinity as fp8")
        return Tile.rounded(x.value, x.error, dtype) if x.dtype != dtype else x
    if not is_float(x.dtype):
        return Tile(x.value != 0 if dtype == "int1" else x.value.astype(TYPES[dtype]), dtype)
    refuse_unless(dtype != "int1", "a float as a truth value")
    low, high = np.trunc(x.value - x.error), np.trunc(x.value + x.error)
    refuse_unless(np.isfinite(x.value) & (low == high), "a conversion that errors decide")
    info = np.iinfo(TYPES[dtype])
    refuse_unless((low >= info.min) & (low < float(info.max)), "a conversion out of range")
    return Tile(low.astype(TYPES[dtype]), dtype)


def where(condition, x, y):
    x, y = same(x, y)
    return chosen(condition.value, x, y)


def chosen(condition, x, y):
    error = None if x.error is None else np.where(condition, x.error, y.error)
    return Tile(np.where(condition, x.value, y.value), x.dtype, error)


def extremum(function):
    def of(a, b):
        a, b = same(a, b)
        # Of two uncertain numbers either may be the one; both errors bound the result's.
        error = None if a.error is None else np.maximum(*np.broadcast_arrays(a.error, b.error))
        return Tile(function(a.value, b.value), a.dtype, error)

    return of


maximum, minimum = extremum(np.maximum), extremum(np.minimum)


def abs(x):
    return Tile(np.abs(x.value), x.dtype, x.error)


def fma(x, y, z):
    return x * y + z


def umulhi(x, y):
    width = 8 * x.value.itemsize
    product = x.value.astype(object) * y.value.astype(object)
    return Tile((product >> width).astype(TYPES[x.dtype]), x.dtype)


_erf = np.vectorize(scalar_math.erf, otypes=[float])


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


# name: (NumPy's function, least argument, greatest argument, roundings). Roundings are relative to the
# result, or to 1 where it is smaller than that and the function crosses zero away from 0.
FUNCTIONS = {
    "exp": (np.exp, -np.inf, 60, 8),
    "exp2": (np.exp2, -np.inf, 80, 8),
    "log": (np.log, 1e-6, 1e9, 8),
    "log2": (np.log2, 1e-6, 1e9, 8),
    "sin": (np.sin, -200, 200, 16),
    "cos": (np.cos, -200, 200, 16),
    "sqrt": (np.sqrt, 0, 1e30, 4),
    "sqrt_rn": (np.sqrt, 0, 1e30, 1),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-6, 1e30, 6),
    "tanh": (np.tanh, -1e9, 1e9, 8),
    "erf": (_erf, -1e9, 1e9, 8),
    "sigmoid": (_sigmoid, -60, 60, 12),
}


def function(name):
    f, least, greatest, roundings = FUNCTIONS[name]

    def of(x):
        assert x.dtype in ("float32", "float64"), x.dtype
        low, high = x.value - x.error, x.value + x.error
        refuse_unless((low >= least) & (high <= greatest), f"{name} outside its domain")
        value = f(x.value)
        if name in ("sin", "cos"):
            error = np.minimum(x.error, 2)
        else:
            error = np.maximum(np.abs(f(low) - value), np.abs(f(high) - value))
        unit = FLOATS[x.dtype][0]
        if name in ("exp", "exp2"):  # the product with log2(e) is rounded
            error = error + np.where(np.isinf(x.value), 0, 2 * unit * np.abs(x.value) * value)
        if name == "sigmoid":  # of exp(-x), and what its error makes of the quotient
            error = error + 2 * unit * np.abs(x.value) * value * (1 - value)
        if name in ("log", "log2", "sin", "cos"):
            error = error + roundings * unit
        # float64's functions are NumPy's to a few units, too
        return Tile.rounded(value, error, x.dtype, roundings if name != "sqrt_rn" else 1.001)

    return of


exp, exp2, log, log2, sin, cos = map(function, ("exp", "exp2", "log", "log2", "sin", "cos"))
sqrt, sqrt_rn, rsqrt, tanh, erf, sigmoid = map(
    function, ("sqrt", "sqrt_rn", "rsqrt", "tanh", "erf", "sigmoid")
)


def whole_part(f):
    def of(x):
        low, high = f(x.value - x.error), f(x.value + x.error)
        refuse_unless(low == high, "a whole part that errors decide")
        return Tile(low, x.dtype)

    return of


floor, ceil = whole_part(np.floor), whole_part(np.ceil)

# ---- shapes ------------------------------------------------------------------------------------------


def arange(start, end):
    return Tile(np.arange(start, end, dtype=np.int32), "int32")


def full(shape, value, dtype):
    filled = cast(value, dtype)
    return broadcast_to(filled, shape)


def zeros(shape, dtype):
    return full(shape, 0, dtype)


def trans(x, *dims):
    return x.map(lambda array: np.transpose(array, dims or None))


def reshape(x, shape):
    return x.map(lambda array: np.reshape(array, shape))


def expand_dims(x, axis):
    return x.map(lambda array: np.expand_dims(array, axis))


def broadcast_to(x, shape):
    return x.map(lambda array: np.broadcast_to(array, shape))


def flip(x, axis):
    return x.map(lambda array: np.flip(array, axis))


def together(a, b, function):
    a, b = same(a, b)
    error = None if a.error is None else function(a.error, b.error)
    return Tile(function(a.value, b.value), a.dtype, error)


def join(a, b):
    return together(a, b, lambda x, y: np.stack(np.broadcast_arrays(x, y), axis=-1))


def split(x):
    return x[..., 0], x[..., 1]


def interleave(a, b):
    joined = join(a, b)
    return reshape(joined, (*joined.shape[:-2], -1))


def cat(a, b, dim=0):
    return together(a, b, lambda x, y: np.concatenate([x, y], axis=dim))


def gather(src, index, axis):
    extent = src.shape[axis]
    refuse_unless((index.value >= 0) & (index.value < extent), "gather out of range")
    where = index.value.astype(np.int64)
    return src.map(lambda array: np.take_along_axis(array, where, axis))


def multiple_of(x, _):
    return x


max_contiguous = multiple_of

# ---- along a dimension -------------------------------------------------------------------------------


def flat_for(x, axis):
    return (reshape(x, (-1,)), 0) if axis is None else (x, axis)


def widened(x):
    """Integers narrower than 32 bits are summed in 32."""
    if is_float(x.dtype) or x.value.itemsize >= 4:
        return x
    return cast(x, "uint32" if x.dtype.startswith("u") else "int32")


def is_whole_below(x, total):
    """Sums of these numbers, in any order, are exact in their type."""
    if not x.is_exact() or not np.isfinite(x.value).all():
        return False
    whole = (x.value == np.rint(x.value)).all()
    return whole and (total < 1 / FLOATS[x.dtype][0]).all()


def sum(x, axis=None, keep_dims=False):
    x, axis = flat_for(widened(x), axis)
    total = np.sum(x.value, axis=axis, keepdims=keep_dims, dtype=x.value.dtype)
    if not is_float(x.dtype):
        return Tile(total, x.dtype)
    absolute = np.sum(x.magnitude(), axis=axis, keepdims=keep_dims)
    refuse_unless(absolute < FLOATS[x.dtype][2] / 2, "overflow of a sum")
    if is_whole_below(x, absolute):
        return Tile(total, x.dtype)
    unit, least, _ = FLOATS[x.dtype]
    error = np.sum(x.error, axis=axis, keepdims=keep_dims)
    error = error + x.shape[axis] * (unit * absolute + least)
    return Tile(total, x.dtype, error)


def selection(function):
    def of(x, axis=None, keep_dims=False):
        x, axis = flat_for(x, axis)
        error = None if x.error is None else np.max(x.error, axis=axis, keepdims=keep_dims)
        return Tile(function(x.value, axis=axis, keepdims=keep_dims), x.dtype, error)

    return of


max, min = selection(np.max), selection(np.min)


def xor_sum(x, axis=None):
    x, axis = flat_for(x, axis)
    return Tile(np.bitwise_xor.reduce(x.value, axis=axis), x.dtype)


def position(sign):
    def of(x, axis, tie_break_left=True):
        if x.error is None:
            ordered = x.value.astype(object) * sign if x.dtype.startswith("u") else x.value
            scores = (
                ordered
                if x.dtype.startswith("u")
                else np.multiply(x.value.astype(np.float64), sign)
            )
            if x.dtype == "int64":
                scores = x.value.astype(object) * sign
            return Tile(np.argmax(scores, axis).astype(np.int32), "int32")
        scores = x.value * sign
        best = np.argmax(scores, axis)
        at = np.expand_dims(best, axis)
        lead = np.take_along_axis(scores, at, axis) - scores
        error = x.error + np.take_along_axis(x.error, at, axis)
        tied = (lead == 0) & (error == 0)
        itself = np.arange(x.shape[axis]).reshape(
            [-1 if d == axis else 1 for d in builtins.range(scores.ndim)]
        )
        refuse_unless((lead > error) | tied | (itself == at), "a position that errors decide")
        return Tile(best.astype(np.int32), "int32")

    return of


argmax, argmin = position(1), position(-1)


def reversible(scan):
    def of(x, axis, *arguments, reverse=False):
        if reverse:
            return flip(scan(flip(x, axis), axis, *arguments), axis)
        return scan(x, axis, *arguments)

    return of


@reversible
def cumsum(x, axis):
    x = widened(x)
    total = np.cumsum(x.value, axis=axis, dtype=x.value.dtype)
    if not is_float(x.dtype):
        return Tile(total, x.dtype)
    absolute = np.cumsum(x.magnitude(), axis=axis)
    refuse_unless(absolute < FLOATS[x.dtype][2] / 2, "overflow of a sum")
    if is_whole_below(x, absolute):
        return Tile(total, x.dtype)
    unit, least, _ = FLOATS[x.dtype]
    error = np.cumsum(x.error, axis=axis) + x.shape[axis] * (unit * absolute + least)
    return Tile(total, x.dtype, error)


@reversible
def cumprod(x, axis):
    product = np.cumprod(x.value, axis=axis, dtype=x.value.dtype)
    if not is_float(x.dtype):
        return Tile(product, x.dtype)
    unit, least, greatest = FLOATS[x.dtype]
    most = np.cumprod(np.maximum(x.magnitude(), 1), axis=axis)
    refuse_unless(most < greatest / 4, "overflow of a product")
    most = np.cumprod(x.magnitude() * (1 + 2 * unit), axis=axis)
    # Partial products that underflow lose what the others then magnify.
    least = least * x.shape[axis] * np.cumprod(np.maximum(x.magnitude(), 1), axis=axis)
    return Tile(product, x.dtype, most - np.abs(product) + most * unit + least)


def one_by_one(x, axis, combine):
    """The running combination from the start; of integers, so that the order makes no difference."""
    assert not is_float(x.dtype)
    slices = [Tile(np.take(x.value, i, axis), x.dtype) for i in builtins.range(x.shape[axis])]
    running = [slices[0]]
    for part in slices[1:]:
        running.append(combine(running[-1], part))
    return running


@reversible
def associative_scan(x, axis, combine):
    return Tile(np.stack([part.value for part in one_by_one(x, axis, combine)], axis), x.dtype)


def reduce(x, axis, combine):
    x, axis = flat_for(x, axis)
    return one_by_one(x, axis, combine)[-1]


def sort(x, descending=False):
    refuse_unless(x.is_exact(), "an order that errors decide")
    ordered = Tile(np.sort(x.value, axis=-1), x.dtype)
    return flip(ordered, x.value.ndim - 1) if descending else ordered


def histogram(x, bins):
    inside = x.value[(x.value >= 0) & (x.value < bins)]
    return Tile(np.bincount(inside, minlength=bins).astype(np.int32), "int32")


# ---- products ----------------------------------------------------------------------------------------

# What an operand loses in each precision, relative: float32 operands only.
PRECISION = {
    "ieee": 0.0,
    "tf32": 2.0**-10,
    "tf32x3": 2.0**-20,
    "bf16x3": 2.0**-14,
    "bf16x6": 2.0**-20,
}
# Up to which whole numbers it loses nothing.
WHOLE = {"ieee": 2**24, "tf32": 2**10, "tf32x3": 2**20, "bf16x3": 2**8, "bf16x6": 2**16}


def dot(a, b, acc=None, input_precision="tf32", out_dtype=float32):
    assert a.dtype == b.dtype or "float8" in a.dtype
    if a.dtype == "int8":
        product = np.matmul(a.value.astype(np.int32), b.value.astype(np.int32))
        return Tile(product if acc is None else product + acc.value, "int32")
    if acc is not None:
        out_dtype = acc.dtype
    depth = a.shape[-1]
    product = np.matmul(a.value, b.value)
    absolute = np.matmul(a.magnitude(), b.magnitude())
    error = absolute - np.matmul(np.abs(a.value), np.abs(b.value))
    if acc is not None:
        product, error = product + acc.value, error + acc.error
        absolute = absolute + acc.magnitude()
        depth += 1
    unit, least, greatest = FLOATS[out_dtype]
    refuse_unless(absolute < greatest / 2, "overflow of a product")
    loss = PRECISION[input_precision] if a.dtype == "float32" else 0.0
    whole = WHOLE[input_precision] if a.dtype == "float32" else 2.0**50
    operands = [a, b] if acc is None else [a, b, acc]
    if (
        all(x.is_exact() and (x.value == np.rint(x.value)).all() for x in operands)
        and builtins.max(np.abs(a.value).max(), np.abs(b.value).max()) <= whole
        and (absolute < 0.5 / unit).all()
    ):
        return Tile(product, out_dtype)
    unit = builtins.max(4 * unit, 2.0**-13 if "float8" in a.dtype else 0)
    error = error + (2 * loss + (depth + 2) * unit) * absolute + (depth + 2) * least
    return Tile(product, out_dtype, error)


# ---- programs and memory -----------------------------------------------------------------------------

program = 0  # set before each run


def range(*bounds):
    for i in builtins.range(*(int(bound) for bound in bounds)):
        yield Tile(i, "int32")


static_range = range


def program_id(_):
    return Tile(program, "int32")


class Memory:
    """An array argument. Numbers of atomic operations are kept: they come in any order."""

    def __init__(self, array, dtype):
        self.dtype = dtype
        self.value = array.astype(np.float64) if is_float(dtype) else array.copy()
        self.error = np.zeros(array.shape) if is_float(dtype) else None
        self.count = np.zeros(array.shape)
        self.absolute = np.abs(self.value) if is_float(dtype) else None

    def copy_of(self):
        return [
            None if a is None else a.copy()
            for a in (self.value, self.error, self.count, self.absolute)
        ]

    def restore(self, saved):
        self.value, self.error, self.count, self.absolute = saved


class Pointer:
    def __init__(self, memory, offsets=0):
        self.memory, self.offsets = memory, np.asarray(offsets, np.int64)

    def __add__(self, other):
        other = other.value if isinstance(other, Tile) else other
        return Pointer(self.memory, self.offsets + np.asarray(other).astype(np.int64))

    @property
    def shape(self):
        return self.offsets.shape

    def __getitem__(self, index):
        return Pointer(self.memory, self.offsets[index])

    def places(self, mask):
        """(offsets, mask) of one shape, inside the array."""
        mask = np.broadcast_to(True if mask is None else mask.value, self.offsets.shape)
        inside = (self.offsets >= 0) & (self.offsets < len(self.memory.value))
        refuse_unless(inside | ~mask, "an access outside the array")
        return np.where(mask, self.offsets, 0), mask

    def distinct(self, mask):
        """Offsets of what is not masked, which must all differ."""
        offsets, mask = self.places(mask)
        taken = offsets[mask]
        refuse_unless(len(np.unique(taken)) == len(taken), "two elements at one address")
        return taken, mask


def load(pointer, mask=None, other=None, **hints):
    memory = pointer.memory
    offsets, inside = pointer.places(mask)
    picked = Tile(
        memory.value[offsets], memory.dtype, None if memory.error is None else memory.error[offsets]
    )
    if mask is None:
        return picked
    return chosen(inside, picked, cast(other, memory.dtype))


def store(pointer, value, mask=None, **hints):
    memory = pointer.memory
    value = broadcast_to(cast(value, memory.dtype), pointer.shape)
    taken, mask = pointer.distinct(mask)
    memory.value[taken] = value.value[mask]
    if memory.error is not None:
        memory.error[taken] = value.error[mask]


def atomic(combine):
    def of(pointer, value, mask=None, sem=None, scope=None):
        """The result is right where addresses differ, in one program."""
        memory = pointer.memory
        value = broadcast_to(cast(value, memory.dtype), pointer.shape)
        offsets, mask = pointer.places(mask)
        old = Tile(
            memory.value[offsets],
            memory.dtype,
            None if memory.error is None else memory.error[offsets],
        )
        for index in zip(*np.nonzero(mask)) if mask.ndim else ([()] if mask else []):
            at = offsets[index]
            one = value[index]
            now = Tile(
                memory.value[at], memory.dtype, None if memory.error is None else memory.error[at]
            )
            memory.value[at] = combine(now.value, one.value)
            if memory.error is None:
                continue
            if combine is not np.add:
                memory.error[at] = builtins.max(now.error, one.error)
                continue
            # n sums in any order: n u (|x1| + ... + |xn|), and none as long as all are whole and small
            unit, least, greatest = FLOATS[memory.dtype]
            memory.count[at] += 1
            memory.absolute[at] += one.magnitude()
            refuse_unless(memory.absolute[at] < greatest / 2, "overflow of a sum")
            whole = now.is_exact() and one.is_exact() and one.value == np.rint(one.value)
            whole = whole and memory.value[at] == np.rint(memory.value[at])
            if whole and memory.absolute[at] < 0.5 / unit:
                continue
            memory.error[at] = (
                now.error + one.error + memory.count[at] * (unit * memory.absolute[at] + least)
            )
        return old

    return of


atomic_add, atomic_max, atomic_min = atomic(np.add), atomic(np.maximum), atomic(np.minimum)
atomic_and, atomic_or = atomic(np.bitwise_and), atomic(np.bitwise_or)
atomic_xor, atomic_xchg = atomic(np.bitwise_xor), atomic(lambda old, new: new)


def atomic_cas(pointer, expected, value, sem=None, scope=None):
    """The addresses differ."""
    memory = pointer.memory
    taken, _ = pointer.distinct(None)
    old = memory.value[pointer.offsets]
    memory.value[pointer.offsets] = np.where(old == expected.value, value.value, old)
    return Tile(old, memory.dtype)
