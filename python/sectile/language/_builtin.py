"""What marks a name as an operation of the kernel language.

A stub in this package has a signature and a docstring, and ``__sectile_builtin__`` names the operation
it stands for: inside a kernel the compiler goes by that mark and never runs the stub. Run from plain
Python a stub raises `KernelOnlyError`, because there is no tile to work on. What Triton has and Sectile has
not is marked by `not_yet` instead.
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


def not_yet(remedy: str) -> Callable[[F], F]:
    """Marks a stub of an operation that Triton has and Sectile has not. `remedy`: what to do instead.

    The docstring then begins with it, and a kernel that names the operation is refused with it.
    """

    def mark(stub: F) -> F:
        message = f"`tl.{stub.__name__}` is Triton's and not in Sectile yet"

        def refuse_it(*args, **kwargs):
            raise NotImplementedError(f"{message}\n  help: {remedy}")

        refuse_it.__name__ = stub.__name__
        refuse_it.__qualname__ = stub.__qualname__
        refuse_it.__module__ = stub.__module__
        refuse_it.__doc__ = f"Not available yet: {remedy}.\n\n    {stub.__doc__}"
        refuse_it.__annotations__ = stub.__annotations__
        refuse_it.__wrapped__ = stub  # type: ignore[attr-defined]
        refuse_it.__sectile_not_yet__ = (message, remedy)  # type: ignore[attr-defined]
        return refuse_it  # type: ignore[return-value]

    return mark
