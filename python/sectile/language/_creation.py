"""Tiles from nothing, and conversion between element types.

Dtypes: any.

Errors: extents that are no positive constants.
"""

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

    Shapes: ``[end - start]``.

    Dtypes: int32.

    Errors: a bound that is not constant; an empty range.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 6)
            tl.store(out + i, i * i)

        out = np.zeros(6, np.int32)
        kernel[(1,)](out)
        print(out)  # [ 0  1  4  9 16 25]
    """


@builtin
def zeros(shape: Sequence[int] | int, dtype: Dtype) -> tensor:
    """A tile of zeros.

    Args:
        shape: a tuple of constant ints, or one int.
        dtype: element type.

    Shapes: `shape`.

    Example:
        @st.jit
        def kernel(out, x, n):
            total = tl.zeros((4,), tl.float32)
            for start in range(0, n, 4):
                total += tl.load(x + start + tl.arange(0, 4))
            tl.store(out + tl.arange(0, 4), total)

        out = np.empty(4, np.float32)
        kernel[(1,)](out, np.arange(8, dtype=np.float32), 8)
        print(out)  # [ 4.  6.  8. 10.]
    """


@builtin
def zeros_like(input: tensor) -> tensor:
    """Zeros with the shape and dtype of `input`.

    Shapes: that of `input`.

    Example:
        @st.jit
        def kernel(out):
            i = tl.arange(0, 4)
            tl.store(out + i, tl.zeros_like(i))

        out = np.ones(4, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 0 0 0]
    """


@builtin
def full(shape: Sequence[int] | int, value: Value, dtype: Dtype) -> tensor:
    """A tile whose elements all are `value`.

    Args:
        shape: a tuple of constant ints, or one int.
        value: a number or a scalar; converted to `dtype`.
        dtype: element type.

    Shapes: `shape`.

    Errors: extents that are no positive constants; a value that is a tile.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out + tl.arange(0, 4), tl.full((4,), 2.5, tl.float32))

        out = np.empty(4, np.float32)
        kernel[(1,)](out)
        print(out)  # [2.5 2.5 2.5 2.5]
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

    Shapes: that of `input`.

    Dtypes: from any to any; pointers by their bits.

    Errors: a rounding that does not apply; a bitcast between different widths.

    Example:
        @st.jit
        def kernel(out, bits, x):
            i = tl.arange(0, 4)
            v = tl.load(x + i)
            tl.store(out + i, tl.cast(v, tl.int32))
            tl.store(bits + i, v.to(tl.uint32, bitcast=True))

        x = np.array([1.9, -1.9, 0.5, 3], np.float32)
        out, bits = np.zeros(4, np.int32), np.zeros(4, np.uint32)
        kernel[(1,)](out, bits, x)
        print(out)  # [ 1 -1  0  3]
        print(np.array_equal(bits, x.view(np.uint32)))  # True
    """


@builtin
def to_tensor(x: Value) -> tensor:
    """`x` as a value: a constant becomes a scalar tile, a tile is returned as it is.

    Shapes: that of `x`; a number becomes a scalar.

    Dtypes: int32, or a wider one where the number needs it; fp32; int1.

    Errors: none.

    Example:
        @st.jit
        def kernel(out, N: tl.constexpr):
            tl.store(out, tl.to_tensor(N).to(tl.float32) / 2)

        out = np.empty(1, np.float32)
        kernel[(1,)](out, N=5)
        print(out)  # [2.5]
    """


@builtin
def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """The elements of `input` followed by those of `other` along `dim`.

    Both have one dtype and, apart from `dim`, one shape. `can_reorder` is accepted and ignored: the
    order is always kept.

    Shapes: equal but for dimension `dim`, whose extents are added.

    Errors: shapes or dtypes that differ; a `dim` that is no dimension.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out + tl.arange(0, 5), tl.cat(tl.arange(0, 2), tl.arange(7, 10)))

        out = np.zeros(5, np.int32)
        kernel[(1,)](out)
        print(out)  # [0 1 7 8 9]
    """
