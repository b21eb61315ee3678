"""``tl.extra.cuda``: what Triton has for NVIDIA's GPUs. All of it works on every device.

`gdc_wait` and `gdc_launch_dependents` are for launches that overlap (``launch_pdl=True``; compute capability
9.0 and newer). Where a launch begins only after the one before it is done, as on older GPUs and the CPU, both
do nothing.

Shapes: scalars.

Dtypes: as described.

Errors: none.
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

    Dtypes: none.

    Example:
        from sectile.language.extra.cuda import gdc_launch_dependents, gdc_wait

        @st.jit
        def kernel(out, x):
            i = tl.arange(0, 4)
            gdc_launch_dependents()
            gdc_wait()  # before what another launch may have written is read
            tl.store(out + i, tl.load(x + i) + 1)

        out = np.zeros(4, np.int32)
        kernel[(1,)](out, np.arange(4, dtype=np.int32))  # launch_pdl=True where the GPU knows it
        print(out)  # [1 2 3 4]
    """


@builtin
def gdc_launch_dependents() -> None:
    """Lets the next launch with ``launch_pdl=True`` begin, once every program came here or ended.

    Nothing that this launch writes is seen by the next one before its ``gdc_wait()``.

    Dtypes: none.

    Example:
        from sectile.language.extra.cuda import gdc_launch_dependents

        @st.jit
        def kernel(out):
            gdc_launch_dependents()
            tl.store(out, 1)

        out = np.zeros(1, np.int32)
        kernel[(1,)](out)
        print(out)  # [1]
    """


@builtin
def convert_custom_float8_sm70(
    arg: Value, dst_ty: dtype, fp_downcast_rounding: str | None = None
) -> tensor:
    """``arg.to(dst_ty)`` between float8e4b15 and float16 or float32, on every device.

    The rounding is always to nearest, halves away from zero, whatever `fp_downcast_rounding` says.

    Shapes: that of `arg`.

    Dtypes: float8e4b15 from or to fp16 and fp32.

    Errors: other dtypes.

    Example:
        from sectile.language.extra.cuda import convert_custom_float8_sm70

        @st.jit
        def kernel(out, x):
            small = convert_custom_float8_sm70(tl.load(x), tl.float8e4b15)
            tl.store(out, convert_custom_float8_sm70(small, tl.float16).to(tl.float32))

        out = np.zeros(1, np.float32)
        kernel[(1,)](out, np.array([1.3], np.float16))
        print(out)  # [1.25]
    """


@builtin
def convert_custom_float8_sm80(
    arg: Value, dst_ty: dtype, fp_downcast_rounding: str | None = None
) -> tensor:
    """The same as `convert_custom_float8_sm70`.

    Shapes: that of `arg`.

    Dtypes: float8e4b15 from or to fp16 and fp32.

    Errors: other dtypes.

    Example:
        from sectile.language.extra.cuda import convert_custom_float8_sm80

        @st.jit
        def kernel(out, x):
            small = convert_custom_float8_sm80(tl.load(x), tl.float8e4b15)
            tl.store(out, convert_custom_float8_sm80(small, tl.float16).to(tl.float32))

        out = np.zeros(1, np.float32)
        kernel[(1,)](out, np.array([1.3], np.float16))
        print(out)  # [1.25]
    """


@builtin
def globaltimer() -> tensor:
    """The nanoseconds of a clock that all programs of the device share, an int64 scalar.

    It is read where it stands among the loads and stores, and anew at each call. How often the clock of a GPU
    advances is up to the GPU (a microsecond or less); on the CPU it is the system's monotonic clock.

    Dtypes: int64.

    Example:
        from sectile.language.extra.cuda import globaltimer

        @st.jit
        def kernel(out, x):
            before = globaltimer()
            tl.store(out, tl.sum(tl.load(x + tl.arange(0, 1024))))
            tl.store(out + 1, globaltimer() - before)

        out = np.full(2, -1, np.int64)
        kernel[(1,)](out, np.ones(1024, np.int32))
        print(out[0], out[1] >= 0)  # 1024 True
    """


@builtin
def smid() -> tensor:
    """The number of the multiprocessor that runs the program, an int32 scalar; on the CPU, of the processor.

    Dtypes: int32.

    Example:
        from sectile.language.extra.cuda import smid

        @st.jit
        def kernel(out):
            tl.store(out + tl.program_id(0), smid())

        out = np.full(8, -1, np.int32)
        kernel[(8,)](out)
        print(out.min() >= 0)  # True
    """


@builtin
def num_warps() -> int:
    """The option ``num_warps`` of the launch, known at compile time; of the CPU's launches as well.

    Dtypes: a constant.

    Example:
        from sectile.language.extra.cuda import num_warps

        @st.jit
        def kernel(out):
            tl.store(out, num_warps())

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, num_warps=8)
        print(out)  # [8]
    """


@builtin
def num_threads() -> int:
    """``32 * num_warps()``, known at compile time.

    Dtypes: a constant.

    Example:
        from sectile.language.extra.cuda import num_threads

        @st.jit
        def kernel(out):
            tl.store(out, num_threads())

        out = np.zeros(1, np.int32)
        kernel[(1,)](out, num_warps=8)
        print(out)  # [256]
    """
