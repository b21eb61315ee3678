"""What marks a name as an operation of the kernel language.

A stub in this package has a signature and a docstring, and ``__sectile_builtin__`` says which operation
it stands for: inside a kernel the compiler goes by that mark and never runs the stub. Run from plain
Python a stub raises `KernelOnlyError`, because there is no tile to work on.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


class KernelOnlyError(RuntimeError):
    """A language operation was called from plain Python instead of from a kernel."""


def refuse(name: str) -> NoReturn:
    """Raises the error for operation `name` being run outside a kernel."""
    raise KernelOnlyError(
        f"tl.{name} works on tiles and can only be called inside a function decorated with "
        f"@sectile.jit\n  help: move the call into a kernel and launch it with kernel[grid](...)"
    )


def builtin(stub: F) -> F:
    """Marks `stub` as the operation of the same name."""
    return operation(stub.__name__)(stub)


def operation(name: str) -> Callable[[F], F]:
    """Marks a stub as operation `name`, for the few whose Python name differs from the operation's."""

    def mark(stub: F) -> F:
        def outside(*args: Any, **kwargs: Any) -> NoReturn:
            refuse(stub.__name__)

        outside.__name__ = stub.__name__
        outside.__qualname__ = stub.__qualname__
        outside.__module__ = stub.__module__
        outside.__doc__ = stub.__doc__
        outside.__annotations__ = stub.__annotations__
        outside.__wrapped__ = stub  # type: ignore[attr-defined]
        outside.__sectile_builtin__ = name  # type: ignore[attr-defined]
        return outside  # type: ignore[return-value]

    return mark
