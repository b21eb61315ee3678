"""Reading and writing memory.

Shapes: masks and values are broadcast to the shape of the pointers.

Dtypes: any.

Errors: what is no pointer, or one to const; shapes that do not broadcast; for atomics, an element type that
has none, or an unknown `sem` or `scope`.
"""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from ._tensor import Value, tensor

    Extents: TypeAlias = Sequence[Value]


@builtin
def load(
    pointer: tensor,
    mask: Value | None = None,
    other: Value | None = None,
    boundary_check: Sequence[int] = (),
    padding_option: str = "",
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> tensor:
    """Reads one element for each pointer, or the block of a block pointer.

    Args:
        pointer: a pointer, a tile of pointers, or a block pointer (`make_block_ptr`), which takes no mask.
        mask: int1, broadcast to the shape of `pointer`; memory is not touched where it is false.
        other: what a masked-out element is (converted to the element type); 0 when not given.
        boundary_check: the dimensions of a block pointer in which its block may leave the array.
        padding_option: ``""``, ``"zero"`` or ``"nan"``: what is read there; zeros unless it says so.
        cache_modifier: ``""``, ``".ca"``, ``".cg"``, ``".cs"`` or ``".cv"``; a hint, but for ``".cv"``, which is
            volatile, too.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``; a hint.
        volatile: the read happens exactly as often as it is written.

    Returns:
        A tile of the pointers' shape and their element type.

    Shapes: that of `pointer`; of a block pointer its block's.

    Errors: not a pointer; a mask that does not broadcast; `other` without `mask`; unknown hints.

    Example:
        @st.jit
        def kernel(out, x, n):
            i = tl.arange(0, 8)
            tl.store(out + i, tl.load(x + i, mask=i < n, other=-1))

        x = np.arange(5, dtype=np.int32)
        out = np.zeros(8, np.int32)
        kernel[(1,)](out, x, 5)
        print(out)  # [ 0  1  2  3  4 -1 -1 -1]
    """


@builtin
def store(
    pointer: tensor,
    value: Value,
    mask: Value | None = None,
    boundary_check: Sequence[int] = (),
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> None:
    """Writes `value` through `pointer`.

    Args:
        pointer: a pointer, a tile of pointers, or a block pointer.
        value: broadcast to the shape of `pointer` and converted to its element type: in silence, so that
            0.75 stored to an array of integers is 0.
        mask: int1, broadcast to the shape of `pointer`; nothing is written where it is false.
        boundary_check: the dimensions of a block pointer in which its block may leave the array: nothing is
            written there.
        cache_modifier: ``""``, ``".wb"``, ``".cg"``, ``".cs"`` or ``".wt"``; a hint.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``; a hint.

    Errors: not a pointer, or one to const; shapes that do not broadcast. At launch: the array behind
    the pointer is read-only.

    Example:
        @st.jit
        def kernel(out, n):
            i = tl.arange(0, 8)
            tl.store(out + i, i * 0.5, mask=i < n)  # the array is of integers: fractions are cut off

        out = np.full(8, -1, np.int32)
        kernel[(1,)](out, 6)
        print(out)  # [ 0  0  1  1  2  2 -1 -1]
    """


@builtin
def atomic_add(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Adds `val` to memory and returns what was there before, as one indivisible step.

    Args:
        pointer: a pointer, or a tile of pointers; integers, fp16, bf16, fp32 or fp64.
        val: broadcast to the shape of `pointer` and converted to its element type.
        mask: int1; nothing happens where it is false, and the result there is undefined.
        sem: ``"acq_rel"`` (default), ``"acquire"``, ``"release"`` or ``"relaxed"``.
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: the threads that have to see the order.

    Returns:
        The old values.

    Dtypes: int32, int64, uint32, uint64, fp16, bf16, fp32, fp64.

    Example:
        @st.jit
        def kernel(count, x, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            v = tl.load(x + i, mask=i < n, other=0)
            tl.atomic_add(count + v, 1, mask=i < n)

        count = np.zeros(3, np.int32)
        kernel[(4,)](count, np.arange(100, dtype=np.int32) % 3, 100, BLOCK=32)
        print(count)  # [34 33 33]
    """


@builtin
def atomic_max(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Replaces memory by the greater of itself and `val`; arguments and result as `atomic_add`.

    Dtypes: int32, int64, uint32, uint64, fp16, bf16, fp32, fp64.

    Example:
        @st.jit
        def kernel(best, x):
            tl.atomic_max(best, tl.load(x + tl.program_id(0)))

        best = np.zeros(1, np.int32)
        kernel[(4,)](best, np.array([3, 9, 2, 7], np.int32))
        print(best)  # [9]
    """


@builtin
def atomic_min(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Replaces memory by the smaller of itself and `val`; arguments and result as `atomic_add`.

    Dtypes: int32, int64, uint32, uint64, fp16, bf16, fp32, fp64.

    Example:
        @st.jit
        def kernel(best, x):
            tl.atomic_min(best, tl.load(x + tl.program_id(0)))

        best = np.full(1, 100, np.int32)
        kernel[(4,)](best, np.array([3, 9, 2, 7], np.int32))
        print(best)  # [2]
    """


@builtin
def atomic_and(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise and into memory; integers only; arguments and result as `atomic_add`.

    Dtypes: int32, int64, uint32, uint64.

    Example:
        @st.jit
        def kernel(bits, x):
            tl.atomic_and(bits, tl.load(x + tl.program_id(0)))

        bits = np.full(1, 0b1111, np.int32)
        kernel[(2,)](bits, np.array([0b0111, 0b1101], np.int32))
        print(bits)  # [5]
    """


@builtin
def atomic_or(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise or into memory; integers only; arguments and result as `atomic_add`.

    Dtypes: int32, int64, uint32, uint64.

    Example:
        @st.jit
        def kernel(seen):
            tl.atomic_or(seen, 1 << tl.program_id(0))

        seen = np.zeros(1, np.int32)
        kernel[(4,)](seen)
        print(seen)  # [15]
    """


@builtin
def atomic_xor(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise exclusive or into memory; integers only; arguments and result as `atomic_add`.

    Dtypes: int32, int64, uint32, uint64.

    Example:
        @st.jit
        def kernel(check, x):
            tl.atomic_xor(check, tl.load(x + tl.program_id(0)))

        check = np.zeros(1, np.int32)
        kernel[(3,)](check, np.array([1, 2, 4], np.int32))
        print(check)  # [7]
    """


@builtin
def atomic_xchg(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Puts `val` into memory and returns what was there; arguments as `atomic_add`.

    Dtypes: int32, int64, uint32, uint64, fp32, fp64.

    Example:
        @st.jit
        def kernel(old, slot):
            tl.store(old, tl.atomic_xchg(slot, 7))

        old, slot = np.zeros(1, np.int32), np.array([3], np.int32)
        kernel[(1,)](old, slot)
        print(old, slot)  # [3] [7]
    """


@builtin
def atomic_cas(
    pointer: tensor, cmp: Value, val: Value, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Puts `val` into memory where it equals `cmp` (compared as bits); returns what was there.

    `cmp` and `val` have the shape of `pointer`; `sem` and `scope` as in `atomic_add`.

    Shapes: those of the pointers.

    Dtypes: integers and floats of 16, 32 and 64 bits.

    Example:
        @st.jit
        def kernel(owner):  # the first program to find 0 enters its number
            tl.atomic_cas(owner, 0, tl.program_id(0) + 1)

        owner = np.zeros(1, np.int32)
        kernel[(8,)](owner)
        print(owner[0] in range(1, 9))  # True
    """
