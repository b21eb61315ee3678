"""The text of a function, as it stood in the file when the module was loaded."""

from __future__ import annotations

from .. import _native

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from types import FunctionType


class SourceUnavailable(OSError):
    """The text of a function is not available, so it cannot be a kernel."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(
            f"the source of {name} is not available (from {file!r})\n"
            f"  help: kernels are compiled from their source text, so put the function into a file or "
            f"a notebook cell"
        )
        # For a caller that names the function and the remedy itself.
        self.sectile_reason = f"its source is not available (from {file!r})"


def block_length(lines: list[str], start: int = 0) -> int:
    """How many lines from ``lines[start]``, a ``def`` or its first decorator, belong to the function."""
    return _native.block_length(lines, start)


def _file_lines(fn: FunctionType) -> list[str]:
    import linecache  # not at the top: it brings `re` along

    linecache.checkcache(fn.__code__.co_filename)
    return linecache.getlines(fn.__code__.co_filename, fn.__globals__)


def remember(fn: FunctionType) -> None:
    """Keeps the text of the function's file as it is now, for `source_lines`.

    Called when the function is made: a file that is edited while the program runs changes nothing.
    """
    # The functions of a file share one list. By the code a copied __dict__ is known from its original.
    fn.__dict__["__sectile_lines__"] = (fn.__code__, _file_lines(fn))


def source_lines(fn: FunctionType) -> tuple[list[str], int]:
    """The lines of a function, decorators included, and the number of the first of them.

    Raises:
        SourceUnavailable: typed into an interpreter that keeps no source, or made by ``exec``.
    """
    code = fn.__code__
    remembered_code, lines = fn.__dict__.get("__sectile_lines__", (None, ()))
    if remembered_code is not code or not lines:
        lines = _file_lines(fn)
    if not lines or code.co_firstlineno > len(lines):
        raise SourceUnavailable(code.co_name, code.co_filename)
    start = code.co_firstlineno - 1
    return lines[start : start + block_length(lines, start)], code.co_firstlineno


def source_text(fn: FunctionType) -> str:
    """The text from ``def`` on, without the indentation all its lines share and without decorators."""
    lines, _ = source_lines(fn)
    start = next(
        i for i, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def "))
    )
    lines = lines[start:]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[indent:] if not line[:indent].strip() else line for line in lines)
