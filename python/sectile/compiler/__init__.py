"""Compiling ahead of the first launch: ``sectile.compile(kernel, signature)``, or as in Triton
``sectile.compile(ASTSource(kernel, signature, constexprs))``."""

from __future__ import annotations

from ..errors import CompilationError
from . import errors
from .compiler import ASTSource, CompiledKernel, compile

__all__ = ["ASTSource", "CompilationError", "CompiledKernel", "compile", "errors"]
