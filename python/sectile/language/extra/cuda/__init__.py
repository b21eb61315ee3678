"""``tl.extra.cuda``: launches that overlap (``launch_pdl=True``; compute capability 9.0 and newer).

Where a launch begins only after the one before it is done, as on older GPUs and the CPU, both do nothing.
"""

from __future__ import annotations

from ..._builtin import builtin
from . import libdevice

__all__ = ["gdc_launch_dependents", "gdc_wait", "libdevice"]


@builtin
def gdc_wait() -> None:
    """Waits until the launches before this one are done, and sees what they wrote.

    A kernel launched with ``launch_pdl=True`` may begin before: what it does up to here must not
    read or overwrite what they use.
    """


@builtin
def gdc_launch_dependents() -> None:
    """Lets the next launch with ``launch_pdl=True`` begin, once every program came here or ended.

    Nothing that this launch writes is seen by the next one before its ``gdc_wait()``.
    """
