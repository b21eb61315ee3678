"""Element by element: selection, arithmetic with options, and the elementary functions.

The elementary functions (exp, log, sqrt, sin ...) take fp32 and fp64. fp16 and bf16 are not promoted in silence, as in
Triton: ``tl.exp(x.to(tl.float32)).to(x.dtype)`` says where the rounding happens.

Shapes: operands are broadcast against each other, and the result has the common shape. Scalars and numbers go
with any shape.

Dtypes: any; operands meet in one dtype.

Errors: shapes that do not broadcast; a dtype that is not listed here.
"""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from ._tensor import Value, tensor


class PropagateNan:
    """What `maximum`, `minimum` and `clamp` give when an operand is NaN.

    Example:
        @st.jit
        def kernel(out, x):
            v = tl.load(x)
            tl.store(out, tl.maximum(v, 1.0))
            tl.store(out + 1, tl.maximum(v, 1.0, propagate_nan=tl.PropagateNan.ALL))

        out = np.zeros(2, np.float32)
        kernel[(1,)](out, np.array([np.nan], np.float32))
        print(out)  # [ 1. nan]
    """

    NONE = 0  #: the other operand
    ALL = 0xFFFF  #: NaN


@builtin
def where(condition: Value, x: Value, y: Value) -> tensor:
    """``x`` where `condition` is true, else ``y``.

    Args:
        condition: int1 (other integers are compared with 0), broadcast against `x` and `y`.
        x, y: promoted to one dtype and broadcast. Both are evaluated everywhere.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            v = tl.load(x + i)
            tl.store(out + i, tl.where(v > 0, v, 0.0))

        x = np.array([1, -2, 3, -4], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out)  # [1. 0. 3. 0.]
    """


@builtin
def maximum(x: Value, y: Value, propagate_nan: int = PropagateNan.NONE) -> tensor:
    """The greater of two values, element by element; bf16 is computed in fp32.

    Dtypes: any; of bf16 the result is fp32.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.maximum(tl.load(x + i), 0.0))

        x = np.array([1, -2, 3, -4], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out)  # [1. 0. 3. 0.]
    """


@builtin
def minimum(x: Value, y: Value, propagate_nan: int = PropagateNan.NONE) -> tensor:
    """The smaller of two values, element by element; bf16 is computed in fp32.

    Dtypes: any; of bf16 the result is fp32.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.minimum(i, 2))

        out = np.zeros(4, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 1 2 2]
    """


@builtin
def clamp(x: Value, min: Value, max: Value, propagate_nan: int = PropagateNan.NONE) -> tensor:
    """`x` limited to ``[min, max]``; floating point. ``min > max`` is undefined.

    Dtypes: floating point; of bf16 the result is fp32.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.clamp(tl.load(x + i), -1.0, 1.0))

        x = np.array([0.5, -2, 3, 1], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out)  # [ 0.5 -1.   1.   1. ]
    """


@builtin
def add(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """``x + y``; with ``debug=True`` an integer overflow stops the launch unless switched off here.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.add(tl.load(x + i), 1, sanitize_overflow=False))

        x = np.array([1, 2, 3, 2**31 - 1], np.int32)
        out = np.zeros_like(x)
        kernel[(1,)](out, x, debug=True)  # the last sum wraps, and is not checked
        print(out)  # [          2           3           4 -2147483648]
    """


@builtin
def sub(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """``x - y``; `sanitize_overflow` as in `add`.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.sub(10, i))

        out = np.zeros(4, np.int32)
        kernel[(1,)](out)
        print(out)  # [10  9  8  7]
    """


@builtin
def mul(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """``x * y``; `sanitize_overflow` as in `add`.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.mul(i, i))

        out = np.zeros(4, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 1 4 9]
    """


@builtin
def abs(x: Value) -> tensor:
    """The absolute value; any integer or float. The least signed integer stays as it is.

    Dtypes: any integer or float; the result has the same.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.abs(tl.load(x + i)))

        x = np.array([1.5, -2, 0, -0.25], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [1.5  2.   0.   0.25]
    """


@builtin
def exp(x: Value) -> tensor:
    """e to the power of `x`.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.exp(tl.load(x + i)))

        x = np.array([0, 1, 2, -1], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [1.    2.718 7.389 0.368]
    """


@builtin
def exp2(x: Value) -> tensor:
    """2 to the power of `x`.

    On NVIDIA GPUs fp32 results below 2^-126 are 0, as in Triton, but with ``numerics="strict"``.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.exp2(tl.load(x + i)))

        x = np.array([0, 1, 2, -1], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [1.  2.  4.  0.5]
    """


@builtin
def log(x: Value) -> tensor:
    """The natural logarithm.

    NaN below 0, minus infinity at 0.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.log(tl.load(x + i)))

        x = np.array([1, 2, 10, 0], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [0.    0.693 2.303  -inf]
    """


@builtin
def log2(x: Value) -> tensor:
    """The logarithm to base 2.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.log2(tl.load(x + i)))

        x = np.array([1, 2, 10, 0.5], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [ 0.     1.     3.322 -1.   ]
    """


@builtin
def sqrt(x: Value) -> tensor:
    """The square root. NaN below 0.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.sqrt(tl.load(x + i)))

        x = np.array([0, 1, 2, 9], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [0.    1.    1.414 3.   ]
    """


@builtin
def sqrt_rn(x: Value) -> tensor:
    """The square root, correctly rounded to nearest.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.sqrt_rn(tl.load(x + i)))

        x = np.array([0, 1, 2, 9], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [0.    1.    1.414 3.   ]
    """


@builtin
def rsqrt(x: Value) -> tensor:
    """One over the square root.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.rsqrt(tl.load(x + i)))

        x = np.array([1, 2, 4, 100], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [1.    0.707 0.5   0.1  ]
    """


@builtin
def sin(x: Value) -> tensor:
    """The sine of an angle in radians.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.sin(tl.load(x + i)))

        x = np.array([0, 1, 2, 3], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [0.    0.841 0.909 0.141]
    """


@builtin
def cos(x: Value) -> tensor:
    """The cosine of an angle in radians.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.cos(tl.load(x + i)))

        x = np.array([0, 1, 2, 3], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [ 1.     0.54  -0.416 -0.99 ]
    """


@builtin
def tanh(x: Value) -> tensor:
    """The hyperbolic tangent.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.tanh(tl.load(x + i)))

        x = np.array([0, 1, 2, -3], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [ 0.     0.762  0.964 -0.995]
    """


@builtin
def erf(x: Value) -> tensor:
    """The error function.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.erf(tl.load(x + i)))

        x = np.array([0, 0.5, 1, -2], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [ 0.     0.52   0.843 -0.995]
    """


@builtin
def floor(x: Value) -> tensor:
    """The greatest whole number not above `x`, as a float.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.floor(tl.load(x + i)))

        x = np.array([1.5, -1.5, 2, 0.25], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [ 1. -2.  2.  0.]
    """


@builtin
def ceil(x: Value) -> tensor:
    """The least whole number not below `x`, as a float.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``, or write the method, which rounds back.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.ceil(tl.load(x + i)))

        x = np.array([1.5, -1.5, 2, 0.25], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [ 2. -1.  2.  1.]
    """


@builtin
def sigmoid(x: Value) -> tensor:
    """``1 / (1 + exp(-x))``.

    Dtypes: fp32 and fp64; convert fp16 and bf16 first, ``x.to(tl.float32)``.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.sigmoid(tl.load(x + i)))

        x = np.array([0, 1, -1, 5], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [0.5   0.731 0.269 0.993]
    """


@builtin
def softmax(
    x: Value, dim: int | None = None, keep_dims: bool = False, ieee_rounding: bool = False
) -> tensor:
    """``exp(x - max(x)) / sum(exp(x - max(x)))`` along `dim` (the first one when None).

    Shapes: that of `x`.

    Dtypes: fp16 and bf16, whose result is fp32, fp32 and fp64.

    Errors: another dtype; a `dim` that is no dimension.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.softmax(tl.load(x + i)))

        x = np.array([0, 1, 2, 3], np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out.round(3))  # [0.032 0.087 0.237 0.644]
    """


@builtin
def fma(x: Value, y: Value, z: Value) -> tensor:
    """``x * y + z`` with one rounding; floating point.

    Dtypes: fp16, bf16, fp32 and fp64.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.fma(tl.load(x + i), 2.0, 0.5))

        x = np.arange(4, dtype=np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out)  # [0.5 2.5 4.5 6.5]
    """


@builtin
def fdiv(x: Value, y: Value, ieee_rounding: bool = False) -> tensor:
    """``x / y`` of floats; `ieee_rounding` asks for the correctly rounded quotient.

    Dtypes: floating point; operands of one dtype give that dtype, others are promoted, fp16 and bf16 to fp32.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.fdiv(tl.load(x + i), 4.0, ieee_rounding=True))

        x = np.arange(4, dtype=np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(out)  # [0.   0.25 0.5  0.75]
    """


@builtin
def div_rn(x: Value, y: Value) -> tensor:
    """``x / y``, correctly rounded to nearest.

    Dtypes: fp32 and fp64; fp16 and bf16 are divided in fp32, and the result is fp32. One side may be an integer.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.div_rn(tl.load(x + i), 3.0))

        x = np.arange(4, dtype=np.float32)
        out = np.empty_like(x)
        kernel[(1,)](out, x)
        print(np.array_equal(out, x / np.float32(3)))  # True
    """


@builtin
def umulhi(x: Value, y: Value) -> tensor:
    """The upper half of the double-width product of two 32- or 64-bit integers, taken as unsigned.

    Dtypes: int32, int64, uint32 and uint64.

    Example:
        @st.jit
        def kernel(out, x):
            tl.store(out, tl.umulhi(tl.load(x), 16))

        out = np.zeros(1, np.uint32)
        kernel[(1,)](out, np.array([2**31], np.uint32))
        print(out)  # [8]
    """


@builtin
def cdiv(x: Value, div: Value) -> tensor:
    """``x / div`` rounded up, for integers: ``(x + div - 1) // div``.

    Dtypes: integers.

    Example:
        @st.jit
        def kernel(out, n):
            tl.store(out, tl.cdiv(n, 4))

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, 10)
        print(out)  # [3]
    """
