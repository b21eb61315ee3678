"""``sectile`` on the command line; also ``python -m sectile``.

The table of commands is the runtime's (jit/command/Commands.cpp), which also runs all that need no Python.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable


def _command_of_python(name: str) -> Callable[[list[str]], int]:
    if name == "doctor":
        from ._doctor import main
    elif name == "aot":
        from .aot.building import main
    elif name == "run":
        from .as_triton import run_program as main
    else:
        from .runtime.autotuner.command import main
    return main


def usage(name: str) -> str:
    """What ``sectile NAME --help`` prints."""
    from . import _native

    return next(usage for known, _, usage in _native.commands() if known == name)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    try:
        status = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the output has closed it. The interpreter flushes once more as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13  # as a program that ends by SIGPIPE


def _run(words: list[str]) -> int:
    from . import _cpp, _native

    if words and all(word in _cpp.OPTIONS for word in words):
        print(" ".join(map(_cpp.flags, words)))
        return 0
    if words[:1] == ["layout"] and "--svg" in words:
        from .tools.layout_svg import main as draw

        return draw(words[1:])
    of_python = [name for name, owner, text in _native.commands() if owner == "python" and text]
    if words and words[0] in of_python:
        name, *arguments = words
        if arguments and arguments[0] in ("-h", "--help"):
            print(usage(name), end="")
            return 0
        return _command_of_python(name)(arguments)
    sys.stdout.flush()  # the runtime has a buffer of its own
    return _native.run_command(words)


if __name__ == "__main__":
    sys.exit(main())
