"""Blocks of an array in memory: block pointers and tensor descriptors.

Shapes: blocks have the constant `block_shape`; one offset is given for each dimension.

Dtypes: any.

Errors: what is neither a descriptor nor a block pointer; as many offsets as dimensions are needed; a value
that does not broadcast to the block.
"""

from __future__ import annotations

from ._builtin import builtin, operation

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from ._dtypes import dtype as Dtype
    from ._tensor import Value, tensor

    Extents: TypeAlias = Sequence[Value]


@builtin
def make_block_ptr(
    base: tensor,
    shape: Extents,
    strides: Extents,
    offsets: Extents,
    block_shape: Sequence[int],
    order: Sequence[int],
) -> tensor:
    """A pointer to a block of a larger array, moved with `advance`.

    ``tl.load(p, boundary_check=(0, 1))`` reads the block; in the dimensions that ``boundary_check`` names, what
    lies outside `shape` is not touched and reads as ``padding_option`` says. Elsewhere the block must lie within
    the array.

    Args:
        base: pointer to the first element of the array.
        shape: extents of the array; integers of any width.
        strides: elements between neighbors, per dimension.
        offsets: where the block begins; may be negative, or beyond the array.
        block_shape: extents of the block, constant.
        order: the dimensions from the fastest varying one on, such as ``(1, 0)``; a hint.

    Errors: not a pointer; lengths that differ; `order` that is no permutation.

    Example:
        @st.jit
        def kernel(out, x, rows, columns):
            block = tl.make_block_ptr(x, (rows, columns), (columns, 1), (1, 0), (2, 4), (1, 0))
            v = tl.load(block, boundary_check=(0, 1))  # rows 1 and 2, columns 0 to 3, of which 0 to 2 are there
            i = tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :]
            tl.store(out + i, v)

        x = np.arange(9, dtype=np.int32).reshape(3, 3)
        out = np.zeros((2, 4), np.int32)
        kernel[(1,)](out, x, 3, 3)
        print(out.tolist())  # [[3, 4, 5, 0], [6, 7, 8, 0]]
    """


@builtin
def advance(base: tensor, offsets: Extents) -> tensor:
    """The block pointer `base`, moved by `offsets` elements per dimension. Also its method: ``block.advance(offsets)``.

    Errors: `base` is no block pointer; one offset for each dimension is needed.

    Example:
        @st.jit
        def kernel(out, x, n):
            block = tl.make_block_ptr(x, (n,), (1,), (0,), (4,), (0,))
            total = tl.zeros((4,), tl.int32)
            for _ in range(0, n, 4):
                total += tl.load(block, boundary_check=(0,))
                block = tl.advance(block, (4,))
            tl.store(out, tl.sum(total))

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, np.arange(10, dtype=np.int32), 10)
        print(out)  # [45]
    """


@builtin
def make_tensor_descriptor(
    base: tensor,
    shape: Extents,
    strides: Extents,
    block_shape: Sequence[int],
    padding_option: str = "zero",
) -> tensor_descriptor:
    """A description of an array that is read and written block by block.

    Args:
        base: pointer to the first element of the array; for a GPU's copy engine, aligned to 16 bytes. On NVIDIA's
            GPUs an address that was loaded is taken to be, as in Triton, and nothing checks it or its strides.
        shape: extents of the array, 1 to 5 of them.
        strides: elements between neighbors, per dimension; the last is 1, the others multiples of 16 bytes.
        block_shape: extents of the blocks, constant; a row of a block has at least 16 bytes.
        padding_option: ``"zero"`` or ``"nan"``, what elements outside `shape` read as.

    Returns:
        A `tensor_descriptor`.

    Errors: not a pointer; lengths that differ; a last stride other than 1; rows of less than 16 bytes; ``"nan"`` for
    integers.

    Example:
        @st.jit
        def kernel(out, x, rows, columns):
            source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [2, 4])
            target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [2, 4])
            target.store([2, 4], source.load([2, 4]) * 10)

        x = np.arange(32, dtype=np.int32).reshape(4, 8)
        out = np.zeros_like(x)
        kernel[(1,)](out, x, 4, 8)
        print(out[2:, 4:].tolist())  # [[200, 210, 220, 230], [280, 290, 300, 310]]
    """


@builtin
def load_tensor_descriptor(desc: tensor_descriptor, offsets: Extents) -> tensor:
    """``desc.load(offsets)``.

    Example:
        @st.jit
        def kernel(out, x):
            source = tl.make_tensor_descriptor(x, [8], [1], [4])
            tl.store(out + tl.arange(0, 4), tl.load_tensor_descriptor(source, [6]))  # 6, 7, and zeros beyond

        out = np.zeros(4, np.int32)
        kernel[(1,)](out, np.arange(8, dtype=np.int32))
        print(out)  # [6 7 0 0]
    """


@builtin
def store_tensor_descriptor(desc: tensor_descriptor, offsets: Extents, value: Value) -> None:
    """``desc.store(offsets, value)``.

    Example:
        @st.jit
        def kernel(out):
            target = tl.make_tensor_descriptor(out, [8], [1], [4])
            tl.store_tensor_descriptor(target, [6], tl.arange(1, 5))  # of which two are beyond the array

        out = np.zeros(8, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 0 0 0 0 0 1 2]
    """


class tensor_descriptor:
    """An array in memory, the extents of the blocks it is accessed in, and what is read outside it.

    Descriptors come from `make_tensor_descriptor`. What lies outside the array is never touched, whatever
    the offsets: negative ones, too.

    Example:
        @st.jit
        def first_block(source: tl.tensor_descriptor):
            tl.static_assert(source.block_shape[0] == 2)
            return source.load([0, 0])

        @st.jit
        def kernel(out, x):
            source = tl.make_tensor_descriptor(x, [4, 8], [8, 1], [2, 4])
            tl.store(out, tl.sum(first_block(source)))

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, np.ones((4, 8), np.int32))
        print(out)  # [8]
    """

    __sectile_class__ = "tensor_descriptor"

    #: Extents of the array.
    shape: tuple[tensor, ...]
    #: Elements between neighbors, per dimension.
    strides: tuple[tensor, ...]
    #: Extents of a block, constants.
    block_shape: tuple[int, ...]
    #: Element type.
    dtype: Dtype

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            "tl.tensor_descriptor cannot be made outside a kernel\n"
            "  help: write tl.make_tensor_descriptor(...) in the kernel"
        )

    @operation("tensor_descriptor.load")
    def load(self, offsets: Extents) -> tensor:
        """Reads the block that begins at `offsets`; a tile of `block_shape`.

        Example:
            @st.jit
            def kernel(out, x):
                source = tl.make_tensor_descriptor(x, [4, 8], [8, 1], [2, 4])
                i = tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :]
                tl.store(out + i, source.load([3, 4]))  # of two rows one is there; the other reads as zeros

            x = np.arange(32, dtype=np.int32).reshape(4, 8)
            out = np.full((2, 4), -1, np.int32)
            kernel[(1,)](out, x)
            print(out.tolist())  # [[28, 29, 30, 31], [0, 0, 0, 0]]
        """

    @operation("tensor_descriptor.store")
    def store(self, offsets: Extents, value: Value) -> None:
        """Writes `value`, converted to the element type, to the block that begins at `offsets`.

        Example:
            @st.jit
            def kernel(out):
                target = tl.make_tensor_descriptor(out, [4, 8], [8, 1], [2, 4])
                target.store([3, 4], tl.full((2, 4), 7, tl.int32))  # what lies outside is left alone

            out = np.zeros((4, 8), np.int32)
            kernel[(1,)](out)
            print(out.sum(), out[3].tolist())  # 28 [0, 0, 0, 0, 7, 7, 7, 7]
        """

    @operation("tensor_descriptor.gather")
    def gather(self, x_offsets: tensor, y_offset: Value) -> tensor:
        """Reads parts of rows of a matrix: row ``x_offsets[i]`` from column `y_offset` on.

        The descriptor's blocks are single rows, ``[1, COLUMNS]``. Row numbers outside the array read as zeros.

        Returns:
            A tile of ``len(x_offsets)`` x ``COLUMNS``.

        Shapes: `x_offsets` is ``[ROWS]``, the result ``[ROWS, COLUMNS]``.

        Example:
            @st.jit
            def kernel(out, x, rows):
                source = tl.make_tensor_descriptor(x, [4, 8], [8, 1], [1, 4])
                picked = source.gather(tl.load(rows + tl.arange(0, 8)), 4)  # from column 4 on
                i = tl.arange(0, 8)[:, None] * 4 + tl.arange(0, 4)[None, :]
                tl.store(out + i, picked)

            x = np.arange(32, dtype=np.int32).reshape(4, 8)
            rows = np.array([3, 0, 0, 1, 2, 2, 1, 9], np.int32)
            out = np.zeros((8, 4), np.int32)
            kernel[(1,)](out, x, rows)
            print(out[0].tolist(), out[1].tolist(), out[7].tolist())  # [28, 29, 30, 31] [4, 5, 6, 7] [0, 0, 0, 0]
        """

    @operation("tensor_descriptor.scatter")
    def scatter(self, value: tensor, x_offsets: tensor, y_offset: Value) -> None:
        """Writes the rows of `value` to rows `x_offsets` of a matrix, from column `y_offset` on.

        Shapes: `x_offsets` is ``[ROWS]``, `value` is ``[ROWS, COLUMNS]``.

        Example:
            @st.jit
            def kernel(out, rows):
                target = tl.make_tensor_descriptor(out, [8, 8], [8, 1], [1, 4])
                values = tl.arange(0, 8)[:, None] * 10 + tl.arange(0, 4)[None, :]
                target.scatter(values, tl.load(rows + tl.arange(0, 8)), 4)

            rows = np.array([7, 6, 5, 4, 3, 2, 1, 0], np.int32)
            out = np.zeros((8, 8), np.int32)
            kernel[(1,)](out, rows)
            print(out[7].tolist(), out[0].tolist())  # [0, 0, 0, 0, 0, 1, 2, 3] [0, 0, 0, 0, 70, 71, 72, 73]
        """

    @operation("tensor_descriptor.atomic_add")
    def atomic_add(self, offsets: Extents, value: Value) -> None:
        """Adds `value` to the block, each element as one indivisible step; so do the others.

        Dtypes: as `atomic_add`.

        Example:
            @st.jit
            def kernel(total):
                target = tl.make_tensor_descriptor(total, [8], [1], [8])
                target.atomic_add([0], tl.arange(0, 8))

            total = np.zeros(8, np.int32)
            kernel[(5,)](total)
            print(total)  # [ 0  5 10 15 20 25 30 35]
        """

    @operation("tensor_descriptor.atomic_min")
    def atomic_min(self, offsets: Extents, value: Value) -> None:
        """The smaller of memory and `value`.

        Dtypes: as `atomic_min`.

        Example:
            @st.jit
            def kernel(least):
                target = tl.make_tensor_descriptor(least, [8], [1], [8])
                target.atomic_min([0], tl.arange(0, 8) + tl.program_id(0))

            least = np.full(8, 3, np.int32)
            kernel[(5,)](least)
            print(least)  # [0 1 2 3 3 3 3 3]
        """

    @operation("tensor_descriptor.atomic_max")
    def atomic_max(self, offsets: Extents, value: Value) -> None:
        """The larger of memory and `value`.

        Dtypes: as `atomic_max`.

        Example:
            @st.jit
            def kernel(most):
                target = tl.make_tensor_descriptor(most, [8], [1], [8])
                target.atomic_max([0], tl.arange(0, 8) + tl.program_id(0))

            most = np.zeros(8, np.int32)
            kernel[(5,)](most)
            print(most)  # [ 4  5  6  7  8  9 10 11]
        """

    @operation("tensor_descriptor.atomic_and")
    def atomic_and(self, offsets: Extents, value: Value) -> None:
        """Bitwise and.

        Dtypes: as `atomic_and`.

        Example:
            @st.jit
            def kernel(bits):
                target = tl.make_tensor_descriptor(bits, [8], [1], [8])
                target.atomic_and([0], tl.arange(0, 8))

            bits = np.full(8, 5, np.int32)
            kernel[(1,)](bits)
            print(bits)  # [0 1 0 1 4 5 4 5]
        """

    @operation("tensor_descriptor.atomic_or")
    def atomic_or(self, offsets: Extents, value: Value) -> None:
        """Bitwise or.

        Dtypes: as `atomic_or`.

        Example:
            @st.jit
            def kernel(bits):
                target = tl.make_tensor_descriptor(bits, [8], [1], [8])
                target.atomic_or([0], tl.zeros((8,), tl.int32) + (1 << tl.program_id(0)))

            bits = np.zeros(8, np.int32)
            kernel[(3,)](bits)
            print(bits)  # [7 7 7 7 7 7 7 7]
        """

    @operation("tensor_descriptor.atomic_xor")
    def atomic_xor(self, offsets: Extents, value: Value) -> None:
        """Bitwise exclusive or.

        Dtypes: as `atomic_xor`.

        Example:
            @st.jit
            def kernel(bits):
                target = tl.make_tensor_descriptor(bits, [8], [1], [8])
                target.atomic_xor([0], tl.arange(0, 8))

            bits = np.full(8, 1, np.int32)
            kernel[(1,)](bits)
            print(bits)  # [1 0 3 2 5 4 7 6]
        """
