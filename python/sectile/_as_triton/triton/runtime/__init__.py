from sectile import MockTensor, TensorWrapper, reinterpret
from sectile.as_triton import missing
from sectile.errors import InterpreterError, OutOfResources

from . import errors, jit
from .jit import JITFunction, KernelInterface
from . import autotuner
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from . import _allocation, _async_compile, build, cache, interpreter
from .cache import RedisRemoteCacheBackend, RemoteCacheBackend
from .driver import driver  # instead of the module: programs write triton.runtime.driver.active

__all__ = [
    "Autotuner", "Config", "Heuristics", "InterpreterError", "JITFunction", "KernelInterface", "MockTensor",
    "OutOfResources", "RedisRemoteCacheBackend", "RemoteCacheBackend", "TensorWrapper", "autotune", "driver",
    "heuristics", "reinterpret",
]  # fmt: skip

__getattr__ = missing(__name__)
