"""Element by element: selection, arithmetic with options, and the elementary functions.

The elementary functions (exp, log, sqrt, sin ...) take fp32 and fp64. fp16 and bf16 are not promoted in silence, as in
Triton: ``tl.exp(x.to(tl.float32)).to(x.dtype)`` says where the rounding happens.
"""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from ._tensor import Value, tensor


class PropagateNan:
    """What `maximum`, `minimum` and `clamp` give when an operand is NaN."""

    NONE = 0  #: the other operand
    ALL = 0xFFFF  #: NaN


@builtin
def where(condition: Value, x: Value, y: Value) -> tensor:
    """``x`` where `condition` is true, else ``y``.

    Args:
        condition: int1 (other integers are compared with 0), broadcast against `x` and `y`.
        x, y: promoted to one dtype and broadcast. Both are evaluated everywhere.
    """


@builtin
def maximum(x: Value, y: Value, propagate_nan: int = PropagateNan.NONE) -> tensor:
    """The greater of two values, element by element; bf16 is computed in fp32."""


@builtin
def minimum(x: Value, y: Value, propagate_nan: int = PropagateNan.NONE) -> tensor:
    """The smaller of two values, element by element; bf16 is computed in fp32."""


@builtin
def clamp(x: Value, min: Value, max: Value, propagate_nan: int = PropagateNan.NONE) -> tensor:
    """`x` limited to ``[min, max]``; floating point. ``min > max`` is undefined."""


@builtin
def add(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """``x + y``; with ``debug=True`` an integer overflow stops the launch unless switched off here."""


@builtin
def sub(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """``x - y``; `sanitize_overflow` as in `add`."""


@builtin
def mul(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """``x * y``; `sanitize_overflow` as in `add`."""


@builtin
def abs(x: Value) -> tensor:
    """The absolute value; any integer or float. The least signed integer stays as it is."""


@builtin
def exp(x: Value) -> tensor:
    """e to the power of `x`; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def exp2(x: Value) -> tensor:
    """2 to the power of `x`; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def log(x: Value) -> tensor:
    """The natural logarithm; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``.

    NaN below 0, minus infinity at 0.
    """


@builtin
def log2(x: Value) -> tensor:
    """The logarithm to base 2; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def sqrt(x: Value) -> tensor:
    """The square root; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``. NaN below 0."""


@builtin
def sqrt_rn(x: Value) -> tensor:
    """The square root of fp32, correctly rounded to nearest."""


@builtin
def rsqrt(x: Value) -> tensor:
    """One over the square root; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def sin(x: Value) -> tensor:
    """The sine of an angle in radians; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def cos(x: Value) -> tensor:
    """The cosine of an angle in radians; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def tanh(x: Value) -> tensor:
    """The hyperbolic tangent; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def erf(x: Value) -> tensor:
    """The error function; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def floor(x: Value) -> tensor:
    """The greatest whole number not above `x`, as a float; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def ceil(x: Value) -> tensor:
    """The least whole number not below `x`, as a float; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def sigmoid(x: Value) -> tensor:
    """``1 / (1 + exp(-x))``; fp32 or fp64: cast fp16 and bf16 first, ``x.to(tl.float32)``."""


@builtin
def softmax(
    x: Value, dim: int | None = None, keep_dims: bool = False, ieee_rounding: bool = False
) -> tensor:
    """``exp(x - max(x)) / sum(exp(x - max(x)))`` along `dim` (the first one when None)."""


@builtin
def fma(x: Value, y: Value, z: Value) -> tensor:
    """``x * y + z`` with one rounding; floating point."""


@builtin
def fdiv(x: Value, y: Value, ieee_rounding: bool = False) -> tensor:
    """``x / y`` of floats; `ieee_rounding` asks for the correctly rounded quotient."""


@builtin
def div_rn(x: Value, y: Value) -> tensor:
    """``x / y`` of fp32, correctly rounded to nearest."""


@builtin
def umulhi(x: Value, y: Value) -> tensor:
    """The upper half of the double-width product of two 32- or 64-bit integers, taken as unsigned."""


@builtin
def cdiv(x: Value, div: Value) -> tensor:
    """``x / div`` rounded up, for integers: ``(x + div - 1) // div``."""
