"""Looking into a kernel, at compile time and while it runs."""

from __future__ import annotations

from ._builtin import builtin


@builtin
def static_print(*values, sep: str = " ", end: str = "\n", file=None, flush: bool = False) -> None:
    """Prints constants and types while the kernel is compiled."""


@builtin
def static_assert(cond, msg: str = "") -> None:
    """Ends the compilation with an error unless the constant `cond` is true."""


@builtin
def device_print(prefix: str, *args, hex: bool = False, when=None) -> None:
    """Prints values while the kernel runs.

    Every element is printed with the program it belongs to. Where the text goes can be changed with
    `sectile.set_print`.

    Args:
        prefix: a string known at compile time.
        args: tiles and scalars.
        hex: print the bits in hexadecimal.
        when: a scalar; programs where it is false print nothing.
    """


@builtin
def device_assert(cond, msg: str = "", mask=None) -> None:
    """Stops the launch with an error where `cond` is false; active with ``debug=True`` only.

    `mask` leaves elements out of the check.
    """


@builtin
def inline_asm_elementwise(asm: str, constraints: str, args, dtype, is_pure: bool, pack: int):
    """Runs target assembly on `pack` elements at a time; GPU back ends only."""
