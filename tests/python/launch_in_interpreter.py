"""`kernel[grid](...)` of a test in the interpreter of AMD's code objects (tests/backends/amd/isa).

    with launches_in("gfx942"):
        kernel[grid](x, out, n)    # x and out are NumPy arrays or torch CPU tensors

The kernel is compiled for the chip; a process gets its code object and its arrays as files, and writes them back.
All of it is emulated. What needs a driver (prints, assertions, bounds) skips the test, with the reason.
"""

import contextlib
import inspect
import itertools
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import pytest
from launch_on_device import leaves

import sectile as st

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")

PROCESS = (
    pathlib.Path(st.__file__).parents[2] / "tests/backends/amd/isa/sectile_amd_simulator"
)  # build/python/sectile


class EmulationError(RuntimeError):
    """What the interpreter says of a launch: an access outside the arrays, a race, a hazard."""


class Interpreter:
    """The process. It answers a line with a line."""

    def __init__(self):
        self.process = None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sectile-amd-", dir=_memory_folder()))
        self.numbers = itertools.count()

    def __call__(self, words):
        if self.process is None or self.process.poll() is not None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen([PROCESS], stdin=pipe, stdout=pipe, text=True)
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "right":
            raise EmulationError(answer or f"ended with status {self.process.wait()}")


def _memory_folder():
    return "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None


class Region:
    """Bytes [begin, end) of the host, which arrays of a launch share."""

    def __init__(self, begin, end, folder):
        import ctypes

        self.begin, self.end = begin, end
        self.host = np.ctypeslib.as_array((ctypes.c_uint8 * (end - begin)).from_address(begin))
        self.path = folder / f"{begin:x}"

    def word(self, address):
        return f"{self.path}:{self.begin % 256}+{address - self.begin}"


def memory_of(value):
    """(first byte, bounds) of an array; None for what is none."""
    while isinstance(value, st.TensorWrapper):
        value = value.base
    if isinstance(value, np.ndarray):
        return value.__array_interface__["data"][0], np.lib.array_utils.byte_bounds(value)
    if hasattr(value, "untyped_storage"):
        begin = value.untyped_storage().data_ptr()
        return value.data_ptr(), (begin, begin + value.untyped_storage().nbytes())
    return None


class LaunchInInterpreter:
    """What `kernel[grid]` is replaced by."""

    def __init__(self, function, grid, chip, interpreter):
        self.function, self.grid, self.chip, self.interpreter = function, grid, chip, interpreter

    def __call__(self, *arguments, **keywords):
        keywords.pop("stream", None)
        if "arch" in keywords:
            pytest.skip("arch= is an option of the CPU")
        if keywords.get("check") or keywords.get("debug"):
            pytest.skip("bounds and assertions of launches need a driver")
        bound = self.bound(arguments, keywords)
        for value in leaves(bound.values()):
            array = getattr(value, "base", value)
            if isinstance(array, np.ndarray) and not array.flags.writeable:
                pytest.skip("read-only arrays are refused by a driver")
        compiled = self.function.warmup(
            *arguments, grid=self.grid, target=f"hip:{self.chip}", **keywords
        )
        if "tile.print" in compiled.asm["tile"]:
            pytest.skip("prints need a driver")
        if 0 in (grid := self.extents(bound)):
            return compiled
        self.run(compiled, grid, bound)
        return compiled

    def bound(self, arguments, keywords):
        parameters = inspect.signature(self.function.fn)
        named = {k: v for k, v in keywords.items() if k in parameters.parameters}
        values = parameters.bind(*arguments, **named)
        values.apply_defaults()
        return values.arguments

    def extents(self, bound):
        grid = self.grid(bound) if callable(self.grid) else self.grid
        grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
        return (*map(int, grid), 1, 1)[:3]

    def run(self, compiled, grid, bound):
        values = [
            (dtype, eval(name, {}, dict(bound)))  # noqa: S307 - "t[1][0]", "d.shape[0]"
            for name, dtype, _ in compiled.arguments
        ]
        spans = sorted(memory_of(v)[1] for d, v in values if d.startswith("*") and memory_of(v))
        regions = []
        for begin, end in spans:
            if regions and begin < regions[-1][1]:
                regions[-1][1] = max(regions[-1][1], end)
            else:
                regions.append([begin, end])
        regions = [Region(*bounds, self.interpreter.folder) for bounds in regions]
        binary = self.interpreter.folder / "kernel.hsaco"
        binary.write_bytes(compiled.asm["hsaco"])
        for region in regions:
            region.host.tofile(region.path)
        words = [binary, entry_of(compiled), compiled.metadata.threads, ",".join(map(str, grid))]
        words += [word_of(dtype, value, regions) for dtype, value in values]
        # Loops for atomics of 16 bits load the word that has the neighbour, too, which may be stored.
        if re.search(r"tile\.atomic_.*ptr<(f16|bf16|i16)>", compiled.asm["tile"]):
            words.append("races")
        try:
            self.interpreter(words)
        finally:
            for region in regions:
                region.host[:] = np.fromfile(region.path, np.uint8)
                region.path.unlink()


def entry_of(compiled):
    return compiled.name


def word_of(dtype, value, regions):
    """The argument as the process reads it."""
    if dtype.startswith("*"):
        if (memory := memory_of(value)) is None:
            return f"i64:{int(value or 0)}"
        for region in regions:
            if region.begin <= memory[0] < region.end:
                return region.word(memory[0])
        return "i64:0"  # an array without elements
    if dtype.startswith(("i", "u")):
        return f"i{dtype[1:]}:{int(value)}"
    if dtype in ("fp32", "fp64"):
        return f"f{dtype[2:]}:{float(value)!r}"
    pytest.skip(f"an argument of type {dtype}")


def launcher(function, grid, chip):
    return LaunchInInterpreter(function, grid, chip, _interpreter())


@contextlib.contextmanager
def launches_in(chip):
    """Within, `kernel[grid]` of every `st.jit` function runs in the interpreter, for that chip."""
    native = st.JITFunction.__getitem__
    st.JITFunction.__getitem__ = lambda self, grid: launcher(self, grid, chip)
    try:
        yield
    finally:
        st.JITFunction.__getitem__ = native


_known = []


def _interpreter():
    if not _known:
        _known.append(Interpreter())
    return _known[0]


def why_not_in(chip):
    """Why launches cannot be in the interpreter; empty when they can."""
    if chip not in CHIPS:
        return f"no chip {chip}: one of {', '.join(CHIPS)}"
    return "" if PROCESS.exists() else f"{PROCESS} is not built: ninja sectile_amd_simulator"
