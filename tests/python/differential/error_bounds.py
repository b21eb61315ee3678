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
decide, overflow, conversions out of range, division of floats by what may be zero, shifts too far, stores that race.
"""

import builtins
import math as scalar_math

import bounded_tiles
import numpy as np
from bounded_blocks import (  # noqa: F401 - a part of the language
    advance,
    make_block_ptr,
    make_tensor_descriptor,
)
from bounded_memory import (  # noqa: F401 - a part of the language
    Memory,
    Pointer,
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
    debug_barrier,
    load,
    store,
)
from bounded_reductions import (  # noqa: F401 - a part of the language
    argmax,
    argmin,
    associative_scan,
    cumprod,
    cumsum,
    flip,
    map_elementwise,
    max,
    min,
    reduce,
    reshape,
    sum,
    xor_sum,
)
from bounded_tiles import (  # noqa: F401 - a part of the language
    FLOATS,
    TYPES,
    Tile,
    Unsuitable,
    bfloat16,
    broadcast_to,
    cast,
    constexpr,
    div_rn,
    fdiv,
    float8e4b15,
    float8e4nv,
    float8e5,
    float16,
    float32,
    float64,
    int1,
    int8,
    int16,
    int32,
    int64,
    is_float,
    pointer_type,
    refuse_unless,
    same,
    uint8,
    uint16,
    uint32,
    uint64,
    where,
)


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
    with bounded_tiles.fused():
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
    "sqrt": (np.sqrt, 0, 1e30, 2),
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
        # The root of f32 is an instruction of a GPU, off by a unit, unless numerics are strict.
        isExact = name == "sqrt_rn" or x.dtype == "float64" or bounded_tiles.numerics == "strict"
        if name in ("sqrt", "sqrt_rn") and isExact:
            return Tile.nearest(value, error, x.dtype)
        # float64's functions are NumPy's to a few units, too
        return Tile.rounded(value, error, x.dtype, roundings)

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


def expand_dims(x, axis):
    return x.map(lambda array: np.expand_dims(array, axis))


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
    places = index.value.astype(np.int64)
    return src.map(lambda array: np.take_along_axis(array, places, axis))


def multiple_of(x, _):
    return x


max_contiguous = multiple_of

# ---- orders and counts --------------------------------------------------------------------------------


def sort(x, dim=-1, descending=False):
    refuse_unless(x.is_exact(), "an order that errors decide")
    ordered = Tile(np.sort(x.value, axis=dim), x.dtype)
    return flip(ordered, dim) if descending else ordered


def topk(x, k, dim=-1, descending=True):
    return sort(x, dim, descending).map(lambda array: np.take(array, builtins.range(k), dim))


def histogram(x, bins, mask=None):
    is_counted = (x.value >= 0) & (x.value < bins)
    if mask is not None:
        is_counted &= np.broadcast_to(mask.value, x.shape)
    inside = x.value[is_counted].astype(np.int64)
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


def dot(a, b, acc=None, input_precision="tf32", max_num_imprecise_acc=None, out_dtype=float32):
    assert a.dtype == b.dtype or "float8" in a.dtype
    if bounded_tiles.numerics == "strict":
        input_precision = "ieee"
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
        made = Tile(product, out_dtype)
    else:
        # Of 32 products and more, Hopper's sums of fp8 keep fewer digits.
        loses = "float8" in a.dtype and (
            max_num_imprecise_acc is None or max_num_imprecise_acc >= 32
        )
        unit = builtins.max(4 * unit, 2.0**-13 if loses else 0)
        error = error + (2 * loss + (depth + 2) * unit) * absolute + (depth + 2) * least
        made = Tile(product, out_dtype, error)
    # acc + dot(a, b) may be dot(a, b, acc).
    if bounded_tiles.numerics == "default":
        made.cut = (depth + 3) * 4 * FLOATS[out_dtype][0]
    return made


# What the bytes of formats with 4 and 8 bits are.
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
NARROW = {"e4m3": "float8e4nv", "e5m2": "float8e5"}


def unpacked(x, axis):
    """The numbers of e2m1, two in a byte along `axis`, the lower half first."""
    halves = np.stack([x.value & 15, x.value >> 4], axis=axis % 2 + 1)
    shape = [2 * n if d == axis % 2 else n for d, n in enumerate(x.shape)]
    return Tile(E2M1[halves.reshape(shape)], "float32")


def scaled_operand(x, scale, name, packed, inner, dtype):
    """A matrix of dot_scaled as numbers of `dtype`: `packed` is its packed dimension, `inner` that of K."""
    if name == "e2m1":
        x = unpacked(x, packed)
    elif x.dtype == "uint8":
        x = cast(x, NARROW[name], bitcast=True)
    if scale is not None:
        factors = np.repeat(np.exp2(scale.value.astype(np.float64) - 127), 32, axis=1)
        x = cast(x, "float32") * Tile(factors if inner else factors.T, "float32")
    return cast(x, dtype)


def dot_scaled(
    lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True,
    rhs_k_pack=True,
):  # fmt: skip
    formats = {lhs_format, rhs_format}
    dtype = float32 if {"fp16", "bf16"} <= formats else float16 if "fp16" in formats else bfloat16
    left = scaled_operand(lhs, lhs_scale, lhs_format, 1 if lhs_k_pack else 0, 1, dtype)
    right = scaled_operand(rhs, rhs_scale, rhs_format, 0 if rhs_k_pack else 1, 0, dtype)
    return dot(left, right, acc, input_precision="ieee")


# ---- programs -----------------------------------------------------------------------------------------

program = 0  # set before each run
columns = 1  # programs along x, set for each kernel


def range(*bounds, **_):
    """The numbers of Python, in the type that bounds and step meet in; hints change none."""
    kinds = [b.dtype if isinstance(b, Tile) else "int32" for b in bounds] + ["int32"]
    dtype = builtins.max(kinds, key=lambda d: (int(d.lstrip("uint")), d[0] == "u"))
    numbers = builtins.range(*(int(bound) for bound in bounds))
    refuse_unless(numbers.step != 0, "a step of zero")
    for i in numbers:
        yield Tile(np.int64(i).astype(TYPES[dtype]) if i < 2**63 else i, dtype)


static_range = range


def program_id(axis):
    return Tile((program % columns, program // columns)[axis], "int32")
