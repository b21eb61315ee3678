"""Reading and writing memory."""

from __future__ import annotations

from ._builtin import builtin, not_yet

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

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
    """Reads one element for each pointer.

    Args:
        pointer: a pointer, or a tile of pointers.
        mask: int1, broadcast to the shape of `pointer`; memory is not touched where it is false.
        other: what a masked-out element is (converted to the element type); 0 when not given.
        boundary_check: dimensions of a block pointer to guard.
        padding_option: ``""``, ``"zero"`` or ``"nan"`` for elements outside a block pointer's shape.
        cache_modifier: ``""``, ``".ca"``, ``".cg"``, ``".cs"`` or ``".cv"``; a hint.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``; a hint.
        volatile: the read happens exactly as often as it is written.

    Returns:
        A tile of the pointers' shape and their element type.

    Errors: not a pointer; a mask that does not broadcast; `other` without `mask`; unknown hints.
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
        pointer: a pointer, or a tile of pointers.
        value: broadcast to the shape of `pointer` and converted to its element type: in silence, so that
            0.75 stored to an array of integers is 0.
        mask: int1, broadcast to the shape of `pointer`; nothing is written where it is false.
        boundary_check: dimensions of a block pointer to guard.
        cache_modifier: ``""``, ``".wb"``, ``".cg"``, ``".cs"`` or ``".wt"``; a hint.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``; a hint.

    Errors: not a pointer, or one to const; shapes that do not broadcast. At launch: the array behind
    the pointer is read-only.
    """


@not_yet(
    "load and store through a tile of pointers, as in base + rows[:, None] * stride "
    "+ columns[None, :], with a mask"
)
def make_block_ptr(
    base: tensor,
    shape: Extents,
    strides: Extents,
    offsets: Extents,
    block_shape: Sequence[int],
    order: Sequence[int],
) -> tensor:
    """A pointer to a block of a larger array, moved with `advance`.

    Args:
        base: pointer to the first element of the array.
        shape: extents of the array.
        strides: elements between neighbours, per dimension.
        offsets: where the block starts.
        block_shape: extents of the block, constant.
        order: dimensions from the fastest varying one; a hint.
    """


@not_yet("add the offsets to the tile of pointers itself, as in pointers += BLOCK")
def advance(base: tensor, offsets: Extents) -> tensor:
    """The block pointer `base`, moved by `offsets` elements per dimension."""


@not_yet(
    "load and store through a tile of pointers, as in base + rows[:, None] * stride "
    "+ columns[None, :], with a mask"
)
def make_tensor_descriptor(
    base: tensor,
    shape: Extents,
    strides: Extents,
    block_shape: Sequence[int],
    padding_option: str = "zero",
) -> Any:
    """A description of an array that is read and written block by block.

    ``desc.load([i, j])`` and ``desc.store([i, j], tile)`` take the element offsets of the block; what
    lies outside `shape` reads as the padding and is not written.
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
    """


@builtin
def atomic_max(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Replaces memory by the greater of itself and `val`; arguments and result as `atomic_add`."""


@builtin
def atomic_min(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Replaces memory by the smaller of itself and `val`; arguments and result as `atomic_add`."""


@builtin
def atomic_and(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise and into memory; integers only; arguments and result as `atomic_add`."""


@builtin
def atomic_or(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise or into memory; integers only; arguments and result as `atomic_add`."""


@builtin
def atomic_xor(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Bitwise exclusive or into memory; integers only; arguments and result as `atomic_add`."""


@builtin
def atomic_xchg(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Puts `val` into memory and returns what was there; arguments as `atomic_add`."""


@builtin
def atomic_cas(
    pointer: tensor, cmp: Value, val: Value, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Puts `val` into memory where it equals `cmp` (compared as bits); returns what was there.

    `cmp` and `val` have the shape of `pointer`; `sem` and `scope` as in `atomic_add`.
    """
