"""``sectile`` on the command line; also ``python -m sectile``."""

from __future__ import annotations

import os
import sys

# Commands of the package; those of the compiler follow them.
_COMMANDS = {
    "doctor": "which devices, drivers and libraries were found, and why one is not used (--verbose: more)",
    "cache": "ls|path|verify|prune|clear|export|import: the disk cache (sectile cache --help)",
    "tune": "SCRIPT ...: runs a program and tunes its kernels (sectile tune --help)",
    "knobs": "the environment variables and what they mean",
    "version": "version and build",
}


def _compiler_commands() -> dict[str, str]:
    """Name and meaning of the compiler's own commands, which its table lists."""
    from . import _native

    return {name: text for name, text in _native.compiler_commands() if name not in _COMMANDS}


def _usage() -> str:
    lines = [f"  {name:<9} {text}" for name, text in _COMMANDS.items()]
    lines += [
        f"  {name:<9} {text} (sectile {name} --help)" for name, text in _compiler_commands().items()
    ]
    return "usage: sectile COMMAND ...\n\n" + "\n".join(lines) + "\n\n" + _FLAGS


_FLAGS = """  --cflags, --libs  for C++ programs: c++ add.cpp -o add $(sectile --cflags --libs)
  --cmake-dir       the folder for CMake: -DSectile_DIR="$(sectile --cmake-dir)"
  --include-dir     the folder of the C++ headers
"""


def _knobs(arguments: list[str]) -> int:
    from . import knobs

    if arguments == ["--markdown"]:
        print(knobs.markdown())
        return 0

    for name, kind, initial, meaning in knobs.table():
        value = os.environ.get(name)
        print(
            f"{name} ({kind}; default: {initial})" + (f" = {value!r}" if value is not None else "")
        )
        print(f"    {meaning}")
    return 0


def _misuse(message: str, name: str, known) -> int:
    """The error stands above the usage, and again below it, where a long one has not pushed it away."""
    from ._suggest import did_you_mean

    message += did_you_mean(name, known)
    print(f"{message}\n\n{_usage()}\n{message}", file=sys.stderr)
    return 2


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read the output has seen enough. The interpreter flushes once more as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13  # as a program that ends by SIGPIPE


def _run(arguments: list[str] | None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    command = arguments[0] if arguments else "help"
    if command in ("help", "-h", "--help"):
        print(_usage(), end="")
        return 0 if arguments else 2
    if command in ("version", "--version"):
        from . import __version__
        from .runtime.control import build_id

        print(f"sectile {__version__}, build {build_id()}")
        return 0
    if command.startswith("--"):
        from . import _cpp

        if all(argument in _cpp.OPTIONS for argument in arguments):
            print(" ".join(map(_cpp.flags, arguments)))
            return 0
    if command == "doctor":
        from ._doctor import main as doctor

        return doctor(arguments[1:])
    if command == "cache":
        from . import _native

        return _native.cache_command(arguments[1:])
    if command == "tune":
        from .runtime.autotuner.command import main as tune

        return tune(arguments[1:])
    if command == "knobs":
        return _knobs(arguments[1:])
    if command in _compiler_commands():
        from . import _native

        return _native.command_line(arguments)
    known = [*_COMMANDS, *_compiler_commands()]
    return _misuse(f"sectile: unknown command {command!r}", command, known)


if __name__ == "__main__":
    sys.exit(main())
