"""The variants of a kernel by device, in the shape in which Triton's tests look into them."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .compiled import CompiledKernel
    from .jit import JITFunction


def get_device_key() -> str:
    """The key of the current device in `JITFunction.device_caches`: ``"cuda:0"``."""
    from .driver import active  # slow to import, and rarely asked for

    return f"{active.get_current_target().backend}:{active.get_current_device()}"


def variant_key(index: int, kernel: CompiledKernel) -> str:
    """Returns the key of a variant among those of its kernel."""
    return f"{index}: {kernel.hash}"


class DeviceCaches:
    """``kernel.device_caches[get_device_key()][0]`` is a dictionary of the variants compiled for the CPU
    or for GPUs; clearing it, or all, has the same effect as ``kernel.clear()``."""

    def __init__(self, kernel: JITFunction) -> None:
        self._kernel = kernel

    def clear(self) -> None:
        self._kernel.clear()

    def __getitem__(self, key: Any) -> tuple[VariantCache]:
        backend = str(key).partition(":")[0]
        return (VariantCache(self._kernel, backend if backend in ("cpu", "hip") else "cuda"),)

    def keys(self) -> list[str]:
        """Returns the keys of the devices that a variant was compiled for."""
        names = {target.partition(":")[0] for *_, target, _, _ in self._kernel._variants()}
        current = get_device_key()
        used = current.partition(":")[0]
        return [current if name == used else f"{name}:0" for name in sorted(names)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def values(self) -> list[tuple[VariantCache]]:
        return [self[key] for key in self.keys()]

    def items(self) -> list[tuple[str, tuple[VariantCache]]]:
        return [(key, self[key]) for key in self.keys()]


class VariantCache(dict):  # type: ignore[type-arg] # dict[...] is made when it is run
    """Compiled kernels by hash, as they were when it was asked for."""

    def __init__(self, kernel: JITFunction, backend: str) -> None:
        super().__init__(
            (variant_key(index, each), each)
            for index, (each, _, _, target, _, _) in enumerate(kernel._variants())
            if target.partition(":")[0] == backend
        )
        self._kernel = kernel

    def clear(self) -> None:
        super().clear()
        self._kernel.clear()
