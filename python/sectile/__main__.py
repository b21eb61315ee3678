"""``sectile`` on the command line; also ``python -m sectile``."""

from __future__ import annotations

import os
import sys

_USAGE = """usage: sectile COMMAND ...

  doctor              which devices, drivers and libraries were found, and why one is not used
  cache [show]        what is in the disk cache
  cache path          its folder
  cache clear         empties it
  tune SCRIPT ...     runs a program and tunes its kernels (sectile tune --help)
  knobs               the environment variables and what they mean
  opt, compile ...    the compiler's own commands (sectile opt --help)
  version             version and build
"""


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def _cache(arguments: list[str]) -> int:
    from .runtime import control

    action = arguments[0] if arguments else "show"
    statistics = control.statistics()
    if action == "path":
        print(statistics["cache_directory"])
    elif action == "clear":
        print(f"deleted {control.clear_cache(disk=True)} files")
    elif action == "show":
        files = control.cache_files()
        total = control.cache_bytes()
        print(f"{statistics['cache_directory'] or '(none)'}: {len(files)} files, {_size(total)}")
        if statistics["disk_disabled"]:
            print(f"not used: {statistics['disk_disabled']}")
        for path in files:
            print(f"  {_size(os.path.getsize(path)):>10}  {os.path.basename(path)}")
    else:
        return _misuse(
            f"sectile cache: unknown action {action!r}", action, ("show", "path", "clear")
        )
    return 0


def _knobs() -> int:
    from . import knobs

    for name, kind, initial, meaning in knobs.table():
        value = os.environ.get(name)
        print(
            f"{name} ({kind}; default: {initial})" + (f" = {value!r}" if value is not None else "")
        )
        print(f"    {meaning}")
    return 0


def _misuse(message: str, name: str, known) -> int:
    from ._suggest import did_you_mean

    print(message + did_you_mean(name, known), file=sys.stderr)
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
        print(_USAGE, end="")
        return 0 if arguments else 2
    if command in ("version", "--version"):
        from . import __version__
        from .runtime.control import build_id

        print(f"sectile {__version__}, build {build_id()}")
        return 0
    if command == "doctor":
        from ._doctor import main as doctor

        return doctor()
    if command == "cache":
        return _cache(arguments[1:])
    if command == "tune":
        from .runtime.autotuner.command import main as tune

        return tune(arguments[1:])
    if command == "knobs":
        return _knobs()
    if command in ("opt", "compile"):
        from . import _native

        return _native.command_line(arguments)
    print(_USAGE, end="", file=sys.stderr)
    known = ("doctor", "cache", "tune", "knobs", "opt", "compile", "version")
    return _misuse(f"sectile: unknown command {command!r}", command, known)


if __name__ == "__main__":
    sys.exit(main())
