"""What runs kernels: `driver.active` is one of these. The arrays of a launch decide where it runs, whichever it is."""

import os

from sectile.as_triton import missing
from sectile.runtime import driver as _driver


#: Back end -> the file by which the system shows that there is such a GPU.
_FILES = {"cuda": "/dev/nvidiactl", "hip": "/dev/kfd"}


def _backend_at_hand():
    """The back end of this machine's devices. A process that was forked cannot ask a GPU's driver, as torch's compile
    workers cannot; it compiles for that GPU all the same."""
    known = _driver.active.get_current_target().backend
    if known == "cpu":
        known = next((name for name, file in _FILES.items() if os.path.exists(file)), known)
    return known


class DriverBase:
    """The devices of one back end.

    Attributes:
        backend: ``"cuda"``, ``"hip"`` or ``"cpu"``.
    """

    backend = "cpu"
    utils = _driver.active.utils

    @classmethod
    def is_active(cls):
        """Whether there is such a device; the CPU is where there is no GPU."""
        return _backend_at_hand() == cls.backend

    def __getattr__(self, name):
        return getattr(_driver.active, name)

    def get_current_target(self):
        return _driver.active.get_current_target()

    def map_python_to_cpp_type(self, ty):
        """The C++ type of a kind: ``"*fp32"`` and ``"i32"`` -> ``"uint64_t"`` and ``"int32_t"``."""
        if ty.startswith("*") or ty.startswith("tensordesc"):
            return "uint64_t"
        plain = {"i1": "int8_t", "u1": "uint8_t", "fp16": "double", "bf16": "double", "fp32": "double",
                 "f32": "double", "fp64": "double"}  # fmt: skip
        sign = "int" if ty.startswith("i") else "uint"
        return plain.get(ty) or f"{sign}{ty.lstrip('iu')}_t"


class GPUDriver(DriverBase):
    pass


class CpuDriver(DriverBase):
    def get_current_target(self):
        return _driver.cpu_target()

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):
        import torch

        return torch.device("cpu")

    def get_device_interface(self):
        import torch

        return torch.cpu


__getattr__ = missing(__name__)
