"""Triton 3.6's names, answered by Sectile: what ``import triton`` finds where `sectile.as_triton` is switched on."""

__version__ = "3.6.0"
__sectile__ = True

from sectile import MockTensor, TensorWrapper, reinterpret
from sectile import as_triton as _as_triton
from sectile.errors import CompilationError, InterpreterError, OutOfResources, TritonError
from sectile.runtime.functions import cdiv, next_power_of_2

from . import _words

_words.speak()

from . import knobs
from . import runtime
from .runtime import Config, JITFunction, KernelInterface, autotune, heuristics
from .runtime._allocation import set_allocator
from .runtime._async_compile import AsyncCompileMode, FutureKernel
from .runtime.jit import constexpr_function, jit
from . import compiler
from .compiler import CompiledKernel, compile
from . import backends, errors, language, profiler, testing, tools
from .language.core import must_use_result

__all__ = [
    "AsyncCompileMode", "CompilationError", "Config", "FutureKernel", "InterpreterError", "JITFunction",
    "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper", "TritonError", "autotune", "cdiv",
    "compile", "constexpr_function", "heuristics", "jit", "language", "must_use_result", "next_power_of_2",
    "reinterpret", "runtime", "set_allocator", "testing", "tools",
]  # fmt: skip

_as_triton.adopt("triton", (cdiv, next_power_of_2))

__getattr__ = _as_triton.missing(__name__)

from . import _C, _torch

_torch.adapt()
