"""Launching: decorators, tuning, and control of the caches."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from .autotuner import Autotuner, Config, Heuristics, Space, autotune, heuristics
    from .errors import OutOfResources
    from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, jit, reinterpret

_HOME = {
    "JITFunction": "jit", "KernelInterface": "jit", "MockTensor": "jit", "TensorWrapper": "jit",
    "jit": "jit", "reinterpret": "jit",
    "Autotuner": "autotuner", "Config": "autotuner", "Heuristics": "autotuner", "Space": "autotuner",
    "autotune": "autotuner", "heuristics": "autotuner", "OutOfResources": "errors",
}  # fmt: skip

__all__ = list(_HOME)


def __getattr__(name: str):
    from importlib import import_module

    if name in ("autotuner", "control", "dependencies", "driver", "errors", "functions", "source"):
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    # `jit` the decorator wins over `jit` the module once both are loaded, as in `from .jit import jit`.
    globals()[name] = value
    return value
