"""The disk cache as seen by processes that start afresh."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.host

PROGRAM = """
import sys
import numpy as np
import sectile as st
import sectile.language as tl

SCALE = tl.constexpr({scale})

@st.jit
def kernel(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * SCALE, mask=i < n)

x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)
kernel[(2,)](out, x, 100, BLOCK=64)
assert (out == x * {scale}).all()
counts = st.runtime.control.statistics()
print(counts["compiles"], counts["disk_hits"], int("sectile-compiler" in open("/proc/self/maps").read()))
"""


@pytest.fixture
def run(tmp_path):
    def run(scale=2, text=PROGRAM, **environment):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(text).replace("{scale}", str(scale)))
        result = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            env={**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache"), **environment},
        )
        assert result.returncode == 0, result.stderr
        return tuple(int(word) for word in result.stdout.split())

    return run


def test_warm_start_does_without_the_compiler(run):
    assert run() == (1, 0, 1)
    assert run() == (0, 1, 0)


def test_another_global_is_another_entry(run):
    assert run(scale=2) == (1, 0, 1)
    assert run(scale=3) == (1, 0, 1)
    assert run(scale=2) == (0, 1, 0)
    assert run(scale=3) == (0, 1, 0)


def test_without_a_cache(run):
    assert run(SECTILE_CACHE_DIR="") == (1, 0, 1)
    assert run(SECTILE_CACHE_DIR="") == (1, 0, 1)


def test_damaged_entries_are_replaced(run, tmp_path):
    run()
    damaged = set()  # one file may have two names
    for folder, _, files in os.walk(tmp_path / "cache"):
        for name in files:
            path = os.path.join(folder, name)
            size = os.path.getsize(path)
            if not size or os.stat(path).st_ino in damaged:
                continue
            with open(path, "r+b") as file:
                file.seek(size // 2)
                byte = file.read(1)
                file.seek(size // 2)
                file.write(bytes([byte[0] ^ 255]))
            damaged.add(os.stat(path).st_ino)
    assert damaged
    assert run() == (1, 0, 1)
    assert run() == (0, 1, 0)


def test_cache_command(run, tmp_path):
    run()

    def command(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "sectile", "cache", *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "SECTILE_CACHE_DIR": str(tmp_path / "cache")},
        ).stdout

    assert command("path").strip().startswith(str(tmp_path / "cache"))
    assert "0 files" not in command("ls")
    assert "deleted 0 files" not in command("clear")
    assert "0 files" in command("ls")
    assert run() == (1, 0, 1)


def test_functions_passed_as_constants_are_in_the_key(run):
    text = """
    import numpy as np
    import sectile as st
    import sectile.language as tl

    @st.jit
    def change(x):
        return x * {scale}

    @st.jit
    def kernel(out, x, fn: tl.constexpr):
        tl.store(out, fn(tl.load(x)))

    out, x = np.zeros(1, np.float32), np.ones(1, np.float32)
    kernel[(1,)](out, x, change)
    assert out[0] == {scale}, out
    counts = st.runtime.control.statistics()
    print(counts["compiles"], counts["disk_hits"])
    """
    assert run(2, text) == (1, 0)
    assert run(2, text) == (0, 1)
    assert run(5, text) == (1, 0)


def test_sealed(run):
    text = """
    import numpy as np
    import sectile as st
    import sectile.language as tl

    @st.jit
    def kernel(out, n):
        tl.store(out, n)

    out = np.zeros(1, np.int32)
    kernel.warmup(out, 5, grid=(1,))
    st.seal()
    kernel[(1,)](out, 7)
    try:
        kernel[(1,)](out, 16)
    except st.SectileError as error:
        assert "kernel" in str(error)
        print(int(out[0]))
    """
    assert run(text=text) == (7,)


def test_the_first_key_needs_no_parser(run):
    """A warm start does not import `ast` or `inspect`, nor convert the syntax."""
    text = """
    import sys
    before = set(sys.modules)  # what this Python's site brings along
    import array
    import sectile as st
    import sectile.language as tl

    @st.jit
    def kernel(out):
        tl.store(out, 3)

    out = array.array("i", [0])
    kernel[(1,)](out)
    assert out[0] == 3
    new = set(sys.modules) - before
    print(*(int(name in new) for name in ("ast", "inspect", "numpy", "typing")))
    """
    run(text=text)
    assert run(text=text) == (0, 0, 0, 0)


def test_a_cached_kernel_is_dumped(run, tmp_path):
    assert run() == (1, 0, 1)
    assert run() == (0, 1, 0)
    for folder in ("first", "second"):
        run(SECTILE_DUMP=f"tile,asm:{tmp_path / folder}")
        names = sorted(os.listdir(tmp_path / folder))
        assert names == ["kernel.asm.s", "kernel.tile.mlir"]


TWINS = """
import numpy as np
import sectile as st
import sectile.language as tl

@st.jit
def kernel(x, N: tl.constexpr):
    tl.store(x, 2)

x = np.zeros(1, np.int32)
kernel[(1,)](x, N=2)
kernel[(1,)](x, N=3)
print(0)
"""


def test_kernels_of_one_ir_are_each_dumped(run, tmp_path):
    run(text=TWINS, SECTILE_DUMP=f"asm:{tmp_path / 'dumps'}")
    assert len(os.listdir(tmp_path / "dumps")) == 2


def test_stopping_is_not_hidden_by_the_cache(run, tmp_path):
    assert run() == (1, 0, 1)
    with pytest.raises(AssertionError, match="stopped after stage"):
        run(SECTILE_STOP_AFTER="tile")


def test_kept_stages_are_there_whatever_the_cache_holds(run):
    text = (
        PROGRAM + "print(len(kernel.warmup(out, x, 100, BLOCK=64, grid=(1,)).asm.get('llvm', '')))"
    )
    assert run(text=text)[-1] == 0
    assert run(text=text, SECTILE_KEEP_STAGES="1")[-1] > 100
    assert run(text=text)[:3] == (0, 1, 0)
