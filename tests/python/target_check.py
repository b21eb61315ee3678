"""Every kernel that a test launches is also compiled for GPUs, none of which need be there.

    recorder = Recorder()
    with recorder.recording():
        kernel[grid](x, out, n)
    recorder.failures(targets="one")   # -> ["kernel for cuda:86: ..."]

One target for each variant, chosen by a hash of its name and arguments; all with targets="all". What comes
out is assembled by `ptxas` where there is one.
"""

import contextlib
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import zlib

import numpy as np
from launch_on_device import map_items

import sectile as st

TARGETS = ["cuda:80", "cuda:86", "cuda:89", "cuda:90", "cuda:100", "cuda:120"]
CPU_OPTIONS = ("arch", "stream", "target")


def targets_of(named):
    """Those of TARGETS that take the options of a launch."""
    if named.get("launch_pdl") or (named.get("num_ctas") or 1) > 1:
        return [target for target in TARGETS if int(target.removeprefix("cuda:")) >= 90]
    return TARGETS


def find_ptxas():
    """The path of `ptxas`: PATH, CUDA_HOME, or the package nvidia-cuda-nvcc; None when there is none."""
    if found := shutil.which("ptxas"):
        return found
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates = [pathlib.Path(home) / "bin" / "ptxas" for home in homes if home]
    if package := importlib.util.find_spec("nvidia"):  # nvidia/cuda_nvcc/bin, nvidia/cu13/bin
        for folder in package.submodule_search_locations:
            candidates += pathlib.Path(folder).glob("*/bin/ptxas")
    return next((str(path) for path in candidates if os.access(path, os.X_OK)), None)


class Assembler:
    """ptxas, asked once for each text."""

    def __init__(self):
        self.path = find_ptxas()
        self.seen = {}

    def __call__(self, ptx):
        """(error or "", bytes spilled)"""
        if not self.path:
            return "", 0
        key = hashlib.sha256(ptx.encode()).digest()
        if key not in self.seen:
            self.seen[key] = self.assemble(ptx)
        return self.seen[key]

    def assemble(self, ptx):
        error, spilled = self.run(ptx)
        # The assembler spills a few words of its own accord, outside of loops, where one program more has room on
        # a multiprocessor then. It does not where it is told that one is enough.
        if spilled and not re.search(r"^\.(minnctapersm|maxnreg) ", ptx, re.M):
            spilled = self.run(
                re.sub(r"^\.reqntid .*$", r"\g<0>\n.minnctapersm 1", ptx, flags=re.M)
            )[1]
        return error, spilled

    def run(self, ptx):
        arch = re.search(r"^\.target (\w+)", ptx, re.M)[1]
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as source:
            source.write(ptx)
            source.flush()
            command = [self.path, "-v", f"-arch={arch}", source.name, "-o", os.devnull]
            run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            lines = run.stderr.strip().splitlines()
            # A CUDA toolkit older than the chip is no fault of the text.
            if "is not defined for option" in run.stderr or "Unsupported .version" in run.stderr:
                return "", 0
            return "\n".join(lines[:6]), 0
        spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", run.stderr)
        return "", sum(map(int, spills))


assemble = Assembler()


def mock(value):
    """(what stands for an argument of a launch, whether anything can)"""
    if isinstance(value, (tuple, list)):
        mocks = {id(item): mock(item) for item in value}
        stands = map_items(lambda item: mocks[id(item)][0], value)
        return stands, all(can for _, can in mocks.values())
    if isinstance(value, st.TensorWrapper):
        base, can = mock(value.base)
        return (st.MockTensor(value.dtype, aligned=base.is_aligned), True) if can else (None, False)
    if isinstance(value, np.ndarray):
        aligned = value.__array_interface__["data"][0] % 16 == 0
        return st.MockTensor(value.dtype, aligned=aligned), True
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        try:
            return st.MockTensor(value.dtype, aligned=value.data_ptr() % 16 == 0), True
        except (TypeError, ValueError, RuntimeError):
            return None, False
    protocols = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
    is_number = isinstance(value, np.generic)
    if not is_number and any(hasattr(value, p) for p in protocols):
        return None, False
    if isinstance(value, (memoryview, bytes, bytearray)):
        return None, False
    return value, True


def described(value):
    if isinstance(value, st.MockTensor):
        return f"*{value.dtype}:{value.is_aligned}"
    return getattr(value, "__name__", None) or str(value)


class Recorder:
    """Launches of one test, and what was compiled in this process before."""

    def __init__(self):
        self.launches = []
        self.done = {}  # id -> kernel on the CPU, kept so that its id stays its own

    @contextlib.contextmanager
    def recording(self):
        native = st.JITFunction.__getitem__
        recorder = self

        def getitem(kernel, grid):
            launch = native(kernel, grid)

            def launch_and_record(*arguments, **keywords):
                result = launch(*arguments, **keywords)
                recorder.record(kernel, arguments, keywords, result)
                return result

            return launch_and_record

        st.JITFunction.__getitem__ = getitem
        try:
            yield
        finally:
            st.JITFunction.__getitem__ = native

    def record(self, kernel, arguments, keywords, compiled):
        # One variant on the CPU is one here: the object stays the same.
        if compiled is None or id(compiled) in self.done:
            return
        positional = [mock(value) for value in arguments]
        named = {k: mock(v) for k, v in keywords.items() if k not in CPU_OPTIONS}
        if not all(can for _, can in (*positional, *named.values())):
            return
        self.done[id(compiled)] = compiled
        positional = [value for value, _ in positional]
        named = {k: value for k, (value, _) in named.items()}
        self.launches.append((kernel, positional, named))

    def take(self):
        """(kernel, positional arguments, keyword arguments) of what was recorded since the last call."""
        launches, self.launches = self.launches, []
        return launches

    @staticmethod
    def name_of(kernel, positional, named):
        values = [*positional, *(v for _, v in sorted(named.items()))]
        return f"{kernel.__name__}({', '.join(map(described, values))})"

    def failures(self, targets):
        """Compiles what was recorded since the last call; what went wrong, as text."""
        found = []
        for kernel, positional, named in self.take():
            name = self.name_of(kernel, positional, named)
            chosen = targets_of(named)
            if targets == "one":
                chosen = [chosen[zlib.crc32(name.encode()) % len(chosen)]]
            for target in chosen:
                try:
                    compiled = kernel.warmup(*positional, grid=(1,), target=target, **named)
                    error, _ = assemble(compiled.asm["ptx"])
                except st.SectileError as failure:
                    error = str(failure)
                if error:
                    found.append(f"{name} for {target}: {error}")
        return found
