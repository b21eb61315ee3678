"""Loop ranges."""

from __future__ import annotations

from ._builtin import builtin

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._constexpr import constexpr
    from ._tensor import Value, tensor


@builtin
def range(
    arg1: Value,
    arg2: Value | None = None,
    step: Value | None = None,
    num_stages: int | None = None,
    loop_unroll_factor: int | None = None,
    disallow_acc_multi_buffer: bool = False,
    flatten: bool = False,
    warp_specialize: bool = False,
    disable_licm: bool = False,
) -> Iterable[tensor]:
    """``for i in tl.range(...)``: a loop that runs on the device, with hints for the compiler.

    Args:
        arg1, arg2, step: as Python's ``range``; scalars or constants. A negative step is constant.
        num_stages: how many iterations are in flight at once (software pipelining, GPUs).
        loop_unroll_factor: how often to repeat the body per trip.
        disallow_acc_multi_buffer, flatten, warp_specialize, disable_licm: hints for GPU pipelines.
    """


@builtin
def static_range(
    arg1: int, arg2: int | None = None, step: int | None = None
) -> Iterable[constexpr]:
    """``for i in tl.static_range(...)``: constant bounds; the loop is written out, `i` is a constant."""


@builtin
def condition(arg1: Value, disable_licm: bool = False) -> Value:
    """The condition of a ``while``, with hints for the compiler."""
