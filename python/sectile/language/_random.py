"""Random numbers by Philox 4x32: a pure function of a seed and an offset.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11.
"""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import TypeAlias

    from ._tensor import Value, tensor

    Four: TypeAlias = tuple[tensor, tensor, tensor, tensor]


@builtin
def philox(seed: Value, c0: Value, c1: Value, c2: Value, c3: Value, n_rounds: int = 10) -> Four:
    """Four uint32 tiles from a 64-bit `seed` and the counter words `c0` .. `c3`."""


@builtin
def philox_impl(
    c0: Value, c1: Value, c2: Value, c3: Value, k0: Value, k1: Value, n_rounds: int = 10
) -> Four:
    """Philox on raw counter (`c0` .. `c3`) and key (`k0`, `k1`) words."""


@builtin
def randint(seed: Value, offset: Value, n_rounds: int = 10) -> tensor:
    """Uniform int32 over the whole range, one for each element of `offset`."""


@builtin
def randint4x(seed: Value, offset: Value, n_rounds: int = 10) -> Four:
    """Four int32 tiles at the price of one `randint`."""


@builtin
def rand(seed: Value, offset: Value, n_rounds: int = 10) -> tensor:
    """Uniform fp32 in ``[0, 1)``, one for each element of `offset`.

    Args:
        seed: scalar.
        offset: integer tile; equal (seed: Value, offset) give equal numbers.
        n_rounds: constant; 10 is the published generator.
    """


@builtin
def rand4x(seed: Value, offsets: Value, n_rounds: int = 10) -> Four:
    """Four tiles of uniform fp32 in ``[0, 1)``."""


@builtin
def randn(seed: Value, offset: Value, n_rounds: int = 10) -> tensor:
    """Standard normal fp32 by the Box-Muller transform, one for each element of `offset`."""


@builtin
def randn4x(seed: Value, offset: Value, n_rounds: int = 10) -> Four:
    """Four tiles of standard normal fp32."""


@builtin
def uint_to_uniform_float(x: tensor) -> tensor:
    """Maps 32- or 64-bit integers to uniform fp32 in ``[0, 1)``."""


@builtin
def pair_uniform_to_normal(u1: tensor, u2: tensor) -> tuple[tensor, tensor]:
    """Two independent standard normal tiles from two uniform ones (Box-Muller)."""
