"""Operations along one dimension: reductions, scans, sorting, histograms."""

from __future__ import annotations

from ._builtin import builtin

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
        combine_fn: takes two sets of scalars (n and n for n tiles), returns one. Associative and
            commutative: the order of the elements is not specified. `associative_scan` keeps it.
        keep_dims: keep the dimension with extent 1.
    """


@builtin
def sum(
    input: tensor, axis: int | None = None, keep_dims: bool = False, dtype: Dtype | None = None
) -> tensor:
    """The sum along `axis`, or of all elements.

    Integers narrower than 32 bits are summed in int32 or uint32, fp16 and bf16 in fp32, rounded once; `dtype` asks for another type, to
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


@builtin
def histogram(input: tensor, num_bins: int, mask: Value | None = None) -> tensor:
    """How often each of ``0 .. num_bins - 1`` occurs in a tile of integers.

    Elements outside that range, and masked-out ones, are not counted. `mask` broadcasts to the shape of `input`.
    Result: int32, ``[num_bins]``.
    """


@builtin
def sort(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """`x` sorted along dimension `dim`, the last one by default; any extent.

    NaN comes after all numbers, and before them in descending order, as in NumPy and torch; -0.0 comes before 0.0.
    The result has exactly the bits of the elements, but NaN has no sign. Shape and dtype are those of `x`.

    Source: K. E. Batcher, Sorting networks and their applications, AFIPS 1968 (bitonic sort).
    """


@builtin
def bitonic_merge(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """As `sort`, of elements that rise up to some place along `dim` and fall from there on.

    So do two sorted halves, the second of which is reversed. It takes log2(n) steps where `sort` takes
    log2(n) (log2(n) + 1) / 2. Of other elements the order is not specified.
    """


@builtin
def topk(x: tensor, k: int, dim: int | None = None, descending: bool = True) -> tensor:
    """The `k` greatest elements along dimension `dim` (the last one by default), greatest first.

    With ``descending=False`` the `k` least, least first. The order is that of `sort`. The result has the shape of `x` but
    for extent `k` along `dim`.

    Raises:
        CompilationError: `k` is not from 1 to the extent.

    Source: A. Shanbhag, H. Pirk, S. Madden, Efficient Top-K Query Processing on Massively Parallel Hardware,
    SIGMOD 2018.
    """


@builtin
def map_elementwise(scalar_fn: Callable[..., Any], *args: Value, pack: int = 1) -> Any:
    """Applies a @jit function of scalars to every element of the tiles `args`, which are broadcast.

    The function may branch and loop on the elements; it may not read or write memory. It returns a scalar, or a tuple of
    scalars; so does this of tiles.

    Args:
        scalar_fn: takes `pack` neighbours of the last dimension of each tile (those of the first tile, then those of the
            second ...), returns `pack` values of each result.
        pack: elements for one call; a power of two that divides the last extent.
    """
