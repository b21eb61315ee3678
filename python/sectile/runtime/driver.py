"""The devices that kernels run on, by the names Triton's programs use.

    from sectile.runtime import driver
    properties = driver.active.utils.get_device_properties(0)
    properties["multiprocessor_count"], properties["max_shared_mem"]

Without a GPU, the device is the CPU: its "multiprocessors" are the threads that run programs.
"""

from __future__ import annotations

import platform
import sys

from .. import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from typing import Any


class GPUTarget:
    """What code is made for.

    Attributes:
        backend: ``"cuda"`` or ``"cpu"``.
        arch: the compute capability (90), or the processor's architecture.
        warp_size: threads of a warp; 32 on the CPU, where programs compute their warps from it.
    """

    __slots__ = ("backend", "arch", "warp_size")

    def __init__(self, backend: str, arch: int | str, warp_size: int) -> None:
        self.backend = backend
        self.arch = arch
        self.warp_size = warp_size

    def _key(self):
        return self.backend, self.arch, self.warp_size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GPUTarget) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"GPUTarget(backend={self.backend!r}, arch={self.arch!r}, warp_size={self.warp_size})"
        )


def _torch_cuda():
    """torch.cuda, when the program has used a GPU with it."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


#: The CPU has no such limits. Programs prune their configurations by them, and divide by them; with those of an H100
#: they choose as they would there.
_OF_THE_CPU = {
    "max_shared_mem": 232448, "max_num_regs": 65536, "warpSize": 32, "sm_clock_rate": 1_000_000,
    "mem_clock_rate": 1_000_000, "mem_bus_width": 64, "l2_cache_size": 1 << 20, "total_memory": 1 << 34,
}  # fmt: skip


class _Utilities:
    def get_device_properties(self, device: int = 0) -> dict[str, Any]:
        """Returns the properties of a GPU, or of the CPU where there is none.

        ``max_shared_mem`` (bytes a program may have), ``max_num_regs`` (32-bit registers of a
        program), ``multiprocessor_count``, ``warpSize``, ``sm_clock_rate`` and ``mem_clock_rate``
        (kHz), ``mem_bus_width`` (bits), ``l2_cache_size`` and ``total_memory`` (bytes), ``name``,
        ``arch``. Of the CPU the number of its threads is known; the others are figures of a usual GPU, since
        programs choose their configurations by them and divide by them.
        """
        if _native.gpu_devices()[0]:
            return _native.device_properties(device)
        return {
            **_OF_THE_CPU,
            "name": platform.processor() or platform.machine(), "arch": platform.machine(),
            "multiprocessor_count": _native.hardware_threads(),
        }  # fmt: skip


def cpu_target() -> GPUTarget:
    """The target of launches on the CPU."""
    return GPUTarget("cpu", platform.machine(), 32)


class _Active:
    """The back end in use: that of the GPUs, ``"cuda"`` or ``"hip"``, else ``"cpu"``."""

    utils = _Utilities()

    def get_current_device(self) -> int:
        """The index of torch's current GPU; 0 without torch."""
        cuda = _torch_cuda()
        return cuda.current_device() if cuda is not None else 0

    def get_current_stream(self, device: int | None = None) -> int:
        """The handle of torch's current stream on the GPU; 0, the default stream, without torch."""
        cuda = _torch_cuda()
        return cuda.current_stream(device).cuda_stream if cuda is not None else 0

    def get_active_torch_device(self) -> Any:
        """``torch.device`` of the current GPU, or of the CPU."""
        import torch

        if _native.gpu_devices()[0]:
            return torch.device("cuda", self.get_current_device())
        return torch.device("cpu")

    def get_current_target(self) -> GPUTarget:
        if not _native.gpu_devices()[0]:
            return cpu_target()
        properties = self.utils.get_device_properties(self.get_current_device())
        if _native.gpu_backend() == "hip":
            return GPUTarget("hip", properties["arch"], properties["warpSize"])
        return GPUTarget("cuda", properties["capability"], properties["warpSize"])

    def set_current_device(self, device: int) -> None:
        """Makes it torch's current GPU; without a GPU there is none but 0."""
        if _native.gpu_devices()[0]:
            import torch

            torch.cuda.set_device(device)
        elif device != 0:
            raise ValueError(f"there is no device {device}\n  help: the CPU is device 0")

    def get_device_interface(self) -> Any:
        """``torch.cuda``, or ``torch.cpu`` where there is no GPU."""
        import torch

        return torch.cuda if _native.gpu_devices()[0] else torch.cpu

    def get_empty_cache_for_benchmark(self) -> Any:
        """A tensor that is larger than the caches, to be given to `clear_cache` between runs."""
        import torch

        return torch.empty(1 << 26, dtype=torch.int32, device=self.get_active_torch_device())

    def clear_cache(self, cache: Any) -> None:
        """Overwrites `cache`, and with it what the caches hold."""
        cache.zero_()

    def get_benchmarker(self) -> Any:
        from ..testing import do_bench

        return do_bench


active = default = _Active()


def set_active(backend: _Active) -> None:
    """For programs that put back what they found; there is only `default`."""
    if backend is not default:
        raise ValueError(
            "the active back end cannot be replaced\n"
            "  help: the arrays of a launch, or its target=, choose where it runs"
        )


driver = sys.modules[__name__]  # ``from sectile.runtime.driver import driver``
