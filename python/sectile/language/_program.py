"""Where a program is in the grid, and hints about values.

Shapes: scalars, unless an operation says otherwise.

Errors: an axis that is no constant, or not 0, 1 or 2.
"""

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

    Dtypes: int32.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out + tl.program_id(0), tl.program_id(0) * 10)

        out = np.zeros(3, np.int32)
        kernel[(3,)](out)
        print(out)  # [ 0 10 20]
    """


@builtin
def num_programs(axis: int) -> tensor:
    """The extent of the grid along `axis` (0, 1 or 2), a scalar int32.

    Dtypes: int32.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out + tl.program_id(0), tl.num_programs(0))

        out = np.zeros(3, np.int32)
        kernel[(3,)](out)
        print(out)  # [3 3 3]
    """


@builtin
def multiple_of(input: tensor, values: Sequence[int] | int) -> tensor:
    """States that every element of `input` along a dimension starts at a multiple of a value.

    A promise, not a check: a wrong one gives wrong results. As a statement, whose result nobody takes, it is about all
    later uses of `input`.

    Args:
        input: an integer or pointer tile of rank n, or a scalar.
        values: one constant int per dimension (a single int for rank 0 and 1).

    Returns:
        `input`, with what was promised known to the compiler.

    Shapes: those of `input`.

    Dtypes: integers and pointers.

    Errors: a number of values that is not the rank; a value that is no positive constant.

    Example:
        @st.jit
        def kernel(out, x, stride, BLOCK: tl.constexpr):
            row = tl.program_id(0) * tl.multiple_of(stride, 16)  # rows may be read in whole vectors
            i = row + tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(x + i) + 1)

        x = np.arange(64, dtype=np.int32)
        out = np.zeros_like(x)
        kernel[(4,)](out, x, 16, BLOCK=16)
        print(out[:3], out[-3:])  # [1 2 3] [62 63 64]
    """


@builtin
def max_contiguous(input: tensor, values: Sequence[int] | int) -> tensor:
    """States that runs of `values[d]` elements along dimension d are consecutive integers.

    A promise, not a check. Takes and returns the same as `multiple_of`.

    Shapes: those of `input`.

    Dtypes: integers and pointers.

    Errors: as `multiple_of`.

    Example:
        @st.jit
        def kernel(out, x, n):
            i = tl.arange(0, 8) % n  # the caller knows that n is 8
            i = tl.max_contiguous(tl.multiple_of(i, 8), 8)
            tl.store(out + i, tl.load(x + i))

        x = np.arange(8, dtype=np.int32)
        out = np.zeros_like(x)
        kernel[(1,)](out, x, 8)
        print(out)  # [0 1 2 3 4 5 6 7]
    """


@builtin
def max_constancy(input: tensor, values: Sequence[int] | int) -> tensor:
    """States that runs of `values[d]` elements along dimension d are equal.

    A promise, not a check. Takes and returns the same as `multiple_of`.

    Shapes: those of `input`.

    Dtypes: integers and pointers.

    Errors: as `multiple_of`.

    Example:
        @st.jit
        def kernel(out, x, size):
            i = tl.arange(0, 8)
            group = tl.max_constancy(i // size, 4)  # the caller knows that size is 4
            tl.store(out + i, tl.load(x + group))

        x = np.array([5, 7], np.int32)
        out = np.zeros(8, np.int32)
        kernel[(1,)](out, x, 4)
        print(out)  # [5 5 5 5 7 7 7 7]
    """


@builtin
def assume(cond: Value) -> None:
    """States that the scalar int1 `cond` is true; the compiler may rely on it without checking.

    Shapes: a scalar, or a tile of which every element is true.

    Dtypes: int1, or numbers, which are compared with 0.

    Errors: a condition that is the constant False.

    Example:
        @st.jit
        def kernel(out, n):
            tl.assume(n > 0)
            tl.store(out, n // 4)

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, 40)
        print(out)  # [10]
    """


@builtin
def debug_barrier() -> None:
    """Makes all threads of the program wait for one another.

    Programs on the CPU are one thread, so nothing happens there.

    Dtypes: none.

    Errors: none.

    Example:
        @st.jit
        def kernel(out, scratch):
            i = tl.arange(0, 4)
            tl.store(scratch + i, i)
            tl.debug_barrier()  # what the other threads stored is there
            tl.store(out + i, tl.load(scratch + 3 - i))

        out, scratch = np.zeros(4, np.int32), np.zeros(4, np.int32)
        kernel[(1,)](out, scratch)
        print(out)  # [3 2 1 0]
    """
