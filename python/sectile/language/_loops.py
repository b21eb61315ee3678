"""Loop ranges."""

from __future__ import annotations

from ._builtin import builtin


@builtin
def range(
    arg1,
    arg2=None,
    step=None,
    num_stages: int | None = None,
    loop_unroll_factor: int | None = None,
    disallow_acc_multi_buffer: bool = False,
    flatten: bool = False,
    warp_specialize: bool = False,
    disable_licm: bool = False,
):
    """``for i in tl.range(...)``: a loop that runs on the device, with wishes for the compiler.

    Args:
        arg1, arg2, step: as Python's ``range``; scalars or constants. A negative step is constant.
        num_stages: how many iterations are in flight at once (software pipelining, GPUs).
        loop_unroll_factor: how often to repeat the body per trip.
        disallow_acc_multi_buffer, flatten, warp_specialize, disable_licm: hints for GPU pipelines.
    """


@builtin
def static_range(arg1, arg2=None, step=None):
    """``for i in tl.static_range(...)``: constant bounds; the loop is written out, `i` is a constant."""


@builtin
def condition(arg1, disable_licm: bool = False):
    """The condition of a ``while`` with wishes for the compiler."""
