"""Compiling ahead of the first launch: ``sectile.compile(kernel, signature)``, or as in Triton
``sectile.compile(ASTSource(kernel, signature, constexprs))``."""

from __future__ import annotations

from .._native import CompiledKernel
from ..errors import CompilationError
from . import errors
from .compiler import ASTSource, compile

__all__ = ["ASTSource", "CompilationError", "CompiledKernel", "compile", "errors"]
