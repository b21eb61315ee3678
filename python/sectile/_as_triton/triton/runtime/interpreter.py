"""Triton's interpreter: there is none. On the CPU kernels are compiled; TRITON_INTERPRET=1 changes nothing."""

from sectile.as_triton import missing
from sectile.errors import InterpreterError


class InterpretedFunction:
    """No kernel is one; for programs that ask."""


__all__ = ["InterpretedFunction", "InterpreterError"]

__getattr__ = missing(__name__)
