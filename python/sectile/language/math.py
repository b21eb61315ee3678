"""``tl.math``: the elementary functions, under the names kernels use them by."""

from ._math import (
    abs,
    ceil,
    clamp,
    cos,
    div_rn,
    erf,
    exp,
    exp2,
    fdiv,
    floor,
    fma,
    log,
    log2,
    maximum,
    minimum,
    rsqrt,
    sigmoid,
    sin,
    softmax,
    sqrt,
    sqrt_rn,
    tanh,
    umulhi,
)
from ._reduction import max, min

__all__ = [
    "abs", "ceil", "clamp", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log",
    "log2", "max", "maximum", "min", "minimum", "rsqrt", "sigmoid", "sin", "softmax", "sqrt",
    "sqrt_rn", "tanh", "umulhi",
]  # fmt: skip
