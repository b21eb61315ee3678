"""Where Triton's programs look for `sectile.backends.compiler.GPUTarget`."""

from __future__ import annotations

from . import compiler

__all__ = ["compiler"]
