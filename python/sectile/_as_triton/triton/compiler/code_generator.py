"""Triton's translator of Python; Sectile's is in C++. For what programs import by name."""

from sectile.as_triton import missing

from ..runtime.jit import (
    JITCallable,
    JITFunction,
    find_paths_if,
    get_full_name,
    get_iterable_path,
    get_jit_fn_file_line,
)
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__getattr__ = missing(__name__)
