"""``tl.target_info``: what a kernel is compiled for, so that one source may serve several targets.

In a kernel the answers are constants, of the target of that compile. From plain Python they are about the
device that launches go to.

Shapes: scalars, constants of the kernel.

Dtypes: int1.

Errors: arguments that are no constants.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..runtime.driver import GPUTarget

    F = TypeVar("F", bound=Callable[..., object])

__all__ = [
    "cuda_capability_geq",
    "current_target",
    "is_cuda",
    "is_hip",
    "is_hip_cdna3",
    "is_hip_cdna4",
]


def _everywhere(function: F) -> F:
    """Marks a function as the operation of the same name, which plain Python may call, too."""
    function.__sectile_builtin__ = function.__name__  # type: ignore[attr-defined]
    return function


def current_target() -> GPUTarget:
    """The target of the device that launches go to; for plain Python."""
    from ..runtime.driver import active

    return active.get_current_target()


current_target.__sectile_not_yet__ = (  # type: ignore[attr-defined]
    "`tl.target_info.current_target` is for plain Python",
    "ask tl.target_info.is_cuda() or cuda_capability_geq(9, 0)",
)


@_everywhere
def is_cuda() -> bool:
    """Whether the target is an NVIDIA GPU.

    Example:
        @st.jit
        def kernel(out):
            tl.static_assert(tl.target_info.is_cuda(), "this kernel is for NVIDIA GPUs")
            tl.store(out, 1)

        compiled = st.compile(kernel, {"out": "*i32"}, {}, target="cuda:90")
        print(compiled.metadata.backend)  # cuda
        try:
            st.compile(kernel, {"out": "*i32"}, {}, target="cpu")
        except st.CompilationError as error:
            print(error.diagnostics[0].message)  # static assertion failed: this kernel is for NVIDIA GPUs
    """
    return current_target().backend == "cuda"


@_everywhere
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether the target is an NVIDIA GPU of that compute capability, or a newer one.

    Example:
        @st.jit
        def kernel(out):
            if tl.target_info.cuda_capability_geq(9, 0):
                tl.store(out, 90)
            else:
                tl.store(out, 80)

        targets = ("cuda:80", "cuda:90")
        compiled = [st.compile(kernel, {"out": "*i32"}, {}, target=target) for target in targets]
        print(["constant 90" in each.asm["tile"] for each in compiled])  # [False, True]
    """
    target = current_target()
    return target.backend == "cuda" and int(target.arch) >= major * 10 + minor


@_everywhere
def is_hip() -> bool:
    """Whether the target is an AMD GPU: never.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out, tl.target_info.is_hip())

        out = np.ones(1, np.int32)
        kernel[(1,)](out)
        print(out)  # [0]
    """
    return False


@_everywhere
def is_hip_cdna3() -> bool:
    """Whether the target is an AMD GPU of that generation: never.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out, tl.target_info.is_hip_cdna3())

        out = np.ones(1, np.int32)
        kernel[(1,)](out)
        print(out)  # [0]
    """
    return False


@_everywhere
def is_hip_cdna4() -> bool:
    """Whether the target is an AMD GPU of that generation: never.

    Example:
        @st.jit
        def kernel(out):
            tl.store(out, tl.target_info.is_hip_cdna4())

        out = np.ones(1, np.int32)
        kernel[(1,)](out)
        print(out)  # [0]
    """
    return False
