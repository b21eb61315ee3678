"""Reading and writing memory."""

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
