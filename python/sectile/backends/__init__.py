"""What there is to compile for: `backends`, by which programs written for Triton see whether anything can run.

active = [each.driver for each in sectile.backends.backends.values() if each.driver.is_active()]
"""

from __future__ import annotations

from . import compiler

__all__ = ["Backend", "Driver", "backends", "compiler"]


class Driver:
    """What runs kernels of a back end.

    Attributes:
        name: ``"cuda"``, ``"hip"`` or ``"cpu"``, as in `GPUTarget.backend`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def is_active(self) -> bool:
        """Whether `driver.active` is this one: always true of exactly one."""
        from .. import _native

        return self.name == (_native.gpu_backend() if _native.gpu_devices()[0] else "cpu")


class Backend:
    """A back end.

    Attributes:
        driver: its `Driver`.
    """

    def __init__(self, name: str) -> None:
        self.driver = Driver(name)


backends = {"nvidia": Backend("cuda"), "amd": Backend("hip"), "cpu": Backend("cpu")}
