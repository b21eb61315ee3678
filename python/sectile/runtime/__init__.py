"""Launching: decorators, tuning, and control of the caches."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from .autotuner import Autotuner, Config, Heuristics, Space, autotune, heuristics
    from .errors import InterpreterError, OutOfResources
    from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret

_HOME = {
    "JITFunction": "jit", "KernelInterface": "jit", "MockTensor": "jit", "TensorWrapper": "jit",
    "reinterpret": "jit",
    "Autotuner": "autotuner", "Config": "autotuner", "Heuristics": "autotuner", "Space": "autotuner",
    "autotune": "autotuner", "heuristics": "autotuner", "OutOfResources": "errors",
    "InterpreterError": "errors",
}  # fmt: skip

_SUBMODULES = (
    "autotuner",
    "control",
    "dependencies",
    "driver",
    "errors",
    "functions",
    "jit",
    "source",
)

__all__ = [*_HOME, *_SUBMODULES]


def __getattr__(name: str):
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
