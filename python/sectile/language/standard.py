"""``tl.standard``: where older kernels look for reductions and friends."""

from ..runtime.functions import constexpr_function
from ..runtime.jit import jit
from ._constexpr import constexpr
from ._creation import zeros, zeros_like
from ._math import cdiv, maximum, minimum, sigmoid, softmax, where
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


# What reductions of libraries are made of, by the names of Triton's standard library.


@jit
def _sum_combine(a, b):
    return a + b


@jit
def _prod_combine(a, b):
    return a * b


@jit
def _xor_combine(a, b):
    return a ^ b


@jit
def _or_combine(x, y):
    return x | y


@jit
def _elementwise_max(a, b):
    return maximum(a, b)


@jit
def _elementwise_min(a, b):
    return minimum(a, b)


@jit
def _argmax_combine(value1, index1, value2, index2, tie_break_left: constexpr):
    is_first = value1 > value2
    if tie_break_left:
        is_first = is_first | ((value1 == value2) & (index1 < index2))
    return where(is_first, value1, value2), where(is_first, index1, index2)


@jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, True)


@jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, False)


@jit
def _argmin_combine(value1, index1, value2, index2, tie_break_left: constexpr):
    is_first = value1 < value2
    if tie_break_left:
        is_first = is_first | ((value1 == value2) & (index1 < index2))
    return where(is_first, value1, value2), where(is_first, index1, index2)


@jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, True)


@jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, False)
