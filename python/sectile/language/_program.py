"""Where a program is in the grid, and hints about values."""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._tensor import Value, tensor


@builtin
def program_id(axis: int) -> tensor:
    """The index of this program along `axis` of the grid.

    Args:
        axis: 0, 1 or 2; a constant.

    Returns:
        A scalar int32 in ``[0, num_programs(axis))``.
    """


@builtin
def num_programs(axis: int) -> tensor:
    """The extent of the grid along `axis` (0, 1 or 2), a scalar int32."""


@builtin
def multiple_of(input: tensor, values: Sequence[int] | int) -> tensor:
    """States that every element of `input` along a dimension starts at a multiple of a value.

    A promise, not a check: a wrong one gives wrong results.

    Args:
        input: an integer or pointer tile of rank n, or a scalar.
        values: one constant int per dimension (a single int for rank 0 and 1).

    Returns:
        `input`, with what was promised known to the compiler.
    """


@builtin
def max_contiguous(input: tensor, values: Sequence[int] | int) -> tensor:
    """States that runs of `values[d]` elements along dimension d are consecutive integers.

    A promise, not a check. Takes and returns the same as `multiple_of`.
    """


@builtin
def max_constancy(input: tensor, values: Sequence[int] | int) -> tensor:
    """States that runs of `values[d]` elements along dimension d are equal.

    A promise, not a check. Takes and returns the same as `multiple_of`.
    """


@builtin
def assume(cond: Value) -> None:
    """States that the scalar int1 `cond` is true; the compiler may rely on it without checking."""


@builtin
def debug_barrier() -> None:
    """Makes all threads of the program wait for one another.

    Programs on the CPU are one thread, so nothing happens there.
    """
