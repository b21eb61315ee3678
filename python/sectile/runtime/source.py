"""The text of a function, as it stood in the file when the module was loaded."""

from __future__ import annotations

from .. import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from types import CodeType, FunctionType


class SourceUnavailable(OSError):
    """The text of a function cannot be had, so it cannot be a kernel."""


def block_length(lines: list[str], start: int = 0) -> int:
    """How many lines from ``lines[start]``, a ``def`` or its first decorator, belong to the function."""
    return _native.block_length(lines, start)


def source_lines(code: CodeType, namespace: dict | None = None) -> tuple[list[str], int]:
    """The lines of a function, decorators included, and the number of the first of them.

    Raises:
        SourceUnavailable: typed into an interpreter that keeps no source, or made by ``exec``.
    """
    import linecache  # not at the top: it brings `re` along

    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, namespace)
    if not lines or code.co_firstlineno > len(lines):
        raise SourceUnavailable(
            f"the source of {code.co_name} is not available (from {code.co_filename!r})\n"
            f"  help: kernels are compiled from their source text, so put the function into a file or "
            f"a notebook cell"
        )
    start = code.co_firstlineno - 1
    return lines[start : start + block_length(lines, start)], code.co_firstlineno


def source_text(fn: FunctionType) -> str:
    """The text from ``def`` on, without the indentation all its lines share and without decorators."""
    lines, _ = source_lines(fn.__code__, fn.__globals__)
    start = next(
        i for i, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def "))
    )
    lines = lines[start:]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[indent:] if not line[:indent].strip() else line for line in lines)
