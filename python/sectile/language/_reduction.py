"""Operations along one dimension: reductions, scans, sorting, histograms.

Shapes: the dimension that a reduction is along goes, or keeps extent 1 with ``keep_dims=True``; scans and
sorting keep the shape.

Dtypes: any.

Errors: an axis that is no dimension of the tile; a dtype that is not listed here.
"""

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

    Errors: a combining function that is no @jit function, or does not return as many values of the same dtypes as
    it combines.

    Example:
        @st.jit
        def larger(a, b):
            return tl.where(a > b, a, b)

        @st.jit
        def kernel(out, x):
            tl.store(out, tl.reduce(tl.load(x + tl.arange(0, 5)), 0, larger))

        out = np.zeros(1, np.float32)
        kernel[(1,)](out, np.array([3, 1, 4, 1, 5], np.float32))
        print(out)  # [5.]
    """


@builtin
def sum(
    input: tensor, axis: int | None = None, keep_dims: bool = False, dtype: Dtype | None = None
) -> tensor:
    """The sum along `axis`, or of all elements.

    Integers narrower than 32 bits are summed in int32 or uint32, fp16 and bf16 in fp32, rounded once; `dtype` asks for another type, to
    which elements are converted before they are summed.

    Dtypes: any; integers below 32 bits give int32 or uint32, the others their own.

    Example:
        @st.jit
        def kernel(rows, everything, x):
            v = tl.load(x + tl.reshape(tl.arange(0, 6), (2, 3)))
            tl.store(rows + tl.arange(0, 2), tl.sum(v, axis=1))
            tl.store(everything, tl.sum(v))

        rows, everything = np.zeros(2, np.float32), np.zeros(1, np.float32)
        kernel[(1,)](rows, everything, np.arange(6, dtype=np.float32))
        print(rows, everything)  # [ 3. 12.] [15.]
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

    Dtypes: any; integers below 32 bits give int32, floats below 32 bits fp32.

    Example:
        @st.jit
        def kernel(out, place, x):
            v, i = tl.max(tl.load(x + tl.arange(0, 5)), 0, return_indices=True)
            tl.store(out, v)
            tl.store(place, i)

        out, place = np.zeros(1, np.float32), np.zeros(1, np.int32)
        kernel[(1,)](out, place, np.array([3, 1, 4, 1, 5], np.float32))
        print(out, place)  # [5.] [4]
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
    """The smallest element along `axis`; arguments and result as `max`.

    Dtypes: any; integers below 32 bits give int32, floats below 32 bits fp32.

    Example:
        @st.jit
        def kernel(out, x):
            tl.store(out, tl.min(tl.load(x + tl.arange(0, 5)), axis=0))

        out = np.zeros(1, np.float32)
        kernel[(1,)](out, np.array([3, 1, 4, 1, 5], np.float32))
        print(out)  # [1.]
    """


@builtin
def argmax(
    input: tensor, axis: int, tie_break_left: bool = True, keep_dims: bool = False
) -> tensor:
    """The index (int32) of the greatest element along `axis`; the first of equals by default.

    Example:
        @st.jit
        def kernel(out, x):
            tl.store(out, tl.argmax(tl.load(x + tl.arange(0, 5)), axis=0))

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, np.array([3, 1, 5, 1, 5], np.float32))
        print(out)  # [2]
    """


@builtin
def argmin(
    input: tensor, axis: int, tie_break_left: bool = True, keep_dims: bool = False
) -> tensor:
    """The index (int32) of the smallest element along `axis`; the first of equals by default.

    Example:
        @st.jit
        def kernel(out, x):
            tl.store(out, tl.argmin(tl.load(x + tl.arange(0, 5)), axis=0))

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, np.array([3, 1, 5, 1, 5], np.float32))
        print(out)  # [1]
    """


@builtin
def xor_sum(input: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """The bitwise exclusive or of all elements along `axis`; integers.

    Dtypes: integers; the result has the same dtype.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out, tl.xor_sum(tl.arange(0, 6), axis=0))

        out = np.zeros(1, np.int32)
        kernel[(1,)](out)
        print(out)  # [1]
    """


@builtin
def reduce_or(input: tensor, axis: int, keep_dims: bool = False) -> tensor:
    """The bitwise or of all elements along `axis`; integers.

    Dtypes: integers; the result has the same dtype.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out, tl.reduce_or(1 << tl.arange(0, 4), axis=0))

        out = np.zeros(1, np.int32)
        kernel[(1,)](out)
        print(out)  # [15]
    """


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

    Errors: as `reduce`.

    Example:
        @st.jit
        def larger(a, b):
            return tl.where(a > b, a, b)

        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 5)
            tl.store(out + i, tl.associative_scan(tl.load(x + i), 0, larger))

        out = np.zeros(5, np.float32)
        kernel[(1,)](out, np.array([3, 1, 4, 1, 5], np.float32))
        print(out)  # [3. 3. 4. 4. 5.]
    """


@builtin
def cumsum(
    input: tensor, axis: int = 0, reverse: bool = False, dtype: Dtype | None = None
) -> tensor:
    """Running sums along `axis`; narrow integers are widened as in `sum`.

    Dtypes: any; integers below 32 bits give int32 or uint32, bf16 gives fp32.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 5)
            tl.store(out + i, tl.cumsum(i, axis=0))

        out = np.zeros(5, np.int32)
        kernel[(1,)](out)
        print(out)  # [ 0  1  3  6 10]
    """


@builtin
def cumprod(input: tensor, axis: int = 0, reverse: bool = False) -> tensor:
    """Running products along `axis`.

    Dtypes: any; the result has the same dtype, of bf16 fp32.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 5)
            tl.store(out + i, tl.cumprod(i + 1, axis=0))

        out = np.zeros(5, np.int32)
        kernel[(1,)](out)
        print(out)  # [  1   2   6  24 120]
    """


@builtin
def histogram(input: tensor, num_bins: int, mask: Value | None = None) -> tensor:
    """How often each of ``0 .. num_bins - 1`` occurs in a tile of integers.

    Elements outside that range, and masked-out ones, are not counted. `mask` broadcasts to the shape of `input`.
    Result: int32, ``[num_bins]``.

    Shapes: ``[num_bins]``, whatever that of `input`.

    Dtypes: integers; the result is int32.

    Example:
        @st.jit
        def kernel(out, x):
            tl.store(out + tl.arange(0, 4), tl.histogram(tl.load(x + tl.arange(0, 8)), 4))

        out = np.zeros(4, np.int32)
        kernel[(1,)](out, np.array([0, 1, 1, 3, 3, 3, 9, -1], np.int32))
        print(out)  # [1 2 0 3]
    """


@builtin
def sort(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """`x` sorted along dimension `dim`, the last one by default; any extent.

    NaN comes after all numbers, and before them in descending order, as in NumPy and torch; -0.0 comes before 0.0.
    The result has exactly the bits of the elements, but NaN has no sign. Shape and dtype are those of `x`.

    Source: K. E. Batcher, Sorting networks and their applications, AFIPS 1968 (bitonic sort).

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 5)
            tl.store(out + i, tl.sort(tl.load(x + i)))

        out = np.zeros(5, np.float32)
        kernel[(1,)](out, np.array([3, np.nan, 4, 1, -5], np.float32))
        print(out)  # [-5.  1.  3.  4. nan]
    """


@builtin
def bitonic_merge(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """As `sort`, of elements that rise up to some place along `dim` and fall from there on.

    So do two sorted halves, the second of which is reversed. It takes log2(n) steps where `sort` takes
    log2(n) (log2(n) + 1) / 2. Of other elements the order is not specified.

    Example:
        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 8)
            tl.store(out + i, tl.bitonic_merge(tl.load(x + i)))

        out = np.zeros(8, np.int32)
        kernel[(1,)](out, np.array([1, 4, 6, 9, 8, 5, 2, 0], np.int32))  # rises, then falls
        print(out)  # [0 1 2 4 5 6 8 9]
    """


@builtin
def topk(x: tensor, k: int, dim: int | None = None, descending: bool = True) -> tensor:
    """The `k` greatest elements along dimension `dim` (the last one by default), greatest first.

    With ``descending=False`` the `k` least, least first. The order is that of `sort`. The result has the shape of `x` but
    for extent `k` along `dim`.

    Shapes: that of `x`, with extent `k` along `dim`.

    Raises:
        CompilationError: `k` is not from 1 to the extent.

    Source: A. Shanbhag, H. Pirk, S. Madden, Efficient Top-K Query Processing on Massively Parallel Hardware,
    SIGMOD 2018.

    Example:
        @st.jit
        def kernel(out, x):
            tl.store(out + tl.arange(0, 3), tl.topk(tl.load(x + tl.arange(0, 6)), 3))

        out = np.zeros(3, np.int32)
        kernel[(1,)](out, np.array([3, 1, 4, 1, 5, 9], np.int32))
        print(out)  # [9 5 4]
    """


@builtin
def map_elementwise(scalar_fn: Callable[..., Any], *args: Value, pack: int = 1) -> Any:
    """Applies a @jit function of scalars to every element of the tiles `args`, which are broadcast.

    The function may branch and loop on the elements; it may not read or write memory. It returns a scalar, or a tuple of
    scalars; so does this of tiles.

    Args:
        scalar_fn: takes `pack` neighbors of the last dimension of each tile (those of the first tile, then those of the
            second ...), returns `pack` values of each result.
        pack: elements for one call; a power of two that divides the last extent.

    Shapes: the common one of `args`.

    Errors: a function that is no @jit function, or touches memory; a `pack` that does not divide the last extent.

    Example:
        @st.jit
        def halvings(n):
            count = 0
            while n > 1:
                n = n // 2
                count += 1
            return count

        @st.jit
        def kernel(out):
            i = tl.arange(0, 6)
            tl.store(out + i, tl.map_elementwise(halvings, i))

        out = np.zeros(6, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 0 1 1 2 2]
    """
