"""`triton` switched on: programs and libraries written for Triton 3.6 run on Sectile as they are.

    $ sectile run --as-triton program.py arguments     # for one program
    $ SECTILE_AS_TRITON=1 python program.py             # where the program imports sectile first

    import sectile.as_triton                            # in a program, before anything imports triton
    sectile.as_triton.install()

From then on ``import triton`` finds a package of Sectile's, in this process and in those it starts, beside a real
Triton that may be installed. It lies in the wheel as data (``sectile/_as_triton``), so that nothing is called
`triton` before it is asked for. What it has, and what differs, is in the guide "From Triton".
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing takes milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, NoReturn

__all__ = ["folder", "install", "is_installed"]

#: The version of Triton whose names there are.
VERSION = "3.6.0"
_VARIABLE = "SECTILE_AS_TRITON"


def folder() -> str:
    """The folder that holds the package `triton`; ``PYTHONPATH`` begins with it in processes that are started."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_as_triton")


def is_installed() -> bool:
    """Whether ``import triton`` gives Sectile's."""
    module = sys.modules.get("triton")
    if module is not None:
        return _is_ours(module)
    return folder() in sys.path


def install() -> None:
    """Makes ``import triton`` give Sectile's package, here and in processes that are started from now on.

    It may be called again, which changes nothing.

    Raises:
        ImportError: the real Triton has been imported already; the message says by which module.
    """
    module = sys.modules.get("triton")
    if module is not None and not _is_ours(module):
        raise ImportError(_first_import(module))
    if module is None:
        for name in [each for each in sys.modules if each.startswith("triton.")]:
            del sys.modules[name]  # what a failed import of another Triton has left
    place = folder()
    # First of all: an installed Triton would be found before it.
    if place in sys.path:
        sys.path.remove(place)
    sys.path.insert(0, place)
    inherited = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    others = [each for each in inherited if each != place]
    own = [] if home in others else [home]  # where it stands already it stays
    os.environ["PYTHONPATH"] = os.pathsep.join([place, *others, *own])
    os.environ[_VARIABLE] = "1"


def install_if_wanted() -> None:
    """`install`, where the environment has ``SECTILE_AS_TRITON=1``; ``import sectile`` calls it."""
    wanted = os.environ.get(_VARIABLE, "0").lower()
    if wanted not in ("0", "1", "", "true", "false", "on", "off", "yes", "no"):
        raise ValueError(f"{_VARIABLE} is {wanted!r}, not 0 or 1")
    if wanted in ("1", "true", "on", "yes"):
        install()


def _is_ours(module: ModuleType) -> bool:
    return bool(getattr(module, "__sectile__", False))


def _first_import(module: ModuleType) -> str:
    """The message for an install that comes too late."""
    where = getattr(module, "__file__", None) or "an unknown place"
    version = getattr(module, "__version__", "of unknown version")
    importer = None
    for name, other in list(sys.modules.items()):  # in the order in which they were imported
        if name == "triton" or name.startswith("triton.") or other is None:
            continue
        values = list(getattr(other, "__dict__", {}).values())
        if any(
            value is module
            or (getattr(value, "__module__", None) or "").partition(".")[0] == "triton"
            for value in values
            if isinstance(value, (type(module), type, type(_is_ours)))
        ):
            importer = "the program" if name == "__main__" else name
            break
    by = f", by {importer}" if importer else ""
    return (
        f"as_triton: the real triton {version} was imported first{by} ({where})\n"
        "  help: call sectile.as_triton.install() before that import, or start the program with "
        "`sectile run --as-triton`"
    )


def run_program(arguments: list[str]) -> int:
    """``sectile run [--as-triton] PROGRAM [ARGUMENTS]``, or ``-m MODULE``: runs it as ``python`` would."""
    import runpy

    words = list(arguments)
    while words and words[0].startswith("--"):
        option = words.pop(0)
        if option == "--":
            break
        if option != "--as-triton":
            raise SystemExit(f"sectile run: unknown option {option}; there is --as-triton")
        install()
    if not words or words == ["-m"]:
        raise SystemExit("sectile run: which program? sectile run --as-triton program.py arguments")
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path.insert(1, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return 0
    if not os.path.exists(words[0]):
        raise SystemExit(f"sectile run: there is no file {words[0]}")
    sys.argv = words
    # As python does, the program's folder comes first; but for triton.
    sys.path.insert(1, os.path.dirname(os.path.abspath(words[0])))
    runpy.run_path(os.path.abspath(words[0]), run_name="__main__")
    return 0


# ---- for the modules in _as_triton ----

#: The remedy of whatever asks for something of Triton's that is not there.
SEE_GUIDE = "  help: this triton is Sectile's; the guide \"From Triton\" says what of Triton's internals it has"


def missing(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of Triton's: what is not there is an error that names the guide."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):  # protocols ask for these all the time
            raise AttributeError(name)
        from ._suggest import did_you_mean

        known = [each for each in vars(sys.modules[module]) if not each.startswith("_")]
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}{did_you_mean(name, known)}\n{SEE_GUIDE}"
        )

    return __getattr__


def not_here(module: str) -> NoReturn:
    """For a module of Triton's that has no counterpart: importing it is an error that names the guide."""
    raise ImportError(f"no module named {module!r}\n{SEE_GUIDE}", name=module)


def adopt(module: str, values: Any) -> None:
    """Lets classes and functions of this package say that they are of Triton's `module`: programs that copy a kernel's
    imports, as torch's do, go by where a name says it is from."""
    for value in values:
        if (
            isinstance(value, (type, type(adopt)))
            and value.__module__.partition(".")[0] == "sectile"
        ):
            value.__module__ = module
