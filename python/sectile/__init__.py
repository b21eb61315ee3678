"""Sectile: tile kernels in Python, compiled when they are first called.

    import sectile as st
    import sectile.language as tl

    @st.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

    add[(st.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)

Importing this module loads nothing else; each name is imported when it is first used.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from . import aot, as_triton, backends, compiler, errors, knobs, language, runtime, testing
    from ._cpp import get_cmake_dir, get_include
    from .compiler import compile
    from .errors import (
        ArgumentError,
        CompilationError,
        CompileTimeAssertionFailure,
        DeviceAssertionError,
        GridKeyError,
        IntegerRangeError,
        InternalError,
        InterpreterError,
        LaunchError,
        MachineError,
        OutOfBoundsError,
        OutOfResources,
        SectileError,
        TritonError,
        TuningError,
        TuningWarning,
        UnsupportedLanguageConstruct,
    )
    from .runtime.autotuner import Autotuner, Config, Space, autotune
    from .runtime.autotuner.heuristics import Heuristics, heuristics
    from .runtime.control import (
        build_id,
        clear_cache,
        recent_launches,
        seal,
        set_allocator,
        set_compile_listener,
        set_print,
        statistics,
    )
    from .runtime.descriptors import TensorDescriptor
    from .runtime.functions import cdiv, constexpr_function, next_power_of_2
    from .runtime.inspection import inspect
    from .runtime.jit import JITFunction, KernelInterface, jit
    from .runtime.mocks import MockTensor
    from .runtime.reinterpretation import TensorWrapper, reinterpret

# Checkers read this list only as a literal.
__all__ = [
    "__version__", "aot", "ArgumentError", "as_triton", "autotune", "Autotuner", "backends", "build_id", "cdiv",
    "clear_cache", "CompilationError", "compile", "compiler", "CompileTimeAssertionFailure",
    "Config", "constexpr_function", "DeviceAssertionError", "errors", "get_cmake_dir", "get_include",
    "GridKeyError", "Heuristics", "heuristics", "inspect", "IntegerRangeError", "InternalError", "InterpreterError", "jit", "JITFunction",
    "KernelInterface", "knobs", "language", "LaunchError", "MachineError", "MockTensor",
    "next_power_of_2", "OutOfBoundsError", "OutOfResources", "recent_launches", "reinterpret",
    "runtime", "seal", "SectileError", "set_allocator", "set_compile_listener", "set_print",
    "Space", "statistics", "TensorDescriptor", "TensorWrapper", "testing", "TritonError", "TuningError",
    "TuningWarning", "UnsupportedLanguageConstruct",
]  # fmt: skip

_FROM = {
    "runtime.jit": ("jit", "JITFunction", "KernelInterface"),
    "runtime.mocks": ("MockTensor",),
    "runtime.descriptors": ("TensorDescriptor",),
    "runtime.reinterpretation": ("TensorWrapper", "reinterpret"),
    "runtime.functions": ("cdiv", "next_power_of_2", "constexpr_function"),
    "runtime.autotuner": ("autotune", "heuristics", "Config", "Space", "Autotuner", "Heuristics"),
    "runtime.control": (
        "build_id", "clear_cache", "recent_launches", "seal", "set_allocator", "set_compile_listener",
        "set_print", "statistics",
    ),
    "runtime.inspection": ("inspect",),
    "compiler": ("compile",),
    "_cpp": ("get_include", "get_cmake_dir"),
    "errors": (
        "SectileError", "ArgumentError", "CompilationError", "LaunchError", "OutOfBoundsError",
        "DeviceAssertionError", "GridKeyError", "IntegerRangeError", "InternalError", "MachineError", "OutOfResources", "TuningError",
        "TuningWarning", "TritonError", "InterpreterError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct",
    ),
}  # fmt: skip
_SUBMODULES = (
    "aot",
    "as_triton",
    "backends",
    "compiler",
    "errors",
    "knobs",
    "language",
    "runtime",
    "testing",
)
_HOME = {name: module for module, names in _FROM.items() for name in names}


if not TYPE_CHECKING:  # checkers would take it for leave to use any name

    def __getattr__(name: str):
        if name.startswith("__"):  # protocols ask for these all the time
            raise AttributeError(name)
        if name in _SUBMODULES:
            return _import(name)
        home = _HOME.get(name)
        if home is None:
            from ._suggest import did_you_mean

            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, __all__)}"
            )
        value = getattr(_import(home), name)
        globals()[name] = value
        return value

    def _import(name: str):
        from importlib import import_module

        try:
            return import_module(f"{__name__}.{name}")
        except ImportError as error:
            if "GLIBC_" not in str(error):
                raise
            import platform

            raise ImportError(
                f"Sectile needs glibc 2.34 or newer, and this system has {' '.join(platform.libc_ver())}: "
                "use Debian 12, Ubuntu 22.04, RHEL 9 or newer, or build it here (CONTRIBUTING.md, From source)"
            ) from error


def __dir__() -> list[str]:
    return sorted(__all__)


from os import environ as _environ  # noqa: E402 - loaded in every process

if _environ.get("SECTILE_AS_TRITON"):
    from .as_triton import install_if_wanted as _install_if_wanted

    _install_if_wanted()
