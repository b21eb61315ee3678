"""Operations that change a tile's shape and not its elements.

Dtypes: any; the result has that of the operand.

Errors: shapes that do not go together; extents or dimensions that are no constants; a dimension that is none
of the tile's.
"""

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

    Shapes: both results have the common shape.

    Errors: extents that differ and are not 1.

    Example:
        @st.jit
        def kernel(out):
            rows, columns = tl.broadcast(tl.arange(0, 2)[:, None], tl.arange(0, 3)[None, :])
            tl.store(out + rows * 3 + columns, rows * 10 + columns)

        out = np.zeros((2, 3), np.int32)
        kernel[(1,)](out)
        print(out.tolist())  # [[0, 1, 2], [10, 11, 12]]
    """


@builtin
def broadcast_to(input: tensor, *shape: Sequence[int] | int) -> tensor:
    """`input` stretched to `shape` (a tuple, or the extents one by one).

    Shapes: `shape`.

    Errors: an extent that is neither equal nor 1; fewer dimensions than `input` has.

    Example:
        @st.jit
        def kernel(out):
            v = tl.broadcast_to(tl.arange(0, 3)[None, :], (2, 3))
            tl.store(out + tl.arange(0, 2)[:, None] * 3 + tl.arange(0, 3)[None, :], v)

        out = np.zeros((2, 3), np.int32)
        kernel[(1,)](out)
        print(out.tolist())  # [[0, 1, 2], [0, 1, 2]]
    """


@builtin
def expand_dims(input: tensor, axis: Sequence[int] | int) -> tensor:
    """`x` with an extent of 1 put in at `axis` (an int or a tuple of ints, negative from the end).

    Shapes: the rank grows by the number of axes.

    Example:
        @st.jit
        def kernel(out):
            column = tl.expand_dims(tl.arange(0, 2), 1)  # as [:, None]
            tl.store(out + column * 3 + tl.arange(0, 3)[None, :], column * 10)

        out = np.zeros((2, 3), np.int32)
        kernel[(1,)](out)
        print(out.tolist())  # [[0, 0, 0], [10, 10, 10]]
    """


@builtin
def squeeze(x: tensor, dim: int) -> tensor:
    """`x` without dimension `dim`, whose extent must be 1.

    Shapes: `dim` is left out.

    Example:
        @st.jit
        def kernel(out):
            v = tl.arange(0, 4)[:, None]
            tl.store(out + tl.arange(0, 4), tl.squeeze(v, 1))

        out = np.zeros(4, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 1 2 3]
    """


@builtin
def unsqueeze(x: tensor, dim: int) -> tensor:
    """`x` with an extent of 1 put in at `dim`.

    Shapes: the rank grows by one.

    Example:
        @st.jit
        def kernel(out):
            v = tl.unsqueeze(tl.arange(0, 4), 0)
            tl.store(out + v, v)

        out = np.zeros(4, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 1 2 3]
    """


@builtin
def reshape(input: tensor, *shape: Sequence[int] | int, can_reorder: bool = False) -> tensor:
    """The same elements, in row-major order, in another shape.

    Args:
        input: tile.
        shape: a tuple, or the extents one by one; as many elements as `input` has.
        can_reorder: accepted and ignored: the order is always kept.

    Shapes: `shape`.

    Example:
        @st.jit
        def kernel(out):
            v = tl.reshape(tl.arange(0, 6), (2, 3))
            tl.store(out + tl.arange(0, 2), tl.sum(v, axis=1))

        out = np.zeros(2, np.int32)
        kernel[(1,)](out)
        print(out)  # [ 3 12]
    """


@builtin
def view(input: tensor, *shape: Sequence[int] | int) -> tensor:
    """As `reshape`; kept for older kernels.

    Shapes: `shape`.

    Example:
        @st.jit
        def kernel(out):
            v = tl.view(tl.arange(0, 6), (3, 2))
            tl.store(out + tl.arange(0, 3), tl.sum(v, axis=1))

        out = np.zeros(3, np.int32)
        kernel[(1,)](out)
        print(out)  # [1 5 9]
    """


@builtin
def ravel(x: tensor, can_reorder: bool = False) -> tensor:
    """The elements of `x` in row-major order, rank 1.

    Shapes: rank 1, with as many elements.

    Example:
        @st.jit
        def kernel(out):
            v = tl.arange(0, 2)[:, None] * 10 + tl.arange(0, 2)[None, :]
            tl.store(out + tl.arange(0, 4), tl.ravel(v))

        out = np.zeros(4, np.int32)
        kernel[(1,)](out)
        print(out)  # [ 0  1 10 11]
    """


@builtin
def trans(input: tensor, *dims: Sequence[int] | int) -> tensor:
    """`input` with its dimensions reordered; without `dims` the last two are swapped.

    Args:
        input: tile of rank 2 or more.
        dims: a permutation of ``0 .. rank - 1``.

    Shapes: the extents, reordered as the dimensions are.

    Example:
        @st.jit
        def kernel(out):
            v = tl.reshape(tl.arange(0, 6), (2, 3))
            i = tl.arange(0, 3)[:, None] * 2 + tl.arange(0, 2)[None, :]
            tl.store(out + i, tl.trans(v))

        out = np.zeros((3, 2), np.int32)
        kernel[(1,)](out)
        print(out.tolist())  # [[0, 3], [1, 4], [2, 5]]
    """


@builtin
def permute(input: tensor, *dims: Sequence[int] | int) -> tensor:
    """Dimension i of the result is dimension ``dims[i]`` of `input`.

    Shapes: the extents, reordered as the dimensions are.

    Example:
        @st.jit
        def kernel(out):
            v = tl.permute(tl.reshape(tl.arange(0, 6), (2, 3)), (1, 0))
            tl.store(out + tl.reshape(tl.arange(0, 6), (3, 2)), v)

        out = np.zeros((3, 2), np.int32)
        kernel[(1,)](out)
        print(out.tolist())  # [[0, 3], [1, 4], [2, 5]]
    """


@builtin
def join(a: tensor, b: tensor) -> tensor:
    """Both tiles side by side in a new last dimension of extent 2.

    `a` and `b` are broadcast against each other and have one dtype.

    Shapes: the common one, and a last dimension of 2.

    Example:
        @st.jit
        def kernel(out):
            pairs = tl.join(tl.arange(0, 3), tl.arange(10, 13))
            tl.store(out + tl.reshape(tl.arange(0, 6), (3, 2)), pairs)

        out = np.zeros((3, 2), np.int32)
        kernel[(1,)](out)
        print(out.tolist())  # [[0, 10], [1, 11], [2, 12]]
    """


@builtin
def split(a: tensor) -> tuple[tensor, tensor]:
    """The two halves of a tile whose last extent is 2; the reverse of `join`.

    Shapes: both results lack the last dimension.

    Errors: a last extent that is not 2.

    Example:
        @st.jit
        def kernel(out):
            even, odd = tl.split(tl.reshape(tl.arange(0, 6), (3, 2)))
            tl.store(out + tl.arange(0, 3), even * odd)

        out = np.zeros(3, np.int32)
        kernel[(1,)](out)
        print(out)  # [ 0  6 20]
    """


@builtin
def interleave(a: tensor, b: tensor) -> tensor:
    """The elements of `a` and `b` in turn along the last dimension, which becomes twice as long.

    Shapes: the common one, with a last extent twice as long.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out + tl.arange(0, 6), tl.interleave(tl.arange(0, 3), tl.arange(10, 13)))

        out = np.zeros(6, np.int32)
        kernel[(1,)](out)
        print(out)  # [ 0 10  1 11  2 12]
    """


@builtin
def flip(x: tensor, dim: int | None = None) -> tensor:
    """`x` with dimension `dim` in reverse order (the last one when `dim` is None).

    Shapes: that of `x`.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out + tl.arange(0, 5), tl.flip(tl.arange(0, 5)))

        out = np.zeros(5, np.int32)
        kernel[(1,)](out)
        print(out)  # [4 3 2 1 0]
    """


@builtin
def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """``out[.., i, ..] = src[.., index[.., i, ..], ..]`` along `axis`.

    Args:
        src: tile of any dtype.
        index: integer tile of the same rank; equal extents apart from `axis`.
        axis: constant int.

    Shapes: that of `index`.

    Dtypes: `src` any, `index` any integer but int1.

    Errors: shapes that differ apart from `axis`; an `index` that holds no integers. An index outside the tile is
    undefined.

    Example:
        @st.jit
        def kernel(out, x, index):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.gather(tl.load(x + i), tl.load(index + i), 0))

        x = np.array([10, 20, 30, 40], np.int32)
        out = np.zeros(4, np.int32)
        kernel[(1,)](out, x, np.array([3, 0, 0, 2], np.int32))
        print(out)  # [40 10 10 30]
    """


@builtin
def swizzle2d(
    i: Value, j: Value, size_i: Value, size_j: Value, size_g: Value
) -> tuple[tensor, tensor]:
    """Reorders the cells of a `size_i` by `size_j` grid in groups of `size_g` rows.

    Within a group, cells are visited column by column, so neighboring programs of a matrix product
    share more of their operands.

    Returns:
        The new ``(i, j)``.

    Shapes: scalars, or tiles of one shape.

    Dtypes: integers.

    Example:
        @st.jit
        def kernel(out):
            i = tl.program_id(0)
            row, column = tl.swizzle2d(i // 3, i % 3, 4, 3, 2)  # a grid of 4 x 3, in groups of two rows
            tl.store(out + i, row * 10 + column)

        out = np.zeros(12, np.int32)
        kernel[(12,)](out)
        print(out)  # [ 0 10  1 11  2 12 20 30 21 31 22 32]
    """
