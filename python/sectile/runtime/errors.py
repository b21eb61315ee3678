"""Errors of launches, where Triton's programs look for them; `sectile.errors` has all."""

from __future__ import annotations

from ..errors import InternalError, InterpreterError, OutOfResources, TuningError

AutotunerError = TuningError
PTXASError = InternalError  #: an assembler that refuses our code is our fault, not the kernel's

__all__ = ["AutotunerError", "InterpreterError", "OutOfResources", "PTXASError"]
