"""``tl.standard``: where older kernels look for reductions and friends."""

from ..runtime.functions import constexpr_function
from ._creation import zeros, zeros_like
from ._math import cdiv, sigmoid, softmax
from ._reduction import argmax, argmin, cumprod, cumsum, max, min, sort, sum, topk, xor_sum
from ._shape import flip, interleave, ravel, swizzle2d

__all__ = [
    "argmax", "argmin", "cdiv", "cumprod", "cumsum", "flip", "interleave", "max", "min", "ravel",
    "sigmoid", "softmax", "sort", "sum", "swizzle2d", "topk", "xor_sum", "zeros", "zeros_like",
]  # fmt: skip


@constexpr_function
def _log2(n: int) -> int:
    """Returns the logarithm of a power of two, which sorting networks of libraries ask for."""
    return n.bit_length() - 1
