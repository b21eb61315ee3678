"""Kernels written in Python and, by hand, in C++: what C++ spells in its own way becomes the same tile IR.

The random kernels of differential/fuzz_cpp.py compare whatever a translator can write; here is what it cannot.
"""

import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from support import without_names

import sectile as st
import sectile._native as native
import sectile.language as tl
from sectile.tools.tensor_descriptor import TensorDescriptor

pytestmark = pytest.mark.host

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIBRARY = pathlib.Path(native.__file__).parents[2] / "lib"
SOURCE = pathlib.Path(__file__).with_name("cpp_kernels.cpp")


@st.jit
def slices(x, out, N: tl.constexpr):
    v = tl.reshape(tl.load(x + tl.arange(0, 64)), (4, 16))
    tl.store(out, v[1, -1])
    tl.store(out + tl.arange(0, 16), v[N // 4] + v[-1])
    tl.store(out + tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :], v[:, 3:7])
    tl.store(out + tl.arange(0, 2)[:, None] * 8 + tl.arange(0, 8)[None, :], v[:2, ::-2])
    tl.store(out + tl.arange(0, 5)[None, :], v[2, None, -5:])


@st.jit
def descriptors(a, b, n):
    i = tl.program_id(0) * a.block_shape[0]
    for j in range(0, a.shape[1], a.block_shape[1]):
        b.store([i, j], a.load([i, j]) * 2)
    b.atomic_add([n, 0], a.load([a.shape[0] - 1, n]))


@st.jit
def breaks(x, n, limit):
    s = tl.load(x)
    for i in range(n):
        s += tl.load(x + i)
        if s > limit:
            break
        s *= 2.0
    tl.store(x, s)


@st.jit
def continues(x, n):
    s = tl.load(x)
    for i in range(1, n, 3):
        v = tl.load(x + i)
        if v < 0:
            continue
        s += v
    tl.store(x, s)


@st.jit
def both(x, n, limit):
    s = tl.load(x)
    for i in range(n):
        v = tl.load(x + i)
        if v < 0:
            continue
        s += v
        if s > limit:
            break
    tl.store(x, s)


@st.jit
def effects(x, n, limit):
    for i in range(n):
        v = tl.load(x + i)
        if v < 0:
            continue
        tl.store(x + i, 2 * v)
        if v > limit:
            break
        tl.store(x + i + n, 2 * v)


@st.jit
def searches(x, n, limit):
    s = tl.load(x)
    i = 0
    while i < n:
        v = tl.load(x + i)
        if v > limit:
            break
        i += 1
        if v < 0:
            continue
        s += v
    tl.store(x, s)
    tl.store(x + i, s)


def array(*shape):
    """An array at a multiple of 64 bytes."""
    raw = np.zeros(int(np.prod(shape)) + 16, np.float32)
    skip = -raw.ctypes.data % 64 // 4
    return raw[skip : skip + int(np.prod(shape))].reshape(shape)


def arguments(name):
    x = array(64)
    return {
        "slices": lambda: (x, x, 8),
        "descriptors": lambda: (
            TensorDescriptor.from_tensor(array(37, 64), [16, 32]),
            TensorDescriptor(array(37, 80), [37, 64], [80, 1], [16, 32], "nan"),
            5,
        ),
        "continues": lambda: (x, 17),
    }.get(name, lambda: (x, 17, 3.5))()


KERNELS = {
    each.__name__: each
    for each in (slices, descriptors, breaks, continues, both, effects, searches)
}


@pytest.fixture(scope="module")
def in_cpp(tmp_path_factory):
    """The tile IR of the kernels of the C++ program, by name."""
    compiler = next(filter(shutil.which, ["clang++-22", "clang++", "g++"]), None)
    if not compiler:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("cpp")
    done = subprocess.run(
        [compiler, "-std=c++20", "-O0", f"-I{ROOT}/include", f"-I{ROOT}", SOURCE, f"-L{LIBRARY}", "-lsectile",
         f"-Wl,-rpath,{LIBRARY}", "-o", folder / "kernels"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "ir").mkdir()
    environment = os.environ | {
        "SECTILE_DUMP": f"tile:{folder / 'ir'}",
        "SECTILE_CACHE_DIR": "",
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(
        [folder / "kernels"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.name.split(".")[0]: path.read_text() for path in (folder / "ir").iterdir()}


@pytest.mark.parametrize("name", KERNELS)
def test_same_ir(name, in_cpp):
    python = KERNELS[name].warmup(*arguments(name), grid=(1,), target="cpu").asm["tile"]
    text = without_names(in_cpp[name])
    assert "tile." in text
    assert without_places(without_names(python)) == without_places(text)


def without_places(text):
    """The text without the places in the source."""
    text = re.sub(r"^#loc.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r" loc\((?:#\w+|[^()]*(?:\([^()]*\)[^()]*)*)\)", "", text).strip()
