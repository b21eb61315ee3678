"""``tl.random``: the Philox generators."""

from ._constexpr import constexpr
from ._random import (
    pair_uniform_to_normal,
    philox,
    philox_impl,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)

N_ROUNDS_DEFAULT = constexpr(10)  # of Philox

__all__ = [
    "pair_uniform_to_normal", "philox", "philox_impl", "rand", "rand4x", "randint", "randint4x",
    "randn", "randn4x", "uint_to_uniform_float",
]  # fmt: skip
