from sectile.as_triton import missing

from . import errors
from .compiler import (
    ASTSource,
    CompiledKernel,
    IRSource,
    LazyDict,
    compile,
    get_cache_key,
    make_backend,
)
from .errors import CompilationError
from . import code_generator

__all__ = [
    "ASTSource", "CompilationError", "CompiledKernel", "IRSource", "LazyDict", "compile", "get_cache_key",
    "make_backend",
]  # fmt: skip

__getattr__ = missing(__name__)
