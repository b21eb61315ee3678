"""Launching: decorators, tuning, and control of the caches."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from . import autotuner, control, dependencies, driver, errors, functions, jit, source
    from .autotuner import Autotuner, Config, Space, autotune
    from .autotuner.heuristics import Heuristics, heuristics
    from .errors import InterpreterError, OutOfResources
    from .jit import JITFunction, KernelInterface
    from .mocks import MockTensor
    from .reinterpretation import TensorWrapper, reinterpret

_HOME = {
    "JITFunction": "jit", "KernelInterface": "jit", "MockTensor": "mocks",
    "TensorWrapper": "reinterpretation", "reinterpret": "reinterpretation",
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

# Checkers read this list only as a literal.
__all__ = [
    "autotune", "Autotuner", "autotuner", "Config", "control", "dependencies", "driver", "errors",
    "functions", "Heuristics", "heuristics", "InterpreterError", "jit", "JITFunction",
    "KernelInterface", "MockTensor", "OutOfResources", "reinterpret", "source", "Space",
    "TensorWrapper",
]  # fmt: skip


if not TYPE_CHECKING:  # checkers would take it for leave to use any name

    def __getattr__(name: str):
        from importlib import import_module

        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
