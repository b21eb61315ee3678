"""``tl.extra.cuda``: what Triton has for NVIDIA's GPUs. All of it works on every device.

`gdc_wait` and `gdc_launch_dependents` are for launches that overlap (``launch_pdl=True``; compute capability
9.0 and newer). Where a launch begins only after the one before it is done, as on older GPUs and the CPU, both
do nothing.
"""

from __future__ import annotations

from ..._builtin import builtin
from . import libdevice

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from ..._dtypes import dtype
    from ..._tensor import Value, tensor

__all__ = [
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "gdc_launch_dependents",
    "gdc_wait",
    "globaltimer",
    "libdevice",
    "num_threads",
    "num_warps",
    "smid",
]


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


@builtin
def convert_custom_float8_sm70(
    arg: Value, dst_ty: dtype, fp_downcast_rounding: str | None = None
) -> tensor:
    """``arg.to(dst_ty)`` between float8e4b15 and float16 or float32, on every device.

    The rounding is always to nearest, halves away from zero, whatever `fp_downcast_rounding` says.
    """


@builtin
def convert_custom_float8_sm80(
    arg: Value, dst_ty: dtype, fp_downcast_rounding: str | None = None
) -> tensor:
    """The same as `convert_custom_float8_sm70`."""


@builtin
def globaltimer() -> tensor:
    """The nanoseconds of a clock that all programs of the device share, an int64 scalar.

    It is read where it stands among the loads and stores, and anew at each call. How often the clock of a GPU
    advances is up to the GPU (a microsecond or less); on the CPU it is the system's monotonic clock.
    """


@builtin
def smid() -> tensor:
    """The number of the multiprocessor that runs the program, an int32 scalar; on the CPU, of the processor."""


@builtin
def num_warps() -> int:
    """The option ``num_warps`` of the launch, known at compile time; of the CPU's launches as well."""


@builtin
def num_threads() -> int:
    """``32 * num_warps()``, known at compile time."""
