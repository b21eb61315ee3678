"""Operations that change a tile's shape and not its elements."""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._tensor import Value, tensor


@builtin
def broadcast(input: tensor, other: tensor) -> tuple[tensor, tensor]:
    """Both tiles, stretched to their common shape.

    Shapes are aligned at the right; an extent of 1 stretches.

    Errors: extents that differ and are not 1.
    """


@builtin
def broadcast_to(input: tensor, *shape: Sequence[int] | int) -> tensor:
    """`input` stretched to `shape` (a tuple, or the extents one by one).

    Errors: an extent that is neither equal nor 1; fewer dimensions than `input` has.
    """


@builtin
def expand_dims(input: tensor, axis: Sequence[int] | int) -> tensor:
    """`x` with an extent of 1 put in at `axis` (an int or a tuple of ints, negative from the end)."""


@builtin
def squeeze(x: tensor, dim: int) -> tensor:
    """`x` without dimension `dim`, whose extent must be 1."""


@builtin
def unsqueeze(x: tensor, dim: int) -> tensor:
    """`x` with an extent of 1 put in at `dim`."""


@builtin
def reshape(input: tensor, *shape: Sequence[int] | int, can_reorder: bool = False) -> tensor:
    """The same elements, in row-major order, in another shape.

    Args:
        input: tile.
        shape: a tuple, or the extents one by one; as many elements as `input` has.
        can_reorder: accepted and ignored: the order is always kept.
    """


@builtin
def view(input: tensor, *shape: Sequence[int] | int) -> tensor:
    """As `reshape`; kept for older kernels."""


@builtin
def ravel(x: tensor, can_reorder: bool = False) -> tensor:
    """The elements of `x` in row-major order, rank 1."""


@builtin
def trans(input: tensor, *dims: Sequence[int] | int) -> tensor:
    """`input` with its dimensions reordered; without `dims` the last two are swapped.

    Args:
        input: tile of rank 2 or more.
        dims: a permutation of ``0 .. rank - 1``.
    """


@builtin
def permute(input: tensor, *dims: Sequence[int] | int) -> tensor:
    """Dimension i of the result is dimension ``dims[i]`` of `input`."""


@builtin
def join(a: tensor, b: tensor) -> tensor:
    """Both tiles side by side in a new last dimension of extent 2.

    `a` and `b` are broadcast against each other and have one dtype.
    """


@builtin
def split(a: tensor) -> tuple[tensor, tensor]:
    """The two halves of a tile whose last extent is 2; the reverse of `join`."""


@builtin
def interleave(a: tensor, b: tensor) -> tensor:
    """The elements of `a` and `b` in turn along the last dimension, which becomes twice as long."""


@builtin
def flip(x: tensor, dim: int | None = None) -> tensor:
    """`x` with dimension `dim` in reverse order (the last one when `dim` is None)."""


@builtin
def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """``out[.., i, ..] = src[.., index[.., i, ..], ..]`` along `axis`.

    Args:
        src: tile of any dtype.
        index: integer tile of the same rank; equal extents apart from `axis`.
        axis: constant int.
    """


@builtin
def swizzle2d(
    i: Value, j: Value, size_i: Value, size_j: Value, size_g: Value
) -> tuple[tensor, tensor]:
    """Reorders the cells of a `size_i` by `size_j` grid in groups of `size_g` rows.

    Within a group, cells are visited column by column, so neighbouring programs of a matrix product
    share more of their operands.

    Returns:
        The new ``(i, j)``.
    """
