"""Operations along one dimension: reductions, scans, sorting, histograms."""

from __future__ import annotations

from ._builtin import builtin, not_yet

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, overload

    from ._dtypes import dtype as Dtype
    from ._tensor import Value, tensor


@builtin
def reduce(
    input: Any, axis: int | None, combine_fn: Callable[..., Any], keep_dims: bool = False
) -> Any:
    """Combines all elements along `axis` with a @jit function.

    Args:
        input: a tile, or a tuple of tiles of one shape.
        axis: which dimension; None for all.
        combine_fn: takes two sets of scalars (n and n for n tiles), returns one. Associative; the
            order in which it is applied is not specified.
        keep_dims: keep the dimension with extent 1.
    """


@builtin
def sum(
    input: tensor, axis: int | None = None, keep_dims: bool = False, dtype: Dtype | None = None
) -> tensor:
    """The sum along `axis`, or of all elements.

    Integers narrower than 32 bits are summed in int32 or uint32; `dtype` asks for another type, to
    which elements are converted before they are summed.
    """


if TYPE_CHECKING:

    @overload
    def max(
        input: tensor,
        axis: int | None = None,
        return_indices: Literal[False] = False,
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> tensor: ...
    @overload
    def max(
        input: tensor,
        axis: int | None = None,
        *,
        return_indices: Literal[True],
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> tuple[tensor, tensor]: ...
    @overload
    def max(
        input: tensor,
        axis: int | None,
        return_indices: bool,
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> Any: ...


@builtin
def max(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:
    """The greatest element along `axis`, or of all; NaN is ignored.

    With `return_indices` also its index (int32); of several equal ones the first when
    `return_indices_tie_break_left`.
    """


if TYPE_CHECKING:

    @overload
    def min(
        input: tensor,
        axis: int | None = None,
        return_indices: Literal[False] = False,
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> tensor: ...
    @overload
    def min(
        input: tensor,
        axis: int | None = None,
        *,
        return_indices: Literal[True],
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> tuple[tensor, tensor]: ...
    @overload
    def min(
        input: tensor,
        axis: int | None,
        return_indices: bool,
        return_indices_tie_break_left: bool = True,
        keep_dims: bool = False,
    ) -> Any: ...


@builtin
def min(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:
    """The smallest element along `axis`; arguments and result as `max`."""


@builtin
def argmax(
    input: tensor, axis: int, tie_break_left: bool = True, keep_dims: bool = False
) -> tensor:
    """The index (int32) of the greatest element along `axis`; the first of equals by default."""


@builtin
def argmin(
    input: tensor, axis: int, tie_break_left: bool = True, keep_dims: bool = False
) -> tensor:
    """The index (int32) of the smallest element along `axis`; the first of equals by default."""


@builtin
def xor_sum(input: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """The bitwise exclusive or of all elements along `axis`; integers."""


@builtin
def reduce_or(input: tensor, axis: int, keep_dims: bool = False) -> tensor:
    """The bitwise or of all elements along `axis`; integers."""


@builtin
def associative_scan(
    input: Any, axis: int, combine_fn: Callable[..., Any], reverse: bool = False
) -> Any:
    """Running combination along `axis`: element i combines elements 0..i (i..end when `reverse`).

    Args:
        input: a tile, or a tuple of tiles of one shape.
        axis: which dimension.
        combine_fn: an associative @jit function of two sets of scalars.
        reverse: start at the end.
    """


@builtin
def cumsum(
    input: tensor, axis: int = 0, reverse: bool = False, dtype: Dtype | None = None
) -> tensor:
    """Running sums along `axis`; narrow integers are widened as in `sum`."""


@builtin
def cumprod(input: tensor, axis: int = 0, reverse: bool = False) -> tensor:
    """Running products along `axis`."""


@not_yet("use tl.atomic_add(counts + x, 1) on an array of zeros")
def histogram(input: tensor, num_bins: int, mask: Value | None = None) -> tensor:
    """How often each of ``0 .. num_bins - 1`` occurs in a rank-1 tile of 32-bit integers.

    Elements outside that range, and masked-out ones, are not counted. Result: int32, ``[num_bins]``.
    """


@not_yet("sort before the launch, with numpy.sort or torch.sort")
def sort(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """`x` sorted along its last dimension, which must have a power-of-two extent."""


@not_yet(
    "take the greatest with tl.max(x, axis, return_indices=True), replace it by -inf "
    "with tl.where, and repeat"
)
def topk(x: tensor, k: int, dim: int | None = None) -> tensor:
    """The `k` greatest elements of the last dimension, greatest first; `k` a power of two."""


@not_yet("call the function with the tiles, and choose between results with tl.where")
def map_elementwise(scalar_fn: Callable[..., Any], *args: Value, pack: int = 1) -> Any:
    """Applies a @jit function of scalars to every element of the (broadcast) tiles `args`."""
