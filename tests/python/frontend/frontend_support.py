"""Runs only the front end: Python kernel in, tile IR text or diagnostics out.

Needs the extension module `sectile_frontend_testing` of the build, and of the package only the pure
Python part (`sectile.language`), so these tests run before the compiler library exists.
"""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SECTILE_BUILD_DIR", ROOT / "build"))
sys.path[:0] = [str(BUILD / "tests" / "frontend" / "python")]
try:
    import sectile  # noqa: F401
except ImportError:
    # The build's copy has the extension too; the sources suffice for most tests here.
    built = BUILD / "python"
    sys.path.insert(0, str(built if (built / "sectile").is_dir() else ROOT / "python"))

try:
    import sectile_frontend_testing as front_end
except ImportError as reason:
    pytest.skip(
        f"sectile_frontend_testing is not built in {BUILD}: {reason}", allow_module_level=True
    )

import sectile.language as tl  # noqa: E402, F401


class Jit:
    """What the front end sees of a @jit function."""

    __sectile_jit__ = True

    def __init__(self, fn, source=None):
        self.fn = fn
        self._source_override = source


def jit(fn):
    return Jit(fn)


class Const(tuple):
    """A compile-time value in a signature."""

    def __new__(cls, value):
        return super().__new__(cls, (value,))


def evaluate(kernel, locations=False, **signature):
    return front_end.evaluate(kernel, signature, locations)


def tile_ir(kernel, locations=False, **signature):
    """The body of the kernel's function, one line per operation, without leading spaces lost."""
    result = evaluate(kernel, locations, **signature)
    assert not result["diagnostics"], "\n".join(d["text"] for d in result["diagnostics"])
    assert not result["verifier_error"], result["verifier_error"] + result["ir"]
    return result["ir"]


def body(kernel, **signature):
    lines = tile_ir(kernel, **signature).splitlines()
    start = next(i for i, line in enumerate(lines) if "func.func" in line)
    return "\n".join(line.removeprefix("    ") for line in lines[start + 1 : -2]).rstrip()


def diagnostics(kernel, **signature):
    return evaluate(kernel, **signature)["diagnostics"]
