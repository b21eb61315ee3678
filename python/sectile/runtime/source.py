"""The text of a function, as it stood in the file when the module was loaded."""

from __future__ import annotations

import linecache
import re
from types import CodeType, FunctionType

# Whatever can hide a bracket, a quote or the end of a line from a scanner that counts them.
_TOKEN = re.compile(
    r"(?P<string>(?i:[rbuft]{0,2})(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
    r"|'(?:\\.|[^\\'\n])*'|\"(?:\\.|[^\\\"\n])*\"))"
    r"|(?P<comment>#[^\n]*)|(?P<open>[\[({])|(?P<close>[\])}])|(?P<joined>\\\n)|(?P<newline>\n)",
    re.DOTALL,
)


class SourceUnavailable(OSError):
    """The text of a function cannot be had, so it cannot be a kernel."""


def block_length(lines: list[str]) -> int:
    """How many of `lines`, which start with a ``def`` or its decorators, belong to the function."""
    text = "".join(lines)
    indent = len(lines[0]) - len(lines[0].lstrip())
    depth, line, logical_start, seen_header, last = 0, 0, 0, False, 1
    header = re.compile(r"\s*(?:async\s+)?def\b")
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "string":
            line += token.group().count("\n")
        elif kind == "joined":
            line += 1
        elif kind == "newline":
            line += 1
            if depth > 0:
                continue
            first = lines[logical_start]
            stripped = first.lstrip()
            is_blank = not stripped.strip() or stripped.startswith("#")
            if seen_header and not is_blank and len(first) - len(stripped) <= indent:
                return last
            if not is_blank:
                seen_header = seen_header or bool(header.match(first))
                last = line
            logical_start = line
    # The last line may lack its newline.
    if logical_start < len(lines):
        first = lines[logical_start]
        stripped = first.lstrip()
        is_blank = not stripped.strip() or stripped.startswith("#")
        if not is_blank and (not seen_header or len(first) - len(stripped) > indent):
            last = len(lines)
    return last


def source_lines(code: CodeType, namespace: dict | None = None) -> tuple[list[str], int]:
    """The lines of a function, decorators included, and the number of the first of them.

    Raises:
        SourceUnavailable: typed into an interpreter that keeps no source, or made by ``exec``.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, namespace)
    if not lines or code.co_firstlineno > len(lines):
        raise SourceUnavailable(
            f"the source of {code.co_name} is not available (from {code.co_filename!r})\n"
            f"  help: kernels are compiled from their source text, so put the function into a file or "
            f"a notebook cell"
        )
    rest = lines[code.co_firstlineno - 1 :]
    return rest[: block_length(rest)], code.co_firstlineno


def source_text(fn: FunctionType) -> str:
    """The text from ``def`` on, without the indentation all its lines share and without decorators."""
    lines, _ = source_lines(fn.__code__, fn.__globals__)
    start = next(i for i, line in enumerate(lines) if re.match(r"\s*(?:async\s+)?def\b", line))
    lines = lines[start:]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[indent:] if not line[:indent].strip() else line for line in lines)
