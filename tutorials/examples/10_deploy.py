"""Example 10: deploy: compile ahead, seal, export, and serve where nothing may be compiled.

A program that serves should compile nothing: a compile takes some milliseconds, and needs the compiler's library. Three steps lead there:

1. *Where kernels are built*, `precompile` compiles the variants that will be needed. `kernel.variants()` of a run with typical arguments lists them.
2. `sectile cache export` packs them into one file, which goes into the container or the package.
3. *Where it serves*, `sectile cache import` unpacks it. `st.seal()` turns a launch that would have to compile into an error that names the argument.

Here both places are processes, with a folder each for their caches; the second has no way to the first one's. `10_serve/` has the server in C++, with its CMakeLists.txt.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

import sectile as st
import sectile.language as tl


@st.jit
def scale(out, x, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


def run(n):
    x = np.random.default_rng(n).standard_normal(n, np.float32)
    out = np.empty_like(x)
    scale[(st.cdiv(n, 512),)](out, x, 2.0, n, BLOCK=512)
    assert np.array_equal(out, 2 * x)


def build():
    """Compiles what serving needs. A size divisible by 16 is a variant of its own, and so is any other."""
    arrays = {"out": "*fp32:16", "x": "*fp32:16"}
    scale.precompile({**arrays, "factor": "fp32", "n": ["i32", "i32:16"], "BLOCK": 512})
    for variant in scale.variants():
        print(f"  {variant.signature}")


def serve():
    """Serves requests of any size; what was not compiled ahead is an error."""
    st.seal()
    for n in (1000, 1024, 77):
        run(n)
    assert st.statistics()["compiles"] == 0
    try:
        scale[(1,)](np.zeros(8, np.float64), np.zeros(8), 2.0, 8, BLOCK=512)
    except st.ArgumentError as error:
        print(f"  refused: {str(error).splitlines()[0]}")
    else:
        raise AssertionError("a launch compiled in a sealed process")


def main():
    with tempfile.TemporaryDirectory() as folder:
        pack = os.path.join(folder, "kernels.pack")

        def python(place, *arguments):
            cache = {"SECTILE_CACHE_DIR": os.path.join(folder, place)}
            subprocess.run([sys.executable, *arguments], env={**os.environ, **cache}, check=True)

        print("building", flush=True)
        python("builder", __file__, "build")
        python("builder", "-m", "sectile", "cache", "export", pack)
        print("serving", flush=True)
        python("server", "-m", "sectile", "cache", "import", pack)
        python("server", __file__, "serve")
    print("correct: True")


if __name__ == "__main__":
    {"build": build, "serve": serve}.get(sys.argv[-1], main)()
