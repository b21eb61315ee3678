"""Errors of kernels, where Triton's programs look for them; `sectile.errors` has all."""

from __future__ import annotations

from ..errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"]
