"""Tiles from nothing, and conversion between element types."""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._dtypes import dtype as Dtype
    from ._tensor import Value, tensor


@builtin
def arange(start: int, end: int) -> tensor:
    """The integers ``start, start + 1, ..., end - 1``.

    Args:
        start: constant int.
        end: constant int, greater than `start`. The length need not be a power of two.

    Returns:
        int32, shape ``[end - start]``.

    Errors: a bound that is not constant; an empty range.
    """


@builtin
def zeros(shape: Sequence[int] | int, dtype: Dtype) -> tensor:
    """A tile of zeros.

    Args:
        shape: a tuple of constant ints, or one int.
        dtype: element type.
    """


@builtin
def zeros_like(input: tensor) -> tensor:
    """Zeros with the shape and dtype of `input`."""


@builtin
def full(shape: Sequence[int] | int, value: Value, dtype: Dtype) -> tensor:
    """A tile whose elements all are `value`.

    Args:
        shape: a tuple of constant ints, or one int.
        value: a number or a scalar; converted to `dtype`.
        dtype: element type.
    """


@builtin
def cast(
    input: Value, dtype: Dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> tensor:
    """Converts the elements of `input` to `dtype`. Also written ``x.to(dtype)``.

    Floats become integers by truncation; a narrower integer keeps the low bits; a narrower float is
    rounded to nearest, ties to even.

    Args:
        input: tile or scalar.
        dtype: what to convert to.
        fp_downcast_rounding: ``"rtne"`` or ``"rtz"`` (towards zero); only for a float becoming a
            narrower float.
        bitcast: keep the bits and change only how they are read; both types must be equally wide.

    Errors: a rounding that does not apply; a bitcast between different widths.
    """


@builtin
def to_tensor(x: Value) -> tensor:
    """`x` as a value: a constant becomes a scalar tile, a tile is returned as it is."""


@builtin
def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """The elements of `input` followed by those of `other` along `dim`.

    Both have one dtype and, apart from `dim`, one shape. `can_reorder` is accepted and ignored: the
    order is always kept.
    """
