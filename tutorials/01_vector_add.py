"""Lesson 1: adding two vectors.

A kernel describes what *one program* does to *one tile*: here, a run of BLOCK consecutive elements.
The grid says how many programs run; each learns its number from `tl.program_id` and works out which
elements are its own. Programs run in any order and at the same time.

The last tile may reach past the end of the vectors, so loads and stores carry a mask: where it is
False, memory is not touched.

It runs on the GPU if there is one, else on the CPU: a launch goes where its arrays are, and the kernel's
text is the same.

Run it:  python tutorials/01_vector_add.py         (the same kernel in C++: cpp/01_vector_add.cpp)
"""

import sys

import numpy as np
from lesson import DEVICE, DEVICE_NAME, normal, to_numpy, xp

import sectile as st
import sectile.language as tl

# A GPU runs thousands of programs at once; a thread of a CPU does best with long runs of memory.
BLOCK = 1024 if DEVICE == "cuda" else 16384


@st.jit
def add(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    # This program's elements: BLOCK consecutive indices.
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    x = tl.load(x_ptr + index, mask=inside)
    y = tl.load(y_ptr + index, mask=inside)
    tl.store(out_ptr + index, x + y, mask=inside)


def vector_add(x, y):
    """x + y for one-dimensional arrays of equal length and dtype."""
    out = xp.empty_like(x)
    (count,) = x.shape
    # Arguments may be torch tensors, NumPy arrays, anything that shows its memory.
    add[(st.cdiv(count, BLOCK),)](x, y, out, count, BLOCK=BLOCK)
    return out


def main(quick=False):
    count = 98_765 if quick else 10_000_001  # on purpose no multiple of BLOCK
    x, y = normal(count, seed=1), normal(count, seed=2)

    out = vector_add(x, y)
    expected = to_numpy(x) + to_numpy(y)
    assert np.array_equal(to_numpy(out), expected), "vector add: the result differs from NumPy's"
    print(f"vector add on {DEVICE_NAME}: {count:,} float32 elements, equal to NumPy's result")
    if quick:
        return

    seconds = (
        st.testing.do_bench(lambda: add[(st.cdiv(count, BLOCK),)](x, y, out, count, BLOCK=BLOCK))
        / 1e3
    )
    peer_seconds = st.testing.do_bench(lambda: xp.add(x, y, out=out)) / 1e3
    rate = 3 * 4 * count / 1e9  # two arrays read, one written, in GB
    print(
        f"  Sectile {rate / seconds:5.1f} GB/s, {xp.__name__} {rate / peer_seconds:5.1f} GB/s"
        f"  ({peer_seconds / seconds:.2f}x)"
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
